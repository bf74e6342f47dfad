//! One connection: its socket, and the bytes that wait on both sides of it.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use socket2::Socket;

use crate::context::Shared;
use crate::conversation::Conversation;

/// A connection. One that says nothing keeps no buffer.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: Socket,
    pub(crate) conversation: Conversation,
    /// Bytes that have arrived and are not answered.
    pub(crate) input: Vec<u8>,
    /// Answers that are not sent, from `sent` on.
    output: Vec<u8>,
    sent: usize,
    /// Bytes that are set aside for this connection of what all may have waiting.
    held: usize,
    /// The events that it is watched for.
    pub(crate) interest: u32,
    /// The second of the server in which the client last said something.
    pub(crate) heard_s: u32,
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

impl Connection {
    pub(crate) fn new(socket: Socket, now_s: u32) -> Self {
        Self {
            socket,
            conversation: Conversation::default(),
            input: Vec::new(),
            output: Vec::new(),
            sent: 0,
            held: 0,
            interest: 0,
            heard_s: now_s,
            is_ending: false,
            is_queued: false,
            is_away: false,
        }
    }

    /// Reads into the spare room of `buffer`.
    #[inline]
    pub(crate) fn read_onto(&self, buffer: &mut Vec<u8>) -> Read {
        let len = buffer.len();
        let read = of_read(self.socket.recv(buffer.spare_capacity_mut()));
        if let Read::Bytes(n) = read {
            // SAFETY: the kernel has written `n` bytes at the beginning of the spare capacity.
            unsafe { buffer.set_len(len + n) };
        }
        read
    }

    /// Reads behind the input that has arrived, into room that was set aside.
    pub(crate) fn read_more(&mut self) -> Read {
        let mut input = std::mem::take(&mut self.input);
        let read = self.read_onto(&mut input);
        self.input = input;
        read
    }

    /// Sends answers. What the socket does not take is kept. `false` where the connection is broken, or may keep no more.
    #[inline]
    pub(crate) fn send(&mut self, answers: &[u8], shared: &Shared) -> (bool, usize) {
        if answers.is_empty() {
            return (true, 0);
        }
        match self.send_some(answers) {
            Ok(n) if n == answers.len() => (true, n),
            Ok(n) => (self.keep(&answers[n..], shared), n),
            Err(_) => (false, 0),
        }
    }

    fn send_some(&self, bytes: &[u8]) -> io::Result<usize> {
        match self.socket.send(bytes) {
            Err(error) if is_temporary(&error) => Ok(0),
            done => done,
        }
    }

    #[cold]
    fn keep(&mut self, answers: &[u8], shared: &Shared) -> bool {
        if !shared.hold(answers.len()) {
            return false;
        }
        self.held += answers.len();
        self.output.extend_from_slice(answers);
        true
    }

    /// Sends what was kept; `false` where the connection is broken. Returns the bytes that were sent.
    pub(crate) fn send_kept(&mut self, shared: &Shared) -> (bool, usize) {
        match self.send_some(&self.output[self.sent..]) {
            Ok(n) => {
                self.sent += n;
                if self.sent == self.output.len() {
                    shared.give_back(self.output.len());
                    self.held -= self.output.len();
                    (self.output, self.sent) = (Vec::new(), 0);
                }
                (true, n)
            }
            Err(_) => (false, 0),
        }
    }

    /// Whether answers wait for room in the socket.
    #[inline]
    pub(crate) fn has_kept(&self) -> bool {
        !self.output.is_empty()
    }

    /// Makes room for input of this length in all. `false` where all connections together have too much waiting.
    pub(crate) fn make_room(&mut self, len: usize, shared: &Shared) -> bool {
        let more = len.saturating_sub(self.input.capacity());
        if more > 0 {
            if !shared.hold(more) {
                return false;
            }
            self.held += more;
            self.input.reserve_exact(len - self.input.len());
        }
        true
    }

    /// Takes a buffer of another connection for the input.
    pub(crate) fn adopt(&mut self, buffer: &mut Vec<u8>, shared: &Shared) {
        if shared.hold(buffer.capacity()) {
            self.held += buffer.capacity();
            buffer.clear();
            self.input = std::mem::take(buffer);
        }
    }

    /// Takes the buffer of the input, whose bytes have been answered, so that a connection that says nothing has none.
    pub(crate) fn take_buffer(&mut self, shared: &Shared) -> Vec<u8> {
        let kept = self.output.len();
        shared.give_back(self.held - kept);
        self.held = kept;
        std::mem::take(&mut self.input)
    }

    /// The longest request that this connection can keep now.
    pub(crate) fn room(&self, shared: &Shared) -> usize {
        let held = shared.waiting_bytes.load(std::sync::atomic::Ordering::Relaxed);
        let free = shared.settings.waiting_bytes.saturating_sub(held);
        shared.settings.request_bytes().min(free + self.input.capacity())
    }

    /// Gives back what was set aside for it.
    pub(crate) fn end(&mut self, shared: &Shared) {
        shared.give_back(std::mem::take(&mut self.held));
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn of_read(read: io::Result<usize>) -> Read {
    match read {
        Ok(0) => Read::End,
        Ok(n) => Read::Bytes(n),
        Err(error) if is_temporary(&error) => Read::Nothing,
        Err(_) => Read::End,
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
