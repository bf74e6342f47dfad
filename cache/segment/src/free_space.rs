//! Free space for entries: segments that are begun, given back, and chosen to be emptied.
//!
//! Dead records make room before live ones do. A segment with enough dead records is emptied first, and its live records are
//! written anew. Entries that are used too little are dropped only where every segment is mostly alive. One more segment than
//! needed is kept free, so that records can be written anew.

use std::sync::atomic::Ordering;

use crate::locked::Locked;
use crate::memory::{fence, size};
use crate::partition::{FILL, FREE, INDEX, LATEST, MAIN, ORDER, SMALL, STATE};
use crate::record::FOREVER;
use crate::slot::Slot;
use crate::tally::Count;
use crate::upkeep::{CLEARED_BEFORE, Keeps, NEEDED, PURGED, Victim, Worked};
use crate::work::Work;

/// The small queue has one of this many segments.
const SMALL_SHARE: usize = 10;

/// When as many segments as there are were emptied without a gain, all old entries are used often. Then new entries go
/// first. After this many more segments, entries go although they are used.
const VAIN_OF_NEW: u64 = 4;
/// The most segments of the small queue while nearly all of the main queue is in use. Each time that `LOOK_AT_MAIN`
/// segments were begun, one of the main queue is emptied all the same, to see whether that has changed.
const FEWEST_SMALL: usize = 2;
const LOOK_AT_MAIN: u64 = 8;

/// After this many segments without a gain from dead records, live records make room: the notes on dead
/// records are wrong.
const VAIN_OF_DEAD: u64 = 16;
/// After this many segments from before a clear of a namespace, others are chosen by the usual rules, so that a set does
/// not wait for all of them.
const VAIN_OF_CLEARED: u64 = 3;

/// The most live bytes, in percent, of a segment that is emptied for its dead records. A higher limit would copy many bytes
/// for little room. Large records cost less to copy, by the byte.
const MOSTLY_DEAD: usize = 70;
const MOSTLY_DEAD_IF_LARGE: usize = 85;
const LARGE: usize = 2048;

/// Header and padding of a record, on average, with the version of a moved record.
const BESIDE: usize = 26;

/// The sample for the least used segment: this many segments, and this many records of each. The next sample takes
/// others.
const SAMPLED_SEGMENTS: usize = 32;
const SAMPLED_RECORDS: usize = 4;

/// The most segments that are given back under one hold of a lock. Each counts as much work as
/// `RECORDS_FOR_GIVEN` records.
pub(crate) const GIVEN_AT_ONCE: usize = 8;
const RECORDS_FOR_GIVEN: usize = 4;

/// A slot that outlived its record would look right again after 2^16 more lives of its segment. So a part of the index is
/// swept with each life of a segment. All of it is swept in a quarter of that, in the smallest possible pieces.
const SWEEPS: usize = 1 << 14;
/// At least one bucket is swept each time that a segment has had this many lives.
const SWEEP_EACH: usize = 16;
/// This many buckets count as much work as one record.
const BUCKETS_FOR_RECORD: usize = 8;

/// The place of the next record: a segment with room for it, and the end of the segment's records. The end was checked once
/// and is not read again, because another process may write into the region.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WritePlace {
    pub(crate) segment: usize,
    pub(crate) end: usize,
}

/// The reason why there is no room for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoSpace {
    /// More room must be made, under another hold of the lock.
    Yet,
    /// No segment can be emptied.
    Ever,
}

