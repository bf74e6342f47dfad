//! `delete <key>`.

use crate::Parse;
use crate::line::parse;

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
