//! `INCREMENT`, `DECREMENT` and their quiet variants: adds to or subtracts from a number.
//!
//! Their source is section 4.5 of the Memcache Binary Protocol (`protocol-binary.txt`).

use super::header::{Echo, Extras, RequestHeader};
use super::{Status, reply};
use crate::meta::arithmetic::{Change, Changed};

/// The end of an entry that stands for no initial number.
const NO_INITIAL: i64 = 0xffff_ffff;

/// A request as a server receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The key of the number.
    pub key: &'a [u8],
    /// The change of the number.
    pub change: Change,
    /// The version that the entry must have.
    pub version: Option<u64>,
}

/// Reads the parts of a request.
pub(super) fn parse_request<'a>(
    header: &RequestHeader,
    is_down: bool,
    mut extras: Extras<'_>,
    key: &'a [u8],
) -> Request<'a> {
    let (delta, initial) = (extras.next_u64(), extras.next_u64());
    let exptime = extras.next_exptime();
    let absent = (exptime != NO_INITIAL).then_some((initial, exptime));
    Request { key, change: Change { delta, is_down, absent }, version: header.condition() }
}

/// Writes the answer: the number in eight bytes, and its version. A quiet command leaves it out.
pub fn encode_reply(out: &mut Vec<u8>, echo: Echo, changed: Changed) {
    if !echo.is_quiet() {
        let version = changed.version.unwrap_or(0);
        let number = changed.number.to_be_bytes();
        reply::encode_body(out, echo, Status::Success, version, &number);
    }
}

/// Writes the answer where the key does not exist and there is no initial number.
pub fn encode_miss(out: &mut Vec<u8>, echo: Echo) {
    reply::encode_error(out, echo, Status::NotFound);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::opcode;

    #[test]
    fn the_number_is_eight_bytes() {
        let mut out = Vec::new();
        let changed = Changed { number: 0x0102, version: Some(5) };
        encode_reply(&mut out, Echo { opcode: opcode::DECREMENTQ, opaque: 0 }, changed);
        assert_eq!(out, b"");
        encode_reply(&mut out, Echo { opcode: opcode::INCREMENT, opaque: 0 }, changed);
        assert_eq!(out[..12], [0x81, opcode::INCREMENT, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8]);
        assert_eq!(out[16..], [0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 1, 2]);
    }
}
