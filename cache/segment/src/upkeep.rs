//! The work of a partition beside its operations: segments are emptied in steps, a little with each set, before their room
//! is needed. So no set takes longer for it than a copy of a few records.
//!
//! The words of the upkeep record the progress. A process killed in between leaves a segment of which some records are moved
//! already, and no slot points to these any more.

use std::ops::RangeInclusive;

use crate::layout::UPKEEP;
use crate::locked::Locked;
use crate::memory::size;
use crate::partition::{FREE, MAIN, ORDER, Partition, SMALL, STATE};
use crate::work::Work;

/// Words of the upkeep.
const VICTIM: usize = UPKEEP;
const VAIN: usize = UPKEEP + 8;
const SWEPT: usize = UPKEEP + 16;
/// Segments up to this order may hold entries from before the clear of a namespace.
pub(crate) const CLEARED_BEFORE: usize = UPKEEP + 32;
/// And up to this order these were taken away.
pub(crate) const PURGED: usize = UPKEEP + 24;
const LARGE_FROM: usize = UPKEEP + 40;
const LARGE_TO: usize = UPKEEP + 48;
const KEPT_OF_MAIN: usize = UPKEEP + 56;

/// The part of the main queue's entries that were kept, among the last `OF_LAST`, as a fraction of `WHOLE`. Then the part
/// from which on nearly all of them count as used.
const OF_LAST: u64 = 512;
const WHOLE: u64 = 1 << 16;
const NEARLY_ALL: u64 = WHOLE * 15 / 16;

/// A step follows each time that this many bytes of new records were written. With shorter steps, each set would pay for
/// the begin of one.
const STRIDE: usize = 512;
/// A step empties this many bytes of a segment for each byte that was written. After `HURRY` segments without a gain, it
/// empties as much again for each of them.
const PACE: usize = 8;
const HURRY: u64 = 2;
/// A look at this many segments counts as much work as one record.
const SEGMENTS_FOR_RECORD: usize = 16;
/// The free segments that are needed to begin one: itself, and one for the records that are written
/// anew.
pub(crate) const NEEDED: usize = 2;
/// The free segments that steps make ahead of time, and those that idle time makes.
pub(crate) const KEPT: usize = 3;
pub(crate) const KEPT_WHEN_IDLE: usize = 4;

/// The records of a segment that are written anew when it is emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// The records that were used.
    Used,
    /// No record.
    Nothing,
    /// All live records: the segment's dead records take the room.
    All,
    /// No record is written anew: records of cleared namespaces are removed, and the others stay where they are.
    InPlace,
}

/// The segment that is being emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Victim {
    pub(crate) segment: usize,
    pub(crate) keeps: Keeps,
    /// The end of the emptied part, in bytes.
    pub(crate) at: usize,
}

