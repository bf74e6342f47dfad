//! `md <key>`, and with `C<version>` on condition of a version.

use super::request::Request;
use crate::Parse;
use crate::line::{next_word, parse};
use crate::number::{push_i64, push_u64};

/// Asks that `key` be removed.
pub fn encode(out: &mut Vec<u8>, key: &[u8]) {
    out.extend_from_slice(b"md ");
    out.extend_from_slice(key);
    out.extend_from_slice(b"\r\n");
}

/// The outcome of a delete on condition of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteReply {
    /// The entry had the version and is gone.
    Deleted,
    /// The entry has another version.
    Exists,
    /// The key does not exist.
    NotFound,
}

/// Asks that `key` be removed if its entry has this version.
pub fn encode_if(out: &mut Vec<u8>, key: &[u8], version: u64) {
    out.extend_from_slice(b"md ");
    out.extend_from_slice(key);
    out.extend_from_slice(b" C");
    push_u64(out, version);
    out.extend_from_slice(b"\r\n");
}

/// Asks that the value of `key` be marked as out of date, if its entry has this version. With `exptime` it also ends then.
/// The entry gets another version.
pub fn encode_mark(out: &mut Vec<u8>, key: &[u8], version: u64, exptime: Option<i64>) {
    out.extend_from_slice(b"md ");
    out.extend_from_slice(key);
    out.extend_from_slice(b" I");
    if let Some(exptime) = exptime {
        out.extend_from_slice(b" T");
        push_i64(out, exptime);
    }
    out.extend_from_slice(b" C");
    push_u64(out, version);
    out.extend_from_slice(b"\r\n");
}

/// Reads the answer to [`encode_if`] and [`encode_mark`].
pub fn parse_if_reply(input: &[u8]) -> Parse<'_, DeleteReply> {
    parse(input, "md", |line| match next_word(line)?.0 {
        b"HD" => Some(DeleteReply::Deleted),
        b"EX" => Some(DeleteReply::Exists),
        b"NF" => Some(DeleteReply::NotFound),
        _ => None,
    })
}

/// Reads the answer to [`encode`]: whether the key was there.
pub fn parse_reply(input: &[u8]) -> Parse<'_, bool> {
    parse(input, "md", |line| match next_word(line)?.0 {
        b"HD" => Some(true),
        b"NF" => Some(false),
        _ => None,
    })
}

/// Writes the answer.
pub fn encode_reply(out: &mut Vec<u8>, request: &Request<'_>, reply: DeleteReply) {
    out.extend_from_slice(match reply {
        DeleteReply::Deleted => b"HD",
        DeleteReply::Exists => b"EX",
        DeleteReply::NotFound => b"NF",
    });
    request.encode_own(out);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parsed;

    #[test]
    fn a_version_is_a_condition() {
        let mut out = Vec::new();
        encode_if(&mut out, b"k", 7);
        assert_eq!(out, b"md k C7\r\n");
        assert_eq!(parse_if_reply(b"EX\r\n"), Ok(Parsed::Complete(Ok(DeleteReply::Exists), 4)));
        assert!(parse_reply(b"EX\r\n").is_err(), "there was no condition");
        out.clear();
        encode_mark(&mut out, b"k", 7, None);
        encode_mark(&mut out, b"k", 8, Some(60));
        assert_eq!(out, b"md k I C7\r\nmd k I T60 C8\r\n");
    }
}
