//! One connection, the requests that are not sent, and those that are not answered.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use larder_store::{Answer, Error, Result};

use super::batches::Teller;
use super::output::Output;
use super::outstanding::{End, Outstanding, Role};
use super::{Peer, Read, kept};
use crate::socket::Socket;

/// The bytes that are read when it is not known how many an answer takes.
const STEP: usize = 4 * 1024;

/// A link to one node, opened by its first request and again after a failure.
#[derive(Debug)]
pub(crate) struct Link<P: Peer> {
    /// The engine's part.
    pub(crate) peer: P,
    socket: Option<Socket>,
    /// Whether requests can be added: there is a socket, and it has not failed.
    is_open: bool,
    output: Output,
    /// Whether the socket has taken less than there was.
    wants_room: bool,
    /// The beginning of an answer, and the number of bytes of the whole, if it is known.
    kept: Vec<u8>,
    needed: usize,
    outstanding: VecDeque<Outstanding<P::Asked>>,
    /// The places in their batches of the keys that are read.
    places: VecDeque<u32>,
    /// The keys of the command that is being put together.
    n_keys: u32,
    /// The first error of the foremost batch; without requests, the error of bytes that no request asked for.
    error: Option<Error>,
    /// The reason why the connection could not be written to. What has arrived before is still read.
    failure: Option<io::Error>,
    /// Whether something has arrived, or the first request was asked, since the last look at the clock.
    has_progressed: bool,
    silent_since: Option<Instant>,
}

/// The end of a connection.
enum Loss {
    /// By the system.
    System(io::Error),
    /// By an answer after which nothing can be read.
    Broken(Error),
}

