//! One connection: its socket, and the bytes that wait on both sides of it.

use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};

use larder_host::stream::Stream;

use crate::buffer_budget::{BufferBudget, GUARANTEED_BYTES};
use crate::connection_state::ConnectionState;

/// The most bytes that are read and discarded when the server closes a connection.
const MAX_DRAINED_BYTES: usize = 1 << 20;

/// Bytes that a client must send within the stall time, or its half request may be evicted.
const PROGRESS: usize = 64 << 10;

/// A request from this length on is long.
const LONG: usize = 32 << 10;

/// The bytes of one of these reads.
const DRAIN_BUFFER_BYTES: usize = 16 << 10;

/// A connection. An idle one keeps no buffer.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    pub(crate) state: ConnectionState,
    /// Bytes that have arrived and are not answered.
    pub(crate) input: Vec<u8>,
    /// The capacity of `input`, also while a storage thread has it.
    input_bytes: usize,
    /// Answers that are not sent, from `sent` on.
    output: Vec<u8>,
    sent: usize,
    /// Its share of the bytes that all connections of the event loop buffer.
    share: usize,
    /// The length of its last request that did not arrive in one read. The next one is likely as long.
    pub(crate) needed: usize,
    /// Bytes that have arrived since `last_progress_ms`.
    progress: usize,
    /// The events that it is watched for.
    pub(crate) interest: u32,
    /// Milliseconds since the server began, when it was accepted.
    pub(crate) opened_ms: u64,
    /// The same, when bytes last arrived.
    pub(crate) last_received_ms: u64,
    /// The same, when a request was last answered or an answer sent.
    pub(crate) last_progress_ms: u64,
    /// It ends once its answers are sent.
    pub(crate) is_ending: bool,
    /// It gets its next turn without an event, after those of the others.
    pub(crate) is_queued: bool,
    /// A storage thread has its state and its input.
    pub(crate) is_offloaded: bool,
}

/// The outcome of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// This many bytes have arrived.
    Bytes(usize),
    /// Nothing has arrived.
    Nothing,
    /// The client has ended the connection, or it is broken.
    End,
}

/// The outcome of an attempt to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// This many bytes are sent; the others are kept.
    Bytes(usize),
    /// This many bytes are sent, and there is no space to keep the others.
    NoSpace(usize),
    /// The connection is broken.
    Broken,
}

impl Connection {
    pub(crate) fn new(stream: Stream, state: ConnectionState, now_ms: u64) -> Self {
        Self {
            stream,
            state,
            input: Vec::new(),
            input_bytes: 0,
            output: Vec::new(),
            sent: 0,
            share: 0,
            needed: 0,
            progress: 0,
            interest: 0,
            opened_ms: now_ms,
            last_received_ms: now_ms,
            last_progress_ms: now_ms,
            is_ending: false,
            is_queued: false,
            is_offloaded: false,
        }
    }

    /// Reads at most `most` bytes into the spare capacity of `buffer`.
    #[inline]
    pub(crate) fn read_onto(&mut self, buffer: &mut Vec<u8>, most: usize) -> Read {
        let len = buffer.len();
        let spare = buffer.spare_capacity_mut();
        let most = most.min(spare.len());
        let read = match self.stream.recv(&mut spare[..most]) {
            Ok(0) => Read::End,
            Ok(n) => Read::Bytes(n),
            Err(error) if is_temporary(&error) => Read::Nothing,
            Err(_) => Read::End,
        };
        if let Read::Bytes(n) = read {
            // SAFETY: the kernel has written `n` bytes at the beginning of the spare capacity.
            unsafe { buffer.set_len(len + n) };
        }
        read
    }

    /// Reads into the spare capacity of the input. A client that goes on sending has not stalled.
    pub(crate) fn read_more(&mut self, now_ms: u64) -> Read {
        let mut input = std::mem::take(&mut self.input);
        let read = self.read_onto(&mut input, usize::MAX);
        self.input = input;
        if let Read::Bytes(n) = read {
            self.progress += n;
            if self.progress >= PROGRESS {
                (self.progress, self.last_progress_ms) = (0, now_ms);
            }
        }
        read
    }

    /// The most bytes of a read that can be kept.
    #[inline]
    pub(crate) fn free_space(&self, budget: &BufferBudget) -> usize {
        (GUARANTEED_BYTES + budget.free()).saturating_sub(self.output.len())
    }

    /// Whether it has not agreed on the encryption yet.
    pub(crate) fn is_shaking_hands(&self) -> bool {
        self.stream.is_shaking_hands()
    }

    /// Whether there is space for a read: the shared buffer, or spare capacity of the input.
    pub(crate) fn has_read_space(&self) -> bool {
        self.input.is_empty() || self.input.len() < self.input.capacity()
    }

    /// Sends answers after those that are kept. The bytes that the socket does not take are kept too.
    #[inline]
    pub(crate) fn send(&mut self, answers: &[u8], budget: &BufferBudget) -> Sent {
        let must_wait = self.has_kept() || answers.is_empty();
        let sent = if must_wait { Ok(0) } else { self.send_some(answers) };
        let Ok(n) = sent else { return Sent::Broken };
        if n == answers.len() || self.keep_answers(&answers[n..], budget) {
            Sent::Bytes(n)
        } else {
            Sent::NoSpace(n)
        }
    }

