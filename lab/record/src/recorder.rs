//! The state that all followed connections of a thread share: the rules of keys, the rows, the counters.

use larder_workload::trace::{Outcome, Verb};

use crate::batch::{Batch, NEVER, NONE, Stored};
use crate::keys::Keys;

/// The most bytes that the unanswered requests of all connections of a thread take. A connection that needs more is not
/// followed any more.
const MAX_PENDING_BYTES: usize = 64 << 20;

/// Records the operations that a thread has followed.
#[derive(Debug)]
pub struct Recorder {
    pub(crate) keys: Keys,
    /// The rows that have not been handed over yet.
    pub batch: Batch,
    /// The counters so far.
    pub counts: Counts,
    next_request: u64,
    /// The number of threads. Each takes every `step`th number, so that no two requests have the same.
    step: u64,
    /// Bytes that unanswered requests take.
    pub(crate) pending_bytes: usize,
}

/// Counters of the followed operations, recorded or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Operations on keys.
    pub operations: u64,
    /// Operations on keys that were recorded, dropped rows included.
    pub rows: u64,
    /// Reads that found their key.
    pub hits: u64,
    /// Reads that found nothing.
    pub misses: u64,
    /// Operations that were refused.
    pub errors: u64,
    /// Operations whose answers never came: their results are unknown.
    pub unanswered: u64,
    /// Requests that are no operation on a key of a cache.
    pub others: u64,
}

impl Counts {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            operations: self.operations + other.operations,
            rows: self.rows + other.rows,
            hits: self.hits + other.hits,
            misses: self.misses + other.misses,
            errors: self.errors + other.errors,
            unanswered: self.unanswered + other.unanswered,
            others: self.others + other.others,
        }
    }

    /// The share of reads that found their key; `None` without reads.
    #[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
    pub fn hit_ratio(self) -> Option<f64> {
        let reads = self.hits + self.misses;
        (reads > 0).then(|| self.hits as f64 / reads as f64)
    }
}

/// The facts of a row that come from its request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestFacts {
    pub(crate) number: u64,
    pub(crate) connection: u32,
    /// Nanoseconds since 1970 at which its last byte came.
    pub(crate) came_ns: u64,
    pub(crate) ttl_s: u32,
    pub(crate) amount: u64,
}

/// The facts of a row that come from its key and from the answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyFacts {
    pub(crate) hash: u64,
    pub(crate) key_size: u32,
    pub(crate) value_size: u32,
    pub(crate) result: Option<Outcome>,
}

impl Recorder {
    /// A recorder without rows. Of `step` threads, each has a `place` below that number.
    pub fn new(keys: Keys, place: u64, step: u64) -> Self {
        Self {
            keys,
            batch: Batch::default(),
            counts: Counts::default(),
            next_request: place,
            step,
            pending_bytes: 0,
        }
    }

    /// Bytes that unanswered requests take.
    pub fn pending_bytes(&self) -> usize {
        self.pending_bytes
    }

    /// The number of the next request.
    #[inline]
    pub(crate) fn number(&mut self) -> u64 {
        let number = self.next_request;
        self.next_request += self.step;
        number
    }

    /// Reserves bytes for unanswered requests; `false` if that exceeds the limit.
    #[inline]
    pub(crate) fn reserve(&mut self, bytes: usize) -> bool {
        let fits = self.pending_bytes + bytes <= MAX_PENDING_BYTES;
        if fits {
            self.pending_bytes += bytes;
        }
        fits
    }

    /// Records an operation that was answered at this time, or never.
    #[inline]
    pub(crate) fn record(
        &mut self,
        request: &RequestFacts,
        operation: Verb,
        key: &KeyFacts,
        clear: Option<&[u8]>,
        answered_ns: Option<u64>,
    ) {
        self.counts.operations += 1;
        match key.result {
            Some(Outcome::Hit) => self.counts.hits += 1,
            Some(Outcome::Miss) => self.counts.misses += 1,
            Some(Outcome::Error) => self.counts.errors += 1,
            _ => {}
        }
        if !self.keys.takes(key.hash) {
            self.batch.note_other(key.result);
            return;
        }
        self.counts.rows += 1;
        let latency = answered_ns.map(|at| at.saturating_sub(request.came_ns));
        let row = Stored {
            time_ns: request.came_ns,
            request: request.number,
            hash: key.hash,
            amount: request.amount,
            latency_ns: latency.unwrap_or(NEVER),
            connection: request.connection,
            key_size: key.key_size,
            value_size: key.value_size,
            ttl_s: request.ttl_s,
            clear_len: clear.map_or(NONE, |key| u32::try_from(key.len()).unwrap_or(NONE)),
            operation,
            result: key.result,
        };
        self.batch.push(row, clear);
    }
}
