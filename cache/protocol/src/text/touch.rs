//! `touch <key> <exptime>`: a new TTL.

use crate::Parse;
use crate::line::parse;
use crate::number::push_i64;
use crate::request::{Fault, Words, exptime};

/// Asks that `key` end at `exptime`, as [`exptime`](crate::ttl::exptime) gives it.
pub fn encode(out: &mut Vec<u8>, key: &[u8], exptime: i64) {
    out.extend_from_slice(b"touch ");
    out.extend_from_slice(key);
    out.push(b' ');
    push_i64(out, exptime);
    out.extend_from_slice(b"\r\n");
}

/// Reads the answer: whether the key is there.
pub fn parse_reply(input: &[u8]) -> Parse<'_, bool> {
    parse(input, "touch", |line| match line {
        b"TOUCHED" => Some(true),
        b"NOT_FOUND" => Some(false),
        _ => None,
    })
}

/// A request as a server receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The key of the entry.
    pub key: &'a [u8],
    /// The end that the entry gets.
    pub exptime: i64,
    /// Whether no answer is wanted.
    pub is_quiet: bool,
}

/// Reads the words of a request behind its verb.
pub fn parse_request(mut words: Words<'_>) -> Result<Request<'_>, Fault> {
    let (key, time) = (words.key()?, words.needed()?);
    Ok(Request { key, exptime: exptime(time)?, is_quiet: words.is_quiet() })
}

/// Writes the answer: whether the key is there.
pub fn encode_reply(out: &mut Vec<u8>, is_there: bool) {
    out.extend_from_slice(if is_there { b"TOUCHED\r\n" } else { b"NOT_FOUND\r\n" });
}
