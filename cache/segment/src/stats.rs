//! The counters of all partitions and sessions.

use crate::layout::STATS_LINE;
use crate::memory::Memory;
use crate::partition::{Partition, Places};
use crate::tally::Count;

/// Counters of a session. As long as there are free lines, no other session writes its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionCount {
    Hits,
    Misses,
    Sets,
    Deletes,
    Busy,
    TooLarge,
    RefusedFills,
}

/// The counters since a region was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Gets that found a value.
    pub hits: u64,
    /// Gets that found no value.
    pub misses: u64,
    /// Values that were stored.
    pub sets: u64,
    /// Keys that were deleted.
    pub deletes: u64,
    /// Writes that did not get a lock in time.
    pub busy: u64,
    /// Values that were refused because of their size.
    pub too_large: u64,
    /// Fills that were refused because the key had been changed meanwhile.
    pub refused_fills: u64,
    /// Present entries. An expired entry counts until its segment is given back.
    pub items: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// Entries that were evicted soon after they came, because nobody read them.
    pub evicted_small: u64,
    /// Entries that were evicted later.
    pub evicted_main: u64,
    /// Entries whose slot of the index was given to another entry.
    pub evicted_by_index: u64,
    /// Entries that were given back because they had expired.
    pub expired: u64,
    /// Entries that were written anew because they are read.
    pub moved: u64,
    /// Locks whose holder had died.
    pub lock_repairs: u64,
    /// Entries that proved damaged when they should have been moved.
    pub damaged: u64,
}

impl Stats {
    /// Evicted entries, for any reason.
    pub fn evictions(&self) -> u64 {
        let by_use = self.evicted_small.saturating_add(self.evicted_main);
        by_use.saturating_add(self.evicted_by_index)
    }
}

pub(crate) fn read(memory: &Memory, places: &Places) -> Stats {
    let geometry = &places.geometry;
    let line = |of: SessionCount| -> u64 {
        let at = |line| geometry.stats_at() + line * STATS_LINE + 8 * of as usize;
        (0..geometry.stats_lines).map(|line| memory.load(at(line))).fold(0, u64::wrapping_add)
    };
    let partition = |of: Count| -> u64 {
        let at = |partition| of.at(Partition::new(memory, places, partition).base);
        let all = (0..geometry.partitions).map(|partition| memory.load(at(partition)));
        all.fold(0, u64::wrapping_add)
    };
    Stats {
        hits: line(SessionCount::Hits),
        misses: line(SessionCount::Misses),
        sets: line(SessionCount::Sets),
        deletes: line(SessionCount::Deletes),
        busy: line(SessionCount::Busy),
        too_large: line(SessionCount::TooLarge),
        refused_fills: line(SessionCount::RefusedFills),
        items: partition(Count::Items),
        bytes: partition(Count::Bytes),
        evicted_small: partition(Count::EvictedSmall),
        evicted_main: partition(Count::EvictedMain),
        evicted_by_index: partition(Count::EvictedByIndex),
        expired: partition(Count::Expired),
        moved: partition(Count::Moved),
        lock_repairs: partition(Count::Repairs),
        damaged: partition(Count::Damaged),
    }
}
