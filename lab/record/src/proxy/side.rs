//! One end of a link: its socket, and the bytes that wait for it.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::time::Duration;

use larder_host::epoll::{READABLE, WRITABLE};
use larder_host::stream::Stream;

/// One end of a link.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not one state")]
pub(super) struct Side {
    stream: Stream,
    /// Bytes of the other end that the socket has not taken, from `sent` on.
    kept: Vec<u8>,
    sent: usize,
    /// The events that it is watched for.
    pub(super) interest: u32,
    /// Nothing more comes from it.
    pub(super) has_ended: bool,
    /// The other end has ended; this one is shut down once it has all bytes.
    is_ending: bool,
    /// It takes nothing more: it is shut down, or broken.
    pub(super) is_shut: bool,
    /// It broke off, unlike an end in order.
    pub(super) is_broken: bool,
}

/// The outcome of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// This many bytes are in the buffer.
    Bytes(usize),
    /// Nothing has arrived.
    Nothing,
    /// The end, in order or not.
    End,
}

impl Side {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            kept: Vec::new(),
            sent: 0,
            interest: 0,
            has_ended: false,
            is_ending: false,
            is_shut: false,
            is_broken: false,
        }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    pub(super) fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// Reads at most `most` bytes into an empty buffer.
    #[inline]
    pub(super) fn read(&mut self, buffer: &mut Vec<u8>, most: usize) -> Read {
        buffer.clear();
        let spare = buffer.spare_capacity_mut();
        let most = most.min(spare.len());
        match self.stream.recv(&mut spare[..most]) {
            Ok(0) => {
                self.has_ended = true;
                Read::End
            }
            Ok(n) => {
                // SAFETY: `n` bytes at the beginning of the spare capacity are written.
                unsafe { buffer.set_len(n) };
                Read::Bytes(n)
            }
            Err(error) if is_temporary(&error) => Read::Nothing,
            Err(_) => {
                (self.has_ended, self.is_broken, self.is_shut) = (true, true, true);
                self.forget();
                Read::End
            }
        }
    }

    /// Sends bytes, and keeps those that the socket does not take. A broken socket loses them.
    #[inline]
    pub(super) fn send(&mut self, bytes: &[u8]) {
        if self.is_shut {
            return;
        }
        let sent = if self.kept.is_empty() { self.send_some(bytes) } else { Some(0) };
        if let Some(n) = sent
            && n < bytes.len()
        {
            self.kept.extend_from_slice(&bytes[n..]);
        }
    }

    /// Sends the kept bytes, and shuts the socket down if that is due.
    pub(super) fn send_kept(&mut self) {
        if self.is_shut {
            return;
        }
        let kept = std::mem::take(&mut self.kept);
        // Without bytes, an encrypted stream sends its own buffer.
        if let Some(n) = self.send_some(&kept[self.sent..]) {
            self.sent += n;
            if self.sent < kept.len() {
                self.kept = kept;
            } else {
                self.sent = 0;
            }
        }
        self.end_if_due();
    }

    /// Sends a part of some bytes; `None` where the socket is broken.
    #[inline]
    fn send_some(&mut self, bytes: &[u8]) -> Option<usize> {
        match self.stream.send(bytes) {
            Ok(n) => Some(n),
            Err(error) if is_temporary(&error) => Some(0),
            Err(_) => {
                // Bytes that it sent before it broke are still read.
                self.is_shut = true;
                self.forget();
                None
            }
        }
    }

    fn forget(&mut self) {
        (self.kept, self.sent) = (Vec::new(), 0);
    }

    /// Shuts the socket down for sending, after all kept bytes.
    pub(super) fn end(&mut self) {
        self.is_ending = true;
        self.end_if_due();
    }

    fn end_if_due(&mut self) {
        if self.is_ending && !self.is_shut && !self.has_kept() {
            self.stream.shut_down();
            self.is_shut = true;
        }
    }

    /// Whether bytes wait for space in the socket.
    #[inline]
    pub(super) fn has_kept(&self) -> bool {
        !self.is_shut && (!self.kept.is_empty() || self.stream.has_unsent())
    }

    /// The bytes that wait.
    #[inline]
    pub(super) fn kept_bytes(&self) -> usize {
        self.kept.len()
    }

    /// The events that it has to be watched for. It is read while the other end has space.
    #[inline]
    pub(super) fn wants(&self, has_room: bool) -> u32 {
        let reads = !self.has_ended && (has_room || self.stream.is_shaking_hands());
        // An encrypted stream takes bytes once both ends have agreed.
        let can_send =
            self.stream.has_unsent() || (!self.kept.is_empty() && !self.stream.is_shaking_hands());
        let writes = !self.is_shut && can_send;
        (if reads { READABLE } else { 0 }) | (if writes { WRITABLE } else { 0 })
    }

    /// Whether there is something to read, though the socket may have nothing.
    pub(super) fn has_received(&mut self) -> bool {
        !self.has_ended && self.stream.has_received()
    }

    /// Makes the end of the connection one that broke off, for a peer that has got all bytes.
    pub(super) fn break_off(&self) {
        if unsent_bytes(self.fd()) == Some(0) {
            let _ = self.stream.socket().set_linger(Some(Duration::ZERO));
        }
    }
}

/// Bytes that the system has not sent, or that the peer has not acknowledged; `None` if it does not say.
fn unsent_bytes(fd: BorrowedFd<'_>) -> Option<libc::c_int> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the call writes one number of this type.
    let done = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    (done == 0).then_some(bytes)
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
