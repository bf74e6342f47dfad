//! The system calls that the standard library does not offer: waiting for many sockets, and a precise timer.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Events: bytes to read, and room to write.
pub(super) const READABLE: u32 = libc::EPOLLIN as u32;
pub(super) const WRITABLE: u32 = libc::EPOLLOUT as u32;

/// Waits for many descriptors at once.
#[derive(Debug)]
pub(super) struct Epoll(OwnedFd);

impl Epoll {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: epoll_create1 touches no memory.
        owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).map(Self)
    }

    /// Changes the events to wait for on a descriptor from one set to another. With an empty set, the descriptor is
    /// removed, because epoll otherwise always reports its end.
    pub(super) fn watch(
        &self,
        fd: BorrowedFd<'_>,
        token: u64,
        from: u32,
        to: u32,
    ) -> io::Result<()> {
        let operation = match (from, to) {
            _ if from == to => return Ok(()),
            (0, _) => libc::EPOLL_CTL_ADD,
            (_, 0) => libc::EPOLL_CTL_DEL,
            _ => libc::EPOLL_CTL_MOD,
        };
        let mut event = libc::epoll_event { events: to, u64: token };
        // SAFETY: both descriptors are open, and `event` outlives the call, which does not keep it.
        let result = unsafe {
            libc::epoll_ctl(self.0.as_raw_fd(), operation, fd.as_raw_fd(), &raw mut event)
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits until an event occurs, and puts the tokens of all events into `tokens`.
    pub(super) fn wait(&self, tokens: &mut Vec<u64>) -> io::Result<()> {
        const N_EVENTS: u16 = 64;
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; N_EVENTS as usize];
        let room = events.as_mut_ptr();
        tokens.clear();
        // SAFETY: there is room for so many events; -1 is to wait for as long as it takes.
        let n = unsafe { libc::epoll_wait(self.0.as_raw_fd(), room, N_EVENTS.into(), -1) };
        let Ok(n) = usize::try_from(n) else {
            let error = io::Error::last_os_error();
            let is_signal = error.kind() == io::ErrorKind::Interrupted;
            return if is_signal { Ok(()) } else { Err(error) };
        };
        tokens.extend(events[..n].iter().map(|event| event.u64));
        Ok(())
    }
}

/// A timer for [`Epoll`]. Epoll's own timeouts are whole milliseconds and may be late by the system's timer slack.
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

/// Raises this process's limit of open files to the maximum: a connection takes two.
pub(super) fn raise_open_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls read or write this one structure. Where they fail, the limit stays as it was.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Makes this process run as soon as it is woken, before all other work of the machine. Otherwise such work would slow
/// down the wire. Only some users may do this. Beside two busy loops on two processors, a delay of 2 ms could otherwise
/// become 4 ms. Returns whether it succeeded.
pub(super) fn run_before_others() -> bool {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads this one structure. Where it is refused, nothing changes.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const lowest) == 0 }
}
