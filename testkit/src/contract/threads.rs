//! The number of threads of cases about several sessions.

/// The threads: enough that some meet, on machines with few processors too.
pub(super) const THREADS: usize = 8;
