//! `version`.

use crate::Parse;
use crate::line::parse;

/// Asks for the server's version.
pub fn encode(out: &mut Vec<u8>) {
    out.extend_from_slice(b"version\r\n");
}

/// Reads the answer: the version as the server words it.
pub fn parse_reply(input: &[u8]) -> Parse<'_, &[u8]> {
    parse(input, "version", |line| line.strip_prefix(b"VERSION "))
}

/// Writes the answer.
pub fn encode_reply(out: &mut Vec<u8>, version: &str) {
    out.extend_from_slice(b"VERSION ");
    out.extend_from_slice(version.as_bytes());
    out.extend_from_slice(b"\r\n");
}