impl Locked<'_> {
    /// Empties a part of a segment where few are free. It follows a write of a record of `bytes` bytes that ends at `end` of
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
            bytes * PACE * (1 + size(vain))
        };
        if looked > 0 {
            self.work(&mut Work::of(looked), KEPT);
        }
    }

    /// Follows the begin of a segment: another one is chosen for emptying where too few are free. Segments that are emptied
    /// before the next begin count as emptied in vain.
    pub(crate) fn note_begun(&mut self) {
        self.set_vain(0, 0);
        if self.victim().is_none() && self.free().nth(KEPT - 1).is_none() {
            self.choose();
        }
    }

    /// Empties segments until `kept` are free, or the allowed work is done.
    pub(crate) fn work(&mut self, work: &mut Work, kept: usize) -> Worked {
        loop {
            if self.victim().is_none() {
                if self.free().nth(kept - 1).is_some() {
                    return Worked::Enough;
                }
                if work.is_done() || self.left.is_done() {
                    return Worked::More;
                }
                self.spend(work, self.geometry_segments() / SEGMENTS_FOR_RECORD, 0, 0);
                match self.choose() {
                    None => return Worked::Never,
                    Some(false) => continue,
                    Some(true) => {}
                }
            }
            if work.is_done() || self.left.is_done() {
                return Worked::More;
            }
            if !self.step(work) {
                return Worked::More;
            }
        }
    }

    /// Counts the records that were looked at, their bytes, and the copied bytes.
    pub(crate) fn spend(&mut self, work: &mut Work, records: usize, looked: usize, copied: usize) {
        work.spend(records, looked, copied);
        self.left.spend(records, looked, copied);
    }

    /// The segment that is being emptied; `None` where the note is impossible.
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
            3 => Keeps::InPlace,
            _ => Keeps::All,
        };
        is_right.then_some(Victim { segment, keeps, at })
    }

    pub(crate) fn set_victim(&self, Victim { segment, keeps, at }: Victim) {
        let note = (segment as u64 + 1) << 40 | (keeps as u64) << 32 | at as u64;
        self.partition.memory.store(self.partition.base + VICTIM, note);
    }

    /// Ends the emptying of a segment that is about to be free.
    pub(crate) fn forget_victim(&self, segment: usize) {
        let at = self.partition.base + VICTIM;
        if size(self.partition.memory.load(at) >> 40) == segment + 1 {
            self.partition.memory.store(at, 0);
        }
    }

    /// The segments that were emptied since the last one was begun for new entries: for entries that are used too little, and
    /// for dead records.
    pub(crate) fn vain(&self) -> (u64, u64) {
        let vain = self.partition.memory.load(self.partition.base + VAIN);
        (vain & 0xffff_ffff, vain >> 32)
    }

    pub(crate) fn set_vain(&self, vain: u64, of_dead: u64) {
        let both = of_dead << 32 | vain & 0xffff_ffff;
        self.partition.memory.store(self.partition.base + VAIN, both);
    }

    /// The next bucket of the index to sweep.
    pub(crate) fn swept(&self) -> usize {
        size(self.partition.memory.load(self.partition.base + SWEPT))
    }

    pub(crate) fn set_swept(&self, bucket: usize) {
        self.partition.memory.store(self.partition.base + SWEPT, bucket as u64);
    }
}

impl Locked<'_> {
    /// Notes that `kept` of `of` entries of the main queue were kept when their segment was
    /// emptied.
    pub(crate) fn note_kept(&self, kept: u64, of: u64) {
        let at = self.partition.base + KEPT_OF_MAIN;
        let part = self.partition.memory.load(at).min(WHOLE);
        let becomes = part + kept * WHOLE / OF_LAST - (part * of / OF_LAST).min(part);
        self.partition.memory.store(at, becomes.min(WHOLE));
    }

    /// Whether nearly all entries of the main queue are in use. An entry that was evicted before then gains little
    /// there: in a loop over more keys than fit, each key is as good as the others.
    pub(crate) fn is_main_in_use(&self) -> bool {
        self.partition.is_main_in_use()
    }

    /// Notes that a chunk of a large value lies in a segment, and whether it is the first one in this
    /// partition.
    pub(crate) fn note_large(&self, segment: usize, is_first: bool) {
        let (memory, base) = (self.partition.memory, self.partition.base);
        let order = memory.load(self.partition.note_at(segment, ORDER));
        if is_first {
            memory.store(base + LARGE_FROM, order);
        }
        memory.store(base + LARGE_TO, order);
    }

    /// The orders of the segments that hold the last large value.
    pub(crate) fn large(&self) -> RangeInclusive<u64> {
        let load = |at| self.partition.memory.load(self.partition.base + at);
        load(LARGE_FROM)..=load(LARGE_TO)
    }
}

impl Partition<'_> {
    /// Whether idle time has work to do here, as far as a look without the lock can tell.
    pub(crate) fn may_have_work(&self) -> bool {
        let segments = 0..self.places.geometry.segments;
        let is_free =
            |segment: &usize| self.memory.load(self.note_at(*segment, STATE)) >> 56 == FREE;
        self.memory.load(self.base + VICTIM) != 0
            || segments.filter(is_free).nth(KEPT_WHEN_IDLE - 1).is_none()
    }

    pub(crate) fn is_main_in_use(&self) -> bool {
        self.memory.load(self.base + KEPT_OF_MAIN) >= NEARLY_ALL
    }
}

