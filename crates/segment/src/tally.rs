//! Counters: those of a partition, kept by the holder of its lock, and those of sessions, each in a line of its own.

use crate::layout::COUNTERS;

/// Counters of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// Entries that are there, and the bytes of their keys and values. What has expired is there until its segment is given
    /// back.
    Items,
    Bytes,
    /// Entries that were used too little to be kept: those that had been there for a short time, and for long.
    EvictedSmall,
    EvictedMain,
    /// Entries that gave their slot of the index to others.
    EvictedByIndex,
    /// Entries that were given back because they had expired.
    Expired,
    /// Entries that were written anew because they are used.
    Moved,
    /// Locks whose holder had died.
    Repairs,
    /// Entries that were found damaged when they should have been moved.
    Damaged,
    /// How often the region had been begun, of all segments.
    Begun,
}

impl Count {
    /// Where it stands, in a partition that begins at `base`.
    pub(crate) fn at(self, base: usize) -> usize {
        base + COUNTERS + 8 * self as usize
    }
}

const _: () = assert!(Count::Begun as usize * 8 < 128);
