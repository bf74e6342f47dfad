//! The time by which entries expire: a region has a clock of its own, which is never set.
//!
//! It counts the time since the machine was started, suspended time included, from a number that stands in the region. So a
//! wrong clock of the day changes no TTL, and setting that clock right changes none either. The clock of the day only bridges
//! the time in which the machine was down: see `opening.rs`.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// The most by which [`now_ms`] is behind.
pub(crate) const BEHIND_MS: u64 = 5;

/// Two clocks that are read one after the other are closer together than this, unless the thread was
/// interrupted.
const TOGETHER_NS: u64 = 100_000;

/// Milliseconds since the machine was started, at the kernel's last tick. This is a few milliseconds behind, and takes a
/// quarter of the time of an exact reading.
#[inline]
pub(crate) fn now_ms() -> u64 {
    let tick = read(coarse());
    (tick + suspended(tick)) / 1_000_000
}

/// Milliseconds since the machine was started, rounded up.
pub(crate) fn exactly_now_ms() -> u64 {
    read(since_start()) / 1_000_000 + 1
}

/// The time of day in milliseconds since 1970, which may be wrong.
pub(crate) fn wall_ms() -> u64 {
    read(libc::CLOCK_REALTIME) / 1_000_000
}

/// The time for which the machine was suspended since it was started, because the clock with ticks leaves it out. It is
/// read again at each tick.
#[inline]
fn suspended(tick: u64) -> u64 {
    static AT: AtomicU64 = AtomicU64::new(0);
    static SUSPENDED: AtomicU64 = AtomicU64::new(0);
    if AT.load(Ordering::Acquire) != tick {
        look(&SUSPENDED);
        AT.store(tick, Ordering::Release);
    }
    SUSPENDED.load(Ordering::Relaxed)
}

#[cold]
fn look(suspended: &AtomicU64) {
    loop {
        let before = read(libc::CLOCK_MONOTONIC);
        let all = read(since_start());
        if read(libc::CLOCK_MONOTONIC) - before < TOGETHER_NS {
            return suspended.store(all.saturating_sub(before), Ordering::Relaxed);
        }
    }
}

/// Nanoseconds of a clock.
#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes a time to a place for one.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// The clock that also counts suspended time. Miri does not know it.
fn since_start() -> libc::clockid_t {
    if cfg!(miri) { libc::CLOCK_MONOTONIC } else { libc::CLOCK_BOOTTIME }
}

/// The coarse clock, unless its ticks are farther apart than [`BEHIND_MS`].
fn coarse() -> libc::clockid_t {
    /// The clock, or -1 before it is known. Each thread finds the same one. None waits for another, as it would for a `OnceLock`: a child
    /// that is forked meanwhile does not have the other.
    static CLOCK: AtomicI32 = AtomicI32::new(-1);
    let known = CLOCK.load(Ordering::Relaxed);
    if known >= 0 {
        return known;
    }
    let found = if cfg!(miri) {
        // The clock's ticks are unknown.
        libc::CLOCK_MONOTONIC
    } else {
        let (clock, mut tick) =
            (libc::CLOCK_MONOTONIC_COARSE, libc::timespec { tv_sec: 1, tv_nsec: 0 });
        // SAFETY: writes a time to a place for one.
        let failed = unsafe { libc::clock_getres(clock, &raw mut tick) } != 0;
        let is_fine = !failed && tick.tv_sec == 0 && tick.tv_nsec <= 5_000_000;
        if is_fine { clock } else { libc::CLOCK_MONOTONIC }
    };
    CLOCK.store(found, Ordering::Relaxed);
    found
}
