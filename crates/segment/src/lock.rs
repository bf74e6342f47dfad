//! The lock of a partition: for writers only, of all processes, and of none that has died.
//!
//! A robust mutex of POSIX. When its holder dies the kernel gives it to the next that asks, who is told so. One that is only
//! stopped holds it on, so every wait has an end.

use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::time::Duration;

use crate::memory::Memory;

/// The bytes that a lock takes, whatever the C library's takes of them.
pub(crate) const LEN: usize = 64;

const _: () = assert!(size_of::<libc::pthread_mutex_t>() <= LEN);

/// A lock that is held.
#[derive(Debug)]
pub(crate) struct Held<'m> {
    mutex: *mut libc::pthread_mutex_t,
    /// Its last holder died holding it.
    pub(crate) owner_died: bool,
    memory: PhantomData<&'m Memory>,
}

/// Why a lock was not had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotHeld {
    /// Its holder neither let go nor died in time.
    Busy,
    /// The bytes there are no lock.
    Damaged,
}

/// Makes a lock of the bytes at `at`, whatever they are. Nobody may hold or await it.
pub(crate) fn make(memory: &Memory, at: usize) -> io::Result<()> {
    let mutex: *mut libc::pthread_mutex_t = memory.at(at, LEN).cast();
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: the attributes are initialised before they are used and destroyed once they were; the mutex is memory of the
    // region that nobody else uses now, large and aligned enough.
    let error = unsafe {
        libc::pthread_mutexattr_init(attributes.as_mut_ptr());
        // Miri knows neither, and runs one process.
        #[cfg(not(miri))]
        {
            let attributes = attributes.as_mut_ptr();
            libc::pthread_mutexattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED);
            libc::pthread_mutexattr_setrobust(attributes, libc::PTHREAD_MUTEX_ROBUST);
        }
        let error = libc::pthread_mutex_init(mutex, attributes.as_ptr());
        libc::pthread_mutexattr_destroy(attributes.as_mut_ptr());
        error
    };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Takes the lock at `at`, for which a writer waits so long at most.
pub(crate) fn take(memory: &Memory, at: usize, wait: Duration) -> Result<Held<'_>, NotHeld> {
    let mutex: *mut libc::pthread_mutex_t = memory.at(at, LEN).cast();
    // SAFETY: made by `make` before the region was given to anybody, and in the region as long as `memory` is.
    let mut answer = unsafe { libc::pthread_mutex_trylock(mutex) };
    if answer == libc::EBUSY && !cfg!(miri) {
        // SAFETY: as above.
        answer = unsafe { wait_for(mutex, wait) };
    }
    match answer {
        0 => Ok(Held { mutex, owner_died: false, memory: PhantomData }),
        libc::EOWNERDEAD => {
            // SAFETY: this thread holds it. Every state that the dead may have left is a valid one, so that it may go on.
            unsafe { libc::pthread_mutex_consistent(mutex) };
            Ok(Held { mutex, owner_died: true, memory: PhantomData })
        }
        libc::ETIMEDOUT | libc::EBUSY | libc::EAGAIN => Err(NotHeld::Busy),
        _ => Err(NotHeld::Damaged),
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // SAFETY: this thread took it and has not let go.
        unsafe { libc::pthread_mutex_unlock(self.mutex) };
    }
}

#[cfg(target_env = "gnu")]
unsafe extern "C" {
    /// Of the C library since 2.30; the crate `libc` does not name it.
    fn pthread_mutex_clocklock(
        mutex: *mut libc::pthread_mutex_t,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> libc::c_int;
}

/// Waits for a mutex so long at most.
///
/// # Safety
///
/// It must be a mutex that was made, in memory that is there as long as this takes.
unsafe fn wait_for(mutex: *mut libc::pthread_mutex_t, wait: Duration) -> libc::c_int {
    // Where the C library waits by no other clock, one that is set meanwhile makes the wait longer or shorter.
    let clock = if cfg!(target_env = "gnu") { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME };
    let mut until = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a time to be filled in; both clocks are there on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut until) };
    let ns = until.tv_nsec + libc::c_long::from(wait.subsec_nanos());
    until.tv_sec += libc::time_t::try_from(wait.as_secs()).unwrap_or(0) + ns / 1_000_000_000;
    until.tv_nsec = ns % 1_000_000_000;
    #[cfg(target_env = "gnu")]
    // SAFETY: as the caller promises.
    return unsafe { pthread_mutex_clocklock(mutex, clock, &raw const until) };
    #[cfg(not(target_env = "gnu"))]
    // SAFETY: as the caller promises.
    return unsafe { libc::pthread_mutex_timedlock(mutex, &raw const until) };
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(5);

    #[test]
    fn one_holds_it_and_the_other_does_not_wait_for_ever() {
        let memory = Memory::private(4096).unwrap();
        make(&memory, 64).unwrap();
        let held = take(&memory, 64, SHORT).unwrap();
        assert!(!held.owner_died);
        let other = || take(&memory, 64, SHORT).map(|held| held.owner_died);
        assert_eq!(std::thread::scope(|s| s.spawn(other).join().unwrap()), Err(NotHeld::Busy));
        drop(held);
        assert_eq!(other(), Ok(false));
    }

    #[test]
    fn of_a_thread_that_ended_with_it_the_next_is_told_once() {
        let memory = Memory::private(4096).unwrap();
        make(&memory, 0).unwrap();
        let leave = || std::mem::forget(take(&memory, 0, SHORT).unwrap());
        std::thread::scope(|s| s.spawn(leave).join().unwrap());
        assert!(take(&memory, 0, SHORT).unwrap().owner_died);
        assert!(!take(&memory, 0, SHORT).unwrap().owner_died);
    }
}
