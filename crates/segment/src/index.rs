//! The index of a partition: where the slots of a key are, and how one is put in the place of another.

use std::sync::atomic::Ordering;

use crate::grow::Grown;
use crate::layout::BUCKET_SLOTS;
use crate::memory::{AtomicU64, LINE, fence, size};
use crate::partition::Partition;
use crate::slot::{MOST_USES, Slot};
use crate::tally::Count;

/// So many lines of a record are asked for ahead of time; if it has more, the processor sees by itself where that leads.
const AHEAD: usize = 3;

/// Four ghosts are kept for so many entries that are there: of more of them, all that ever came would be taken for used.
const ITEMS_FOR_GHOSTS: u64 = 16;

impl<'c> Partition<'c> {
    /// The slots that a key's may be, by their tags.
    ///
    /// All tags are looked at before any slot is followed: which one it is the processor cannot foretell.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a part of every hit, and most of it sixteen comparisons"
    )]
    pub(crate) fn candidates(&self, hash: u64) -> impl Iterator<Item = (&'c AtomicU64, Slot)> {
        self.candidates_at(hash, self.grown())
    }

    /// The same in an index that has grown so far.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as above")]
    pub(crate) fn candidates_at(
        &self,
        hash: u64,
        grown: Grown,
    ) -> impl Iterator<Item = (&'c AtomicU64, Slot)> {
        let tag = Slot::tag_of(hash);
        let lines = self.numbers_of(hash).map(|bucket| {
            self.memory.line(self.bucket_at(bucket, tag, grown).unwrap_or(self.index()))
        });
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
        let (tag, grown) = (Slot::tag_of(hash), self.grown());
        self.numbers_of(hash)
            .map(|bucket| self.bucket_at(bucket, tag, grown).unwrap_or(self.index()))
    }

    /// The numbers of the two buckets that a key's slot may be in.
    #[inline]
    pub(crate) fn numbers_of(&self, hash: u64) -> [usize; 2] {
        let buckets = self.places.geometry.buckets as u64;
        // The first by the lower half; the second by a mix of it, so that keys which share one seldom share both.
        let low = hash & 0xffff_ffff;
        let other = hash.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 32;
        [low, other].map(|bits| size((bits * buckets) >> 32))
    }

    /// Where the index begins.
    pub(crate) fn index(&self) -> usize {
        self.base + self.places.index
    }

    /// The word of ghosts that a key's would be in.
    pub(crate) fn ghosts_of(&self, hash: u64) -> usize {
        let all = self.places.geometry.ghosts as u64 / 4;
        let items = self.memory.load(Count::Items.at(self.base));
        let words = (items / ITEMS_FOR_GHOSTS).min(all).next_power_of_two().min(all);
        let word = ((hash & 0xffff_ffff) * words) >> 32;
        self.base + self.places.ghosts + size(word) * 8
    }

    /// Asks for the lines of the index that a key's entry may be in.
    #[inline]
    pub(crate) fn prefetch_index(&self, hash: u64) {
        for bucket in self.buckets_of(hash) {
            self.memory.prefetch(bucket);
        }
    }

    /// Asks for the lines that a set looks at.
    #[inline]
    pub(crate) fn prefetch_to_set(&self, hash: u64) {
        self.prefetch_index(hash);
        self.memory.prefetch(self.ghosts_of(hash));
    }

    /// Asks for the first lines of the record that a key's slot points to.
    #[inline]
    pub(crate) fn prefetch_record(&self, hash: u64) {
        for (_, slot) in self.candidates(hash) {
            for line in 0..AHEAD {
                self.memory.prefetch(self.base + slot.at() + line * LINE);
            }
        }
    }
}

/// Puts another slot in the place of this one, however often that was read meanwhile; `false` where it is another record's by
/// now, or nobody's.
pub(crate) fn exchange(word: &AtomicU64, slot: Slot, other: Slot) -> bool {
    let mut now = slot;
    while now.is_of(slot) {
        match word.compare_exchange(now.0, other.0, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return true,
            Err(changed) => now = Slot(changed),
        }
    }
    false
}

/// Whether a slot is what it was before its record was looked at. A record that was moved meanwhile has another one.
#[inline]
pub(crate) fn is_still(word: &AtomicU64, slot: Slot) -> bool {
    // The read of the record must not come before the read of the slot.
    fence(Ordering::Acquire);
    Slot(word.load(Ordering::Relaxed)).is_of(slot)
}

/// Notes a use, unless the most that are counted are noted already: keys that are read much cost no write.
#[inline]
pub(crate) fn count_use(word: &AtomicU64, slot: Slot) {
    if slot.uses() < MOST_USES {
        let more = slot.with_uses(slot.uses() + 1);
        // Where the slot has changed there is nothing to note.
        let _ = word.compare_exchange(slot.0, more.0, Ordering::Relaxed, Ordering::Relaxed);
    }
}
