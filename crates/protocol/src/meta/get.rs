//! `mg <key> <flags>*`: a value with its flags, version and remaining TTL; also a new TTL without the value.

use super::ReplyFlags;
use crate::line::{next_number, parse};
use crate::number::{push_i64, push_u64};
use crate::{MAX_VALUE_LEN, Parse};

/// What stands behind a value.
pub const TAIL: &[u8] = b"\r\n";

/// One line of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GetReply {
    /// `VA`: the header of a value; `len` bytes and a `\r\n` follow.
    Value {
        /// Number of bytes of the value.
        len: usize,
        /// What else is known of it.
        flags: ReplyFlags,
    },
    /// `EN`: a miss.
    Miss,
    /// `MN`: the answer to the [`noop`](super::noop) behind a row of quiet requests.
    Noop,
}

/// Asks for the value of `key` with its flags, version and remaining TTL.
pub fn encode(out: &mut Vec<u8>, key: &[u8]) {
    out.extend_from_slice(b"mg ");
    out.extend_from_slice(key);
    out.extend_from_slice(b" v f c t\r\n");
}

/// Like [`encode`], for one of many: a miss is not answered, and a hit carries `opaque`.
pub fn encode_quiet(out: &mut Vec<u8>, key: &[u8], opaque: u32) {
    out.extend_from_slice(b"mg ");
    out.extend_from_slice(key);
    out.extend_from_slice(b" v f c t q O");
    push_u64(out, u64::from(opaque));
    out.extend_from_slice(b"\r\n");
}

/// Reads the next line of the answer to [`encode`] or to a row of [`encode_quiet`].
pub fn parse_reply(input: &[u8]) -> Parse<'_, GetReply> {
    parse(input, "mg", |line| match line {
        b"EN" => Some(GetReply::Miss),
        b"MN" => Some(GetReply::Noop),
        _ => {
            let (len, rest) = next_number(line.strip_prefix(b"VA ")?)?;
            let len = usize::try_from(len).ok().filter(|len| *len <= MAX_VALUE_LEN)?;
            Some(GetReply::Value { len, flags: ReplyFlags::parse(rest)? })
        }
    })
}

/// Asks that `key` end at `exptime`, as [`exptime`](crate::ttl::exptime) gives it, without its value.
pub fn encode_touch(out: &mut Vec<u8>, key: &[u8], exptime: i64) {
    out.extend_from_slice(b"mg ");
    out.extend_from_slice(key);
    out.extend_from_slice(b" T");
    push_i64(out, exptime);
    out.extend_from_slice(b"\r\n");
}

/// Reads the answer to [`encode_touch`]: whether the key is there.
pub fn parse_touch_reply(input: &[u8]) -> Parse<'_, bool> {
    parse(input, "mg", |line| match line {
        b"HD" => Some(true),
        b"EN" => Some(false),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Malformed, Parsed};

    #[test]
    fn a_header_tells_all_but_the_value() {
        let flags = ReplyFlags { flags: 7, version: Some(1), ttl_s: Some(-1), opaque: Some(12) };
        assert_eq!(
            parse_reply(b"VA 5 f7 c1 t-1 O12 W kx\r\nhello\r\n"),
            Ok(Parsed::Complete(Ok(GetReply::Value { len: 5, flags }), 25))
        );
        assert_eq!(parse_reply(b"EN\r\n"), Ok(Parsed::Complete(Ok(GetReply::Miss), 4)));
    }

    #[test]
    fn headers_that_cannot_be_are_malformed() {
        for line in ["VA\r\n", "VA x\r\n", "VA 2000000000\r\n", "VA 1 fx\r\n", "HD\r\n"] {
            let malformed = Err(Malformed { command: "mg" });
            assert_eq!(parse_reply(line.as_bytes()), malformed, "{line}");
        }
    }
}
