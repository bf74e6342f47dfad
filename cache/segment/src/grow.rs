//! The index grows as entries come. One bucket after the other is split in two, until all are (linear hashing, Litwin 1980).
//! The second halves lie in segments that are given to the index, from the last segment on.
//!
//! The next bit of a slot's tag says which half the slot belongs to, so no record is read. The second half of bucket `n` of
//! `all` becomes bucket `n + all`. The new bucket is filled first. Then the word that says how far the index has grown is
//! stored. Then the slots are removed from the old bucket. A process killed in between leaves slots in a bucket in which no
//! reader looks for them.

use std::sync::atomic::Ordering;

use crate::free_space::GIVEN_AT_ONCE;
use crate::grown::{Grown, MOST_DOUBLINGS};
use crate::layout::{BUCKET, BUCKET_SLOTS, GROWTH, Geometry};
use crate::locked::Locked;
use crate::memory::{AtomicU64, fence, size};
use crate::partition::{FILL, FREE, INDEX, Partition, STATE};
use crate::slot::{Slot, exchange};
use crate::tally::Count;
use crate::upkeep::{KEPT, KEPT_WHEN_IDLE};

/// From this part of its slots on, in percent, the index is doubled. A new entry then finds both its buckets full once in a
/// thousand times.
const ROOMY: usize = 70;

/// The number of buckets that are split with each set, until all are. In between, some buckets have twice the entries of
/// others, so a doubling takes only an eighth as many sets as there are buckets.
const SPLITS: usize = 8;

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
        if grown == Grown::NOT {
            return Some(self.index() + bucket * BUCKET);
        }
        let (first, doublings) = (self.places.geometry.buckets, grown.doublings());
        let part = |depth: u32| bucket + first * (size(tag) & ((1 << depth) - 1));
        let number = part(doublings);
        let is_split = number < grown.split();
        self.any_bucket_at(if is_split { part(doublings + 1) } else { number })
    }

    /// The offset of any bucket, original or added by growth.
    #[inline]
    pub(crate) fn any_bucket_at(&self, number: usize) -> Option<usize> {
        match number.checked_sub(self.places.geometry.buckets) {
            None => Some(self.index() + number * BUCKET),
            Some(number) => self.grown_at(number),
        }
    }

    /// The offset of a bucket by which the index has grown. The growth fills the last segment from its end, then the segment
    /// before it, and so on.
    #[inline]
    fn grown_at(&self, number: usize) -> Option<usize> {
        let geometry = &self.places.geometry;
        let (behind, all) = ((number + 1) * BUCKET, geometry.segments * geometry.segment_len);
        (behind <= all).then(|| self.start_of(geometry.segments) - behind)
    }

    /// The first of the segments that the index has grown into; all behind it belong to the index, too.
    pub(crate) fn first_of_index(&self) -> usize {
        let geometry = &self.places.geometry;
        let grown = self.buckets() - geometry.buckets;
        geometry.segments.saturating_sub((grown * BUCKET).div_ceil(geometry.segment_len))
    }
}

