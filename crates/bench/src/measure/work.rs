//! The work of a phase: its operations and their keys.

use larder_workload::trace::Trace;
use larder_workload::{Picker, Ratio};

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Read.
    Get,
    /// Store.
    Set,
    /// Read, and store on a miss.
    GetOrSet,
    /// Remove.
    Delete,
    /// Renew the TTL.
    Touch,
}

/// The work of a phase.
#[derive(Debug, Clone, Copy)]
pub enum Work<'a> {
    /// One kind of operation on every key, once, in the phase's order.
    Each {
        /// The kind of all operations.
        kind: Kind,
    },
    /// Operations drawn from a pattern, reads and writes mixed by a ratio.
    Drawn {
        /// Draws the keys.
        picker: &'a Picker,
        /// Sets to gets to deletes.
        ratio: Ratio,
        /// The kind of a read: `Get` or `GetOrSet`.
        read: Kind,
        /// Whether a miss is stored under the key after the one that was read, counted round: a mistake that
        /// applications make.
        fills_next: bool,
        /// Of a phase that only reads, in order: how many applications the threads are, each of which has keys of its own
        /// that all of its threads read. `None` where the threads share the keys.
        applications: Option<u32>,
    },
    /// Several operations on the same key, one after the other, before the next key is drawn.
    Chained {
        /// Draws the keys.
        picker: &'a Picker,
        /// The operations on each key, in this order.
        kinds: &'a [Kind],
    },
    /// Every key of a group, in order, before the next group is drawn.
    Grouped {
        /// Draws the groups.
        picker: &'a Picker,
        /// Keys of a group.
        size: u32,
        /// As in `Drawn`.
        applications: Option<u32>,
    },
    /// A trace as it was recorded.
    Replayed {
        /// The recording.
        trace: &'a Trace,
        /// The kind of a read: `Get` or `GetOrSet`.
        read: Kind,
        /// Whether recorded sets and deletes are carried out; otherwise only the reads are.
        writes: bool,
    },
}

impl Work<'_> {
    /// Whether several threads may rightly leave an older value behind, or no value. A fill after a miss brings back a
    /// value that another thread has just replaced or deleted. A trace's writes of one key are spread over threads.
    /// That is the workload's own race and no fault of a store.
    pub(crate) fn races(&self, threads: u32) -> bool {
        let possible = match self {
            // Each key has one writer.
            Work::Each { .. } | Work::Chained { .. } | Work::Grouped { .. } => false,
            Work::Drawn { ratio, read, .. } => {
                *read == Kind::GetOrSet && (ratio.sets > 0 || ratio.deletes > 0)
            }
            Work::Replayed { writes, .. } => *writes,
        };
        possible && threads > 1
    }

    /// Whether the work deletes keys.
    pub(super) fn deletes(&self) -> bool {
        match self {
            Work::Each { .. } | Work::Grouped { .. } => false,
            Work::Drawn { ratio, .. } => ratio.deletes > 0,
            Work::Chained { kinds, .. } => kinds.contains(&Kind::Delete),
            Work::Replayed { writes, .. } => *writes,
        }
    }

    /// Whether the work sets keys that it may read.
    pub(super) fn overwrites(&self) -> bool {
        match self {
            Work::Each { .. } | Work::Grouped { .. } => false,
            Work::Drawn { ratio, .. } => ratio.sets > 0,
            Work::Chained { kinds, .. } => kinds.contains(&Kind::Set),
            Work::Replayed { writes, .. } => *writes,
        }
    }

    /// Whether the work stores values, fills included.
    pub(super) fn stores(&self) -> bool {
        let stores = |kind: &Kind| matches!(kind, Kind::Set | Kind::GetOrSet);
        match self {
            Work::Each { kind } => stores(kind),
            Work::Grouped { .. } => false,
            Work::Drawn { ratio, read, .. } => ratio.sets > 0 || stores(read),
            Work::Chained { kinds, .. } => kinds.iter().any(stores),
            Work::Replayed { writes, read, .. } => *writes || stores(read),
        }
    }

    /// How many applications the threads are, where each thread reads every key of its own.
    pub(super) fn applications(&self) -> Option<u32> {
        match self {
            Work::Drawn { applications, .. } | Work::Grouped { applications, .. } => *applications,
            Work::Each { .. } | Work::Chained { .. } | Work::Replayed { .. } => None,
        }
    }

    /// Operations that are drawn as one: on a key, or on a group of keys, before the next is drawn.
    pub(super) fn per_key(&self) -> usize {
        match self {
            Work::Chained { kinds, .. } => kinds.len(),
            Work::Grouped { size, .. } => *size as usize,
            _ => 1,
        }
    }
}
