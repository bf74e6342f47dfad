//! The sockets of any number of sessions, watched by one epoll instance.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use larder_store::Watch;

/// A session and its link.
type Place = (u32, u32);

/// The watched sockets.
#[derive(Debug, Clone)]
pub struct Sockets {
    epoll: Arc<OwnedFd>,
    /// Whether each link wants room, as it was last told.
    wants: Arc<Mutex<HashMap<Place, bool>>>,
}

/// A socket that can be read, or written where room was wanted.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// The number of the session.
    pub session: usize,
    /// Its link.
    pub link: usize,
    /// Whether there is room to write.
    pub has_room: bool,
}

impl Sockets {
    /// Watches nothing yet.
    pub fn new() -> io::Result<Self> {
        // SAFETY: epoll_create1 touches no memory of this process.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if epoll < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and nothing else closes it.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        Ok(Self { epoll: Arc::new(epoll), wants: Arc::default() })
    }

    /// The watch of a session, whose events have its number.
    pub fn of_session(&self, session: usize) -> io::Result<Box<dyn Watch>> {
        let session = u32::try_from(session).map_err(io::Error::other)?;
        Ok(Box::new(OfSession { sockets: self.clone(), session }))
    }

    /// Whether a link of a session wants room.
    pub fn wants_room(&self, session: usize) -> bool {
        let wants = self.wants.lock().unwrap_or_else(PoisonError::into_inner);
        wants.iter().any(|((of, _), wants)| *of as usize == session && *wants)
    }

    /// Waits for events, at most for this time.
    pub fn events(&self, patience: Duration) -> io::Result<Vec<Event>> {
        let mut found = [libc::epoll_event { events: 0, u64: 0 }; 64];
        let (room, epoll) = (i32::try_from(found.len()).unwrap_or(0), self.epoll.as_raw_fd());
        let patience_ms = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: `found` is room for as many events.
        let n = unsafe { libc::epoll_wait(epoll, found.as_mut_ptr(), room, patience_ms) };
        let Ok(n) = usize::try_from(n) else {
            let error = io::Error::last_os_error();
            let is_signal = error.kind() == io::ErrorKind::Interrupted;
            return if is_signal { Ok(Vec::new()) } else { Err(error) };
        };
        let of = |event: &libc::epoll_event| {
            let (place, events) = (event.u64, event.events);
            let [session, link] = [place >> 32, place & u64::from(u32::MAX)]
                .map(|number| usize::try_from(number).unwrap_or(usize::MAX));
            Event { session, link, has_room: events & EPOLLOUT != 0 }
        };
        Ok(found[..n].iter().map(of).collect())
    }
}

const EPOLLIN: u32 = libc::EPOLLIN.cast_unsigned();
const EPOLLOUT: u32 = libc::EPOLLOUT.cast_unsigned();

struct OfSession {
    sockets: Sockets,
    session: u32,
}

impl Watch for OfSession {
    fn watch(&mut self, link: usize, socket: BorrowedFd<'_>, wants_room: bool) -> io::Result<()> {
        let link = u32::try_from(link).map_err(io::Error::other)?;
        let room = if wants_room { EPOLLOUT } else { 0 };
        let place = u64::from(self.session) << 32 | u64::from(link);
        let mut event = libc::epoll_event { events: EPOLLIN | room, u64: place };
        let mut control = |operation| {
            let (epoll, socket) = (self.sockets.epoll.as_raw_fd(), socket.as_raw_fd());
            // SAFETY: `event` is the one event that is read, and both descriptors are open.
            match unsafe { libc::epoll_ctl(epoll, operation, socket, &raw mut event) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        match control(libc::EPOLL_CTL_ADD) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                control(libc::EPOLL_CTL_MOD)?;
            }
            added => added?,
        }
        let mut wants = self.sockets.wants.lock().unwrap_or_else(PoisonError::into_inner);
        wants.insert((self.session, link), wants_room);
        Ok(())
    }
}
