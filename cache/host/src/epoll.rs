//! Waiting for many descriptors at once, which the standard library does not offer.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::time::Duration;

/// Events to wait for: bytes to read, and room to write.
pub const READABLE: u32 = libc::EPOLLIN as u32;
/// See [`READABLE`].
pub const WRITABLE: u32 = libc::EPOLLOUT as u32;

/// The most events of one call; the others come with the next.
const N_EVENTS: u16 = 256;

/// An epoll instance.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

impl Epoll {
    /// An instance that waits for nothing yet.
    pub fn new() -> io::Result<Self> {
        // SAFETY: epoll_create1 touches no memory.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is open, and has no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Changes the events to wait for on a descriptor from one set to another. With an empty set, the descriptor is
    /// removed, because epoll otherwise always reports its end.
    pub fn watch(&self, fd: BorrowedFd<'_>, token: u64, from: u32, to: u32) -> io::Result<()> {
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

    /// Waits until an event occurs, at most for `patience`, which is rounded up to milliseconds; `None` is for ever. A signal
    /// ends the wait without an event.
    pub fn wait(&self, events: &mut Events, patience: Option<Duration>) -> io::Result<()> {
        let millis = patience.map_or(-1, |patience| {
            libc::c_int::try_from(patience.as_micros().div_ceil(1000)).unwrap_or(libc::c_int::MAX)
        });
        let room = events.list.as_mut_ptr();
        // SAFETY: there is room for this many events.
        let n = unsafe { libc::epoll_wait(self.0.as_raw_fd(), room, N_EVENTS.into(), millis) };
        events.n = 0;
        let Ok(n) = usize::try_from(n) else {
            let error = io::Error::last_os_error();
            let is_signal = error.kind() == io::ErrorKind::Interrupted;
            return if is_signal { Ok(()) } else { Err(error) };
        };
        events.n = n;
        Ok(())
    }
}

/// The events of one wait.
pub struct Events {
    list: Box<[libc::epoll_event]>,
    n: usize,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A descriptor that is ready.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// The token that it is watched with.
    pub token: u64,
    /// There is something to read: bytes, the end, or an error.
    pub can_read: bool,
    /// There is room to write.
    pub can_write: bool,
}

impl Default for Events {
    fn default() -> Self {
        let none = libc::epoll_event { events: 0, u64: 0 };
        Self { list: vec![none; N_EVENTS.into()].into(), n: 0 }
    }
}

impl Events {
    /// The events.
    pub fn iter(&self) -> impl Iterator<Item = Event> {
        self.list[..self.n].iter().map(|event| {
            let has = |flags: libc::c_int| event.events & flags.cast_unsigned() != 0;
            Event {
                token: event.u64,
                can_read: has(libc::EPOLLIN | libc::EPOLLHUP | libc::EPOLLERR),
                can_write: has(libc::EPOLLOUT),
            }
        })
    }
}
