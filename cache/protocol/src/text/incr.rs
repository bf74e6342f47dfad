//! `incr <key> <delta>` and `decr <key> <delta>`.

use crate::Parse;
use crate::line::parse;
use crate::number::{parse_u64, push_u64};
use crate::request::{Fault, Words};

/// The text of a server behind `CLIENT_ERROR` when the value is not a number.
pub const NOT_A_NUMBER: &[u8] = b"cannot increment or decrement non-numeric value";

/// Asks for the number plus `delta`, or, with `is_down`, minus `delta`.
pub fn encode(out: &mut Vec<u8>, key: &[u8], delta: u64, is_down: bool) {
    out.extend_from_slice(if is_down { b"decr " } else { b"incr " });
    out.extend_from_slice(key);
    out.push(b' ');
    push_u64(out, delta);
    out.extend_from_slice(b"\r\n");
}

/// Reads the answer: the sum, or `None` when the key is not there.
pub fn parse_reply(input: &[u8]) -> Parse<'_, Option<u64>> {
    parse(input, "incr", |line| match line {
        b"NOT_FOUND" => Some(None),
        number => parse_u64(number).map(Some),
    })
}

/// A request as a server receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The key of the number.
    pub key: &'a [u8],
    /// The difference.
    pub delta: u64,
    /// Whether the difference is taken away.
    pub is_down: bool,
    /// Whether no answer is wanted.
    pub is_quiet: bool,
}

/// Reads the words of a request behind its verb.
pub fn parse_request<'a>(verb: &[u8], mut words: Words<'a>) -> Result<Request<'a>, Fault> {
    let (key, delta) = (words.key()?, words.needed()?);
    let delta = parse_u64(delta).ok_or(Fault::Delta)?;
    Ok(Request { key, delta, is_down: verb == b"decr", is_quiet: words.is_quiet() })
}

/// Writes the answer: the number, or `None` when the key is not there.
pub fn encode_reply(out: &mut Vec<u8>, number: Option<u64>) {
    let Some(number) = number else {
        out.extend_from_slice(b"NOT_FOUND\r\n");
        return;
    };
    push_u64(out, number);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_chooses_the_verb() {
        let mut out = Vec::new();
        encode(&mut out, b"n", 5, false);
        encode(&mut out, b"n", 1 << 63, true);
        assert_eq!(out, b"incr n 5\r\ndecr n 9223372036854775808\r\n");
    }
}
