//! The system calls of a lock. They let a thread sleep until a word changes, wake a sleeping thread, tell the thread's number,
//! and tell whether another thread still exists.

use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::fork;

/// The bits of a thread's number, which the kernel keeps below 2^22.
pub(crate) const THREAD_BITS: u32 = 22;

/// Sleeps until another thread wakes this one, but at most for `longest`. It does not sleep if the lower half of the
/// word has changed already.
pub(crate) fn sleep(word: &AtomicU64, lower: u32, longest: Duration) {
    if cfg!(miri) {
        return std::thread::yield_now();
    }
    let longest = libc::timespec {
        tv_sec: libc::time_t::try_from(longest.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: longest.subsec_nanos().into(),
    };
    // SAFETY: a word of the region, which is mapped as long as it is borrowed, and a time that is read only.
    unsafe {
        libc::syscall(libc::SYS_futex, half(word), libc::FUTEX_WAIT, lower, &raw const longest);
    }
}

/// Wakes one of the threads that sleep on this word.
pub(crate) fn wake(word: &AtomicU64) {
    if !cfg!(miri) {
        // SAFETY: a word of the region, which is mapped as long as it is borrowed.
        unsafe { libc::syscall(libc::SYS_futex, half(word), libc::FUTEX_WAKE, 1) };
    }
}

/// The lower half of a word: the kernel compares 32 bits.
fn half(word: &AtomicU64) -> *mut u32 {
    let first = word.as_ptr().cast::<u32>();
    if cfg!(target_endian = "big") { first.wrapping_add(1) } else { first }
}

/// The number of this thread, never 0.
#[inline]
pub(crate) fn thread() -> u32 {
    thread_local! {
        /// The number, and the generation of the process. A child has another number than the thread that forked it.
        static OWN: Cell<(u32, u32)> = const { Cell::new((u32::MAX, 0)) };
    }
    let generation = fork::generation();
    match OWN.get() {
        (of, own) if of == generation => own,
        _ => {
            let own = ask_for_thread();
            OWN.set((generation, own));
            own
        }
    }
}

fn ask_for_thread() -> u32 {
    if cfg!(miri) {
        // Miri does not know thread numbers. The address of a thread-local variable serves as one.
        thread_local! { static PLACE: u8 = const { 0 }; }
        let place = PLACE.with(|place| std::ptr::from_ref(place).addr());
        return u32::try_from(place >> 3 & ((1 << THREAD_BITS) - 1)).unwrap_or(0).max(1);
    }
    // SAFETY: asks for a number.
    let own = unsafe { libc::syscall(libc::SYS_gettid) };
    u32::try_from(own).unwrap_or(1).max(1)
}

/// Whether no thread has this number, in any process that this one can see.
pub(crate) fn is_gone(thread: u32) -> bool {
    if cfg!(miri) {
        return false;
    }
    // SAFETY: sends no signal, and only asks whether it could.
    let answer = unsafe { libc::syscall(libc::SYS_tkill, thread, 0) };
    answer != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// A clock that runs evenly, the same for all processes in this run of the machine.
pub(crate) fn now() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes a time to a place for one.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    Duration::from_secs(now.tv_sec.unsigned_abs())
        + Duration::from_nanos(now.tv_nsec.unsigned_abs())
}

/// Lets the processor do other work for a moment.
#[inline]
pub(crate) fn pause() {
    std::hint::spin_loop();
}