    fn send_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.stream.send(bytes) {
            Err(error) if is_temporary(&error) => Ok(0),
            done => done,
        }
    }

    /// Keeps answers; `false` if there is no space for them.
    #[cold]
    pub(crate) fn keep_answers(&mut self, answers: &[u8], budget: &BufferBudget) -> bool {
        let fits = self.account(self.input_bytes, self.output.len() + answers.len(), budget);
        if fits {
            self.output.extend_from_slice(answers);
        }
        fits
    }

    /// Sends the kept answers, and returns the number of bytes sent; `None` if the connection is broken.
    pub(crate) fn send_kept(&mut self, budget: &BufferBudget) -> Option<usize> {
        let output = std::mem::take(&mut self.output);
        let n = self.send_some(&output[self.sent..]).ok()?;
        self.sent += n;
        if self.sent < output.len() {
            self.output = output;
        } else {
            self.sent = 0;
            self.account(self.input_bytes, 0, budget);
        }
        Some(n)
    }

    /// Whether answers wait for space in the socket.
    #[inline]
    pub(crate) fn has_kept(&self) -> bool {
        !self.output.is_empty() || self.stream.has_unsent()
    }

    /// Whether there is something to read, though the socket may have nothing.
    #[inline]
    pub(crate) fn has_received(&mut self) -> bool {
        self.stream.has_received()
    }

    /// Whether it has work that needs no more input.
    pub(crate) fn is_busy(&self) -> bool {
        self.has_kept() || self.is_offloaded || self.is_queued
    }

    /// Whether it waits for its client and holds buffers that others could need.
    pub(crate) fn is_evictable(&self) -> bool {
        let has_bytes = self.share > 0 || self.stream.has_unsent();
        has_bytes && !self.is_offloaded && !self.is_queued
    }

    /// Keeps bytes that are not answered; there is no other input. `false` if there is no space for them.
    pub(crate) fn keep(
        &mut self,
        bytes: &[u8],
        spare: &mut Vec<u8>,
        budget: &BufferBudget,
    ) -> bool {
        // A much longer buffer would take more of the budget than the bytes need.
        let fits = (bytes.len()..=bytes.len() * 4).contains(&spare.capacity());
        if self.input_bytes == 0
            && fits
            && self.account(spare.capacity(), self.output.len(), budget)
        {
            self.input = std::mem::take(spare);
            self.input.clear();
        } else if !self.reserve(bytes.len(), budget) {
            return false;
        }
        self.input.extend_from_slice(bytes);
        true
    }

    /// Whether the next request is likely longer than one read.
    #[inline]
    pub(crate) fn expects_long_request(&self) -> bool {
        self.needed > LONG
    }

    /// Takes `spare` for a long request before it arrives, so that the request is not copied later. `false` if others may need
    /// the space, or if `spare` is too short.
    pub(crate) fn prepare_for_long_request(
        &mut self,
        spare: &mut Vec<u8>,
        budget: &BufferBudget,
    ) -> bool {
        let needed = std::mem::take(&mut self.needed);
        let fits = needed <= spare.capacity()
            && spare.capacity() <= budget.free() / 2
            && self.account(spare.capacity(), self.output.len(), budget);
        if fits {
            self.needed = needed;
            self.input = std::mem::take(spare);
            self.input.clear();
        }
        fits
    }

    /// Makes space for more input; `needs` is the length of the request, if known. The space grows with the input that has
    /// arrived, so a client that announces much and sends little takes little. `false` if the budget is used up.
    pub(crate) fn grow(&mut self, needs: usize, budget: &BufferBudget) -> bool {
        let len = self.input.len();
        let next = if len < GUARANTEED_BYTES { GUARANTEED_BYTES } else { 2 * len };
        let target = if needs > len { needs.min(next) } else { next };
        self.reserve(target, budget)
    }

    /// Makes space for input of this length in all.
    fn reserve(&mut self, len: usize, budget: &BufferBudget) -> bool {
        if len <= self.input.capacity() {
            return true;
        }
        if !self.account(len, self.output.len(), budget) {
            return false;
        }
        let is_there = self.input.try_reserve_exact(len - self.input.len()).is_ok();
        if !is_there {
            self.account(self.input.capacity(), self.output.len(), budget);
        }
        is_there
    }

    /// Takes the empty buffer of the input, so that an idle connection has none.
    pub(crate) fn take_buffer(&mut self, budget: &BufferBudget) -> Vec<u8> {
        self.account(0, self.output.len(), budget);
        std::mem::take(&mut self.input)
    }

    /// Changes the buffered bytes of the connection; `false`, and no change, if the budget does not allow it.
    #[inline]
    fn account(&mut self, input: usize, output: usize, budget: &BufferBudget) -> bool {
        let share = (input + output).saturating_sub(GUARANTEED_BYTES);
        let fits = budget.change(&mut self.share, share);
        if fits {
            self.input_bytes = input;
        }
        fits
    }

    /// Returns its share of the budget.
    pub(crate) fn give_back(&mut self, budget: &BufferBudget) {
        budget.change(&mut self.share, 0);
    }

    /// Shuts the connection down. A socket that is closed with unread bytes loses its last answers, so these bytes are read.
    pub(crate) fn drain_and_shut_down(&mut self) {
        self.stream.shut_down();
        let mut discarded = [MaybeUninit::uninit(); DRAIN_BUFFER_BYTES];
        let mut n_bytes = 0;
        while n_bytes < MAX_DRAINED_BYTES {
            match self.stream.discard(&mut discarded) {
                Ok(n) if n > 0 => n_bytes += n,
                _ => return,
            }
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
