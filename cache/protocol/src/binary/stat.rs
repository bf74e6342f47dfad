//! `STAT`, with the name of a group as its key: names and values, an answer each.
//!
//! Its source is section 4.11 of the Memcache Binary Protocol (`protocol-binary.txt`).

use std::fmt;
use std::io::Write as _;

use super::header::{Echo, Lengths, ReplyHeader};
use super::{HEADER_LEN, Status, reply};

/// Writes one statistic as an answer of its own.
pub fn encode_stat(out: &mut Vec<u8>, echo: Echo, name: &str, value: impl fmt::Display) {
    let begin = out.len();
    out.resize(begin + HEADER_LEN, 0);
    out.extend_from_slice(name.as_bytes());
    let value_begin = out.len();
    // Writing to a vector cannot fail.
    let _ = write!(out, "{value}");
    let lengths = Lengths { extras: 0, key: name.len(), value: out.len() - value_begin };
    let header = ReplyHeader { echo, status: Status::Success, lengths, version: 0 };
    out[begin..begin + HEADER_LEN].copy_from_slice(&header.bytes());
}

/// Writes the end of the answer: no name and no value. It is the whole answer to the group `reset`.
pub fn encode_end(out: &mut Vec<u8>, echo: Echo) {
    reply::encode_success(out, echo, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::opcode;

    #[test]
    fn a_statistic_is_as_the_protocol_shows_it() {
        let mut out = Vec::new();
        let echo = Echo { opcode: opcode::STAT, opaque: 0 };
        encode_stat(&mut out, echo, "pid", 3078);
        let mut answer = vec![0x81, 0x10, 0, 3, 0, 0, 0, 0, 0, 0, 0, 7];
        answer.extend_from_slice(&[0; 12]);
        answer.extend_from_slice(b"pid3078");
        assert_eq!(out, answer);
        encode_end(&mut out, echo);
        assert_eq!(out[answer.len()..][..12], [0x81, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(out.len(), answer.len() + HEADER_LEN);
    }
}
