//! The index of a partition: the slots of a key, and how one slot replaces another.

use std::sync::atomic::Ordering;

use crate::grown::Grown;
use crate::layout::BUCKET_SLOTS;
use crate::memory::{AtomicU64, LINE, size};
use crate::partition::Partition;
use crate::slot::Slot;
use crate::tally::Count;

/// The number of a record's lines that are prefetched. If the record has more, the processor itself detects the
/// sequence.
const AHEAD: usize = 3;

/// Four ghosts are kept for this many entries. With more ghosts, every key that was ever evicted would count as used.
const ITEMS_FOR_GHOSTS: u64 = 16;

impl<'c> Partition<'c> {
    /// The slots that a key's slot may be, by their tags.
    ///
    /// All tags are compared before any slot is followed, because the processor cannot predict which slot
    /// it is.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a part of every hit, and most of it sixteen comparisons"
    )]
    pub(crate) fn candidates(&self, hash: u64) -> impl Iterator<Item = (&'c AtomicU64, Slot)> {
        self.candidates_at(hash, self.grown())
    }

    /// The same, for a given growth of the index.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as above")]
    pub(crate) fn candidates_at(
        &self,
        hash: u64,
        grown: Grown,
    ) -> impl Iterator<Item = (&'c AtomicU64, Slot)> {
        let tag = Slot::tag_of(hash);
        let [first, second] = self.buckets_at(hash, grown);
        let lines = [self.memory.line(first), self.memory.line(second)];
        let mut alike = 0_usize;
        for (line, words) in lines.iter().enumerate() {
            for (i, word) in words.iter().enumerate() {
                let is_alike = Slot(word.load(Ordering::Relaxed)).tag() == tag;
                alike |= usize::from(is_alike) << (line * BUCKET_SLOTS + i);
            }
        }
        std::iter::from_fn(move || {
            loop {
                let i = alike.trailing_zeros() as usize;
                let word = &lines.get(i / BUCKET_SLOTS)?[i % BUCKET_SLOTS];
                alike &= alike - 1;
                let slot = Slot(word.load(Ordering::Acquire));
                if slot.tag() == tag && !slot.is_empty() {
                    return Some((word, slot));
                }
            }
        })
    }

    /// The offsets of the two buckets that a key's slot may be in.
    #[inline]
    pub(crate) fn buckets_of(&self, hash: u64) -> [usize; 2] {
        self.buckets_at(hash, self.grown())
    }

    #[inline]
    fn buckets_at(&self, hash: u64, grown: Grown) -> [usize; 2] {
        let [first, second] = self.numbers_of(hash);
        let at = |number| self.bucket_at(number, Slot::tag_of(hash), grown).unwrap_or(self.index());
        [at(first), at(second)]
    }

    /// The numbers of the two buckets that a key's slot may be in.
    #[inline]
    pub(crate) fn numbers_of(&self, hash: u64) -> [usize; 2] {
        let buckets = self.places.geometry.buckets as u64;
        // The first number uses the hash's lower half, and the second a mix of it. So keys which share one bucket
        // seldom share both.
        let low = hash & 0xffff_ffff;
        let other = hash.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 32;
        [size((low * buckets) >> 32), size((other * buckets) >> 32)]
    }

    /// The offset of the index.
    pub(crate) fn index(&self) -> usize {
        self.base + self.places.index
    }

    /// The offset of the word of ghosts for a key.
    pub(crate) fn ghosts_of(&self, hash: u64) -> usize {
        let all = self.places.geometry.ghosts as u64 / 4;
        let items = self.memory.load(Count::Items.at(self.base));
        let words = (items / ITEMS_FOR_GHOSTS).min(all).next_power_of_two().min(all);
        let word = ((hash & 0xffff_ffff) * words) >> 32;
        self.base + self.places.ghosts + size(word) * 8
    }

    /// Prefetches the lines of the index that may have a key's slot.
    #[inline]
    pub(crate) fn prefetch_index(&self, hash: u64) {
        for bucket in self.buckets_of(hash) {
            self.memory.prefetch(bucket);
        }
    }

    /// Prefetches the lines that a set reads.
    #[inline]
    pub(crate) fn prefetch_to_set(&self, hash: u64) {
        self.prefetch_index(hash);
        self.memory.prefetch(self.ghosts_of(hash));
    }

    /// Prefetches the first lines of the record that a key's slot points to.
    #[inline]
    pub(crate) fn prefetch_record(&self, hash: u64) {
        for (_, slot) in self.candidates(hash) {
            for line in 0..AHEAD {
                self.memory.prefetch(self.base + slot.at() + line * LINE);
            }
        }
    }
}
