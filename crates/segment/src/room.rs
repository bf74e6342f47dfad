//! Room for entries: segments that are begun, given back, and chosen to be emptied.
//!
//! Dead records make room before live ones do: a segment of which enough is dead is emptied first, and what is alive in it is
//! written anew. Only where every segment is mostly alive, entries that are used too little are dropped.
//! One segment more than is asked for is kept free, so that what is written anew has a place.

use std::sync::atomic::Ordering;

use crate::locked::{FREE, INDEX, Locked, MAIN, SMALL};
use crate::memory::{fence, size};
use crate::partition::{FILL, LATEST, ORDER, STATE};
use crate::record::FOREVER;
use crate::slot::Slot;
use crate::tally::Count;
use crate::upkeep::{CLEARED_BEFORE, Keeps, NEEDED, PURGED, Victim, Work, Worked};

/// Of so many segments one is for entries that are new.
const SMALL_SHARE: usize = 10;

/// Where as many segments as there are were emptied without a gain, all that is old is used much. Then new entries go first,
/// and after a few more segments, entries go although they are used.
const VAIN_OF_NEW: u64 = 4;
/// Where nearly all of the main queue is in use, the small one has no more segments than these. Each time that so many
/// segments were begun one of the main queue is emptied all the same, to see whether that is still so.
const FEWEST_SMALL: usize = 2;
const LOOK_AT_MAIN: u64 = 8;

/// After so many segments whose dead records were to make room, live ones do: what is noted of them is wrong.
const VAIN_OF_DEAD: u64 = 16;
/// After so many segments from before a namespace was cleared, others are chosen as if it had not been: a set does not wait
/// until all are looked through.
const VAIN_OF_CLEARED: u64 = 3;

/// A segment is emptied for its dead records where at most so many of a hundred of its bytes are alive. More of them would be
/// copied for little room. Large records cost less to copy, by the byte.
const MOSTLY_DEAD: usize = 70;
const MOSTLY_DEAD_IF_LARGE: usize = 85;
const LARGE: usize = 2048;

/// Header and padding of a record, on average, with the version of one that was moved.
const BESIDE: usize = 26;

/// Where the least used segment is looked for, so many are looked at, and of each so many records; others the next time.
const SAMPLED_SEGMENTS: usize = 32;
const SAMPLED_RECORDS: usize = 4;

/// So many segments are given back under one hold of a lock, and each counts as much as so many records.
const GIVEN_AT_ONCE: usize = 8;
const RECORDS_FOR_GIVEN: usize = 4;

/// A slot that outlived its records is taken for one that is right again after 2^16 more uses of its segment. So a part of
/// the index is swept as segments are used: all of it in a quarter of that, in pieces as small as can be.
const SWEEPS: usize = 1 << 14;
/// A bucket at least is swept each time that a segment has been used so often.
const SWEEP_EACH: usize = 16;
/// So many buckets count as much as one record.
const BUCKETS_FOR_RECORD: usize = 8;

/// The place of the next record: a segment with room for it, and where that one's records end. The end was checked once and
/// is not read again, because a neighbour may write into the region.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) segment: usize,
    pub(crate) end: usize,
}

/// Why there is no room for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// More of it is to be made, under another hold of the lock.
    Yet,
    /// No segment can be emptied.
    Ever,
}

