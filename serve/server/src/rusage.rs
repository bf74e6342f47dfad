//! The processor time of this process.

use std::time::Duration;

/// The user's time and the system's.
pub(crate) fn cpu_times() -> [Duration; 2] {
    // SAFETY: all bytes 0 are a value of this structure, which has room for all that is written.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    [usage.ru_utime, usage.ru_stime].map(|time| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        Duration::from_secs(seconds)
            + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
    })
}
