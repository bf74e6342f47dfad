//! One connection, the requests that are not sent, and those that are not answered.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::Instant;

use larder_store::{Error, Result};

use super::Peer;
use super::output::Output;
use super::outstanding::{End, Outstanding, Role};
use super::patience::Patience;
use crate::socket::Socket;

/// A link to one node, opened by its first request and again after a failure.
#[derive(Debug)]
pub(crate) struct Link<P: Peer> {
    /// The engine's part.
    pub(crate) peer: P,
    pub(super) socket: Option<Socket>,
    /// Whether requests can be added: there is a socket, and it has not failed.
    pub(super) is_open: bool,
    output: Output,
    /// Whether the socket has taken less than there was.
    pub(super) wants_room: bool,
    /// The beginning of an answer, and the number of bytes of the whole, if it is known.
    pub(super) kept: Vec<u8>,
    pub(super) needed: usize,
    pub(super) outstanding: VecDeque<Outstanding<P::SentRequest>>,
    /// The places in their batches of the keys that are read.
    pub(super) places: VecDeque<u32>,
    /// The keys of the command that is being put together.
    n_keys: u32,
    /// The first error of the foremost batch; without requests, the error of bytes that no request asked for.
    pub(super) error: Option<Error>,
    pub(super) patience: Patience,
    /// The reason why the connection could not be written to. What has arrived before is still read.
    pub(super) failure: Option<io::Error>,
    /// Whether something has arrived, or the first request was asked, since the last look at the clock.
    pub(super) has_progressed: bool,
    silent_since: Option<Instant>,
}

impl<P: Peer> Link<P> {
    pub(super) fn new(peer: P, patience: Patience) -> Self {
        Self {
            peer,
            patience,
            socket: None,
            is_open: false,
            output: Output::default(),
            wants_room: false,
            kept: Vec::new(),
            needed: 0,
            outstanding: VecDeque::new(),
            places: VecDeque::new(),
            n_keys: 0,
            error: None,
            failure: None,
            has_progressed: false,
            silent_since: None,
        }
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether the caller has panicked while an answer was passed on, so that what follows is no whole answer.
    #[inline]
    pub(super) fn is_broken_off(&self) -> bool {
        !self.is_open && self.socket.is_some() && self.failure.is_none()
    }

    /// Opens the connection. A failed connection whose requests have not had the failure reported yet stays as it is.
    #[cold]
    pub(super) fn open(&mut self) -> Result<()> {
        if self.is_broken_off() {
            self.fail_later(ErrorKind::ConnectionAborted.into());
        }
        if self.outstanding.is_empty() && self.failure.is_some() {
            // No request is to get the failure.
            self.close();
            self.failure = None;
        }
        if let Some(failure) = &self.failure {
            return Err(self.failed(same(failure)));
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let Patience { timeout, longest_read, deadline, .. } = self.patience;
        let left = self.patience.left();
        if left.is_zero() {
            return Err(self.failed(ErrorKind::TimedOut.into()));
        }
        let mut socket = self.peer.open(left)?;
        if let Some(longest) = longest_read {
            let bounded = socket.with_deadlines(longest, timeout);
            socket = bounded.map_err(|error| self.failed(error))?;
            socket.begin(deadline);
        }
        self.socket = Some(socket);
        self.output = Output::new(self.peer.packet_len());
        self.is_open = true;
        Ok(())
    }

    /// The error of a connection that the system ended so.
    pub(super) fn failed(&self, source: io::Error) -> Error {
        self.peer.failed(source, self.patience.longest())
    }

    /// Bounds the present call, or no longer.
    pub(super) fn begin(&mut self, patience: Patience) {
        self.patience = patience;
        if let Some(socket) = &mut self.socket {
            socket.begin(patience.deadline);
        }
    }

    /// The socket, and whether it wants room to write.
    pub(super) fn watched(&self) -> Option<(BorrowedFd<'_>, bool)> {
        self.socket.as_ref().map(|socket| (socket.fd(), self.wants_room))
    }

    /// The socket for a call of `poll`; without requests it is left out.
    pub(super) fn polled(&self) -> libc::pollfd {
        let socket = self.socket.as_ref().filter(|_| self.is_waiting());
        let fd = socket.map_or(-1, |socket| socket.fd().as_raw_fd());
        let room = if self.unsent_bytes() > 0 { libc::POLLOUT } else { 0 };
        libc::pollfd { fd, events: libc::POLLIN | room, revents: 0 }
    }

    #[inline]
    pub(super) fn unsent_bytes(&self) -> usize {
        let held_bytes = self.socket.as_ref().map_or(0, Socket::held_bytes);
        self.output.unsent_bytes() + held_bytes
    }

    /// Whether commands wait for their answers.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        !self.outstanding.is_empty()
    }

    /// The commands that wait for their answers.
    pub(super) fn n_waiting(&self) -> usize {
        self.outstanding.len()
    }

    /// Whether the connection has failed while it was written to.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Adds a command whose bytes are in the output.
    #[inline]
    pub(super) fn push(&mut self, id: usize, asked: P::SentRequest, role: Role) {
        if self.outstanding.is_empty() {
            self.has_progressed = true;
        }
        self.output.end_request();
        self.outstanding.push_back(Outstanding { id, asked, role });
    }

    /// Adds a command that stores the entry at a place of a batch.
    pub(crate) fn push_write(&mut self, id: usize, asked: P::SentRequest, place: usize) {
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        self.push(id, asked, Role::Write { place, end: End::Nothing });
    }

    /// Adds a key of a batch to the command that is being put together.
    #[inline]
    pub(crate) fn add_place(&mut self, place: usize) {
        self.places.push_back(u32::try_from(place).unwrap_or(u32::MAX));
        self.n_keys += 1;
    }

    /// The keys of the command that is being put together.
    pub(crate) fn n_keys(&self) -> u32 {
        self.n_keys
    }

    /// Adds the command that reads those keys.
    pub(crate) fn push_read(&mut self, id: usize, asked: P::SentRequest) {
        let n_keys = std::mem::take(&mut self.n_keys);
        self.push(id, asked, Role::Read { n_keys, end: End::Nothing });
    }

    /// Makes the newest command the last of its batch on this link.
    pub(super) fn set_end(&mut self, end: End) {
        if let Some(newest) = self.outstanding.back_mut() {
            newest.role.set_end(end);
        }
    }

    /// The requests, to which the bytes of the next are added.
    #[inline]
    pub(crate) fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output.bytes
    }