impl Locked<'_> {
    /// Splits a few buckets, if entries take too many slots.
    pub(crate) fn grow(&mut self) {
        for _ in 0..SPLITS {
            if self.left.is_done() || !self.has_to_grow() || !self.split() {
                return;
            }
        }
    }

    /// Splits as many buckets as this hold of the lock allows, for an entry whose buckets are full; returns whether one was
    /// split. A full region evicts entries in any case, so its index grows only if entries take too many slots.
    #[cold]
    pub(crate) fn grow_for_one(&mut self) -> bool {
        let has_room = self.free().nth(KEPT_WHEN_IDLE + GIVEN_AT_ONCE).is_some();
        let mut has_grown = false;
        while !self.left.is_done() && (has_room || self.has_to_grow()) && self.split() {
            has_grown = true;
        }
        has_grown
    }

    /// Whether buckets are to be split. A doubling that has begun goes on to its end.
    fn has_to_grow(&self) -> bool {
        let slots = self.partition.buckets() * BUCKET_SLOTS;
        // The counter of a damaged file may be any number.
        let is_too_many = |records: usize| records.saturating_mul(100) >= slots * ROOMY;
        // The counter has entries of cleared segments, too, and is read first because that costs less.
        let counted = self.partition.memory.load(Count::Items.at(self.partition.base));
        let present = (0..self.geometry_segments()).filter(|segment| !self.is_cleared(*segment));
        let alive = || present.map(|segment| size(self.fill(segment).1)).sum();
        self.partition.grown().is_doubling() || is_too_many(size(counted)) && is_too_many(alive())
    }

    /// Splits the next bucket; `false` where there is no segment for it.
    pub(crate) fn split(&mut self) -> bool {
        let (partition, first) = (self.partition, self.partition.places.geometry.buckets);
        let grown = partition.grown();
        let (doublings, split) = (grown.doublings(), grown.split());
        if doublings == MOST_DOUBLINGS || split >= first << doublings {
            return false;
        }
        // A doubling is not begun if the index may not take the room for all of it.
        if split == 0 && (first << (doublings + 1)) - first > self.most_grown() {
            return false;
        }
        let number = (first << doublings) - first + split;
        let there = partition.grown_at(number).and_then(|at| self.of_index(at));
        let Some(new) = there.or_else(|| self.extend(number)) else { return false };
        let old = partition.any_bucket_at(split).and_then(|at| self.of_index(at));
        let Some(old) = old else { return false };
        let (old, new) = (partition.memory.line(old), partition.memory.line(new));
        let (all, wanted) = ((2_u64 << doublings) - 1, ((split / first) | (1 << doublings)) as u64);
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
        self.left.spend(1, 0, 0);
        #[cfg(test)]
        crate::work::counted::note(1, 0);
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

    /// The offset of a bucket, if it is no place of records: a damaged word may tell of a growth that never was.
    pub(crate) fn of_index(&self, at: usize) -> Option<usize> {
        self.partition.is_index(at).then_some(at)
    }

    /// The most buckets by which the index may grow.
    fn most_grown(&self) -> usize {
        let geometry = &self.partition.places.geometry;
        let (share, of) = Geometry::INDEX_SHARE;
        geometry.segments * share / of * geometry.segment_len / BUCKET
    }

    /// The segment that the index takes next, while it is doubled: new records go to others, if others are free.
    pub(crate) fn next_of_index(&self) -> Option<usize> {
        let is_doubling = self.partition.grown().is_doubling();
        is_doubling.then(|| self.partition.first_of_index().checked_sub(1))?
    }

    /// Gives the segment of a bucket to the index, which is the last one that holds records; returns the bucket's offset.
    fn extend(&mut self, number: usize) -> Option<usize> {
        // Records that are written anew need a free segment first.
        if number >= self.most_grown() || self.free().nth(KEPT - 1).is_none() {
            return None;
        }
        let geometry = self.partition.places.geometry;
        let place = (number * BUCKET) >> geometry.segment_len.trailing_zeros();
        let segment = geometry.segments.checked_sub(1 + place)?;
        if self.state(segment).0 != FREE {
            self.move_out_of(segment);
            return None;
        }
        let memory = self.partition.memory;
        memory.store(self.partition.note_at(segment, FILL), 0);
        // A process killed after this leaves a segment that is given back, or taken when the index grows again.
        memory.store(self.partition.note_at(segment, STATE), INDEX << 56);
        self.partition.grown_at(number)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
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

    /// A hash whose first bucket has this number, and the second has not, and whose slot the first split of it moves.
    fn moved_from(cache: &Cache, bucket: usize) -> u64 {
        let is_it = |hash: &u64| {
            let numbers = cache.partition(0).numbers_of(*hash);
            numbers[0] == bucket && numbers[1] != bucket && Slot::tag_of(*hash) & 1 == 1
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

    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn more_entries_than_two_buckets_have_slots_are_kept_while_there_is_room() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        let numbers_of = |key: &[u8]| cache.partition(0).numbers_of(cache.places.hash(key));
        // One hold of a lock splits more buckets than lie before these.
        let is_near = |number: &usize| *number < 100;
        let mut pairs = (0_u64..).map(|key| numbers_of(&key.to_le_bytes()));
        let wanted = pairs.find(|pair| pair.iter().all(is_near)).unwrap();
        let keys = (0_u64..).map(u64::to_le_bytes).filter(|key| numbers_of(key) == wanted);
        let keys: Vec<_> = keys.take(2 * BUCKET_SLOTS + 2).collect();
        for key in &keys {
            session.set(key, b"value", &Set::default()).unwrap();
        }
        let mut is_there = |key: &&[u8; 8]| session.get(&key[..], &mut Vec::new()).is_some();
        assert_eq!(keys.iter().filter(&mut is_there).count(), keys.len());
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn the_index_of_a_full_region_does_not_grow_for_ever() {
        for (item, len) in [(112, 16), (112, 100), (100, 16), (200, 16), (80, 12)] {
            let cache = Cache::private(&Options { item, ..Options::of_size(4 << 20) }).unwrap();
            let mut session = cache.session();
            let mut rounds = (0..4_u32).map(|round| {
                for number in 0..120_000 {
                    let key = (120_000 * round + number).to_le_bytes();
                    session.set(&key, &vec![7; len], &Set::default()).unwrap();
                }
                cache.partition(0).grown()
            });
            let first = rounds.next().unwrap();
            assert!(first.0 > 0 && !first.is_doubling(), "{first:?}");
            assert!(rounds.all(|grown| grown == first), "{item}, {len}: {first:?} was not the end");
            let stats = cache.stats();
            assert!(stats.evicted_by_index * 200 < stats.sets, "{stats:?}");
        }
    }

    /// A damaged file may tell of such a growth.
    #[test]
    fn segments_of_entries_in_a_growth_that_never_was_are_left_alone() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        for number in 0..20_000_u32 {
            session.set(&number.to_le_bytes(), &[7; 100], &Set::default()).unwrap();
        }
        let partition = cache.partition(0);
        let whole = |cache: &Cache| {
            let geometry = cache.places.geometry;
            let of = |segment| partition.start_of(segment)..partition.end_of(segment);
            let words = (0..geometry.segments).flat_map(|segment| of(segment).step_by(8));
            words.map(|at| cache.memory().load(at)).collect::<Vec<_>>()
        };
        let hash = cache.places.hash(b"key");
        let growth = partition.memory.word(partition.base + GROWTH);
        growth.store(Grown::of(MOST_DOUBLINGS - 1, 1).0, Ordering::Release);
        let mut locked = session.lock(hash).unwrap();
        let before = whole(&cache);
        locked.split();
        assert!(before == whole(&cache));
    }
}