impl<P: Peer> Link<P> {
    pub(super) fn new(peer: P) -> Self {
        Self {
            peer,
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

    /// Opens the connection. A failed connection whose requests have not been told so stays as it is.
    #[cold]
    pub(super) fn open(&mut self) -> Result<()> {
        if let Some(failure) = &self.failure {
            return Err(self.peer.failed(same(failure)));
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.socket = Some(self.peer.open()?);
        self.output = Output::new(self.peer.packet_len());
        self.is_open = true;
        Ok(())
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

    /// Whether the connection has failed while it was written to.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Adds a command whose bytes are in the output.
    #[inline]
    pub(super) fn push(&mut self, id: usize, asked: P::Asked, role: Role) {
        if self.outstanding.is_empty() {
            self.has_progressed = true;
        }
        self.output.end_request();
        self.outstanding.push_back(Outstanding { id, asked, role });
    }

    /// Adds a command that stores the entry at a place of a batch.
    pub(crate) fn push_write(&mut self, id: usize, asked: P::Asked, place: usize) {
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
    pub(crate) fn push_read(&mut self, id: usize, asked: P::Asked) {
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

    /// Adds a value and the bytes behind it to the requests. What the socket takes of a large value is not copied.
    #[inline]
    pub(crate) fn add_value(&mut self, value: &[u8], behind: &[u8]) {
        let socket = self.socket.as_mut().filter(|_| !self.wants_room && self.is_open);
        if let Err(error) = self.output.add_value(value, behind, socket) {
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
    /// tells the requests. The shut socket is readable, so whoever watches it will call that.
    #[cold]
    pub(super) fn fail_later(&mut self, failure: io::Error) {
        self.is_open = false;
        self.output = Output::default();
        self.failure = Some(failure);
        if let Some(socket) = &self.socket {
            socket.shut();
        }
    }

    /// Reads what has arrived, or with `waits` waits for something first, and passes on the answers.
    #[inline]
    pub(super) fn receive(
        &mut self,
        mut waits: bool,
        room: &mut [u8],
        teller: &mut Teller<'_, '_>,
    ) {
        loop {
            match self.receive_once(waits, room, teller) {
                Ok(true) => waits = false,
                Ok(false) => return,
                Err(loss) => return self.lose(loss, teller),
            }
        }
    }

    /// Reads once. Whether there may be more.
    #[inline]
    fn receive_once(
        &mut self,
        waits: bool,
        room: &mut [u8],
        teller: &mut Teller<'_, '_>,
    ) -> Result<bool, Loss> {
        let Some(socket) = &mut self.socket else { return Ok(false) };
        let n_kept = self.kept.len();
        if n_kept >= room.len().min(kept::SMALL) || self.needed > room.len() {
            return self.receive_large(waits, teller);
        }
        room[..n_kept].copy_from_slice(&self.kept);
        let received = socket.receive(waits, &mut room[n_kept..]);
        let Some(received) = arrived(waits, received)? else { return Ok(false) };
        self.kept.clear();
        self.has_progressed = true;
        let input = &room[..n_kept + received];
        let n_read = self.read(input, teller).map_err(Loss::Broken)?;
        let rest = &input[n_read..];
        if !rest.is_empty() {
            kept::make_room(&mut self.kept, rest.len());
            self.kept.extend_from_slice(rest);
        }
        Ok(self.has_more(input.len() == room.len()))
    }

    /// Whether there may be more to be read, which is so where the memory for it was filled. A connection that has failed
    /// is read to its end. An encrypted connection may have bytes that nobody is told of.
    #[inline]
    fn has_more(&self, was_filled: bool) -> bool {
        let is_encrypted = || self.socket.as_ref().is_some_and(Socket::is_encrypted);
        self.failure.is_some() || (was_filled && (self.is_waiting() || is_encrypted()))
    }

    /// Reads an answer that is too large for the caller's memory, or that comes in many pieces, into memory of its own.
    #[cold]
    fn receive_large(&mut self, waits: bool, teller: &mut Teller<'_, '_>) -> Result<bool, Loss> {
        let Some(socket) = &mut self.socket else { return Ok(false) };
        let len = if self.needed > self.kept.len() { self.needed } else { self.kept.len() + STEP };
        kept::make_room(&mut self.kept, len);
        let missing = len - self.kept.len();
        let received = socket.receive_onto(waits, &mut self.kept, missing);
        let Some(received) = arrived(waits, received)? else { return Ok(false) };
        self.has_progressed = true;
        let mut kept = std::mem::take(&mut self.kept);
        let n_read = self.read(&kept, teller).map_err(Loss::Broken)?;
        kept.drain(..n_read);
        kept::let_go(&mut kept);
        self.kept = kept;
        Ok(self.has_more(received == missing))
    }

    /// Reads whole answers and passes them on. The number of their bytes.
    #[inline]
    fn read(&mut self, input: &[u8], teller: &mut Teller<'_, '_>) -> Result<usize> {
        let Self { peer, outstanding, places, error, .. } = self;
        let mut n_read = 0;
        while let Some(Outstanding { id, role, asked }) = outstanding.front_mut() {
            let (id, role, rest) = (*id, *role, &input[n_read..]);
            // An answer that has one way to go is put together where the caller gets it, and is not copied.
            let read = match role {
                Role::Whole => peer.read(asked, rest, |answer| (teller.answered)(id, answer)),
                role => peer.read(asked, rest, |answer| {
                    tell_part(id, role, answer, places, error, teller);
                }),
            };
            match read {
                Read::Last(len) => {
                    n_read += len;
                    outstanding.pop_front();
                    match role {
                        Role::Whole => teller.end_request(),
                        Role::Write { end, .. } => teller.end(id, end, error),
                        Role::Read { n_keys, end } => {
                            places.drain(..places.len().min(n_keys as usize));
                            teller.end(id, end, error);
                        }
                    }
                }
                Read::More(len) => n_read += len,
                Read::Incomplete(needed) => {
                    self.needed = needed;
                    return Ok(n_read);
                }
                Read::Broken(error) => return Err(error),
            }
        }
        self.needed = 0;
        if n_read < input.len() {
            return Err(self.peer.unasked(&input[n_read..]));
        }
        Ok(n_read)
    }

    /// Fails all requests, and closes the connection.
    #[cold]
    fn lose(&mut self, loss: Loss, teller: &mut Teller<'_, '_>) {
        let failure = self.failure.take();
        self.close();
        let (mut first, source) = match loss {
            Loss::System(source) => (None, Some(failure.unwrap_or(source))),
            Loss::Broken(error) => (Some(error), None),
        };
        let mut error = self.error.take();
        while let Some(Outstanding { id, role, .. }) = self.outstanding.pop_front() {
            let end = role.end();
            if end == Some(End::Nothing) {
                continue;
            }
            let lost = first.take().unwrap_or_else(|| match &source {
                Some(source) => self.peer.failed(same(source)),
                None => self.peer.lost_behind(),
            });
            match end {
                None => {
                    teller.end_request();
                    teller.tell(id, Answer::Failed(lost));
                }
                Some(end) => {
                    error.get_or_insert(lost);
                    teller.end(id, end, &mut error);
                }
            }
        }
        // The next request is told what the connection has done, because nobody else can be.
        self.error = first;
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

    /// Fails all requests because the node has been silent for too long.
    #[cold]
    pub(super) fn give_up(&mut self, teller: &mut Teller<'_, '_>) {
        self.lose(Loss::System(ErrorKind::TimedOut.into()), teller);
    }

    /// Whether the node has been silent for longer than `timeout`, as far as earlier looks at the clock tell.
    pub(super) fn is_silent(&mut self, now: Instant, timeout: Duration) -> bool {
        if std::mem::take(&mut self.has_progressed) || !self.is_waiting() {
            self.silent_since = None;
        }
        self.is_waiting() && now.duration_since(*self.silent_since.get_or_insert(now)) >= timeout
    }
}

/// Passes on the answer to a command of a batch. `places` has the keys of the foremost command of the link.
fn tell_part(
    id: usize,
    role: Role,
    answer: Answer<'_>,
    places: &VecDeque<u32>,
    error: &mut Option<Error>,
    teller: &mut Teller<'_, '_>,
) {
    match (role, answer) {
        (Role::Write { place, .. }, Answer::Stored(outcome)) => {
            let place = place as usize;
            teller.tell(id, Answer::Outcome { place, outcome: Ok(outcome) });
        }
        (Role::Write { place, .. }, Answer::Failed(error)) => {
            let place = place as usize;
            teller.tell(id, Answer::Outcome { place, outcome: Err(error) });
        }
        (Role::Read { .. }, Answer::Entry { place, value, meta }) => {
            let place = places.get(place).map_or(place, |place| *place as usize);
            teller.tell(id, Answer::Entry { place, value, meta });
        }
        (_, Answer::Failed(refusal)) => drop(error.get_or_insert(refusal)),
        // The end of a part is not yet that of its batch.
        _ => {}
    }
}

/// The number of bytes that have arrived; `None` where there is nothing to be read without waiting.
#[inline]
fn arrived(waits: bool, received: io::Result<usize>) -> Result<Option<usize>, Loss> {
    match received {
        Ok(received) => Ok(Some(received)),
        Err(error) if error.kind() == ErrorKind::WouldBlock && !waits => Ok(None),
        Err(error) => Err(Loss::System(error)),
    }
}

/// The same error once more, for another request.
fn same(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => error.kind().into(),
    }
}
