//! Lines that arrive in pieces.

use memchr::memchr;

/// Bytes that stay allocated between lines.
const KEPT: usize = 256;

/// The beginning of a line whose end has not arrived.
#[derive(Debug, Default)]
pub(super) struct Lines {
    held: Vec<u8>,
    /// The held bytes were a whole line, which has been taken.
    is_taken: bool,
    /// The rest of a line that is too long passes.
    is_passing: bool,
}

/// The next line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// A line, without its end.
    Line(&'a [u8]),
    /// All bytes are taken, and the line has no end yet.
    Wait,
    /// The line is longer than any line may be. It stays held, with as many bytes as may be.
    TooLong,
}

impl Lines {
    /// Takes the next line off the input. A line ends with a newline, before which a carriage return is left out.
    #[inline]
    pub(super) fn next<'l, 'i: 'l>(&'l mut self, input: &mut &'i [u8], most: usize) -> Next<'l> {
        if self.is_taken {
            self.forget();
        }
        let bytes = *input;
        let end = memchr(b'\n', bytes);
        if self.held.is_empty()
            && let Some(end) = end
        {
            *input = &bytes[end + 1..];
            return Next::Line(without_return(&bytes[..end]));
        }
        self.resume(input, end, most)
    }

    #[cold]
    fn resume<'l, 'i: 'l>(
        &'l mut self,
        input: &mut &'i [u8],
        end: Option<usize>,
        most: usize,
    ) -> Next<'l> {
        let bytes = *input;
        let len = end.unwrap_or(bytes.len());
        let room = most.saturating_sub(self.held.len());
        self.held.extend_from_slice(&bytes[..len.min(room)]);
        if len > room {
            *input = &bytes[room..];
            return Next::TooLong;
        }
        let Some(end) = end else {
            *input = &[];
            return Next::Wait;
        };
        *input = &bytes[end + 1..];
        self.is_taken = true;
        Next::Line(without_return(&self.held))
    }

    /// Forgets a line that was taken. A connection that says nothing keeps little memory.
    fn forget(&mut self) {
        self.is_taken = false;
        self.held.clear();
        self.held.shrink_to(KEPT);
    }

    /// Whether the beginning of a line is held.
    #[inline]
    pub(super) fn is_within(&self) -> bool {
        !self.is_taken && !self.held.is_empty()
    }

    /// What is held of a line that is too long.
    pub(super) fn held(&mut self) -> &mut Vec<u8> {
        &mut self.held
    }

    /// Takes the held beginning of a line that is too long. The rest of the line is for [`Lines::pass_rest`].
    pub(super) fn take_beginning(&mut self) -> Vec<u8> {
        self.is_passing = true;
        std::mem::take(&mut self.held)
    }

    /// Skips the rest of a line that is too long; `false` if there is no such line.
    pub(super) fn pass_rest(&mut self, input: &mut &[u8]) -> bool {
        if !self.is_passing {
            return false;
        }
        let end = memchr(b'\n', input);
        self.is_passing = end.is_none();
        *input = end.map_or(&[][..], |end| &input[end + 1..]);
        true
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_however_they_arrive() {
        let text = b"one\r\n\r\nthree\nfour\r";
        for cut in 0..=text.len() {
            let mut lines = Lines::default();
            let mut found: Vec<Vec<u8>> = Vec::new();
            for mut piece in [&text[..cut], &text[cut..]] {
                while let Next::Line(line) = lines.next(&mut piece, 100) {
                    found.push(line.to_vec());
                }
                assert!(piece.is_empty());
            }
            assert_eq!(found, [&b"one"[..], b"", b"three"], "{cut}");
            assert!(lines.is_within());
        }
    }

    #[test]
    fn a_line_is_held_up_to_its_limit() {
        let mut lines = Lines::default();
        let mut input = &b"0123"[..];
        assert_eq!(lines.next(&mut input, 6), Next::Wait);
        let mut input = &b"456789"[..];
        assert_eq!(lines.next(&mut input, 6), Next::TooLong);
        assert_eq!((lines.take_beginning().as_slice(), input), (&b"012345"[..], &b"6789"[..]));
    }
}
