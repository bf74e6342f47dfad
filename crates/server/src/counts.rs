//! Counters of what a server did. Each thread adds to its own, and a reader adds them up.

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter. The names are those of memcached's `stats`.
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
    AuthCmds,
    AuthErrors,
}

const N: usize = Count::AuthErrors as usize + 1;

/// The counters of one thread.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Counts([AtomicU64; N]);

impl Default for Counts {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; N])
    }
}

impl Counts {
    #[inline]
    pub(crate) fn add_one(&self, count: Count) {
        self.add(count, 1);
    }

    #[inline]
    pub(crate) fn add(&self, count: Count, n: u64) {
        self.0[count as usize].fetch_add(n, Ordering::Relaxed);
    }

    /// One of two counters, for what was found and what was not.
    #[inline]
    pub(crate) fn add_found(&self, is_found: bool, hits: Count, misses: Count) {
        self.add_one(if is_found { hits } else { misses });
    }

    pub(crate) fn of(&self, count: Count) -> u64 {
        self.0[count as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn reset(&self) {
        self.0.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }
}
