//! The index grows where entries are smaller than expected. One bucket after the other is split in two, and the second half
//! lies in a segment that is given to the index (linear hashing, Litwin 1980).
//!
//! The next bit of a slot's tag says which half the slot belongs to, so no record is read. The new bucket is filled first.
//! Then the word that says how far the index has grown is stored. Then the slots are removed from the old bucket. A process
//! killed in between leaves slots in a bucket in which no reader looks for them.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use crate::index::exchange;
use crate::layout::{BUCKET, BUCKET_SLOTS, GROWTH, Geometry};
use crate::locked::{INDEX, Locked};
use crate::memory::{AtomicU64, fence, size};
use crate::partition::{FILL, Partition, STATE};
use crate::slot::Slot;
use crate::upkeep::KEPT;

/// So many bits of a tag choose a bucket at most: the others are left to tell keys apart.
const MOST_DOUBLINGS: u32 = 6;

/// The number of buckets that are split when an entry finds its own buckets nearly full.
const SPLITS: usize = 4;

/// The growth of an index: how often each bucket was split, and the number of buckets that were
/// split once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grown(u64);

impl Grown {
    /// The growth by the word of a partition, whatever its content.
    pub(crate) fn of_word(word: u64) -> Self {
        Self(word)
    }

    fn of(doublings: u32, split: usize) -> Self {
        Self(u64::from(doublings) << 48 | split as u64)
    }

    #[inline]
    fn doublings(self) -> u32 {
        u32::try_from(self.0 >> 48).unwrap_or(0).min(MOST_DOUBLINGS)
    }

    #[inline]
    fn split(self) -> usize {
        size(self.0 & 0xffff_ffff_ffff)
    }

    /// The growth after every bucket has been split once more.
    pub(crate) fn next(self) -> Self {
        Self(self.0 | 0xffff_ffff_ffff)
    }

    /// The number of buckets of an index that began with `first`.
    pub(crate) fn buckets(self, first: usize) -> usize {
        (first << self.doublings()) + self.split().min(first << self.doublings())
    }
}

impl Partition<'_> {
    /// The present growth of the index.
    #[inline]
    pub(crate) fn grown(&self) -> Grown {
        Grown(self.memory.word(self.base + GROWTH).load(Ordering::Acquire))
    }

    /// The buckets of the index, with those that it has grown by.
    pub(crate) fn buckets(&self) -> usize {
        self.grown().buckets(self.places.geometry.buckets)
    }

    /// The offset of the bucket in which a slot with this tag is looked up, by the bucket's first number. `None` where the
    /// index has not grown so far.
    #[inline]
    pub(crate) fn bucket_at(&self, bucket: usize, tag: u64, grown: Grown) -> Option<usize> {
        if grown.0 == 0 {
            return Some(self.index() + bucket * BUCKET);
        }
        let (doublings, tag) = (grown.doublings(), size(tag));
        let place = bucket << doublings | tag & ((1 << doublings) - 1);
        let depth = doublings + u32::from(place < grown.split());
        self.half_at(bucket, tag & ((1 << depth) - 1))
    }

    /// The offset of the half of a bucket whose slots' tags end with these bits. The part that the highest bit split off lies
    /// behind all earlier parts.
    fn half_at(&self, bucket: usize, bits: usize) -> Option<usize> {
        let Some(level) = bits.checked_ilog2() else {
            return Some(self.index() + bucket * BUCKET);
        };
        let first = ((1 << level) - 1) * self.places.geometry.buckets;
        self.grown_at(first + (bucket << level | bits & ((1 << level) - 1)))
    }

    /// The offset of a bucket by which the index has grown.
    pub(crate) fn grown_at(&self, number: usize) -> Option<usize> {
        let geometry = &self.places.geometry;
        let at = number * BUCKET;
        let place = at >> geometry.segment_len.trailing_zeros();
        if place >= geometry.segments {
            return None;
        }
        let segment = size(self.memory.load(self.directory_at(place))).checked_sub(1)?;
        let within = at & (geometry.segment_len - 1);
        (segment < geometry.segments).then(|| self.start_of(segment) + within)
    }

    /// The offset of any bucket, original or added by growth.
    pub(crate) fn any_bucket_at(&self, number: usize) -> Option<usize> {
        match number.checked_sub(self.places.geometry.buckets) {
            None => Some(self.index() + number * BUCKET),
            Some(number) => self.grown_at(number),
        }
    }

    /// The segments that the index has grown into.
    pub(crate) fn segments_of_index(&self) -> HashSet<usize> {
        let segment = |place: usize| size(self.memory.load(self.directory_at(place)));
        let places = 0..self.places.geometry.segments;
        places.map_while(|place| segment(place).checked_sub(1)).collect()
    }
}

