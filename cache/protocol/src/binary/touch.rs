//! `TOUCH`: a new TTL. It has no quiet variant.
//!
//! Its source is memcached's `protocol_binary.h`.

use super::get::EXTRAS_LEN;
use super::header::{Echo, Lengths, ReplyHeader};
use super::{Status, reply};

/// A request as a server receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The key of the entry.
    pub key: &'a [u8],
    /// The end that the entry gets.
    pub exptime: i64,
}

/// Writes the answer of a hit: the flags and the version of the entry, as memcached tells them. A server that does not
/// know them writes 0.
pub fn encode_reply(out: &mut Vec<u8>, echo: Echo, flags: u32, version: u64) {
    let lengths = Lengths { extras: EXTRAS_LEN, key: 0, value: 0 };
    let header = ReplyHeader { echo, status: Status::Success, lengths, version };
    out.extend_from_slice(&header.bytes());
    out.extend_from_slice(&flags.to_be_bytes());
}

/// Writes the answer where the key does not exist.
pub fn encode_miss(out: &mut Vec<u8>, echo: Echo) {
    reply::encode_error(out, echo, Status::NotFound);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::opcode;

    #[test]
    fn a_hit_has_flags_and_no_value() {
        let mut out = Vec::new();
        encode_reply(&mut out, Echo { opcode: opcode::TOUCH, opaque: 0 }, 7, 9);
        assert_eq!(out[..12], [0x81, opcode::TOUCH, 0, 0, 4, 0, 0, 0, 0, 0, 0, 4]);
        assert_eq!(out[16..], [0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 7]);
    }
}
