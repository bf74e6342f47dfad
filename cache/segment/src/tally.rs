//! Counters. The holder of a partition's lock keeps the partition's, and each session has a line of its own.

use crate::layout::COUNTERS;

/// Counters of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// Present entries, and the bytes of their keys and values. An expired entry counts until its segment is given back.
    Items,
    Bytes,
    /// Entries that were used too little: those that were there for a short time, and those that were there
    /// for long.
    EvictedSmall,
    EvictedMain,
    /// Entries that lost their slot of the index to other entries.
    EvictedByIndex,
    /// Entries that were given back because they had expired.
    Expired,
    /// Entries that were written anew because they are used.
    Moved,
    /// Locks whose holder had died.
    Repairs,
    /// Entries that proved damaged when they should have been moved.
    Damaged,
    /// The number of segments that were begun so far.
    Begun,
}

impl Count {
    /// The offset of the counter, in a partition that begins at `base`.
    pub(crate) fn at(self, base: usize) -> usize {
        base + COUNTERS + 8 * self as usize
    }
}

const _: () = assert!(Count::Begun as usize * 8 < 128);
