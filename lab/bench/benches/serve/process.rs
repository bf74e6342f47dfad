//! The processors that a process may use, and the CPU time that it has used.

use std::io;

use crate::Result;

/// Keeps the calling thread, and what it starts from now on, on these processors. On a machine
/// without them nothing changes.
pub(crate) fn stay_on(processors: impl Iterator<Item = usize>) {
    // SAFETY: a zeroed set is an empty one, and the call only reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        processors.for_each(|processor| libc::CPU_SET(processor, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

/// CPU time of a process, user and system, of all its threads. Its unit is finer than the ticks of `/proc`.
pub(crate) fn cpu_ns_of(pid: u32) -> Result<u64> {
    let mut clock = 0;
    // SAFETY: `clock` has room for the one number that is written.
    let failed = unsafe { libc::clock_getcpuclockid(pid.cast_signed(), &raw mut clock) };
    if failed != 0 {
        return Err(io::Error::from_raw_os_error(failed).into());
    }
    read(clock)
}

/// CPU time of the calling thread, user and system.
pub(crate) fn thread_cpu_ns() -> Result<u64> {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of this stack frame.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error().into());
    }
    Ok(time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}
