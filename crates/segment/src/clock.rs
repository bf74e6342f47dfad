//! The time by which entries expire: a region has a clock of its own, which is never set.
//!
//! It goes with the machine's time since it was started, suspended ones included, from a number that stands in the region. So
//! neither a clock of the day that is wrong nor one that is put right makes a TTL longer or shorter. The clock of the day only
//! bridges the time in which the machine was down: see `opening.rs`.

use std::sync::atomic::{AtomicU64, Ordering};

/// How far [`now_ms`] is behind at most.
pub(crate) const BEHIND_MS: u64 = 5;

/// The reads of two clocks one after the other are not so far apart, unless something came between them.
const TOGETHER_NS: u64 = 100_000;

/// Milliseconds since the machine was started, a few of them ago: the kernel's last tick, which takes a quarter of the time.
#[inline]
pub(crate) fn now_ms() -> u64 {
    let tick = read(coarse());
    (tick + suspended(tick)) / 1_000_000
}

/// Milliseconds since the machine was started, begun ones among them.
pub(crate) fn exactly_now_ms() -> u64 {
    read(since_start()) / 1_000_000 + 1
}

/// The time of day in milliseconds since 1970, which may be wrong.
pub(crate) fn wall_ms() -> u64 {
    read(libc::CLOCK_REALTIME) / 1_000_000
}

/// For how long the machine was suspended since it was started: the clock that has ticks does not count that. It is looked
/// at anew at each tick.
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

/// The clock that counts time in which the machine is suspended, too. An interpreter does not know it.
fn since_start() -> libc::clockid_t {
    if cfg!(miri) { libc::CLOCK_MONOTONIC } else { libc::CLOCK_BOOTTIME }
}

/// The coarse clock, unless its ticks are farther apart than [`BEHIND_MS`].
fn coarse() -> libc::clockid_t {
    use std::sync::OnceLock;

    static CLOCK: OnceLock<libc::clockid_t> = OnceLock::new();
    *CLOCK.get_or_init(|| {
        if cfg!(miri) {
            // It cannot be asked for its ticks.
            return libc::CLOCK_MONOTONIC;
        }
        let (clock, mut tick) =
            (libc::CLOCK_MONOTONIC_COARSE, libc::timespec { tv_sec: 1, tv_nsec: 0 });
        // SAFETY: writes a time to a place for one.
        let failed = unsafe { libc::clock_getres(clock, &raw mut tick) } != 0;
        let is_fine = !failed && tick.tv_sec == 0 && tick.tv_nsec <= 5_000_000;
        if is_fine { clock } else { libc::CLOCK_MONOTONIC }
    })
}
