//! `stats [<group>]`: names and values, a line each.

use std::fmt;
use std::io::Write as _;

use crate::Parse;
use crate::line::{next_word, parse};

/// One line of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatsReply<'a> {
    /// `STAT <name> <value>`.
    Stat {
        /// Name of the counter or setting.
        name: &'a [u8],
        /// Its value: the rest of the line.
        value: &'a [u8],
    },
    /// `END`: no more lines.
    End,
}

/// Asks for counters (`group` empty) or another group, such as `settings`.
pub fn encode(out: &mut Vec<u8>, group: &str) {
    out.extend_from_slice(b"stats");
    if !group.is_empty() {
        out.push(b' ');
        out.extend_from_slice(group.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

/// Reads the next line of the answer.
pub fn parse_reply(input: &[u8]) -> Parse<'_, StatsReply<'_>> {
    parse(input, "stats", |line| {
        if line == b"END" {
            return Some(StatsReply::End);
        }
        let (name, value) = next_word(line.strip_prefix(b"STAT ")?)?;
        Some(StatsReply::Stat { name, value })
    })
}

/// Writes one line of the answer.
pub fn encode_stat(out: &mut Vec<u8>, name: &str, value: impl fmt::Display) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "STAT {name} {value}\r\n");
}

/// Writes the end of the answer.
pub fn encode_end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"END\r\n");
}

/// Writes the answer to `stats reset`.
pub fn encode_reset(out: &mut Vec<u8>) {
    out.extend_from_slice(b"RESET\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parsed;

    #[test]
    fn a_value_may_have_blanks_or_be_empty() {
        let of = |input| match parse_reply(input) {
            Ok(Parsed::Complete(Ok(StatsReply::Stat { name, value }), _)) => (name, value),
            other => panic!("{other:?}"),
        };
        assert_eq!(of(b"STAT inter 127.0.0.1\r\n"), (&b"inter"[..], &b"127.0.0.1"[..]));
        assert_eq!(of(b"STAT ext a b c\r\n"), (&b"ext"[..], &b"a b c"[..]));
        assert_eq!(of(b"STAT auth_file \r\n"), (&b"auth_file"[..], &b""[..]));
    }
}
