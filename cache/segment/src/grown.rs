//! The growth of an index, as its word has it: see `grow.rs`.

use crate::memory::size;

/// At most this many bits of a tag choose a bucket: the others are left to distinguish keys.
pub(crate) const MOST_DOUBLINGS: u32 = 6;

/// The growth of an index: how often each bucket was split, and the number of buckets that were
/// split once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grown(pub(crate) u64);

impl Grown {
    pub(crate) const NOT: Self = Self(0);

    /// The growth by the word of a partition, whatever its content.
    pub(crate) fn of_word(word: u64) -> Self {
        Self(word)
    }

    pub(crate) fn of(doublings: u32, split: usize) -> Self {
        Self(u64::from(doublings) << 48 | split as u64)
    }

    #[inline]
    pub(crate) fn doublings(self) -> u32 {
        u32::try_from(self.0 >> 48).unwrap_or(0).min(MOST_DOUBLINGS)
    }

    #[inline]
    pub(crate) fn split(self) -> usize {
        size(self.0 & 0xffff_ffff_ffff)
    }

    /// Whether some buckets were split once more than others.
    #[inline]
    pub(crate) fn is_doubling(self) -> bool {
        self.split() > 0
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
