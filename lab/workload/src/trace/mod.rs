//! Traces: recorded accesses to a real cache, read as they are published and kept small in memory.
//!
//! [`Trace::open`] recognises compression by its magic bytes and the format by its first bytes, and by its name where they fit. It streams, so a
//! trace of a billion lines is never in memory as text. In memory an operation takes at most 22 bytes, and 5 where a
//! trace has only keys.
//!
//! Every format gives its operations as [`Row`]s to a [`Sink`]; a [`Trace`] in memory is one of the sinks. A format is one
//! file here and one line in [`FORMATS`].

mod arrivals;
mod blocks;
mod builder;
mod builtin;
mod cache2k;
mod cell;
mod clock;
pub(crate) mod column;
mod content;
mod counters;
mod csv;
mod error;
mod expiry;
mod foreign;
mod format;
mod frame;
mod gzip;
mod heading;
mod input;
mod iso;
mod journal;
mod keys;
mod keys64;
mod lines;
mod oracle_general;
mod parquet;
mod parts;
mod recognised;
mod records;
mod replay;
mod requests;
mod row;
mod scratch;
mod sink;
mod source;
mod time_unit;
mod timeline;
mod twitter;
mod writer;

use std::io::Read;
use std::path::Path;

use crate::values::NUMBER_LEN;
use crate::{Access, Condition};

use self::builder::TraceBuilder;
use self::column::{Figures, Marks};

pub use self::clock::Unit as TimeUnit;
pub use self::error::{TraceError, TraceFault};
pub use self::format::{FORMATS, TraceFormat};
pub use self::heading::ColumnNames;
pub use self::input::decompressed;
pub use self::journal::{Journal, LostRecords, finish_journal};
pub use self::recognised::{Formats, Recognised};
pub use self::row::{Key, Outcome, Row, Verb};
pub use self::sink::{About, OtherKeys, Sink, read_rows, read_rows_of};
pub use self::source::TraceSource;
pub use self::timeline::{Backward, Timeline};
pub use self::writer::{TraceWriter, Written};

/// The most operations of a trace: with their sizes, TTLs and times they take 5.8 GB.
pub const MAX_OPS: usize = 1 << 28;

/// Recorded operations, in order. Keys are numbers, from 0 in the order of their first appearance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    keys: Vec<u32>,
    operations: Vec<Verb>,
    value_sizes: Figures,
    /// In seconds; 0 where a write tells that its entry has none.
    ttls: Figures,
    /// Microseconds since the least time; empty where some operation has no time.
    times_us: Vec<u64>,
    /// Whether an operation reads another key of the request before it.
    joined: Marks,
    /// Whether an operation that changes a value stores it where the key is absent.
    creates: Marks,
    /// Whether a read missed where it was recorded, or an `add` was refused.
    missed: Marks,
    /// Whether a read that misses is filled by nobody.
    unfilled: Marks,
    /// Whether reads tell that they hit or missed.
    has_results: bool,
    /// By key, not by operation.
    key_sizes: Figures,
    /// By key: whether some operation counts it.
    counters: Marks,
    n_keys: u32,
}

/// One recorded operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceOp {
    /// Number of its key.
    pub key: u32,
    /// The use of the key; never a get-or-set.
    pub kind: Access,
    /// For a set or a count, what must be so for it to be carried out. A count without one stores a number under an
    /// absent key.
    pub condition: Option<Condition>,
    /// Size of the value in bytes, where it was recorded. 0 bytes of a get or a set count as not recorded where the trace
    /// has no results, because traces write a miss that way.
    pub value_size: Option<u32>,
    /// TTL in seconds, where there was one.
    pub ttl: Option<u32>,
    /// Whether it is a further read of the request of the operation before it.
    pub is_joined: bool,
    /// Whether it is a read that found nothing where it was recorded, and that nobody filled. Known once
    /// [`Trace::unfilled_marked`] has looked for fills.
    pub is_unfilled: bool,
}

/// The numbers of operations by kind, and the number of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TraceStats {
    /// All operations.
    pub operations: u64,
    /// Reads, those of several keys in a request included.
    pub gets: u64,
    /// Reads of several keys in a request.
    pub joined_gets: u64,
    /// Writes.
    pub sets: u64,
    /// Removals.
    pub deletes: u64,
    /// Renewals of a TTL.
    pub touches: u64,
    /// Counts of a number, up and down.
    pub counts: u64,
    /// Different keys.
    pub keys: u64,
    /// Stores that are carried out only where the key is absent, or only where it is present.
    pub conditional: u64,
    /// Operations without a counterpart in a replay, counted as the nearest kind: `cas`, `append` and `prepend` as a
    /// `replace`, `gat` as a get.
    pub approximated: u64,
}

impl TraceOp {
    /// Whether the key is stored after the operation, in a store that keeps everything. With `fills`, a read that misses
    /// stores its key, unless nobody filled it where it was recorded.
    pub(super) fn is_stored_after(&self, is_stored: bool, fills: bool) -> bool {
        match self.kind {
            Access::Set | Access::Incr | Access::Decr => {
                is_stored || self.condition != Some(Condition::Present)
            }
            Access::Delete => false,
            Access::Get | Access::GetOrSet => is_stored || fills && !self.is_unfilled,
            Access::Touch => is_stored,
        }
    }
}

