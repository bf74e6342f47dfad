//! One connection: its socket, and the bytes that wait on both sides of it.

use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};

use larder_host::stream::Stream;

use crate::conversation::Conversation;
use crate::waiting::{OWN_BYTES, Waiting};

/// The most bytes that are read and thrown away when the server ends a connection.
const FAREWELL_BYTES: usize = 1 << 20;

/// Bytes that a client has to send within the time of a stall, so that half a request does not have to give way.
const PROGRESS: usize = 64 << 10;

/// A request from this length on is long.
const LONG: usize = 32 << 10;

/// Of these, the bytes of one read.
const FAREWELL_BUFFER: usize = 16 << 10;

/// A connection. One that says nothing keeps no buffer.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    pub(crate) conversation: Conversation,
    /// Bytes that have arrived and are not answered.
    pub(crate) input: Vec<u8>,
    /// The capacity of `input`, also while an assistant has it.
    input_bytes: usize,
    /// Answers that are not sent, from `sent` on.
    output: Vec<u8>,
    sent: usize,
    /// Its share of what all connections of the worker have waiting.
    share: usize,
    /// The length of its last request that had to be waited for; the next one is likely as long.
    pub(crate) needed: usize,
    /// Bytes that have arrived since its bytes last counted as moved.
    progress: usize,
    /// The events that it is watched for.
    pub(crate) interest: u32,
    /// The millisecond of the server in which it began.
    pub(crate) began_ms: u64,
    /// The millisecond of the server in which the client last said something.
    pub(crate) heard_ms: u64,
    /// The millisecond of the server in which a request was last answered, or an answer sent.
    pub(crate) moved_ms: u64,
    /// It ends once its answers are sent.
    pub(crate) is_ending: bool,
    /// It goes on without an event, as soon as the others have had their turn.
    pub(crate) is_queued: bool,
    /// An assistant has its conversation and its input.
    pub(crate) is_away: bool,
}

/// The outcome of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// So many bytes have arrived.
    Bytes(usize),
    /// Nothing has arrived.
    Nothing,
    /// The client has ended the connection, or it is broken.
    End,
}

/// The outcome of an attempt to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// So many bytes are sent; the others are kept.
    Bytes(usize),
    /// So many bytes are sent, and there is no room to keep the others.
    NoRoom(usize),
    /// The connection is broken.
    Broken,
}

impl Connection {
    pub(crate) fn new(stream: Stream, conversation: Conversation, now_ms: u64) -> Self {
        Self {
            stream,
            conversation,
            input: Vec::new(),
            input_bytes: 0,
            output: Vec::new(),
            sent: 0,
            share: 0,
            needed: 0,
            progress: 0,
            interest: 0,
            began_ms: now_ms,
            heard_ms: now_ms,
            moved_ms: now_ms,
            is_ending: false,
            is_queued: false,
            is_away: false,
        }
    }

    /// Reads at most `most` bytes into the spare room of `buffer`.
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

    /// Reads behind the input that has arrived, into room that was set aside. A client that goes on to send has not stalled.
    pub(crate) fn read_more(&mut self, now_ms: u64) -> Read {
        let mut input = std::mem::take(&mut self.input);
        let read = self.read_onto(&mut input, usize::MAX);
        self.input = input;
        if let Read::Bytes(n) = read {
            self.progress += n;
            if self.progress >= PROGRESS {
                (self.progress, self.moved_ms) = (0, now_ms);
            }
        }
        read
    }

    /// Bytes of a read that can be kept, whatever they are.
    #[inline]
    pub(crate) fn room(&self, waiting: &Waiting) -> usize {
        (OWN_BYTES + waiting.free()).saturating_sub(self.output.len())
    }

    /// Whether it has not agreed on the encryption yet.
    pub(crate) fn is_shaking_hands(&self) -> bool {
        self.stream.is_shaking_hands()
    }

    /// Whether a read has where to go: the shared buffer, or room behind the input.
    pub(crate) fn has_room_to_read(&self) -> bool {
        self.input.is_empty() || self.input.len() < self.input.capacity()
    }

    /// Sends answers behind those that are kept. What the socket does not take is kept too.
    #[inline]
    pub(crate) fn send(&mut self, answers: &[u8], waiting: &Waiting) -> Sent {
        let must_wait = self.has_kept() || answers.is_empty();
        let sent = if must_wait { Ok(0) } else { self.send_some(answers) };
        let Ok(n) = sent else { return Sent::Broken };
        if n == answers.len() || self.keep_answers(&answers[n..], waiting) {
            Sent::Bytes(n)
        } else {
            Sent::NoRoom(n)
        }
    }

