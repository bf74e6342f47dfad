//! What a partition does beside the operations asked of it: segments are emptied in steps, a little with each set, before
//! their room is needed. So no set takes longer for it than a copy of a few records.
//!
//! The words of the upkeep say how far that is. A process killed in between leaves a segment of which some records are moved
//! already, and no slot points to those any more.

use std::time::{Duration, Instant};

use crate::cache::Cache;
use crate::layout::UPKEEP;
use crate::locked::{Locked, MAIN, SMALL};
use crate::memory::size;
use crate::session::lock_within;

/// Words of the upkeep.
const VICTIM: usize = UPKEEP;
const VAIN: usize = UPKEEP + 8;
const SWEPT: usize = UPKEEP + 16;

/// After so many bytes of new records a step is done.
const STRIDE: usize = 1 << 10;
/// A step goes over so many bytes of the segment that is emptied, for each that was written; and over as many more for each
/// segment that was emptied without a gain, but not over more than so many for one set.
const PACE: usize = 8;
const HURRY: u64 = 2;
const MOST_LOOKED: usize = 96 << 10;
/// A step copies no more than so many bytes, or than a few times what was written.
const MOST_COPIED: usize = 96 << 10;
const COPIES: usize = 6;
/// What is done at once where steps have not kept pace.
const CATCH_UP: usize = 256 << 10;
/// What is done under one hold of a lock where nobody has asked for anything.
const IDLE: usize = 32 << 10;

/// Free segments that are kept: one to be begun, and two for what is written anew, which may take a little more room than it
/// had. In idle time, one more.
pub(crate) const KEPT: usize = 3;
const KEPT_WHEN_IDLE: usize = 4;

/// The records of a segment that are written anew when it is emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// The records that were used.
    Used,
    /// No record.
    Nothing,
    /// All that is alive: its dead records are what is in the way.
    All,
}

/// The segment that is being emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Victim {
    pub(crate) segment: usize,
    pub(crate) keeps: Keeps,
    /// How far it is emptied, in bytes.
    pub(crate) at: usize,
}

/// How much of a segment may still be emptied now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    /// Bytes of records that are looked at, and of those that are copied.
    pub(crate) looked: usize,
    pub(crate) copied: usize,
}

impl Work {
    fn of(looked: usize) -> Self {
        Self { looked, copied: looked.min(MOST_COPIED) }
    }

    pub(crate) fn to_catch_up() -> Self {
        Self { looked: CATCH_UP, copied: CATCH_UP }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.looked == 0 || self.copied == 0
    }
}

