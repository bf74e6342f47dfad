//! `touch <key> <exptime>`: a new TTL.

use crate::Parse;
use crate::line::parse;
use crate::number::push_i64;

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
