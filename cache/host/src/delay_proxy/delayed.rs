//! Bytes on their way in one direction, each chunk held until it is due.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

/// The most bytes held in one direction of a connection; then reading stops, as with a full TCP window.
const CAPACITY: usize = 16 << 20;

/// The room that stays allocated when no bytes are held.
const KEPT: usize = 256 << 10;

/// One direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Delayed {
    bytes: VecDeque<u8>,
    /// The due time and the length of each chunk, in the order of arrival.
    chunks: VecDeque<(Instant, usize)>,
    /// The due time of the end, once the sender has ended.
    end: Option<Instant>,
    /// Whether the end has been passed on, or the receiver takes no more bytes.
    is_over: bool,
}

impl Delayed {
    /// Holds bytes until `due`, which is not before the due time of an earlier chunk.
    pub(super) fn push(&mut self, bytes: &[u8], due: Instant) {
        if !self.is_over {
            self.bytes.extend(bytes);
            self.chunks.push_back((due, bytes.len()));
        }
    }

    /// Marks the end of the bytes. The end is passed on when it is due, behind all bytes.
    pub(super) fn end(&mut self, due: Instant) {
        self.end.get_or_insert(due);
    }

    /// Drops all bytes, because the receiver takes no more.
    pub(super) fn discard(&mut self) {
        *self = Self { is_over: true, ..Self::default() };
    }

    /// Whether more may be read.
    pub(super) fn is_open(&self) -> bool {
        self.end.is_none() && !self.is_over && self.bytes.len() < CAPACITY
    }

    /// Whether this direction is done with.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Passes on all that is due: bytes by `send`, the end by `shut`. Stops at an error of either; bytes not taken
    /// stay.
    pub(super) fn pass_on(
        &mut self,
        now: Instant,
        mut send: impl FnMut(&[u8]) -> io::Result<usize>,
        shut: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let is_due = |chunk: &&(Instant, usize)| chunk.0 <= now;
        let mut n_due = self.chunks.iter().take_while(is_due).map(|(_, len)| len).sum::<usize>();
        while n_due > 0 {
            let (bytes, _) = self.bytes.as_slices();
            let sent = send(&bytes[..bytes.len().min(n_due)])?;
            n_due -= sent;
            self.forget(sent);
        }
        if self.bytes.is_empty() {
            self.bytes.shrink_to(KEPT);
            if self.end.is_some_and(|due| due <= now) && !self.is_over {
                self.is_over = true;
                shut()?;
            }
        }
        Ok(())
    }

    /// Removes the first bytes.
    fn forget(&mut self, mut len: usize) {
        self.bytes.drain(..len);
        while let Some((_, left)) = self.chunks.front_mut() {
            if *left > len {
                *left -= len;
                return;
            }
            len -= *left;
            self.chunks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn nothing_passes_before_it_is_due_and_the_end_comes_last() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut held = Delayed::default();
        held.push(b"abc", at(2));
        held.push(b"defg", at(3));
        held.end(at(4));
        assert!(!held.is_open());
        let mut passed = Vec::new();
        for (millis, all, is_over) in [(1, ""), (2, "abc"), (3, "abcdefg"), (4, "abcdefg")]
            .map(|(millis, all)| (millis, all, millis == 4))
        {
            // The receiver takes at most two bytes at once.
            let send = |bytes: &[u8]| {
                let len = bytes.len().min(2);
                passed.extend_from_slice(&bytes[..len]);
                Ok(len)
            };
            held.pass_on(at(millis), send, || Ok(())).unwrap();
            assert_eq!((passed.as_slice(), held.is_over()), (all.as_bytes(), is_over));
        }
    }

    #[test]
    fn bytes_that_are_not_taken_stay_in_their_order() {
        let now = Instant::now();
        let mut held = Delayed::default();
        held.push(b"abc", now);
        held.push(b"def", now);
        let mut takes = [Ok(4), Err(io::ErrorKind::WouldBlock.into())].into_iter();
        let blocked = held.pass_on(now, |_| takes.next().unwrap(), || Ok(())).unwrap_err();
        assert_eq!(blocked.kind(), io::ErrorKind::WouldBlock);
        let mut rest = Vec::new();
        let send = |bytes: &[u8]| {
            rest.extend_from_slice(bytes);
            Ok(bytes.len())
        };
        held.pass_on(now, send, || Ok(())).unwrap();
        assert_eq!(rest, b"ef");
    }

    #[test]
    fn the_number_of_held_bytes_is_bounded() {
        let mut held = Delayed::default();
        held.push(&vec![0; CAPACITY - 1], Instant::now());
        assert!(held.is_open());
        held.push(b"x", Instant::now());
        assert!(!held.is_open());
        held.discard();
        assert!(held.bytes.is_empty() && held.is_over());
    }
}