impl Locked<'_> {
    /// Empties a part of a segment where free ones are few, after a record of so many bytes was written that ends at `end` of
    /// its segment.
    pub(crate) fn work_ahead(&mut self, end: usize, bytes: usize) {
        if self.partition.memory.load(self.partition.base + VICTIM) == 0 {
            return;
        }
        let vain = self.vain().0.min(self.geometry_segments() as u64);
        let looked = if vain < HURRY {
            let strides = end / STRIDE - end.saturating_sub(bytes) / STRIDE;
            strides * STRIDE * PACE
        } else {
            (bytes * PACE * (1 + size(vain))).min(MOST_LOOKED.max(bytes * PACE))
        };
        if looked == 0 {
            return;
        }
        let mut work = Work::of(looked);
        work.copied = work.copied.max(bytes * COPIES);
        self.work(&mut work, KEPT);
    }

    /// After a segment was begun: another one is chosen where too few are free. What is emptied from now on is in vain until
    /// the next is begun.
    pub(crate) fn note_begun(&mut self) {
        self.set_vain(0, 0);
        if self.victim().is_none() && self.free().nth(KEPT - 1).is_none() {
            self.choose();
        }
    }

    /// Empties segments until so many are free, or the work is done; whether there is more to do.
    fn work(&mut self, work: &mut Work, kept: usize) -> bool {
        loop {
            if self.victim().is_none() {
                if self.free().nth(kept - 1).is_some() {
                    return false;
                }
                match self.choose() {
                    None => return false,
                    Some(false) => continue,
                    Some(true) => {}
                }
            }
            if !self.step(work) {
                return true;
            }
        }
    }

    /// The segment that is being emptied. A note that cannot be right is of none.
    pub(crate) fn victim(&self) -> Option<Victim> {
        let note = self.partition.memory.load(self.partition.base + VICTIM);
        let segment = size(note >> 40).checked_sub(1)?;
        let at = size(note & 0xffff_ffff);
        let geometry = &self.partition.places.geometry;
        let is_right = segment < geometry.segments
            && at <= geometry.segment_len
            && at.is_multiple_of(8)
            && matches!(self.state(segment).0, SMALL | MAIN);
        let keeps = match note >> 32 & 0xff {
            0 => Keeps::Used,
            1 => Keeps::Nothing,
            _ => Keeps::All,
        };
        is_right.then_some(Victim { segment, keeps, at })
    }

    pub(crate) fn set_victim(&self, Victim { segment, keeps, at }: Victim) {
        let note = (segment as u64 + 1) << 40 | (keeps as u64) << 32 | at as u64;
        self.partition.memory.store(self.partition.base + VICTIM, note);
    }

    /// A segment is about to be free: it is emptied no further.
    pub(crate) fn forget_victim(&self, segment: usize) {
        let at = self.partition.base + VICTIM;
        if size(self.partition.memory.load(at) >> 40) == segment + 1 {
            self.partition.memory.store(at, 0);
        }
    }

    /// Gives the rest of the segment back that is being emptied, at once: no slot of its records is right any more.
    pub(crate) fn drop_victim(&mut self) {
        if let Some(victim) = self.victim() {
            if victim.keeps == Keeps::All {
                let mut work = Work { looked: usize::MAX, copied: usize::MAX };
                self.step(&mut work);
            } else {
                self.set_free(victim.segment);
            }
        }
    }

    /// Segments that were emptied since the last one was begun for new entries: for the sake of entries used too little, and of
    /// dead records.
    pub(crate) fn vain(&self) -> (u64, u64) {
        let vain = self.partition.memory.load(self.partition.base + VAIN);
        (vain & 0xffff_ffff, vain >> 32)
    }

    pub(crate) fn set_vain(&self, vain: u64, of_dead: u64) {
        let both = of_dead << 32 | vain & 0xffff_ffff;
        self.partition.memory.store(self.partition.base + VAIN, both);
    }

    /// The bucket of the index that is swept next.
    pub(crate) fn swept(&self) -> usize {
        size(self.partition.memory.load(self.partition.base + SWEPT))
    }

    pub(crate) fn set_swept(&self, bucket: usize) {
        self.partition.memory.store(self.partition.base + SWEPT, bucket as u64);
    }
}

impl Cache {
    /// Makes room ahead of time, for so long at most, so that sets to come need not; whether there is more to do.
    ///
    /// A server calls it while it has nothing else to do. It waits for nobody, and holds no lock for longer than a copy of
    /// 32 KiB takes. Sets do the same, a little each, where it is never called.
    pub fn maintain(&self, budget: Duration) -> bool {
        let began = Instant::now();
        let mut is_more = false;
        for partition in 0..self.places.geometry.partitions {
            loop {
                if began.elapsed() >= budget {
                    return true;
                }
                let locked = lock_within(self, self.partition(partition), Duration::ZERO);
                let Ok(mut locked) = locked else {
                    is_more = true;
                    break;
                };
                let is_done = !locked.work(&mut Work::of(IDLE), KEPT_WHEN_IDLE);
                let doomed = std::mem::take(&mut locked.doomed);
                drop(locked);
                self.drop_doomed(doomed);
                if is_done {
                    break;
                }
            }
        }
        is_more
    }
}
