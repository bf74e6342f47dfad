//! Counters of the server. Each thread has its own, and a reader adds them up.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::latency::Latencies;

/// A counter. The names are those of memcached's `stats`, which has no `Stalls`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    CmdGet,
    CmdSet,
    CmdFlush,
    CmdTouch,
    CmdMeta,
    GetHits,
    GetMisses,
    DeleteHits,
    DeleteMisses,
    IncrHits,
    IncrMisses,
    DecrHits,
    DecrMisses,
    CasHits,
    CasMisses,
    CasBadval,
    TouchHits,
    TouchMisses,
    StoreTooLarge,
    StoreNoMemory,
    BytesRead,
    BytesWritten,
    Yields,
    IdleKicks,
    StallKicks,
    Stalls,
    AuthCmds,
    AuthErrors,
}

const N: usize = Count::AuthErrors as usize + 1;

/// The counters of one thread.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Counts {
    numbers: [AtomicU64; N],
    /// The times that requests took.
    pub(crate) latencies: Latencies,
}

impl Default for Counts {
    fn default() -> Self {
        Self { numbers: [const { AtomicU64::new(0) }; N], latencies: Latencies::default() }
    }
}

impl Counts {
    #[inline]
    pub(crate) fn add_one(&self, count: Count) {
        self.add(count, 1);
    }

    #[inline]
    pub(crate) fn add(&self, count: Count, n: u64) {
        self.numbers[count as usize].fetch_add(n, Ordering::Relaxed);
    }

    /// Adds to one of two counters: hits or misses.
    #[inline]
    pub(crate) fn add_found(&self, is_found: bool, hits: Count, misses: Count) {
        self.add_one(if is_found { hits } else { misses });
    }

    pub(crate) fn of(&self, count: Count) -> u64 {
        self.numbers[count as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn reset(&self) {
        self.numbers.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        self.latencies.reset();
    }
}
