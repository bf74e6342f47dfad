//! Readiness: which sockets have bytes to read, or room to write.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use larder_store::{Error, Result, Watch};

use crate::measure::clock::now_ns;

/// The most events of one call; the others come with the next.
const EVENTS: usize = 256;

/// An epoll instance.
#[derive(Debug)]
pub(in crate::measure) struct Poll {
    epoll: OwnedFd,
    /// Whether any socket has been watched: an engine without sockets has none.
    has_sockets: AtomicBool,
}

impl Poll {
    /// An instance for the sockets of this engine.
    pub(in crate::measure) fn new(engine: &'static str) -> Result<Self> {
        // SAFETY: the call takes a number only.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if epoll < 0 {
            let source = io::Error::last_os_error();
            let what = format!("no epoll instance for its sockets: {source}");
            return Err(Error::Unavailable { engine, what, source: Some(source) });
        }
        // SAFETY: the descriptor is new and belongs to nobody else.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        Ok(Self { epoll, has_sockets: AtomicBool::new(false) })
    }

    /// The watch for the sockets of a lane.
    pub(super) fn watch_for(self: &Arc<Self>, lane: u32) -> Box<dyn Watch> {
        Box::new(LaneWatch { poll: Arc::clone(self), lane })
    }

    /// Whether any socket has been watched.
    pub(super) fn has_sockets(&self) -> bool {
        self.has_sockets.load(Ordering::Relaxed)
    }

    /// Waits until a socket is ready, at most until this instant.
    pub(super) fn wait(&self, events: &mut Events, until: u64) {
        let left = until.saturating_sub(now_ns());
        let time = libc::timespec {
            tv_sec: libc::time_t::try_from(left / 1_000_000_000).unwrap_or(libc::time_t::MAX),
            tv_nsec: (left % 1_000_000_000).cast_signed(),
        };
        let (epoll, room) = (self.epoll.as_raw_fd(), events.list.as_mut_ptr());
        // SAFETY: the kernel writes at most `EVENTS` events, for which the list has room, and only reads the time.
        let n = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                epoll,
                room,
                EVENTS,
                &raw const time,
                std::ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        events.n = match usize::try_from(n) {
            Ok(n) => n,
            Err(_) if io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS) => {
                self.wait_coarsely(events, left)
            }
            // A signal, which may ask for the end of the run.
            Err(_) => 0,
        };
    }

    /// The same on kernels before 5.11, which know whole milliseconds only. A shorter wait returns at once.
    #[cold]
    fn wait_coarsely(&self, events: &mut Events, left_ns: u64) -> usize {
        let millis = libc::c_int::try_from(left_ns / 1_000_000).unwrap_or(libc::c_int::MAX);
        let (epoll, room) = (self.epoll.as_raw_fd(), events.list.as_mut_ptr());
        let most = libc::c_int::try_from(EVENTS).unwrap_or(libc::c_int::MAX);
        // SAFETY: the kernel writes at most `EVENTS` events, for which the list has room.
        let n = unsafe { libc::epoll_wait(epoll, room, most, millis) };
        usize::try_from(n).unwrap_or(0)
    }
}

/// The sockets that are ready.
pub(super) struct Events {
    list: Box<[libc::epoll_event]>,
    n: usize,
}

/// A socket that is ready.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ready {
    /// The lane that it belongs to.
    pub(super) lane: u32,
    /// The link of the lane's session.
    pub(super) link: usize,
    /// There is something to read: bytes, the end of the connection, or an error.
    pub(super) can_read: bool,
    /// There is room to write.
    pub(super) can_write: bool,
}

impl Events {
    pub(super) fn new() -> Self {
        Self { list: vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS].into(), n: 0 }
    }

    /// The number of ready sockets.
    pub(super) fn len(&self) -> usize {
        self.n
    }

    pub(super) fn at(&self, i: usize) -> Ready {
        let libc::epoll_event { events, u64: place } = self.list[i];
        let has = |flags: libc::c_int| events & flags.cast_unsigned() != 0;
        Ready {
            lane: u32::try_from(place >> 32).unwrap_or(u32::MAX),
            link: usize::try_from(place & u64::from(u32::MAX)).unwrap_or(usize::MAX),
            can_read: has(libc::EPOLLIN | libc::EPOLLHUP | libc::EPOLLERR | libc::EPOLLRDHUP),
            can_write: has(libc::EPOLLOUT),
        }
    }
}

/// Has the sockets of a lane watched.
struct LaneWatch {
    poll: Arc<Poll>,
    lane: u32,
}

impl Watch for LaneWatch {
    fn watch(&mut self, link: usize, socket: BorrowedFd<'_>, wants_room: bool) -> io::Result<()> {
        let room = if wants_room { libc::EPOLLOUT } else { 0 };
        let mut event = libc::epoll_event {
            events: (libc::EPOLLIN | room).cast_unsigned(),
            u64: u64::from(self.lane) << 32 | link as u64,
        };
        let epoll = self.poll.epoll.as_raw_fd();
        let mut control = |operation| {
            // SAFETY: both descriptors are open, and the kernel only reads the event.
            let done =
                unsafe { libc::epoll_ctl(epoll, operation, socket.as_raw_fd(), &raw mut event) };
            if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        };
        self.poll.has_sockets.store(true, Ordering::Relaxed);
        match control(libc::EPOLL_CTL_MOD) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
                control(libc::EPOLL_CTL_ADD)
            }
            done => done,
        }
    }
}
