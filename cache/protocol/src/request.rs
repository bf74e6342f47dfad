//! Requests as a server receives them: their lines, the words in these, and the reasons to refuse them.

use crate::Parsed;
use crate::key::MAX_KEY_LEN;
use crate::line::position_of_newline;
use crate::number::parse_i64;

/// The longest line of a request, in bytes: a request for thousands of keys is one line.
pub const MAX_REQUEST_LINE: usize = 1 << 20;

/// The longest line of a request that does not read many keys, in bytes.
pub const MAX_SHORT_LINE: usize = 8192;

/// A line that is longer than any request can be. What follows it has no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndlessLine;

/// Takes the first line of `input`, without its end: `\r\n`, or `\n` alone as memcached allows.
///
/// `searched` bytes of `input` are known to have no end of a line, from an earlier call with fewer bytes.
///
/// # Errors
///
/// The line has no end within [`MAX_SHORT_LINE`], or within [`MAX_REQUEST_LINE`] where it begins with `get` or `gat`.
#[inline]
pub fn line(input: &[u8], searched: usize) -> Result<Parsed<&[u8]>, EndlessLine> {
    let searched = searched.min(input.len());
    match position_of_newline(&input[searched..]) {
        Some(end) => {
            let end = searched + end;
            if end > MAX_SHORT_LINE && end > longest(input) {
                return Err(EndlessLine);
            }
            let line = &input[..end];
            Ok(Parsed::Complete(line.strip_suffix(b"\r").unwrap_or(line), end + 1))
        }
        None if input.len() <= longest(input) => Ok(Parsed::Incomplete),
        None => Err(EndlessLine),
    }
}

fn longest(input: &[u8]) -> usize {
    let reads = input.starts_with(b"get") || input.starts_with(b"gat");
    if reads { MAX_REQUEST_LINE } else { MAX_SHORT_LINE }
}

/// The words of a line; any number of blanks parts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words<'a>(pub(crate) &'a [u8]);

impl<'a> Words<'a> {
    /// The next word.
    ///
    /// # Errors
    ///
    /// [`Fault::Unknown`] at the end of the line: memcached takes a command without its words for no command.
    #[inline]
    pub(crate) fn needed(&mut self) -> Result<&'a [u8], Fault> {
        self.next().ok_or(Fault::Unknown)
    }

    /// The next word as a key.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<&'a [u8], Fault> {
        let key = self.needed()?;
        if key.len() > MAX_KEY_LEN { Err(Fault::Format) } else { Ok(key) }
    }

    /// Whether the last word is `noreply`. Other words that are left are ignored, as memcached ignores them.
    #[inline]
    pub(crate) fn is_quiet(self) -> bool {
        !self.0.is_empty() && self.last() == Some(b"noreply")
    }
}

impl Words<'_> {
    /// Number of bytes of the line that are left.
    #[inline]
    pub fn left(&self) -> usize {
        self.0.len()
    }

    /// The last this many bytes of the line, which begin with a whole word or a blank.
    #[inline]
    #[must_use]
    pub fn last_bytes(self, len: usize) -> Self {
        Self(&self.0[self.0.len().saturating_sub(len)..])
    }
}

#[expect(clippy::copy_iterator, reason = "a request that holds its words is copied as a whole")]
impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let mut line = self.0;
        while let Some((b' ', rest)) = line.split_first() {
            line = rest;
        }
        let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
        let (word, rest) = line.split_at(end);
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }
}

/// The end of an entry as a request gives it: a relative number, a date or a negative number.
#[inline]
pub(crate) fn exptime(word: &[u8]) -> Result<i64, Fault> {
    parse_i64(word).ok_or(Fault::Exptime)
}

/// The reason why a server refuses the line of a request. Its wording is memcached's, which clients compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No known command, or one without its words.
    Unknown,
    /// The words of a known command are wrong.
    Format,
    /// A value does not end where its length says.
    Chunk,
    /// The end of an entry is no number.
    Exptime,
    /// The difference to a number is no number.
    Delta,
    /// A `delete` with more than its key.
    Delete,
    /// A flag that the command does not have, or without its argument.
    Flag,
    /// The same flag twice.
    DuplicateFlag,
    /// The argument of a flag is wrong.
    Token,
    /// The mode of a set is no mode.
    Mode,
    /// The mode of an arithmetic command is no mode.
    ArithmeticMode,
    /// A key that is not in base 64 as its flag says.
    Base64,
    /// An opaque word of more than 32 bytes.
    Opaque,
    /// A client may not end the server.
    Shutdown,
    /// A way to end the server that there is not.
    ShutdownMode,
    /// A line of HTTP, as a page in a browser can send it: what follows would be the page's requests. There is no answer.
    Http,
}

impl Fault {
    /// The line that answers the request, with its end.
    pub fn line(self) -> &'static [u8] {
        match self {
            Self::Unknown => b"ERROR\r\n",
            Self::Format => b"CLIENT_ERROR bad command line format\r\n",
            Self::Base64 => b"CLIENT_ERROR error decoding key\r\n",
            Self::Chunk => b"CLIENT_ERROR bad data chunk\r\n",
            Self::Exptime => b"CLIENT_ERROR invalid exptime argument\r\n",
            Self::Delta => b"CLIENT_ERROR invalid numeric delta argument\r\n",
            Self::Delete => {
                b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n"
            }
            Self::Flag => b"CLIENT_ERROR invalid flag\r\n",
            Self::DuplicateFlag => b"CLIENT_ERROR duplicate flag\r\n",
            Self::Token => b"CLIENT_ERROR bad token in command line format\r\n",
            Self::Mode => b"CLIENT_ERROR invalid mode for ms M token\r\n",
            Self::ArithmeticMode => b"CLIENT_ERROR invalid mode for ma M token\r\n",
            Self::Shutdown => b"ERROR: shutdown not enabled\r\n",
            Self::ShutdownMode => b"CLIENT_ERROR invalid shutdown mode\r\n",
            Self::Http => b"",
            Self::Opaque => b"CLIENT_ERROR opaque token too long\r\n",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_at_its_newline_and_not_before() {
        assert_eq!(line(b"get a\r", 0), Ok(Parsed::Incomplete));
        assert_eq!(line(b"get a\r\nget b", 0), Ok(Parsed::Complete(&b"get a"[..], 7)));
        assert_eq!(line(b"get a\nget b", 5), Ok(Parsed::Complete(&b"get a"[..], 6)));
        let mut long = vec![b'x'; MAX_SHORT_LINE + 1];
        assert_eq!(line(&long, 0), Err(EndlessLine));
        long.push(b'\n');
        assert_eq!(line(&long, 0), Err(EndlessLine));
        let mut keys = b"gets ".to_vec();
        keys.resize(MAX_REQUEST_LINE, b'k');
        assert_eq!(line(&keys, 0), Ok(Parsed::Incomplete));
        keys.push(b'k');
        assert_eq!(line(&keys, 0), Err(EndlessLine));
    }

    #[test]
    fn any_number_of_blanks_parts_words() {
        let words: Vec<&[u8]> = Words(b"  get a   b ").collect();
        assert_eq!(words, [&b"get"[..], b"a", b"b"]);
        assert_eq!(Words(b"").next(), None);
    }
}
