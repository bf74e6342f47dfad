//! A connection to one node, and the error that each of its failures becomes.
//!
//! The steps of a `get` are `#[inline]` all the way: code after a system call runs with cold caches. A call of a
//! separate function cost as much again as its work (see the benchmark `floor_memcached`).

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_protocol::{Malformed, Parse, Parsed, Refusal};
use larder_store::{Error, Result};

use super::SCHEME;
use super::address::Node;
use super::errors;
use crate::socket::Socket;

/// Room for received bytes; it must hold the longest line. Larger values are read straight into the caller's buffer.
const INPUT_LEN: usize = 16 * 1024;
const _: () = assert!(INPUT_LEN > larder_protocol::MAX_LINE_LEN, "a line must fit the buffer");

/// Up to this length a value is copied behind its header, which is cheaper than sending two slices.
const COPIED_LEN: usize = 4 * 1024;

/// The terms of the conversation with a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// The protocol.
    pub(super) wire: Wire,
    /// The longest silence of the node.
    pub(super) timeout: Duration,
    /// Whether a connection is kept after an operation.
    pub(super) keep: bool,
    /// The node's item limit, if the node reports it.
    pub(super) max_value_len: Option<usize>,
}

/// The protocol on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Text,
    Meta,
}

/// A connection to one node, opened when it is first needed.
#[derive(Debug)]
pub(super) struct Connection {
    node: Arc<Node>,
    pub(super) terms: Terms,
    socket: Option<Socket>,
    /// Whether the connection is open and every request has been answered, so that the next answer is the next
    /// request's.
    in_step: bool,
    /// Empty until the connection is first opened, because a process may have thousands of sessions.
    input: Box<[u8]>,
    /// The bytes received and not yet read are `input[start..end]`.
    start: usize,
    end: usize,
    /// The next request.
    pub(super) request: Vec<u8>,
    /// Length of the value that the awaited answer is about.
    pub(super) value_len: usize,
    /// The longest time of a read, where it is bounded.
    read_timeout: Option<Duration>,
    /// The moment at which the answer to the present request is due.
    deadline: Option<Instant>,
}

impl Connection {
    pub(super) fn new(node: Arc<Node>, terms: Terms) -> Self {
        Self {
            node,
            terms,
            socket: None,
            in_step: false,
            input: Box::default(),
            start: 0,
            end: 0,
            request: Vec::new(),
            value_len: 0,
            read_timeout: None,
            deadline: None,
        }
    }

    /// Bounds the time of reads. The next operation opens another connection, whose kernel timeout fits that.
    pub(super) fn set_read_timeout(&mut self, longest: Option<Duration>) {
        self.read_timeout = longest;
        self.in_step = false;
        self.socket = None;
    }

    /// Begins an operation, whose answer may be due at a moment: makes sure that there is a connection. True when the
    /// connection had to be opened.
    #[inline]
    pub(super) fn begin(&mut self, deadline: Option<Instant>) -> Result<bool> {
        self.request.clear();
        self.deadline = deadline;
        let is_new =
            if std::mem::replace(&mut self.in_step, false) { false } else { self.connect()? };
        if let Some(socket) = &mut self.socket {
            socket.begin(deadline);
        }
        Ok(is_new)
    }

    #[cold]
    fn connect(&mut self) -> Result<bool> {
        (self.start, self.end) = (0, 0);
        if self.input.is_empty() {
            self.input = vec![0; INPUT_LEN].into();
        }
        self.socket = None;
        let socket = self.open().map_err(|error| self.failed(error))?;
        self.socket = Some(socket);
        Ok(true)
    }

