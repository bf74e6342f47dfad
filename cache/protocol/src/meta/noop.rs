//! `mn`: asks for nothing. The answer shows that every request before it has been answered.

use crate::Parse;
use crate::line::parse;

/// Asks for an answer.
pub fn encode(out: &mut Vec<u8>) {
    out.extend_from_slice(b"mn\r\n");
}

/// Reads the answer.
pub fn parse_reply(input: &[u8]) -> Parse<'_, ()> {
    parse(input, "mn", |line| (line == b"MN").then_some(()))
}

/// Writes the answer.
pub fn encode_reply(out: &mut Vec<u8>) {
    out.extend_from_slice(b"MN\r\n");
}