impl Locked<'_> {
    /// Splits a few buckets, after an entry has found its own buckets nearly full.
    pub(crate) fn grow(&mut self) {
        for _ in 0..SPLITS {
            if !self.split() {
                return;
            }
        }
    }

    /// Splits the next bucket; `false` where there is no segment for it.
    pub(crate) fn split(&mut self) -> bool {
        let (partition, first) = (self.partition, self.partition.places.geometry.buckets);
        let grown = partition.grown();
        let (doublings, split) = (grown.doublings(), grown.split());
        if doublings == MOST_DOUBLINGS || split >= first << doublings {
            return false;
        }
        let number = ((1 << doublings) - 1) * first + split;
        let there = partition.grown_at(number).and_then(|at| self.of_index(at));
        let Some(new) = there.or_else(|| self.extend(number)) else { return false };
        let (bucket, bits) = (split >> doublings, split & ((1 << doublings) - 1));
        let old = partition.half_at(bucket, bits).and_then(|at| self.of_index(at));
        let Some(old) = old else { return false };
        let (old, new) = (partition.memory.line(old), partition.memory.line(new));
        let (all, wanted) = ((1_u64 << (doublings + 1)) - 1, (bits | 1 << doublings) as u64);
        let slot_of = |word: &AtomicU64| Slot(word.load(Ordering::Acquire));
        let mut copies = [Slot::EMPTY; BUCKET_SLOTS];
        for ((from, to), copy) in old.iter().zip(new).zip(&mut copies) {
            let slot = slot_of(from);
            if !slot.is_empty() && slot.tag() & all == wanted {
                *copy = slot;
            }
            to.store(copy.0, Ordering::Relaxed);
        }
        // A delete without the lock empties the old slot and then looks at the new bucket. So either this thread sees that
        // the old slot is empty, or the delete sees the new slot.
        fence(Ordering::SeqCst);
        for (from, to) in old.iter().zip(new) {
            let slot = slot_of(to);
            if !slot.is_empty() && !slot_of(from).is_of(slot) {
                to.store(Slot::EMPTY.0, Ordering::Relaxed);
            }
        }
        #[cfg(test)]
        tests::looked_again(old);
        let is_last = split + 1 == first << doublings;
        let next =
            if is_last { Grown::of(doublings + 1, 0) } else { Grown::of(doublings, split + 1) };
        partition.memory.word(partition.base + GROWTH).store(next.0, Ordering::Release);
        for ((from, to), copy) in old.iter().zip(new).zip(copies) {
            // If the old slot has changed, a delete removed it, and the copy must not bring the entry back.
            if !copy.is_empty() && !exchange(from, copy, Slot::EMPTY) {
                exchange(to, copy, Slot::EMPTY);
            }
        }
        true
    }

    /// The offset of a bucket, if the index has that place: a damaged directory may name a segment of
    /// records.
    pub(crate) fn of_index(&self, at: usize) -> Option<usize> {
        let within = at.checked_sub(self.partition.start_of(0));
        let segment = within.map(|at| at / self.partition.places.geometry.segment_len);
        segment.is_none_or(|segment| self.state(segment).0 == INDEX).then_some(at)
    }

    /// Gives a segment to the index, which begins with the bucket of this number; returns the
    /// bucket's offset.
    fn extend(&mut self, number: usize) -> Option<usize> {
        let geometry = self.partition.places.geometry;
        let place = (number * BUCKET) >> geometry.segment_len.trailing_zeros();
        let (share, of) = Geometry::INDEX_SHARE;
        let is_first = (number * BUCKET).is_multiple_of(geometry.segment_len);
        if !is_first || place >= geometry.segments * share / of {
            return None;
        }
        // Records that are written anew need a free segment first.
        if self.free().nth(KEPT - 1).is_none() {
            if self.victim().is_none() {
                self.choose();
            }
            return None;
        }
        let segment = self.free().next()?;
        let memory = self.partition.memory;
        memory.store(self.partition.note_at(segment, FILL), 0);
        memory.store(self.partition.note_at(segment, STATE), INDEX << 56);
        // A process killed before this leaves a segment that is given back, and never a segment that both the index and
        // records use.
        fence(Ordering::Release);
        memory.store(self.partition.directory_at(place), segment as u64 + 1);
        self.partition.grown_at(number)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::namespace::Space;
    use crate::{Cache, Options, Set};

    thread_local! {
        /// After the splitter's second look at a bucket, the bucket loses its slots.
        static IS_EMPTIED_THEN: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn looked_again(old: &[AtomicU64]) {
        if IS_EMPTIED_THEN.take() {
            for word in old {
                word.store(Slot::EMPTY.0, Ordering::SeqCst);
            }
        }
    }

    /// A hash whose first bucket has this number, and whose slot the first split of it moves.
    fn moved_from(cache: &Cache, bucket: usize) -> u64 {
        let is_it = |hash: &u64| {
            let numbers = cache.partition(0).numbers_of(*hash);
            numbers[0] == bucket && Slot::tag_of(*hash) & 1 == 1
        };
        let mut keys = (0_u64..).map(|key| cache.places.hash(&key.to_ne_bytes()));
        keys.find(is_it).unwrap()
    }

    #[test]
    fn a_slot_that_is_taken_away_during_a_split_does_not_come_back() {
        for is_emptied in [false, true] {
            let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
            let session = cache.session();
            let hash = moved_from(&cache, 0);
            let mut locked = session.lock(hash).unwrap();
            let slot = locked.slot_of(hash, 0, locked.partition.start_of(0), 0);
            let [at, _] = locked.partition.buckets_of(hash);
            locked.partition.memory.line(at)[0].store(slot.0, Ordering::SeqCst);
            IS_EMPTIED_THEN.set(is_emptied);
            assert!(locked.split());
            assert_eq!(locked.partition.candidates(hash).count(), usize::from(!is_emptied));
        }
    }

    /// A damaged file may have such a directory.
    #[test]
    fn a_segment_of_entries_that_the_directory_names_is_left_alone() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        session.set(b"key", b"value", &Set::default()).unwrap();
        let hash = cache.places.hash(b"key");
        let mut locked = session.lock(hash).unwrap();
        let partition = locked.partition;
        let segment = locked.find(hash, b"key", Space::ROOT).unwrap().segment;
        partition.memory.store(partition.directory_at(0), segment as u64 + 1);
        assert!(locked.split());
        let named = partition.memory.load(partition.directory_at(0)) - 1;
        assert_ne!(named, segment as u64);
        assert_eq!(locked.state(usize::try_from(named).unwrap()).0, INDEX);
        drop(locked);
        let mut found = Vec::new();
        assert!(session.get(b"key", &mut found).is_some());
        assert_eq!(found, b"value");
    }
}