impl Trace {
    /// Reads a file: all of it, which fails beyond [`MAX_OPS`], or its first `at_most` operations.
    pub fn open(
        path: &Path,
        format: Option<TraceFormat>,
        at_most: Option<usize>,
    ) -> Result<Self, TraceError> {
        let source = TraceSource { format, ..TraceSource::from(path) };
        source.open(at_most).map(|(trace, _)| trace)
    }

    /// Reads a trace from any reader. Its name only serves to recognise the format, where `format` is not given.
    pub fn read(
        name: &str,
        input: impl Read,
        format: Option<TraceFormat>,
        at_most: Option<usize>,
    ) -> Result<Self, TraceFault> {
        let mut builder = TraceBuilder::new(at_most);
        read_rows_of(name, input, format, &mut builder)?;
        builder.finish()
    }

    /// The number of operations; at least one.
    #[expect(clippy::len_without_is_empty, reason = "a trace without operations is an error")]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The number of different keys.
    pub fn n_keys(&self) -> u32 {
        self.n_keys
    }

    /// The operation at a place below [`Trace::len`]; panics beyond.
    #[inline]
    pub fn op(&self, at: usize) -> TraceOp {
        TraceOp {
            key: self.keys[at],
            kind: self.operations[at].access(),
            condition: self.condition(at),
            value_size: self.value_sizes.get(at).filter(|_| !self.is_counter(self.keys[at])),
            ttl: self.ttls.get(at).filter(|&ttl| ttl > 0),
            is_joined: self.joined.has(at),
            is_unfilled: self.unfilled.has(at),
        }
    }

    /// The condition under which the operation at a place stores.
    fn condition(&self, at: usize) -> Option<Condition> {
        self.operations[at].condition().filter(|_| !self.creates.has(at))
    }

    /// All operations in order.
    pub fn ops(&self) -> impl DoubleEndedIterator<Item = TraceOp> + ExactSizeIterator + '_ {
        (0..self.len()).map(|at| self.op(at))
    }

    /// The key of each operation.
    pub fn keys(&self) -> &[u32] {
        &self.keys
    }

    /// The length of a key in bytes, where it was recorded.
    pub fn key_size(&self, key: u32) -> Option<u32> {
        self.key_sizes.get(key as usize)
    }

    /// For each key the first recorded size of its value in bytes, and that of a number for a counter; `None` where no
    /// size was recorded.
    pub fn first_value_sizes(&self) -> Vec<Option<u32>> {
        let of_number = |key| self.is_counter(key).then_some(NUMBER_LEN);
        let mut sizes: Vec<_> = (0..self.n_keys).map(of_number).collect();
        for op in self.ops().filter(|op| matches!(op.kind, Access::Get | Access::Set)) {
            let size = &mut sizes[op.key as usize];
            *size = size.or(op.value_size);
        }
        sizes
    }

    /// The number of operations that miss in a store that begins empty and keeps everything: reads, deletes and touches of
    /// absent keys, and stores and counts whose condition does not hold. With `fills`, a read that
    /// misses stores its key and does not count.
    pub fn misses_from_empty(&self, fills: bool) -> u64 {
        let mut stored = vec![false; self.n_keys as usize];
        let mut missed = 0;
        for op in self.ops() {
            let stored = &mut stored[op.key as usize];
            let is_filled = op.kind == Access::Get && fills && !op.is_unfilled;
            let finds = match op.condition {
                Some(Condition::Absent) => !*stored,
                Some(Condition::Present) => *stored,
                None => *stored || op.kind == Access::Set || op.kind.counts() || is_filled,
            };
            missed += u64::from(!finds);
            *stored = op.is_stored_after(*stored, fills);
        }
        missed
    }

    /// For each key whether a replay from an empty store ever stores it. With `fills`, a read that misses does.
    pub fn stored_keys(&self, fills: bool) -> Vec<bool> {
        let mut stored = vec![false; self.n_keys as usize];
        for op in self.ops() {
            let stored = &mut stored[op.key as usize];
            *stored |= op.is_stored_after(false, fills);
        }
        stored
    }

    /// Whether the trace has operations other than reads.
    pub fn writes(&self) -> bool {
        self.ops().any(|op| op.kind != Access::Get)
    }

    /// The counts of its content.
    pub fn stats(&self) -> TraceStats {
        let mut stats = TraceStats {
            operations: self.len() as u64,
            keys: u64::from(self.n_keys),
            ..TraceStats::default()
        };
        for (at, operation) in self.operations.iter().enumerate() {
            stats.approximated += u64::from(!operation.is_exact());
            let access = operation.access();
            let is_conditional = !access.counts() && self.condition(at).is_some();
            stats.conditional += u64::from(is_conditional);
            stats.joined_gets += u64::from(self.joined.has(at) || self.joined.has(at + 1));
            *match access {
                Access::Get | Access::GetOrSet => &mut stats.gets,
                Access::Set => &mut stats.sets,
                Access::Delete => &mut stats.deletes,
                Access::Touch => &mut stats.touches,
                Access::Incr | Access::Decr => &mut stats.counts,
            } += 1;
        }
        stats
    }
}
