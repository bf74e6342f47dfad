//! The work of a phase: its operations, and the source of their keys.

use std::ops::Range;

use larder_store::Capabilities;
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

/// A trace, and how it is replayed.
#[derive(Debug, Clone, Copy)]
pub struct Recording<'a> {
    /// The operations.
    pub trace: &'a Trace,
    /// The place of the first operation of each request, where some requests read several keys.
    pub starts: Option<&'a [u32]>,
    /// The most keys of a request.
    pub most_keys: usize,
    /// The part of each recorded TTL that an entry gets; `None` where recorded TTLs are not replayed.
    pub ttl_scale: Option<f64>,
    /// Whether stores keep their recorded conditions. Otherwise they are carried out in any case.
    pub has_conditions: bool,
    /// Whether counts are those of the store. Otherwise a count stores another number in place of the one that is there.
    pub has_counters: bool,
}

impl Recording<'_> {
    /// The number of requests.
    pub(super) fn n_requests(&self) -> u64 {
        self.starts.map_or(self.trace.len(), <[u32]>::len) as u64
    }

    /// The places of the operations of a request, counted on where the trace comes round.
    pub(super) fn request(&self, number: u64) -> (u64, Range<usize>) {
        let n_requests = self.n_requests();
        let (round, at) = (number / n_requests, number % n_requests);
        let at = usize::try_from(at).unwrap_or(0);
        let start = |at: usize| match self.starts {
            Some(starts) => starts.get(at).map_or(self.trace.len(), |start| *start as usize),
            None => at,
        };
        let places = start(at)..start(at + 1);
        (round * self.trace.len() as u64 + places.start as u64, places)
    }

    /// The requests that have this many operations together, the last one whole.
    pub(super) fn requests_of(&self, operations: u64) -> u64 {
        let Some(starts) = self.starts else { return operations };
        let len = self.trace.len() as u64;
        let rest = operations % len;
        let within = starts.partition_point(|start| u64::from(*start) < rest);
        operations / len * self.n_requests() + within as u64
    }

    /// The TTL of an operation in milliseconds; 0 for none.
    pub(super) fn ttl_ms(&self, recorded_s: Option<u32>) -> u32 {
        let (Some(scale), Some(seconds)) = (self.ttl_scale, recorded_s) else { return 0 };
        let ms = (f64::from(seconds) * 1000.0 * scale).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a longer TTL than 49 days outlives every run"
        )]
        let ms = ms.clamp(1.0, f64::from(u32::MAX)) as u32;
        ms
    }
}

/// The source of the keys of a phase.
#[derive(Debug, Clone, Copy)]
pub struct KeySource<'a> {
    /// Draws the keys; for `Work::Grouped`, the groups.
    pub picker: &'a Picker,
    /// Keys of a group.
    pub group: u32,
    /// The recording; only `Work::Replayed` needs it.
    pub recording: Option<Recording<'a>>,
    /// For a phase that only reads, in order: the number of applications. Each has keys of its own that all of its
    /// threads read. `None` where the threads share the keys.
    pub applications: Option<u32>,
}

impl KeySource<'_> {
    /// The same, without what a store lacks of a recording: TTLs, conditions of stores, and counters.
    #[must_use]
    pub(crate) fn for_store(mut self, capabilities: &Capabilities) -> Self {
        if let Some(recording) = &mut self.recording {
            recording.ttl_scale = recording.ttl_scale.filter(|_| capabilities.ttl);
            recording.has_conditions &= capabilities.add;
            recording.has_counters &= capabilities.incr;
        }
        self
    }

    /// The most keys of a recorded request.
    pub(super) fn most_keys(&self) -> usize {
        self.recording.map_or(1, |recording| recording.most_keys)
    }
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
