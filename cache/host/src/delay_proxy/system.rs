//! The system calls of the relay that the standard library does not offer: a precise timer, and priorities.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A timer for [`Epoll`](crate::epoll::Epoll). Epoll's own timeouts are whole milliseconds and may be late by the system's timer slack.
#[derive(Debug)]
pub(super) struct Timer(OwnedFd);

impl Timer {
    pub(super) fn new() -> io::Result<Self> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: timerfd_create touches no memory.
        owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) }).map(Self)
    }

    /// Becomes readable after this time, and not before; `None` is never. Replaces an earlier setting.
    pub(super) fn set(&self, after: Option<Duration>) -> io::Result<()> {
        // Zero would disarm the timer.
        let after = after.map_or(Duration::ZERO, |after| after.max(Duration::from_nanos(1)));
        // SAFETY: an itimerspec of zeroes is a valid one.
        let mut time: libc::itimerspec = unsafe { std::mem::zeroed() };
        time.it_value.tv_sec = after.as_secs().try_into().unwrap_or(libc::time_t::MAX);
        time.it_value.tv_nsec = after.subsec_nanos().into();
        // SAFETY: `time` outlives the call; no old time is asked for.
        let result = unsafe {
            libc::timerfd_settime(self.0.as_raw_fd(), 0, &raw const time, std::ptr::null_mut())
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn owned(fd: libc::c_int) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes this process run as soon as it is woken, before all other work of the machine. Otherwise such work would slow
/// down the wire. Only some users may do this. Beside two busy loops on two processors, a delay of 2 ms could otherwise
/// become 4 ms. Returns whether it succeeded.
pub(super) fn run_before_others() -> bool {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads this one structure. Where it is refused, nothing changes.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const lowest) == 0 }
}
