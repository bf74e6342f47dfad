//! The time of day in milliseconds, by which entries expire: the region may outlive the machine's run, so that no other
//! clock would do.

/// How far [`now_ms`] is behind at most.
pub(crate) const BEHIND_MS: u64 = 5;

/// Milliseconds since 1970, a few of them ago: the kernel's last tick, which takes a quarter of the time.
#[inline]
pub(crate) fn now_ms() -> u64 {
    read(coarse())
}

/// Milliseconds since 1970, begun ones among them.
pub(crate) fn exactly_now_ms() -> u64 {
    read(libc::CLOCK_REALTIME) + 1
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes a time to a place for one.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec.unsigned_abs() * 1000 + now.tv_nsec.unsigned_abs() / 1_000_000
}

/// The coarse clock, unless its ticks are farther apart than [`BEHIND_MS`].
fn coarse() -> libc::clockid_t {
    use std::sync::OnceLock;

    static CLOCK: OnceLock<libc::clockid_t> = OnceLock::new();
    *CLOCK.get_or_init(|| {
        if cfg!(miri) {
            // It cannot be asked for its ticks.
            return libc::CLOCK_REALTIME;
        }
        let mut tick = libc::timespec { tv_sec: 1, tv_nsec: 0 };
        // SAFETY: writes a time to a place for one.
        let failed = unsafe { libc::clock_getres(libc::CLOCK_REALTIME_COARSE, &raw mut tick) } != 0;
        let is_fine = !failed && tick.tv_sec == 0 && tick.tv_nsec <= 5_000_000;
        if is_fine { libc::CLOCK_REALTIME_COARSE } else { libc::CLOCK_REALTIME }
    })
}
