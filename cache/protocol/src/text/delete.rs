//! `delete <key>`.

use crate::Parse;
use crate::line::parse;
use crate::request::{Fault, Words};

/// Asks that `key` be removed.
pub fn encode(out: &mut Vec<u8>, key: &[u8]) {
    out.extend_from_slice(b"delete ");
    out.extend_from_slice(key);
    out.extend_from_slice(b"\r\n");
}

/// Reads the answer: whether the key was there.
pub fn parse_reply(input: &[u8]) -> Parse<'_, bool> {
    parse(input, "delete", |line| match line {
        b"DELETED" => Some(true),
        b"NOT_FOUND" => Some(false),
        _ => None,
    })
}

/// A request as a server receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The key to remove.
    pub key: &'a [u8],
    /// Whether no answer is wanted.
    pub is_quiet: bool,
}

/// Reads the words of a request behind its verb. A time of 0, which old clients send, is ignored.
pub fn parse_request(mut words: Words<'_>) -> Result<Request<'_>, Fault> {
    let key = words.key()?;
    let is_quiet = words.is_quiet();
    let is_right = matches!(
        (words.next(), words.next(), words.next()),
        (None, _, _) | (Some(b"0" | b"noreply"), None, _) | (Some(b"0"), Some(b"noreply"), None)
    );
    if is_right { Ok(Request { key, is_quiet }) } else { Err(Fault::Delete) }
}

/// Writes the answer: whether the key was there.
pub fn encode_reply(out: &mut Vec<u8>, was_there: bool) {
    out.extend_from_slice(if was_there { b"DELETED\r\n" } else { b"NOT_FOUND\r\n" });
}
