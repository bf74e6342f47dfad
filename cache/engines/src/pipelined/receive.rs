//! What arrives on a link: answers, and the end of the connection.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};

use larder_store::{Answer, Error, Result};

use super::batches::Reporter;
use super::link::{Link, same};
use super::outstanding::{End, Outstanding, Role};
use super::{Peer, Read, receive_buffer};
use crate::socket::Socket;

/// The bytes that are read when it is not known how many an answer takes.
const STEP: usize = 4 * 1024;

/// The end of a connection.
pub(super) enum Loss {
    /// By the system.
    System(io::Error),
    /// By an answer after which nothing can be read.
    Broken(Error),
}

impl<P: Peer> Link<P> {
    /// Reads what has arrived, or with `waits` waits for something first, and passes on the answers.
    #[inline]
    pub(super) fn receive(
        &mut self,
        mut waits: bool,
        room: &mut [u8],
        reporter: &mut Reporter<'_, '_>,
    ) {
        loop {
            match self.receive_once(waits, room, reporter) {
                Ok(true) => waits = false,
                Ok(false) => return,
                Err(loss) => return self.lose(loss, reporter),
            }
        }
    }

    /// Reads once. Whether there may be more.
    #[inline]
    fn receive_once(
        &mut self,
        waits: bool,
        room: &mut [u8],
        reporter: &mut Reporter<'_, '_>,
    ) -> Result<bool, Loss> {
        if self.is_broken_off() {
            return Err(Loss::System(ErrorKind::ConnectionAborted.into()));
        }
        let Some(socket) = &mut self.socket else { return Ok(false) };
        let n_kept = self.kept.len();
        if n_kept >= room.len().min(receive_buffer::SMALL) || self.needed > room.len() {
            return self.receive_large(waits, reporter);
        }
        room[..n_kept].copy_from_slice(&self.kept);
        let received = socket.receive(waits, &mut room[n_kept..]);
        let Some(received) = arrived(waits, received)? else { return Ok(false) };
        self.kept.clear();
        self.has_progressed = true;
        let input = &room[..n_kept + received];
        let n_read = self.read(input, reporter).map_err(Loss::Broken)?;
        let rest = &input[n_read..];
        if !rest.is_empty() {
            receive_buffer::make_room(&mut self.kept, rest.len());
            self.kept.extend_from_slice(rest);
        }
        Ok(self.has_more(input.len() == room.len()))
    }

    /// Whether there may be more to be read, which is so where the memory for it was filled. A connection that has failed
    /// is read to its end. An encrypted connection may have bytes of which the system reports nothing.
    #[inline]
    fn has_more(&mut self, was_filled: bool) -> bool {
        let is_encrypted = self.socket.as_ref().is_some_and(Socket::is_encrypted);
        if self.failure.is_some() || (was_filled && is_encrypted) {
            return true;
        }
        // Answers of the engine's own are taken before others take memory.
        was_filled && self.is_waiting() && self.peer.replies().is_empty()
    }

    /// Reads an answer that is too large for the caller's memory, or that comes in many pieces, into memory of its own.
    #[cold]
    fn receive_large(
        &mut self,
        waits: bool,
        reporter: &mut Reporter<'_, '_>,
    ) -> Result<bool, Loss> {
        let Some(socket) = &mut self.socket else { return Ok(false) };
        let len = if self.needed > self.kept.len() { self.needed } else { self.kept.len() + STEP };
        receive_buffer::make_room(&mut self.kept, len);
        let missing = socket.step(len - self.kept.len());
        let received = socket.receive_onto(waits, &mut self.kept, missing);
        let Some(received) = arrived(waits, received)? else { return Ok(false) };
        self.has_progressed = true;
        let mut kept = std::mem::take(&mut self.kept);
        let n_read = self.read(&kept, reporter).map_err(Loss::Broken)?;
        kept.drain(..n_read);
        receive_buffer::let_go(&mut kept);
        self.kept = kept;
        Ok(self.has_more(received == missing))
    }

    /// Reads whole answers and passes them on. The number of their bytes.
    ///
    /// Meanwhile the connection does not count as open. If the caller panics amid an answer, the link is out of step.
    #[inline]
    fn read(&mut self, input: &[u8], reporter: &mut Reporter<'_, '_>) -> Result<usize> {
        let was_open = std::mem::replace(&mut self.is_open, false);
        let n_read = self.read_whole(input, reporter);
        self.is_open = was_open;
        n_read
    }

    #[inline]
    fn read_whole(&mut self, input: &[u8], reporter: &mut Reporter<'_, '_>) -> Result<usize> {
        let Self { peer, outstanding, places, error, .. } = self;
        let mut n_read = 0;
        while let Some(Outstanding { id, role, asked }) = outstanding.front_mut() {
            let (id, role, rest) = (*id, *role, &input[n_read..]);
            // An answer that has one way to go is put together where the caller gets it, and is not copied.
            let read = match role {
                Role::Whole => peer.read(asked, rest, |answer| (reporter.answered)(id, answer)),
                role => peer.read(asked, rest, |answer| {
                    report_part(id, role, answer, places, error, reporter);
                }),
            };
            match read {
                Read::Last(len) => {
                    n_read += len;
                    outstanding.pop_front();
                    match role {
                        Role::Whole => reporter.end_request(),
                        Role::Write { end, .. } => reporter.end(id, end, error),
                        Role::Read { n_keys, end } => {
                            places.drain(..places.len().min(n_keys as usize));
                            reporter.end(id, end, error);
                        }
                    }
                }
                Read::More(len) => n_read += len,
                Read::Incomplete(needed) => {
                    self.needed = needed;
                    return Ok(n_read);
                }
                Read::Value(arriving) => {
                    self.needed = arriving.len();
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
    pub(super) fn lose(&mut self, loss: Loss, reporter: &mut Reporter<'_, '_>) {
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
                Some(source) => self.failed(same(source)),
                None => self.peer.lost_behind(),
            });
            match end {
                None => {
                    reporter.end_request();
                    reporter.report(id, Answer::Failed(lost));
                }
                Some(end) => {
                    error.get_or_insert(lost);
                    reporter.end(id, end, &mut error);
                }
            }
        }
        // No request is outstanding to report this error to, so the next one gets it.
        self.error = first;
    }

    /// Fails all requests because the node has been silent for too long.
    #[cold]
    pub(super) fn give_up(&mut self, reporter: &mut Reporter<'_, '_>) {
        self.lose(Loss::System(ErrorKind::TimedOut.into()), reporter);
    }
}

/// Passes on the answer to a command of a batch. `places` has the keys of the foremost command of the link.
fn report_part(
    id: usize,
    role: Role,
    answer: Answer<'_>,
    places: &VecDeque<u32>,
    error: &mut Option<Error>,
    reporter: &mut Reporter<'_, '_>,
) {
    match (role, answer) {
        (Role::Write { place, .. }, Answer::Stored(outcome)) => {
            let place = place as usize;
            reporter.report(id, Answer::Outcome { place, outcome: Ok(outcome) });
        }
        (Role::Write { place, .. }, Answer::Failed(error)) => {
            let place = place as usize;
            reporter.report(id, Answer::Outcome { place, outcome: Err(error) });
        }
        (Role::Read { .. }, Answer::Entry { place, value, meta }) => {
            let place = places.get(place).map_or(place, |place| *place as usize);
            reporter.report(id, Answer::Entry { place, value, meta });
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
