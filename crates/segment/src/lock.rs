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
    /// What lies there is no lock.
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
        let until = in_future(wait);
        // SAFETY: as above.
        answer = unsafe { libc::pthread_mutex_timedlock(mutex, &raw const until) };
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

/// The time of day so long from now, by which a mutex is waited for. A clock that is set meanwhile makes one wait longer or
/// shorter.
fn in_future(wait: Duration) -> libc::timespec {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let until = now.unwrap_or_default() + wait;
    libc::timespec {
        tv_sec: libc::time_t::try_from(until.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(until.subsec_nanos()),
    }
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
