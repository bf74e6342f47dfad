//! `flush_all`: every entry ends at once.

use crate::Parse;
use crate::line::parse;
use crate::request::{Fault, Words, exptime};

/// Asks that every entry of the server end.
pub fn encode(out: &mut Vec<u8>) {
    out.extend_from_slice(b"flush_all\r\n");
}

/// Reads the answer.
pub fn parse_reply(input: &[u8]) -> Parse<'_, ()> {
    parse(input, "flush_all", |line| (line == b"OK").then_some(()))
}

/// A request as a server receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The time after which all entries end, as [`exptime`](crate::ttl::exptime) words it.
    pub delay: i64,
    /// Whether no answer is wanted.
    pub is_quiet: bool,
}

/// Reads the words of a request behind its verb.
pub fn parse_request(words: Words<'_>) -> Result<Request, Fault> {
    let mut rest = words;
    let delay = match rest.next() {
        Some(word) if word != b"noreply" => exptime(word)?,
        _ => 0,
    };
    Ok(Request { delay, is_quiet: words.is_quiet() })
}

/// Writes the answer.
pub fn encode_reply(out: &mut Vec<u8>) {
    out.extend_from_slice(b"OK\r\n");
}