impl Locked<'_> {
    /// Another active segment of a queue and class, where the one that there was has no room for so many bytes.
    pub(crate) fn make_room(
        &mut self,
        (queue, class): (u64, usize),
        bytes: usize,
    ) -> Result<Room, NoRoom> {
        if self.free().nth(NEEDED - 1).is_none() {
            match self.work(&mut Work::most(), NEEDED) {
                Worked::Enough => {}
                Worked::More => return Err(NoRoom::Yet),
                Worked::Never => return Err(NoRoom::Ever),
            }
        }
        // The records written again may have begun a segment of just this kind.
        let there = self.active(queue, class, bytes);
        let room = there.or_else(|| self.begin(queue, class)).ok_or(NoRoom::Ever)?;
        self.note_begun();
        Ok(room)
    }

    /// The active segment of a queue and class, if so many bytes have room in it.
    pub(crate) fn active(&self, queue: u64, class: usize, bytes: usize) -> Option<Room> {
        let noted = size(self.partition.memory.load(self.active_at(queue, class)));
        let segment = noted.checked_sub(1).filter(|s| *s < self.geometry_segments())?;
        let is_it = self.state(segment) == (queue, class) && !self.is_cleared(segment);
        let (end, _) = self.fill(segment);
        let is_it = is_it && end.is_multiple_of(8);
        let has_room = is_it && end + bytes <= self.partition.places.geometry.segment_len;
        has_room.then_some(Room { segment, end })
    }

    /// Begins a free segment, which is active from now on.
    pub(crate) fn begin(&mut self, queue: u64, class: usize) -> Option<Room> {
        let segment = self.free().next()?;
        let memory = self.partition.memory;
        self.renew(segment);
        let order = Count::Begun.at(self.partition.base);
        memory.store(order, memory.load(order).wrapping_add(1));
        memory.store(self.partition.note_at(segment, ORDER), memory.load(order));
        memory.store(self.partition.note_at(segment, LATEST), 0);
        memory.store(self.partition.note_at(segment, FILL), 0);
        memory.store(self.partition.time_at(segment), self.now);
        fence(Ordering::Release);
        memory.store(self.partition.note_at(segment, STATE), queue << 56 | (class as u64) << 48);
        memory.store(self.active_at(queue, class), segment as u64 + 1);
        self.has_begun = true;
        Some(Room { segment, end: 0 })
    }

    /// From here on no slot means this segment any more, and no reader takes what it has copied from it for whole.
    fn renew(&mut self, segment: usize) {
        let word = self.partition.segment_word(segment);
        let times = (word.load(Ordering::Relaxed) & 0xffff_ffff).wrapping_add(1) & 0xffff_ffff;
        word.store((self.moment.cleared & 0xffff_ffff) << 32 | times, Ordering::Release);
        // Nothing of what is written into it may be seen before the word is.
        fence(Ordering::SeqCst);
        self.sweep(size(times));
    }

    /// Empties slots of the next part of the index that mean nothing any more, after a segment was used so often. A process
    /// killed before the place is noted leaves the same part to the next.
    fn sweep(&mut self, times: usize) {
        let buckets = self.partition.grown().buckets(self.partition.places.geometry.buckets);
        let each = (SWEEPS / buckets).clamp(1, SWEEP_EACH);
        if !times.is_multiple_of(each) {
            return;
        }
        let part = (buckets * each).div_ceil(SWEEPS);
        let records = part / BUCKETS_FOR_RECORD;
        self.left.spend((records, 0, 0));
        let first = self.swept().min(buckets);
        let end = first.saturating_add(part).min(buckets);
        #[cfg(test)]
        crate::upkeep::tests::note(records, 0);
        for bucket in first..end {
            let at = self.partition.any_bucket_at(bucket).and_then(|at| self.of_index(at));
            let Some(at) = at else { continue };
            for word in self.partition.memory.line(at) {
                let slot = Slot(word.load(Ordering::Relaxed));
                if slot != Slot::EMPTY
                    && self.partition.current_segment_of(slot, self.moment).is_none()
                {
                    word.store(Slot::EMPTY.0, Ordering::Relaxed);
                }
            }
        }
        self.set_swept(if end == buckets { 0 } else { end });
    }

    /// Segments that nobody uses.
    pub(crate) fn free(&self) -> impl Iterator<Item = usize> {
        (0..self.geometry_segments()).filter(|segment| self.state(*segment).0 == FREE)
    }

    /// Gives a few segments back of which nothing can be read any more: all was deleted, has expired or was cleared.
    pub(crate) fn give_back(&mut self) -> bool {
        let (mut given, of_index) = (0, self.partition.segments_of_index());
        for segment in 0..self.geometry_segments() {
            let queue = self.state(segment).0;
            if queue == FREE || queue == INDEX && of_index.contains(&segment) {
                continue;
            }
            let (end, alive) = self.fill(segment);
            let latest = self.partition.memory.load(self.partition.note_at(segment, LATEST));
            let has_expired = end > 0 && latest != FOREVER && latest <= self.now;
            let is_dead = alive == 0 && !self.is_active(segment);
            if has_expired || is_dead || self.is_cleared(segment) {
                if has_expired {
                    self.count(Count::Expired, alive.saturating_sub(self.alive(segment).0));
                }
                self.set_free(segment);
                given += 1;
                if given == GIVEN_AT_ONCE {
                    break;
                }
            }
        }
        self.left.spend((given * RECORDS_FOR_GIVEN, 0, 0));
        given > 0
    }

    pub(crate) fn set_free(&mut self, segment: usize) {
        self.forget_victim(segment);
        let memory = self.partition.memory;
        let (_, alive) = self.fill(segment);
        let (others, bytes) = self.alive(segment);
        let state = self.partition.note_at(segment, STATE);
        self.uncount(Count::Items, alive.saturating_sub(others));
        self.uncount(Count::Bytes, bytes);
        self.renew(segment);
        #[cfg(test)]
        crate::upkeep::tests::note(RECORDS_FOR_GIVEN, 0);
        memory.store(state, FREE << 56);
        // A process killed in between leaves no segment that is written from its beginning again in the same life.
        fence(Ordering::Release);
        memory.store(self.partition.note_at(segment, FILL), 0);
    }

    pub(crate) fn is_active(&self, segment: usize) -> bool {
        let (queue, class) = self.state(segment);
        let active = self.active_at(queue, class);
        self.partition.memory.load(active) == segment as u64 + 1
    }

    fn is_cleared(&self, segment: usize) -> bool {
        let word = self.partition.segment_word(segment).load(Ordering::Relaxed);
        word >> 32 != self.moment.cleared & 0xffff_ffff
    }

    pub(crate) fn geometry_segments(&self) -> usize {
        self.partition.places.geometry.segments
    }

    /// Chooses the segment that is emptied next; `false` where others were given back instead, and `None` where there is none.
    pub(crate) fn choose(&mut self) -> Option<bool> {
        if self.give_back() {
            return Some(false);
        }
        self.fill_main();
        let (vain, vain_of_dead) = self.vain();
        let dead = if vain_of_dead < VAIN_OF_DEAD { self.mostly_dead() } else { None };
        let cleared = || self.of_before_clear().filter(|_| vain_of_dead < VAIN_OF_CLEARED);
        let most = self.geometry_segments() as u64;
        let newest = || {
            let oldest = self.oldest_of(SMALL, false).filter(|_| vain < most + VAIN_OF_NEW);
            oldest.filter(|segment| !self.large().contains(&self.order(*segment)))
        };
        let (segment, keeps) = if self.free().next().is_none() {
            // What is written anew has no place.
            (self.least_used()?, Keeps::Nothing)
        } else if let Some(segment) = dead {
            (segment, Keeps::All)
        } else if let Some(segment) = cleared() {
            (segment, Keeps::InPlace)
        } else if vain < most {
            (self.oldest()?, Keeps::Used)
        } else if let Some(segment) = newest() {
            (segment, Keeps::Used)
        } else {
            (self.oldest()?, Keeps::Nothing)
        };
        let is_dead = u64::from(matches!(keeps, Keeps::All | Keeps::InPlace));
        self.set_vain(vain + 1 - is_dead, vain_of_dead + is_dead);
        if self.is_active(segment) {
            let (queue, class) = self.state(segment);
            self.partition.memory.store(self.active_at(queue, class), 0);
        }
        self.set_victim(Victim { segment, keeps, at: 0 });
        Some(true)
    }

    /// Where nothing is in the main queue yet, all but the share of the small one goes there as it is: what came first stays
    /// until something better comes. In a loop over more keys than fit, that is as good as any of them.
    fn fill_main(&self) {
        let of =
            |queue: u64| (0..self.geometry_segments()).filter(move |s| self.state(*s).0 == queue);
        if of(MAIN).next().is_some() {
            return;
        }
        let large = self.large();
        let is_of_large = |segment: usize| large.contains(&self.order(segment));
        let small = of(SMALL).filter(|segment| !self.is_active(*segment) && !is_of_large(*segment));
        let mut small: Vec<usize> = small.collect();
        small.sort_by_key(|segment| self.order(*segment));
        let stay = self.geometry_segments() / SMALL_SHARE;
        small.truncate(small.len().saturating_sub(stay));
        for segment in small {
            let at = self.partition.note_at(segment, STATE);
            let state = self.partition.memory.load(at);
            self.partition.memory.store(at, state << 8 >> 8 | MAIN << 56);
        }
    }

    /// The segment of which the least is alive, if that is little enough.
    fn mostly_dead(&self) -> Option<usize> {
        let used = (0..self.geometry_segments())
            .filter(|segment| matches!(self.state(*segment).0, SMALL | MAIN))
            .filter(|segment| !self.is_active(*segment));
        let alive = |segment: usize| {
            let (records, (_, bytes)) = (size(self.fill(segment).1), self.alive(segment));
            (size(bytes) + records * BESIDE, records)
        };
        let (segment, (bytes, records)) =
            used.map(|segment| (segment, alive(segment))).min_by_key(|(_, (bytes, _))| *bytes)?;
        let is_large = bytes > records * LARGE;
        let most = if is_large { MOSTLY_DEAD_IF_LARGE } else { MOSTLY_DEAD };
        (bytes * 100 <= self.partition.places.geometry.segment_len * most).then_some(segment)
    }

    /// The oldest segment that may hold entries of a namespace from before it was cleared.
    fn of_before_clear(&self) -> Option<usize> {
        let load = |at| self.partition.memory.load(self.partition.base + at);
        let (purged, before) = (load(PURGED), load(CLEARED_BEFORE));
        let may_hold = |order: u64| purged < order && order <= before;
        let of = (0..self.geometry_segments())
            .filter(|segment| matches!(self.state(*segment).0, SMALL | MAIN))
            .filter(|segment| may_hold(self.order(*segment)) && !self.is_active(*segment));
        of.min_by_key(|segment| self.order(*segment))
    }

    /// The records of cleared namespaces are gone from a segment. Where another namespace was cleared meanwhile, older segments
    /// may hold some of its entries, and nothing is noted.
    pub(crate) fn note_purged(&self, segment: usize) {
        if self.of_before_clear() == Some(segment) {
            self.partition.memory.store(self.partition.base + PURGED, self.order(segment));
        }
        self.forget_victim(segment);
    }

    /// The oldest segment of the small queue where that has more than its share, otherwise of the main one.
    fn oldest(&self) -> Option<usize> {
        let first = if self.is_small_full() { SMALL } else { MAIN };
        let second = if first == SMALL { MAIN } else { SMALL };
        // Those that are being written last of all.
        self.oldest_of(first, false)
            .or_else(|| self.oldest_of(second, false))
            .or_else(|| self.oldest_of(first, true))
            .or_else(|| self.oldest_of(second, true))
    }

    /// The oldest segment of a queue, of those that are being written or of the others.
    fn oldest_of(&self, queue: u64, is_active: bool) -> Option<usize> {
        let of = (0..self.geometry_segments())
            .filter(|s| self.state(*s).0 == queue && self.is_active(*s) == is_active);
        of.min_by_key(|segment| self.order(*segment))
    }

    fn order(&self, segment: usize) -> u64 {
        self.partition.memory.load(self.partition.note_at(segment, ORDER))
    }

    /// The segment of which a few records were used least, of some segments: as many as one hold of the lock has room for. The
    /// large value that was stored last goes last.
    fn least_used(&mut self) -> Option<usize> {
        let all = self.geometry_segments();
        let begun = size(self.partition.memory.load(Count::Begun.at(self.partition.base)));
        let (large, mut least) = (self.large(), None);
        let some = (0..all).step_by(all.div_ceil(SAMPLED_SEGMENTS));
        for segment in some.map(|segment| (segment + begun % all) % all) {
            if !matches!(self.state(segment).0, SMALL | MAIN) || self.is_active(segment) {
                continue;
            }
            let (uses, order) = (self.uses_in(segment, SAMPLED_RECORDS), self.order(segment));
            let is_last = large.contains(&order) && self.state(segment).0 == SMALL;
            let rank = (is_last, uses, order);
            if least.is_none_or(|(before, _)| rank < before) {
                least = Some((rank, segment));
            }
            if self.left.is_done() {
                break;
            }
        }
        least.map(|(_, segment)| segment)
    }

    /// Whether an entry may go to the main queue that was evicted not long ago.
    pub(crate) fn has_main_room(&self) -> bool {
        let small = || (0..self.geometry_segments()).filter(|s| self.state(*s).0 == SMALL);
        !self.is_main_in_use() || small().nth(FEWEST_SMALL).is_some()
    }

    /// Whether the small queue has more than its share, so that its oldest segment is emptied. A large value is to have its
    /// chance to be read: as long as that is in a segment of the large value which was stored last, only those behind it count.
    fn is_small_full(&self) -> bool {
        let all = self.geometry_segments();
        let orders =
            || (0..all).filter(|s| self.state(*s).0 == SMALL).map(|segment| self.order(segment));
        let large = self.large();
        let is_of_large = orders().min().is_some_and(|oldest| large.contains(&oldest));
        let counted = orders().filter(|order| !is_of_large || order > large.end()).count();
        if self.is_main_in_use() {
            let begun = self.partition.memory.load(Count::Begun.at(self.partition.base));
            return counted >= FEWEST_SMALL && !begun.is_multiple_of(LOOK_AT_MAIN);
        }
        counted * SMALL_SHARE > all
    }
}