    fn send_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.stream.send(bytes) {
            Err(error) if is_temporary(&error) => Ok(0),
            done => done,
        }
    }

    /// Keeps answers; `false` where there is no room for them.
    #[cold]
    pub(crate) fn keep_answers(&mut self, answers: &[u8], waiting: &Waiting) -> bool {
        let fits = self.account(self.input_bytes, self.output.len() + answers.len(), waiting);
        if fits {
            self.output.extend_from_slice(answers);
        }
        fits
    }

    /// Sends what was kept; `None` where the connection is broken. Returns the bytes that were sent.
    pub(crate) fn send_kept(&mut self, waiting: &Waiting) -> Option<usize> {
        let output = std::mem::take(&mut self.output);
        let n = self.send_some(&output[self.sent..]).ok()?;
        self.sent += n;
        if self.sent < output.len() {
            self.output = output;
        } else {
            self.sent = 0;
            self.account(self.input_bytes, 0, waiting);
        }
        Some(n)
    }

    /// Whether answers wait for room in the socket.
    #[inline]
    pub(crate) fn has_kept(&self) -> bool {
        !self.output.is_empty() || self.stream.has_unsent()
    }

    /// Whether there is something to read, though the socket may have nothing.
    #[inline]
    pub(crate) fn has_received(&mut self) -> bool {
        self.stream.has_received()
    }

    /// Whether it has something to do without its client's saying more.
    pub(crate) fn is_busy(&self) -> bool {
        self.has_kept() || self.is_away || self.is_queued
    }

    /// Whether it has bytes waiting that others could need the room of, and waits for its client.
    pub(crate) fn is_in_the_way(&self) -> bool {
        let has_bytes = self.share > 0 || self.stream.has_unsent();
        has_bytes && !self.is_away && !self.is_queued
    }

    /// Keeps bytes that are not answered; there is no other input. `false` where there is no room for them.
    pub(crate) fn keep(&mut self, bytes: &[u8], spare: &mut Vec<u8>, waiting: &Waiting) -> bool {
        // A much longer buffer would count for more than waits.
        let fits = (bytes.len()..=bytes.len() * 4).contains(&spare.capacity());
        if self.input_bytes == 0
            && fits
            && self.account(spare.capacity(), self.output.len(), waiting)
        {
            self.input = std::mem::take(spare);
            self.input.clear();
        } else if !self.reserve(bytes.len(), waiting) {
            return false;
        }
        self.input.extend_from_slice(bytes);
        true
    }

    /// Whether the next request is likely longer than what is read at once.
    #[inline]
    pub(crate) fn expects_long_request(&self) -> bool {
        self.needed > LONG
    }

    /// Makes room for a long request before it arrives, so that it is read to where it stays. `false` where others may need
    /// that room, and where `spare` is no such buffer.
    pub(crate) fn prepare_for_long_request(
        &mut self,
        spare: &mut Vec<u8>,
        waiting: &Waiting,
    ) -> bool {
        let needed = std::mem::take(&mut self.needed);
        let fits = needed <= spare.capacity()
            && spare.capacity() <= waiting.free() / 2
            && self.account(spare.capacity(), self.output.len(), waiting);
        if fits {
            self.needed = needed;
            self.input = std::mem::take(spare);
            self.input.clear();
        }
        fits
    }

    /// Makes room for more input; `needs` is the length of the request, where that is known. The room grows with what has
    /// arrived, so a client that announces much and sends little takes little. `false` where there is no room.
    pub(crate) fn grow(&mut self, needs: usize, waiting: &Waiting) -> bool {
        let len = self.input.len();
        let next = if len < OWN_BYTES { OWN_BYTES } else { 2 * len };
        let target = if needs > len { needs.min(next) } else { next };
        self.reserve(target, waiting)
    }

    /// Makes room for input of this length in all.
    fn reserve(&mut self, len: usize, waiting: &Waiting) -> bool {
        if len <= self.input.capacity() {
            return true;
        }
        if !self.account(len, self.output.len(), waiting) {
            return false;
        }
        let is_there = self.input.try_reserve_exact(len - self.input.len()).is_ok();
        if !is_there {
            self.account(self.input.capacity(), self.output.len(), waiting);
        }
        is_there
    }

    /// Takes the buffer of the input, whose bytes have been answered, so that a connection that says nothing has none.
    pub(crate) fn take_buffer(&mut self, waiting: &Waiting) -> Vec<u8> {
        self.account(0, self.output.len(), waiting);
        std::mem::take(&mut self.input)
    }

    /// Changes what the connection has waiting; `false`, and no change, where there is no room for it.
    #[inline]
    fn account(&mut self, input: usize, output: usize, waiting: &Waiting) -> bool {
        let share = (input + output).saturating_sub(OWN_BYTES);
        let fits = waiting.change(&mut self.share, share);
        if fits {
            self.input_bytes = input;
        }
        fits
    }

    /// Gives back what it has waiting.
    pub(crate) fn give_back(&mut self, waiting: &Waiting) {
        waiting.change(&mut self.share, 0);
    }

    /// Prepares the end of the connection. A socket that is closed with unread bytes loses its last answers, so these bytes
    /// are read.
    pub(crate) fn say_farewell(&mut self) {
        self.stream.shut_down();
        let mut thrown_away = [MaybeUninit::uninit(); FAREWELL_BUFFER];
        let mut n_bytes = 0;
        while n_bytes < FAREWELL_BYTES {
            match self.stream.discard(&mut thrown_away) {
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