    fn open(&self) -> io::Result<Socket> {
        let timeout = self.terms.timeout;
        let left = self.deadline.map(|due| due.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let socket = self.node.connect(left.map_or(timeout, |left| left.min(timeout)))?;
        match self.read_timeout {
            None => Ok(socket),
            Some(longest) => socket.with_deadlines(longest, timeout),
        }
    }

    /// Ends an operation. After an error in mid-answer the connection is closed. A connection whose operation never
    /// ended is opened again by the next operation.
    #[inline]
    pub(super) fn end<T>(&mut self, result: &Result<T>) {
        let is_answered = match result {
            Ok(_) => true,
            Err(error) => errors::is_whole_answer(error),
        };
        self.in_step = is_answered && self.terms.keep;
        if !self.in_step {
            self.socket = None;
        }
    }

    /// Sends the request.
    #[expect(clippy::inline_always, reason = "measured: see the head of this file")]
    #[inline(always)]
    pub(super) fn send(&mut self) -> Result<()> {
        self.nothing_left()?;
        let Self { socket, request, node, .. } = self;
        let socket = socket.as_mut().ok_or_else(|| closed(node))?;
        socket.send(request).map_err(|error| self.failed(error))
    }

    /// Refuses the rest of an earlier answer, which would be taken for the next answer.
    #[inline]
    fn nothing_left(&mut self) -> Result<()> {
        if self.start != self.end {
            return Err(errors::unasked(&self.node, &self.input[self.start..self.end]));
        }
        Ok(())
    }

    /// Sends the request, a value and the end of its line.
    pub(super) fn send_value(&mut self, value: &[u8]) -> Result<()> {
        self.add_value(value)?;
        self.send_rest()
    }

    /// Adds a value and the end of its line to the request. A large value is sent at once, behind the request.
    pub(super) fn add_value(&mut self, value: &[u8]) -> Result<()> {
        if value.len() <= COPIED_LEN {
            self.request.extend_from_slice(value);
            self.request.extend_from_slice(b"\r\n");
            return Ok(());
        }
        self.nothing_left()?;
        let Self { socket, request, node, .. } = self;
        let socket = socket.as_mut().ok_or_else(|| closed(node))?;
        let sent = socket.send_slices([request, value, b"\r\n"]);
        sent.map_err(|error| self.failed(error))?;
        self.request.clear();
        Ok(())
    }

    /// Sends the part of the request that is not sent yet.
    pub(super) fn send_rest(&mut self) -> Result<()> {
        if self.request.is_empty() {
            return Ok(());
        }
        self.send()?;
        self.request.clear();
        Ok(())
    }

    /// As [`Node::packet_len`].
    pub(super) fn packet_len(&self) -> Option<usize> {
        self.node.packet_len()
    }

    /// Waits for an answer.
    #[inline]
    pub(super) fn receive<T>(
        &mut self,
        parse: impl for<'a> Fn(&'a [u8]) -> Parse<'a, T>,
    ) -> Result<T> {
        if self.start == self.end {
            self.fill()?;
        }
        loop {
            let received = &self.input[self.start..self.end];
            match parse(received) {
                Ok(Parsed::Complete(Ok(answer), len)) => {
                    self.start += len;
                    return Ok(answer);
                }
                Ok(Parsed::Complete(Err(refusal), len)) => {
                    let error = self.refused(refusal);
                    self.start += len;
                    return Err(error);
                }
                Ok(Parsed::Incomplete) => self.fill()?,
                Err(malformed) => return Err(self.malformed(malformed, received)),
            }
        }
    }

    /// The next `len` bytes and the `tail` behind them, if they have arrived already.
    #[inline]
    pub(super) fn received_value<const N: usize>(
        &mut self,
        len: usize,
        tail: &[u8; N],
    ) -> Result<Option<&[u8]>> {
        let start = self.start;
        let received = &self.input[start..self.end];
        let Some((value, behind)) = received.split_at_checked(len) else { return Ok(None) };
        let Some(end) = behind.first_chunk::<N>() else { return Ok(None) };
        if end != tail {
            return Err(self.no_end(end));
        }
        self.start += len + N;
        Ok(Some(value))
    }

    /// Waits for `len` bytes, which go behind those of `value`, and for the `tail` behind them. An error leaves `value` as
    /// it was.
    #[inline]
    pub(super) fn receive_value<const N: usize>(
        &mut self,
        len: usize,
        tail: &[u8; N],
        value: &mut Vec<u8>,
    ) -> Result<()> {
        if let Some(received) = self.received_value(len, tail)? {
            value.extend_from_slice(received);
            return Ok(());
        }
        let start = value.len();
        let received = self.receive_rest(len, tail, value);
        if received.is_err() {
            value.truncate(start);
        }
        received
    }

    /// Reads the rest of a value straight into the caller's buffer.
    fn receive_rest<const N: usize>(
        &mut self,
        len: usize,
        tail: &[u8; N],
        value: &mut Vec<u8>,
    ) -> Result<()> {
        let received = &self.input[self.start..self.end];
        let (in_value, in_tail) = received.split_at(received.len().min(len));
        value.reserve(len);
        value.extend_from_slice(in_value);
        let mut end = [0; N];
        end[..in_tail.len()].copy_from_slice(in_tail);
        let (rest, start) = (len - in_value.len(), in_tail.len());
        let received = self.socket()?.receive_value(value, rest, &mut end[start..]);
        received.map_err(|error| self.failed(error))?;
        (self.start, self.end) = (0, 0);
        if end == *tail { Ok(()) } else { Err(self.no_end(&end)) }
    }

    /// Reads the bytes that have arrived, or waits for some.
    #[expect(clippy::inline_always, reason = "measured: see the head of this file")]
    #[inline(always)]
    fn fill(&mut self) -> Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.input.len() {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let Self { socket, input, end, .. } = self;
        let socket = socket.as_mut().ok_or_else(|| closed(&self.node))?;
        match socket.receive(true, &mut input[*end..]) {
            Ok(received) => {
                *end += received;
                Ok(())
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    fn socket(&mut self) -> Result<&mut Socket> {
        self.socket.as_mut().ok_or_else(|| closed(&self.node))
    }

    #[cold]
    fn failed(&self, source: io::Error) -> Error {
        let timeout = self.terms.timeout;
        let waited = self.read_timeout.filter(|_| self.deadline.is_some()).unwrap_or(timeout);
        errors::failed(&self.node, waited.min(timeout), source)
    }

    #[cold]
    fn refused(&self, refused: Refusal<'_>) -> Error {
        errors::refused(&self.node, self.terms.max_value_len, self.value_len, refused)
    }

    #[cold]
    fn malformed(&self, malformed: Malformed, received: &[u8]) -> Error {
        errors::malformed(&self.node, malformed, received)
    }

    #[cold]
    fn no_end(&self, end: &[u8]) -> Error {
        errors::no_end(&self.node, end)
    }
}

#[cold]
fn closed(node: &Node) -> Error {
    Error::Unavailable { engine: SCHEME, what: format!("{node} is not connected"), source: None }
}
