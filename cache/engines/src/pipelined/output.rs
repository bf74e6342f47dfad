//! The requests of a link that are not sent.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};

use crate::socket::Socket;

/// Up to this length a value is copied into the requests, which then leave together.
pub(super) const LONGEST_COPIED: usize = 32 * 1024;

/// The same where the call waits until all is sent, and copies none of a longer value.
const LONGEST_COPIED_IF_WAITING: usize = 4 * 1024;

/// With more bytes of requests than this, a value is not added before some are sent.
pub(super) const MANY: usize = 128 * 1024;

/// The memory for requests that is kept when all are sent.
const KEPT: usize = 2 * MANY;

/// Requests, the first bytes of which may be sent already.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    n_sent: usize,
    /// What stands behind the last large value, kept to reuse its memory.
    behind: Vec<u8>,
    /// The most bytes of several requests that are handed to the socket at once, if the node needs that.
    packet_len: Option<usize>,
    /// With such a limit, the ends of the requests that are not sent as a whole, and of the last that is.
    ends: VecDeque<usize>,
    end_sent: usize,
}

impl Output {
    pub(super) fn new(packet_len: Option<usize>) -> Self {
        Self { packet_len, ..Self::default() }
    }

    #[inline]
    pub(super) fn unsent_bytes(&self) -> usize {
        self.bytes.len() - self.n_sent
    }

    /// Notes that a request ends here.
    #[inline]
    pub(super) fn end_request(&mut self) {
        if self.packet_len.is_some() {
            self.ends.push_back(self.bytes.len());
        }
    }

    /// Adds a value, and what `behind` writes. What the socket takes of a large value is not copied; if the call `may_wait`, all
    /// of it is sent. Without a socket everything is copied.
    #[inline]
    pub(super) fn add_value(
        &mut self,
        value: &[u8],
        behind: impl FnOnce(&mut Vec<u8>),
        socket: Option<&mut Socket>,
        may_wait: bool,
    ) -> io::Result<()> {
        let is_copied = if may_wait {
            value.len() <= LONGEST_COPIED_IF_WAITING
        } else {
            value.len() <= LONGEST_COPIED && self.bytes.len() <= MANY
        };
        match socket {
            // A request that is sent at once stands alone, whatever the node takes at once.
            Some(socket) if !is_copied && (may_wait || self.packet_len.is_none()) => {
                let mut rest = std::mem::take(&mut self.behind);
                rest.clear();
                behind(&mut rest);
                let sent = self.send_value(value, &rest, socket, may_wait);
                self.behind = rest;
                sent
            }
            _ => {
                self.bytes.extend_from_slice(value);
                behind(&mut self.bytes);
                Ok(())
            }
        }
    }

    fn send_value(
        &mut self,
        value: &[u8],
        behind: &[u8],
        socket: &mut Socket,
        may_wait: bool,
    ) -> io::Result<()> {
        if may_wait {
            let sent = socket.send_slices([&self.bytes[self.n_sent..], value, behind]);
            self.clear();
            return sent;
        }
        let before = self.unsent_bytes();
        let sent = match socket.send_slices_now([&self.bytes[self.n_sent..], value, behind]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            sent => sent?,
        };
        match sent.checked_sub(before) {
            None => self.n_sent += sent,
            Some(_) => self.clear(),
        }
        let rest = sent.saturating_sub(before);
        let in_value = rest.min(value.len());
        self.bytes.extend_from_slice(&value[in_value..]);
        self.bytes.extend_from_slice(&behind[rest - in_value..]);
        Ok(())
    }

    /// Sends everything without waiting; [`ErrorKind::WouldBlock`] if the socket takes only a part.
    #[inline]
    pub(super) fn send(&mut self, socket: &mut Socket) -> io::Result<()> {
        while self.n_sent < self.bytes.len() || socket.held_bytes() > 0 {
            let end = self.end_of_packet();
            self.n_sent += socket.send_now(&self.bytes[self.n_sent..end])?;
        }
        self.clear();
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
        Ok(())
    }

    /// The end of the bytes that are handed to the socket next.
    #[inline]
    fn end_of_packet(&mut self) -> usize {
        match self.packet_len {
            None => self.bytes.len(),
            Some(most) => self.end_of_short_packet(most),
        }
    }

    /// The end of as many whole requests as fit, but at least one.
    fn end_of_short_packet(&mut self, most: usize) -> usize {
        while let Some(end) = self.ends.pop_front_if(|end| *end <= self.n_sent) {
            self.end_sent = end;
        }
        let Some(first) = self.ends.front() else { return self.bytes.len() };
        if self.end_sent < self.n_sent {
            // The rest of a request that was too long.
            return *first;
        }
        let fits = |end: &&usize| **end - self.n_sent <= most;
        *self.ends.iter().take_while(fits).last().unwrap_or(first)
    }

    /// Gives up the memory of what is sent, where that is much.
    pub(super) fn compact(&mut self) {
        if self.n_sent < KEPT || self.n_sent < self.bytes.len() / 2 {
            return;
        }
        self.bytes.drain(..self.n_sent);
        for end in &mut self.ends {
            *end = end.saturating_sub(self.n_sent);
        }
        self.end_sent = self.end_sent.saturating_sub(self.n_sent);
        self.n_sent = 0;
    }

    #[inline]
    fn clear(&mut self) {
        self.bytes.clear();
        self.n_sent = 0;
        if self.packet_len.is_some() {
            self.ends.clear();
            self.end_sent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The packets that a socket gets that takes at most `takes` bytes at a time.
    fn packets(requests: &[usize], takes: usize) -> Vec<usize> {
        let mut output = Output::new(Some(100));
        for len in requests {
            output.bytes.extend(vec![0; *len]);
            output.end_request();
        }
        let mut packets = Vec::new();
        while output.unsent_bytes() > 0 {
            let len = output.end_of_packet() - output.n_sent;
            packets.push(len.min(takes));
            output.n_sent += len.min(takes);
        }
        packets
    }

    #[test]
    fn a_packet_has_whole_requests_and_no_more_than_fit() {
        assert_eq!(packets(&[10, 20, 70, 1, 99, 1], 1000), [100, 100, 1]);
        assert_eq!(packets(&[10, 250, 10, 10], 1000), [10, 250, 20]);
        // The rest of a long request stands alone.
        assert_eq!(packets(&[10, 250, 10, 10], 120), [10, 120, 120, 10, 20]);
    }

    #[test]
    fn requests_keep_their_ends_when_the_bytes_before_are_forgotten() {
        let mut output = Output::new(Some(100));
        for len in [KEPT, 10, 200, 30] {
            output.bytes.extend(vec![0; len]);
            output.end_request();
        }
        assert_eq!(output.end_of_packet(), KEPT);
        output.n_sent = KEPT;
        output.compact();
        assert_eq!((output.n_sent, output.unsent_bytes()), (0, 240));
        for packet in [10, 200, 30] {
            assert_eq!(output.end_of_packet() - output.n_sent, packet);
            output.n_sent += packet;
        }
    }
}
