//! The time of rows: the time of day as of the beginning, and from there on a clock that never goes back.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The clock of a recording.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    began: Instant,
    began_ns: u64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let began_ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX / 2);
        Self { began: Instant::now(), began_ns }
    }

    /// Nanoseconds since 1970.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        let passed = self.began.elapsed();
        self.began_ns + passed.as_secs() * 1_000_000_000 + u64::from(passed.subsec_nanos())
    }
}