impl Locked<'_> {
    /// Another active segment of a queue and class, where the present one has no room for this many bytes.
    pub(crate) fn make_room(
        &mut self,
        queue: u64,
        class: usize,
        bytes: usize,
    ) -> Result<WritePlace, NoSpace> {
        if self.free().nth(NEEDED - 1).is_none() {
            match self.work(&mut Work::most(), NEEDED) {
                Worked::Enough => {}
                Worked::More => return Err(NoSpace::Yet),
                Worked::Never => return Err(NoSpace::Ever),
            }
        }
        // The records that were written anew may have begun a segment of just this kind.
        let there = self.active(queue, class, bytes);
        let place = there.or_else(|| self.begin(queue, class)).ok_or(NoSpace::Ever)?;
        self.note_begun();
        Ok(place)
    }

    /// The active segment of a queue and class, if it has room for this many bytes.
    pub(crate) fn active(&self, queue: u64, class: usize, bytes: usize) -> Option<WritePlace> {
        let noted = size(self.partition.memory.load(self.active_at(queue, class)));
        let segment = noted.checked_sub(1).filter(|s| *s < self.geometry_segments())?;
        let is_it = self.state(segment) == (queue, class) && !self.is_cleared(segment);
        let (end, _) = self.fill(segment);
        let is_it = is_it && end.is_multiple_of(8);
        let has_room = is_it && end + bytes <= self.partition.places.geometry.segment_len;
        has_room.then_some(WritePlace { segment, end })
    }

    /// Begins a free segment, which is active from now on.
    pub(crate) fn begin(&mut self, queue: u64, class: usize) -> Option<WritePlace> {
        let kept = self.next_of_index();
        let segment = self.free().find(|free| Some(*free) != kept).or(self.free().next())?;
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
        Some(WritePlace { segment, end: 0 })
    }

    /// Ends the segment's life: from here on no slot points into it, and no reader accepts a copy from it.
    fn renew(&mut self, segment: usize) {
        let word = self.partition.segment_word(segment);
        let times = (word.load(Ordering::Relaxed) & 0xffff_ffff).wrapping_add(1) & 0xffff_ffff;
        word.store((self.moment.cleared & 0xffff_ffff) << 32 | times, Ordering::Release);
        // The word must be visible before anything that is written into the segment.
        fence(Ordering::SeqCst);
        self.sweep(size(times));
    }

    /// Empties slots of earlier lives in the next part of the index, after a segment has had this many lives. A process
    /// killed before it notes the place leaves the same part to the next.
    fn sweep(&mut self, times: usize) {
        let buckets = self.partition.buckets();
        let each = (SWEEPS / buckets).clamp(1, SWEEP_EACH);
        if !times.is_multiple_of(each) {
            return;
        }
        let part = (buckets * each).div_ceil(SWEEPS);
        let records = part / BUCKETS_FOR_RECORD;
        self.left.spend(records, 0, 0);
        let first = self.swept().min(buckets);
        let end = first.saturating_add(part).min(buckets);
        #[cfg(test)]
        crate::work::counted::note(records, 0);
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

    /// Free segments.
    pub(crate) fn free(&self) -> impl Iterator<Item = usize> {
        (0..self.geometry_segments()).filter(|segment| self.state(*segment).0 == FREE)
    }

    /// Gives back a few segments without a readable record: all were deleted, have expired or were cleared.
    pub(crate) fn give_back(&mut self) -> bool {
        let (mut given, of_index) = (0, self.partition.first_of_index());
        for segment in 0..self.geometry_segments() {
            let queue = self.state(segment).0;
            if queue == FREE || queue == INDEX && segment >= of_index {
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
        self.left.spend(given * RECORDS_FOR_GIVEN, 0, 0);
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
        crate::work::counted::note(RECORDS_FOR_GIVEN, 0);
        memory.store(state, FREE << 56);
        // Without this fence, a killed process could leave a segment that is written from its beginning again in
        // the same life.
        fence(Ordering::Release);
        memory.store(self.partition.note_at(segment, FILL), 0);
    }

    pub(crate) fn is_active(&self, segment: usize) -> bool {
        let (queue, class) = self.state(segment);
        let active = self.active_at(queue, class);
        self.partition.memory.load(active) == segment as u64 + 1
    }

    pub(crate) fn is_cleared(&self, segment: usize) -> bool {
        let word = self.partition.segment_word(segment).load(Ordering::Relaxed);
        word >> 32 != self.moment.cleared & 0xffff_ffff
    }

    pub(crate) fn geometry_segments(&self) -> usize {
        self.partition.places.geometry.segments
    }

    /// Chooses the next segment to empty. `false` where others were given back instead, and `None` where there is no such
    /// segment.
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
            // There is no place for records that are written anew.
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
        self.begin_to_empty(segment, keeps);
        Some(true)
    }

    fn begin_to_empty(&mut self, segment: usize, keeps: Keeps) {
        if self.is_active(segment) {
            let (queue, class) = self.state(segment);
            self.partition.memory.store(self.active_at(queue, class), 0);
        }
        self.set_victim(Victim { segment, keeps, at: 0 });
    }

    /// Begins to move the records of a segment to others, unless another one is being emptied.
    pub(crate) fn move_out_of(&mut self, segment: usize) {
        if self.victim().is_none() && matches!(self.state(segment).0, SMALL | MAIN) {
            self.begin_to_empty(segment, Keeps::All);
        }
    }

    /// While the main queue is empty, all segments but the small queue's share become the main queue as they are. So the
    /// first entries stay until others are used more. In a loop over more keys than fit, they are as good as any others.
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

    /// The segment with the fewest live bytes, if they are few enough.
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

    /// The oldest segment that may hold entries from before the clear of a namespace.
    fn of_before_clear(&self) -> Option<usize> {
        let load = |at| self.partition.memory.load(self.partition.base + at);
        let (purged, before) = (load(PURGED), load(CLEARED_BEFORE));
        let may_hold = |order: u64| purged < order && order <= before;
        let of = (0..self.geometry_segments())
            .filter(|segment| matches!(self.state(*segment).0, SMALL | MAIN))
            .filter(|segment| may_hold(self.order(*segment)) && !self.is_active(*segment));
        of.min_by_key(|segment| self.order(*segment))
    }

    /// Notes that a segment has no records of cleared namespaces any more. If another namespace was cleared meanwhile, older
    /// segments may hold some of its entries, and nothing is noted.
    pub(crate) fn note_purged(&self, segment: usize) {
        if self.of_before_clear() == Some(segment) {
            self.partition.memory.store(self.partition.base + PURGED, self.order(segment));
        }
        self.forget_victim(segment);
    }

    /// The oldest segment of the small queue where this has more than its share, otherwise of the main
    /// queue.
    fn oldest(&self) -> Option<usize> {
        let first = if self.is_small_full() { SMALL } else { MAIN };
        let second = if first == SMALL { MAIN } else { SMALL };
        // Active segments are the last choice.
        self.oldest_of(first, false)
            .or_else(|| self.oldest_of(second, false))
            .or_else(|| self.oldest_of(first, true))
            .or_else(|| self.oldest_of(second, true))
    }

    /// The oldest segment of a queue, among its active segments or among the others.
    fn oldest_of(&self, queue: u64, is_active: bool) -> Option<usize> {
        let of = (0..self.geometry_segments())
            .filter(|s| self.state(*s).0 == queue && self.is_active(*s) == is_active);
        of.min_by_key(|segment| self.order(*segment))
    }

    fn order(&self, segment: usize) -> u64 {
        self.partition.memory.load(self.partition.note_at(segment, ORDER))
    }

    /// The segment with the least used records, in a sample that one hold of the lock has room for. The segments of the last
    /// large value are sampled only where there are no others: it may still be written, and nobody could read it yet.
    fn least_used(&mut self) -> Option<usize> {
        let used = (0..self.geometry_segments())
            .filter(|segment| matches!(self.state(*segment).0, SMALL | MAIN))
            .filter(|segment| !self.is_active(*segment));
        let large = self.large();
        let is_of_large = |segment: &usize| {
            self.state(*segment).0 == SMALL && large.contains(&self.order(*segment))
        };
        let (of_large, mut from): (Vec<usize>, Vec<usize>) = used.partition(is_of_large);
        if from.is_empty() {
            from = of_large;
        }
        let begun = size(self.partition.memory.load(Count::Begun.at(self.partition.base)));
        let first = begun % from.len().max(1);
        from.rotate_left(first);
        let mut least = None;
        for segment in from.iter().copied().step_by(from.len().div_ceil(SAMPLED_SEGMENTS).max(1)) {
            let rank = (self.uses_in(segment, SAMPLED_RECORDS), self.order(segment));
            if least.is_none_or(|(before, _)| rank < before) {
                least = Some((rank, segment));
            }
            if self.left.is_done() {
                break;
            }
        }
        least.map(|(_, segment)| segment)
    }

    /// Whether an entry that was evicted not long ago may go to the main queue.
    pub(crate) fn has_main_room(&self) -> bool {
        let small = || (0..self.geometry_segments()).filter(|s| self.state(*s).0 == SMALL);
        !self.is_main_in_use() || small().nth(FEWEST_SMALL).is_some()
    }

    /// Whether the small queue has more than its share, so that its oldest segment is emptied. A large value needs a chance to
    /// be read. So while the oldest segment belongs to the last large value, only the segments behind that value count.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, Options, Set};

    /// The work that a hold of the lock has left may be a look at one segment.
    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn no_look_is_so_short_that_it_takes_the_large_value_being_written() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        for number in 0..3000_u32 {
            session.set(&number.to_le_bytes(), &[7; 300], &Set::default()).unwrap();
            session.get(&number.to_le_bytes(), &mut Vec::new());
        }
        session.set(b"large", &vec![7; cache.max_value()], &Set::default()).unwrap();
        let mut locked = session.lock(0).unwrap();
        let large = locked.large();
        let of_large = |locked: &Locked<'_>, segment: &usize| {
            locked.state(*segment).0 == SMALL && large.contains(&locked.order(*segment))
        };
        let segments = (0..locked.geometry_segments()).filter(|segment| of_large(&locked, segment));
        assert!(segments.count() > 10, "{large:?}");
        let begun = Count::Begun.at(locked.partition.base);
        for number in 0..2 * locked.geometry_segments() as u64 {
            locked.partition.memory.store(begun, number);
            locked.left = Work::few();
            let segment = locked.least_used().unwrap();
            assert!(!of_large(&locked, &segment), "{segment}, after {number} begins");
        }
    }
}
