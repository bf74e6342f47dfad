//! `flush_all`: every entry ends at once.

use crate::Parse;
use crate::line::parse;

/// Asks that every entry of the server end.
pub fn encode(out: &mut Vec<u8>) {
    out.extend_from_slice(b"flush_all\r\n");
}

/// Reads the answer.
pub fn parse_reply(input: &[u8]) -> Parse<'_, ()> {
    parse(input, "flush_all", |line| (line == b"OK").then_some(()))
}
