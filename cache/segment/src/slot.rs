//! A slot of the index: the place of an entry, in one word.
//!
//! ```text
//! tag 14 | uses 2 | recycled 16 | place 32
//! ```
//!
//! `place` is the record's offset in the partition in words of eight bytes. The offset 0, where the partition's own data is,
//! means no record. `recycled` is the number of the segment's lives, cut to 16 bits: a slot that outlived its record no
//! longer matches and counts as empty. `uses` counts reads, up to three; beyond that a reader writes nothing.

use std::sync::atomic::Ordering;

use crate::memory::{AtomicU64, fence, size};

/// The most uses that are counted.
pub(crate) const MOST_USES: u64 = 3;

/// One word of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Slot(pub(crate) u64);

impl Slot {
    pub(crate) const EMPTY: Self = Self(0);

    #[inline]
    pub(crate) fn new(tag: u64, uses: u64, recycled: u64, at: usize) -> Self {
        debug_assert!(at.is_multiple_of(8) && at >> 35 == 0, "a place of a record: {at}");
        let place = (at as u64 >> 3) & 0xffff_ffff;
        Self((tag & 0x3fff) << 50 | (uses & 3) << 48 | (recycled & 0xffff) << 32 | place)
    }

    /// The tag of a key with this hash. It uses other bits than the choice of partition, bucket and word
    /// of changes.
    #[inline]
    pub(crate) fn tag_of(hash: u64) -> u64 {
        hash >> 43 & 0x3fff
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 << 32 == 0
    }

    #[inline]
    pub(crate) fn tag(self) -> u64 {
        self.0 >> 50
    }

    #[inline]
    pub(crate) fn uses(self) -> u64 {
        self.0 >> 48 & 3
    }

    #[inline]
    pub(crate) fn recycled(self) -> u64 {
        self.0 >> 32 & 0xffff
    }

    /// The record's offset in the partition, in bytes.
    #[inline]
    pub(crate) fn at(self) -> usize {
        size((self.0 & 0xffff_ffff) << 3)
    }

    #[inline]
    pub(crate) fn with_uses(self, uses: u64) -> Self {
        Self(self.0 & !(3 << 48) | (uses & 3) << 48)
    }

    /// Whether both point to the same record, however often it was read.
    #[inline]
    pub(crate) fn is_of(self, other: Self) -> bool {
        self.with_uses(0) == other.with_uses(0)
    }
}

/// Replaces a slot by another, even if it has counted more uses meanwhile; `false` where it is now empty or another record's.
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

/// Whether a slot still points to the record that was read. The slot of a record that was moved meanwhile has
/// changed.
#[inline]
pub(crate) fn is_still(word: &AtomicU64, slot: Slot) -> bool {
    // The read of the record must not come before the read of the slot.
    fence(Ordering::Acquire);
    Slot(word.load(Ordering::Relaxed)).is_of(slot)
}

/// Counts a use, unless the slot is at its limit: so keys that are read often cost no write.
#[inline]
pub(crate) fn count_use(word: &AtomicU64, slot: Slot) {
    if slot.uses() < MOST_USES {
        let more = slot.with_uses(slot.uses() + 1);
        // A use of a slot that has changed need not be counted.
        let _ = word.compare_exchange(slot.0, more.0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_comes_back() {
        let slot = Slot::new(0x2abc, 2, 0x1_0007, (1 << 35) - 8);
        assert_eq!((slot.tag(), slot.uses(), slot.recycled()), (0x2abc, 2, 7));
        assert_eq!(slot.at(), (1 << 35) - 8);
        assert!(slot.is_of(slot.with_uses(0)) && slot.with_uses(3).uses() == 3);
        assert!(!slot.is_empty() && Slot::EMPTY.is_empty());
        assert!(Slot::tag_of(u64::MAX) == 0x3fff);
    }
}