    /// The requests, and the engine's part of the link.
    #[cfg(feature = "memcached")]
    #[inline]
    pub(crate) fn output_and_peer(&mut self) -> (&[u8], &mut P) {
        (&self.output.bytes, &mut self.peer)
    }

    /// Adds a value to the requests, and what `behind` writes. What the socket takes of a large value is not copied.
    #[inline]
    pub(crate) fn add_value(&mut self, value: &[u8], behind: impl FnOnce(&mut Vec<u8>)) {
        let socket = self.socket.as_mut().filter(|_| !self.wants_room && self.is_open);
        // The node may then read all of it before it answers.
        let may_wait = self.patience.waits && self.outstanding.is_empty();
        if let Err(error) = self.output.add_value(value, behind, socket, may_wait) {
            self.fail_later(error);
        }
    }

    /// Sends what the socket takes without waiting. Whether it wants room now, where that has changed.
    #[inline]
    pub(super) fn flush(&mut self) -> Option<bool> {
        let socket = self.socket.as_mut()?;
        let n_unsent = self.output.unsent_bytes();
        let wants_room = match self.output.send(socket) {
            Ok(()) => false,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.output.compact();
                true
            }
            Err(error) => {
                self.fail_later(error);
                return None;
            }
        };
        // A large request may take longer than the timeout, as long as the node reads it.
        self.has_progressed |= self.wants_room && self.output.unsent_bytes() < n_unsent;
        let has_changed = std::mem::replace(&mut self.wants_room, wants_room) != wants_room;
        has_changed.then_some(wants_room)
    }

    /// Notes that the connection takes no bytes. The next [`receive`](Self::receive) reads what has arrived before, and
    /// tells the requests. The shut socket is readable, so its watcher will call that.
    #[cold]
    pub(super) fn fail_later(&mut self, failure: io::Error) {
        self.is_open = false;
        self.output = Output::default();
        self.failure = Some(failure);
        if let Some(socket) = &self.socket {
            socket.shut();
        }
    }

    /// Closes the connection.
    pub(super) fn close(&mut self) {
        self.socket = None;
        self.is_open = false;
        self.wants_room = false;
        self.output = Output::default();
        self.kept = Vec::new();
        (self.needed, self.n_keys) = (0, 0);
        self.silent_since = None;
        self.places.clear();
        self.peer.forget();
    }

    /// Whether the node has been silent for longer than the timeout, as far as earlier looks at the clock show.
    pub(super) fn is_silent(&mut self, now: Instant) -> bool {
        if std::mem::take(&mut self.has_progressed) || !self.is_waiting() {
            self.silent_since = None;
        }
        let since = *self.silent_since.get_or_insert(now);
        self.is_waiting() && now.duration_since(since) >= self.patience.timeout
    }
}

/// The same error once more, for another request.
pub(super) fn same(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => error.kind().into(),
    }
}
