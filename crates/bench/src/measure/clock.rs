//! The clocks of results: monotonic wall clock, CPU time of threads and processes, all in nanoseconds.

use std::fs;
use std::time::Instant;

/// Nanoseconds of the monotonic clock, from an arbitrary start.
#[inline]
pub(crate) fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Sleeps until an instant of the monotonic clock, or until a signal wakes.
pub(crate) fn sleep_until(ns: u64) {
    let seconds = libc::time_t::try_from(ns / 1_000_000_000).unwrap_or(libc::time_t::MAX);
    let until = libc::timespec { tv_sec: seconds, tv_nsec: (ns % 1_000_000_000).cast_signed() };
    // SAFETY: the structure is whole and only read; with an absolute time nothing is written.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const until,
            std::ptr::null_mut(),
        );
    }
}

/// Has the calling thread woken when it asked to be: by default a sleep may last 50 µs longer, so that the system can wake
/// several threads at once.
pub(crate) fn wake_in_time() {
    // SAFETY: the call takes numbers only.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
}

/// CPU time of the calling thread, user and system.
pub(crate) fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// How long the calling thread has waited for a processor while it could have run; `None` where the kernel does not tell.
pub(crate) fn thread_wait_ns() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let mut fields = text.split_ascii_whitespace().map(str::parse);
    let (_, waited, runs): (u64, u64, u64) =
        (fields.next()?.ok()?, fields.next()?.ok()?, fields.next()?.ok()?);
    // Whoever reads this has had a processor, so that a kernel which says otherwise does not count.
    (runs > 0).then_some(waited)
}

/// CPU time of this process, user and system, all threads.
pub(crate) fn process_cpu_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of another process, user and system, all its threads; `None` when it is gone.
pub(crate) fn cpu_ns_of(pid: u32) -> Option<u64> {
    let mut clock = 0;
    // SAFETY: `clock` has room for the one number that is written.
    let found = unsafe { libc::clock_getcpuclockid(pid.cast_signed(), &raw mut clock) } == 0;
    found.then(|| try_read(clock)).flatten()
}

/// What one reading of the wall clock costs, in nanoseconds: the median of a few batches.
pub fn reading_cost_ns() -> f64 {
    const READS: u32 = 10_000;
    let mut batches: Vec<f64> = (0..15)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..READS {
                std::hint::black_box(now_ns());
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(READS)
        })
        .collect();
    batches.sort_by(f64::total_cmp);
    batches[batches.len() / 2]
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    try_read(clock).unwrap_or(0)
}

#[inline]
fn try_read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` has room for the one structure that is written.
    let done = unsafe { libc::clock_gettime(clock, &raw mut time) } == 0;
    done.then(|| time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}