/// The result of emptying segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worked {
    /// As many segments are free as requested.
    Enough,
    /// There is more to do, which takes another hold of the lock.
    More,
    /// No segment can be emptied.
    Never,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::empty::KEYS_AHEAD as KEYS;
    use crate::work::counted::MOST;
    use crate::work::{IDLE, MOST_COPIED, MOST_RECORDS};
    use crate::{Options, Session, Set};

    fn set(session: &mut Session, key: u64, len: usize, ttl: Option<Duration>) {
        let set = Set { ttl, ..Set::default() };
        session.set(&key.to_le_bytes(), &vec![7; len], &set).unwrap();
    }

    /// The test counts steps and not time: each is a look at the index, or a copy of a record. A segment has thousands of
    /// records.
    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn no_hold_of_a_lock_empties_more_than_a_part_of_a_segment() {
        let cache = crate::Cache::private(&Options::of_size(8 << 20)).unwrap();
        let shop = cache.namespace("shop").unwrap();
        let (mut session, mut of_shop) = (cache.session(), shop.session());
        let geometry = cache.places.geometry;
        assert!(geometry.segment_len / 48 > 4 * MOST_RECORDS, "{geometry:?}");
        MOST.set((0, 0));
        for round in 0..3 {
            // All of it is read, so that the first look evicts no entry.
            for key in 0..200_000 {
                set(&mut session, key, 20, None);
                session.get(&key.to_le_bytes(), &mut Vec::new());
            }
            for key in 0..20_000 {
                let ttl = (key % 3 == 0).then_some(Duration::from_secs(key % 999));
                set(&mut of_shop, key, 200, ttl);
            }
            for key in 500_000..500_010 {
                set(&mut session, key, 1 << 20, None);
                session.get(&key.to_le_bytes(), &mut Vec::new());
            }
            for key in (0..200_000_u64).step_by(3) {
                session.delete(&key.to_le_bytes()).unwrap();
            }
            while cache.maintain(Duration::from_millis(1)) {}
            if round == 1 {
                shop.clear();
            }
        }
        let (records, copied) = MOST.get();
        assert!(records > MOST_RECORDS / 2, "{records}: nothing was emptied");
        assert!(records < MOST_RECORDS + 32, "{records} records under one hold of a lock");
        let longest = geometry.longest_record() + 250;
        assert!(copied < MOST_COPIED + longest, "{copied} bytes copied under one hold of a lock");
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn no_hold_of_a_lock_reads_many_keys_of_the_greatest_length() {
        let max_key = 1 << 16;
        let cache =
            crate::Cache::private(&Options { max_key, ..Options::of_size(32 << 20) }).unwrap();
        let mut session = cache.session();
        for idle in [false, true] {
            MOST.set((0, 0));
            for number in 0..800_u64 {
                let mut key = vec![9; max_key];
                key[..8].copy_from_slice(&number.to_le_bytes());
                session.set(&key, b"value", &Set::default()).unwrap();
                session.get(&key, &mut Vec::new());
                if idle {
                    // The test leaves out the work of the sets.
                    let before = MOST.replace((0, 0));
                    while cache.maintain(Duration::from_millis(1)) {}
                    let (_, copied) = MOST.replace(before);
                    assert!(copied < IDLE + KEYS + 3 * max_key, "{copied} bytes in idle time");
                }
            }
            let copied = MOST.get().1;
            assert!(copied > max_key, "nothing was emptied");
            assert!(copied < MOST_COPIED + 3 * max_key, "{copied} bytes under one hold of a lock");
        }
        assert!(cache.stats().evictions() > 200, "{:?}", cache.stats());
    }

    /// All segments of a cleared region may be given back.
    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn no_hold_of_a_lock_gives_all_segments_back() {
        let cache = crate::Cache::private(&Options::of_size(8 << 20)).unwrap();
        let mut session = cache.session();
        for round in 0..4 {
            for key in 0..80_000 {
                set(&mut session, key, 100, None);
            }
            cache.clear();
            MOST.set((0, 0));
            for key in 0..20_000 {
                set(&mut session, key + round, 100, None);
            }
            assert!(MOST.get().0 < MOST_RECORDS + 32, "{:?}", MOST.get());
        }
    }

    #[test]
    fn idle_time_waits_for_nobody_and_says_whether_there_is_more_to_do() {
        let cache = crate::Cache::private(&Options::of_size(1 << 20)).unwrap();
        assert!(!cache.maintain(Duration::ZERO), "an empty region");
        let mut session = cache.session();
        for key in 0..20_000 {
            set(&mut session, key, 100, None);
        }
        assert!(cache.maintain(Duration::ZERO), "a full one");
        let held = session.lock(0).unwrap();
        assert!(cache.maintain(Duration::from_secs(9)), "a lock that is held");
        drop(held);
        assert!(!cache.maintain(Duration::from_secs(9)));
        assert!(!cache.maintain(Duration::ZERO), "all is done");
    }
}
