//! `md <key>`.

use crate::Parse;
use crate::line::{next_word, parse};

/// Asks that `key` be removed.
pub fn encode(out: &mut Vec<u8>, key: &[u8]) {
    out.extend_from_slice(b"md ");
    out.extend_from_slice(key);
    out.extend_from_slice(b"\r\n");
}

/// Reads the answer: whether the key was there.
pub fn parse_reply(input: &[u8]) -> Parse<'_, bool> {
    parse(input, "md", |line| match next_word(line)?.0 {
        b"HD" => Some(true),
        b"NF" => Some(false),
        _ => None,
    })
}
