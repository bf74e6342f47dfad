//! The clocks of results: monotonic wall clock, CPU time of threads and processes, all in nanoseconds.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// Nanoseconds of the monotonic clock, from an arbitrary start.
#[inline]
pub(crate) fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Both clocks at one moment. Larder counts by the monotonic clock; many stores expire their entries by the wall
/// clock, which may be set forward or back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clocks {
    pub(crate) monotonic: Instant,
    wall: SystemTime,
}

impl Clocks {
    /// The most by which readings that follow each other may differ.
    const APART: Duration = Duration::from_millis(50);

    pub(crate) fn now() -> Self {
        Self { monotonic: Instant::now(), wall: SystemTime::now() }
    }

    /// Whether the same time has passed since then by both clocks.
    pub(crate) fn agree(self) -> bool {
        let now = Self::now();
        let passed = now.monotonic - self.monotonic;
        let on_the_wall = now.wall.duration_since(self.wall);
        on_the_wall.is_ok_and(|on_the_wall| on_the_wall.abs_diff(passed) < Self::APART)
    }
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

/// Makes the system wake the calling thread in time. By default a sleep may last 50 µs longer, so that the system can
/// wake several threads at once.
pub(crate) fn wake_in_time() {
    // SAFETY: the call takes numbers only.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
}

/// CPU time of one thread, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ThreadCpu {
    /// User and system together.
    pub(crate) cpu_ns: u64,
    /// The part in the system's kernel.
    pub(crate) system_ns: u64,
}

impl ThreadCpu {
    /// The calling thread's, so far.
    pub(crate) fn now() -> Self {
        Self { cpu_ns: thread_cpu_ns(), system_ns: thread_system_ns() }
    }

    /// What was added since an earlier reading.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns - before.cpu_ns,
            system_ns: self.system_ns.saturating_sub(before.system_ns),
        }
    }

    /// Adds the time since an earlier reading.
    pub(crate) fn add_since(&mut self, before: Self) {
        let more = Self::now().since(before);
        self.cpu_ns += more.cpu_ns;
        self.system_ns += more.system_ns;
    }
}

/// A time as a number of nanoseconds.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// CPU time of the calling thread, user and system.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The part of the calling thread's CPU time that the system's kernel used. Where the kernel counts it in ticks, it is right
/// over many ticks only.
fn thread_system_ns() -> u64 {
    // SAFETY: all bytes 0 are a value of this structure, which has room for all that is written.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    let libc::timeval { tv_sec, tv_usec } = usage.ru_stime;
    tv_sec.cast_unsigned() * 1_000_000_000 + tv_usec.cast_unsigned() * 1000
}

/// The time in which a thread or process could have run, in nanoseconds, by what became of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Scheduled {
    /// The time with a processor.
    pub(crate) ran_ns: u64,
    /// The time of waiting for a processor.
    pub(crate) waited_ns: u64,
}

impl Scheduled {
    /// Reads the times of a thread; `None` where there is no such thread, or the kernel does not tell.
    fn read(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path).ok()?;
        let mut fields = text.split_ascii_whitespace().map(str::parse::<u64>);
        let [ran_ns, waited_ns, runs] =
            [fields.next()?.ok()?, fields.next()?.ok()?, fields.next()?.ok()?];
        // The thread has had a processor, so the figures of a kernel that says otherwise do not count.
        (runs > 0).then_some(Self { ran_ns, waited_ns })
    }

    /// All threads of a process that run now; `None` where no thread does, or the kernel does not tell.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
        threads.filter_map(|thread| Self::read(&thread.path().join("schedstat"))).reduce(
            |sum, thread| Self {
                ran_ns: sum.ran_ns + thread.ran_ns,
                waited_ns: sum.waited_ns + thread.waited_ns,
            },
        )
    }

    /// The difference to an earlier reading; the times of a thread that has ended are missing.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            ran_ns: self.ran_ns.saturating_sub(before.ran_ns),
            waited_ns: self.waited_ns.saturating_sub(before.waited_ns),
        }
    }

    /// The time for which the thread waited while it was timed, by its processor time meanwhile. A thread that stops
    /// its clock to prepare work waits then, too, in proportion to its processor time.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of the whole"
    )]
    pub(crate) fn waited_in(self, timed_cpu_ns: u64) -> u64 {
        let part = timed_cpu_ns as f64 / self.ran_ns.max(1) as f64;
        (self.waited_ns as f64 * part.min(1.0)) as u64
    }
}

/// The time for which the calling thread could have run and waited for a processor; `None` where the kernel does
/// not tell.
pub(crate) fn thread_wait_ns() -> Option<u64> {
    Scheduled::read(Path::new("/proc/thread-self/schedstat")).map(|thread| thread.waited_ns)
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

/// The cost of one reading of the wall clock, in nanoseconds: the median of a few batches.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_put_back_or_forward_is_seen() {
        let then = Clocks::now();
        let put = |wall| Clocks { wall, ..then };
        let second = Duration::from_secs(1);
        assert!(!put(then.wall - second).agree() && !put(then.wall + second).agree());
    }
}
