//! Trying again, outside the measured loop, what may succeed when it is simply made again.

use larder_store::Result;

/// How often something is tried.
const ATTEMPTS: u32 = 5;

/// Does something until it succeeds, fails for good, or has failed often enough.
pub(crate) fn patiently<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(error) if error.is_retryable() => {}
            done => return done,
        }
    }
    attempt()
}
