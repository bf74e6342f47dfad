//! The work of a phase: its operations, and the source of their keys.

use larder_workload::trace::Trace;
use larder_workload::{Access, Picker, Ratio};

/// Reads only.
pub(crate) const READS: Ratio = Ratio { sets: 0, gets: 1, deletes: 0 };

/// The operations of a phase, without their keys, as they are planned and as they are drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// One kind of operation on every key, once, in the phase's order.
    Each(Access),
    /// Operations drawn from a pattern, reads and writes mixed by a ratio.
    Drawn {
        /// Sets to gets to deletes.
        ratio: Ratio,
        /// The kind of a read: `Get` or `GetOrSet`.
        read: Access,
        /// Whether a miss is stored under the key after the one that was read, counted round: a mistake that
        /// applications make.
        fills_next: bool,
    },
    /// Several operations on the same key, one after the other in this order, before the next key is drawn.
    Chained(Vec<Access>),
    /// Every key of a group, in order, before the next group is drawn.
    Grouped,
    /// A trace as it was recorded.
    Replayed {
        /// The kind of a read: `Get` or `GetOrSet`.
        read: Access,
        /// Whether recorded sets and deletes are carried out; otherwise only the reads are.
        writes: bool,
    },
}

/// The source of the keys of a phase.
#[derive(Debug, Clone, Copy)]
pub struct KeySource<'a> {
    /// Draws the keys; for `Work::Grouped`, the groups.
    pub picker: &'a Picker,
    /// Keys of a group.
    pub group: u32,
    /// The recording; only `Work::Replayed` needs it.
    pub trace: Option<&'a Trace>,
    /// For a phase that only reads, in order: the number of applications. Each has keys of its own that all of its
    /// threads read. `None` where the threads share the keys.
    pub applications: Option<u32>,
}

impl Work {
    /// Whether several threads may rightly leave an older value behind, or no value. A fill after a miss brings back a
    /// value that another thread has just replaced or deleted. A trace's writes of one key are spread over threads.
    /// That is the workload's own race and no fault of a store.
    pub(crate) fn races(&self, threads: u32) -> bool {
        let possible = match self {
            // Each key has one writer.
            Self::Each(_) | Self::Chained(_) | Self::Grouped => false,
            Self::Drawn { ratio, read, .. } => {
                *read == Access::GetOrSet && (ratio.sets > 0 || ratio.deletes > 0)
            }
            Self::Replayed { writes, .. } => *writes,
        };
        possible && threads > 1
    }

    /// Whether the work deletes keys that it may read.
    pub(super) fn deletes(&self) -> bool {
        match self {
            Self::Each(_) | Self::Grouped => false,
            Self::Drawn { ratio, .. } => ratio.deletes > 0,
            Self::Chained(kinds) => kinds.contains(&Access::Delete),
            Self::Replayed { writes, .. } => *writes,
        }
    }

    /// Whether the work sets keys that it may read.
    pub(super) fn overwrites(&self) -> bool {
        match self {
            Self::Each(_) | Self::Grouped => false,
            Self::Drawn { ratio, .. } => ratio.sets > 0,
            Self::Chained(kinds) => kinds.contains(&Access::Set),
            Self::Replayed { writes, .. } => *writes,
        }
    }

    /// Whether the work stores values, fills included.
    pub(super) fn stores(&self) -> bool {
        let stores = |kind: &Access| matches!(kind, Access::Set | Access::GetOrSet);
        match self {
            Self::Each(kind) => stores(kind),
            Self::Grouped => false,
            Self::Drawn { ratio, read, .. } => ratio.sets > 0 || stores(read),
            Self::Chained(kinds) => kinds.iter().any(stores),
            Self::Replayed { writes, read } => *writes || stores(read),
        }
    }

    /// Whether the work stores or deletes entries, so that later phases depend on it.
    pub(crate) fn changes(&self) -> bool {
        match self {
            Self::Each(kind) => kind.changes(),
            Self::Drawn { ratio, read, .. } => {
                ratio.sets > 0 || ratio.deletes > 0 || read.changes()
            }
            Self::Chained(kinds) => kinds.iter().any(|kind| kind.changes()),
            Self::Grouped => false,
            Self::Replayed { read, writes } => *writes || read.changes(),
        }
    }

    /// Whether the work draws keys and only reads them.
    pub(crate) fn only_reads(&self) -> bool {
        match self {
            Self::Drawn { ratio, read, .. } => *ratio == READS && *read == Access::Get,
            Self::Grouped => true,
            Self::Each(_) | Self::Chained(_) | Self::Replayed { .. } => false,
        }
    }

    /// Whether the pattern says which keys are set or deleted.
    pub(crate) fn writes_by_pattern(&self) -> bool {
        match self {
            Self::Drawn { ratio, .. } => ratio.sets > 0 || ratio.deletes > 0,
            Self::Chained(kinds) => kinds.iter().any(|kind| *kind != Access::Get),
            Self::Each(_) | Self::Grouped | Self::Replayed { .. } => false,
        }
    }

    /// Operations that are drawn as one: on a key, or on a group of this many keys, before the next is drawn.
    pub(super) fn per_draw(&self, group: u32) -> usize {
        match self {
            Self::Chained(kinds) => kinds.len(),
            Self::Grouped => group as usize,
            _ => 1,
        }
    }
}
