//! `mg <key> <flags>*`: a value with its flags, version and remaining TTL; also a new TTL without the value.

use super::ReplyFlags;
use super::request::{Facts, Request};
use crate::line::{next_number, next_word, parse};
use crate::number::{leading_u64, push_i64, push_u64};
use crate::{MAX_VALUE_LEN, Parse};

/// The bytes behind a value.
pub const TAIL: &[u8; 2] = b"\r\n";

/// An answer up to its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GetReply {
    /// `VA`: the header of a value; `len` bytes and a `\r\n` follow.
    Value {
        /// Number of bytes of the value.
        len: usize,
        /// Metadata of the value.
        flags: ReplyFlags,
    },
    /// `EN`: a miss.
    Miss,
}

/// Asks for the value of `key` with its flags, version and remaining TTL.
#[inline]
pub fn encode(out: &mut Vec<u8>, key: &[u8]) {
    out.extend_from_slice(b"mg ");
    out.extend_from_slice(key);
    out.extend_from_slice(b" v f c t\r\n");
}

/// Asks for the value of `key` with its flags and version, and that `key` end at `exptime`, as
/// [`exptime`](crate::ttl::exptime) gives it. The server would tell the TTL from before.
#[inline]
pub fn encode_get_and_touch(out: &mut Vec<u8>, key: &[u8], exptime: i64) {
    out.extend_from_slice(b"mg ");
    out.extend_from_slice(key);
    out.extend_from_slice(b" v f c T");
    push_i64(out, exptime);
    out.extend_from_slice(b"\r\n");
}

/// Asks as [`encode`] does. If there is no entry, the server makes one without a value that ends at `exptime`. This
/// client gets `W` and must load the value; later clients get `Z`.
pub fn encode_or_lease(out: &mut Vec<u8>, key: &[u8], exptime: i64) {
    out.extend_from_slice(b"mg ");
    out.extend_from_slice(key);
    out.extend_from_slice(b" v f c t N");
    push_i64(out, exptime);
    out.extend_from_slice(b"\r\n");
}

/// Asks for the length of the value of `key`, its flags, version and remaining TTL, and whether it was hit before. The
/// question itself is no hit.
pub fn encode_look(out: &mut Vec<u8>, key: &[u8]) {
    out.extend_from_slice(b"mg ");
    out.extend_from_slice(key);
    out.extend_from_slice(b" s f c t h u\r\n");
}

/// Reads the answer to [`encode_look`]; `None` is a miss.
pub fn parse_look_reply(input: &[u8]) -> Parse<'_, Option<ReplyFlags>> {
    parse(input, "mg", |line| match next_word(line)? {
        (b"HD", flags) => Some(Some(ReplyFlags::parse(flags)?)),
        (b"EN", _) => Some(None),
        _ => None,
    })
}

/// Reads the answer to [`encode`] up to its value.
#[inline]
pub fn parse_reply(input: &[u8]) -> Parse<'_, GetReply> {
    parse(input, "mg", |line| {
        if line == b"EN" {
            return Some(GetReply::Miss);
        }
        let (len, rest) = next_number(line.strip_prefix(b"VA ")?)?;
        let len = usize::try_from(len).ok().filter(|len| *len <= MAX_VALUE_LEN)?;
        Some(GetReply::Value { len, flags: ReplyFlags::parse(rest)? })
    })
}

/// Reads the header of a hit, exactly as memcached answers [`encode`], in one pass: a third of the work of
/// [`parse_reply`]. `None` leaves any other input to [`parse_reply`].
#[inline]
pub fn parse_hit(input: &[u8]) -> Option<(usize, ReplyFlags, usize)> {
    let (len, rest) = leading_u64(input.strip_prefix(b"VA ")?)?;
    let (flags, rest) = leading_u64(rest.strip_prefix(b" f")?)?;
    let (version, rest) = leading_u64(rest.strip_prefix(b" c")?)?;
    let rest = rest.strip_prefix(b" t")?;
    let (ttl_s, rest) = match rest.strip_prefix(b"-1") {
        Some(rest) => (-1, rest),
        None => leading_u64(rest).and_then(|(s, rest)| Some((i64::try_from(s).ok()?, rest)))?,
    };
    let rest = rest.strip_prefix(b"\r\n")?;
    let len = usize::try_from(len).ok().filter(|len| *len <= MAX_VALUE_LEN)?;
    let flags = u32::try_from(flags).ok()?;
    let (version, ttl_s) = (Some(version), Some(ttl_s));
    let flags = ReplyFlags { flags, version, ttl_s, ..ReplyFlags::default() };
    Some((len, flags, input.len() - rest.len()))
}

/// Asks that `key` end at `exptime`, as [`exptime`](crate::ttl::exptime) gives it, without its value.
#[inline]
pub fn encode_touch(out: &mut Vec<u8>, key: &[u8], exptime: i64) {
    out.extend_from_slice(b"mg ");
    out.extend_from_slice(key);
    out.extend_from_slice(b" T");
    push_i64(out, exptime);
    out.extend_from_slice(b"\r\n");
}

/// Reads the answer to [`encode_touch`]: the entry's flags; `None` is a miss.
pub fn parse_touch_reply(input: &[u8]) -> Parse<'_, Option<ReplyFlags>> {
    parse(input, "mg", |line| match next_word(line)? {
        (b"HD", flags) => Some(Some(ReplyFlags::parse(flags)?)),
        (b"EN", _) => Some(None),
        _ => None,
    })
}

/// Writes an answer up to its value: `VA` where the value follows, else `HD`.
#[inline]
pub fn encode_reply(out: &mut Vec<u8>, request: &Request<'_>, facts: &Facts, claim: Claim) {
    if request.flags.wants_value {
        out.extend_from_slice(b"VA ");
        push_u64(out, facts.len as u64);
    } else {
        out.extend_from_slice(b"HD");
    }
    request.encode_flags(out, b"fcsthl", facts);
    out.extend_from_slice(match claim {
        Claim::Fresh => b"",
        Claim::Won => b" W",
        Claim::Sent => b" Z",
        Claim::StaleWon => b" X W",
        Claim::StaleSent => b" Z X",
    });
    out.extend_from_slice(b"\r\n");
}

/// Writes the answer of a miss.
#[inline]
pub fn encode_miss(out: &mut Vec<u8>, request: &Request<'_>) {
    out.extend_from_slice(b"EN");
    request.encode_own(out);
    out.extend_from_slice(b"\r\n");
}

/// Who is to load a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Nobody: the value is fresh.
    Fresh,
    /// This client, in place of a value that is absent or soon ends.
    Won,
    /// Another client, in place of such a value.
    Sent,
    /// This client, because the value is out of date.
    StaleWon,
    /// Another client, because the value is out of date.
    StaleSent,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Malformed, Parsed};

    #[test]
    fn a_header_tells_all_but_the_value() {
        let flags =
            ReplyFlags { flags: 7, version: Some(1), ttl_s: Some(-1), ..ReplyFlags::default() };
        assert_eq!(
            parse_reply(b"VA 5 f7 c1 t-1 O12 kx\r\nhello\r\n"),
            Ok(Parsed::Complete(Ok(GetReply::Value { len: 5, flags }), 23))
        );
        assert_eq!(parse_reply(b"EN\r\n"), Ok(Parsed::Complete(Ok(GetReply::Miss), 4)));
    }

    #[test]
    fn a_hit_reads_the_same_in_one_pass() {
        for answer in ["VA 5 f7 c1 t-1\r\nhello\r\n", "VA 0 f0 c18446744073709551615 t60\r\n\r\n"] {
            let (len, flags, header_len) = parse_hit(answer.as_bytes()).unwrap();
            let hit = GetReply::Value { len, flags };
            assert_eq!(parse_reply(answer.as_bytes()), Ok(Parsed::Complete(Ok(hit), header_len)));
        }
        for other in ["EN\r\n", "VA 5 f7 c1 t-1\r", "VA 5 f7 c1 t-1 W\r\n", "VA 5 c1 f7 t-1\r\n"] {
            assert_eq!(parse_hit(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_look_tells_all_but_the_value() {
        let answer = b"HD s5 f7 c1 t60 h1\r\n";
        let flags = ReplyFlags {
            flags: 7,
            version: Some(1),
            ttl_s: Some(60),
            len: Some(5),
            was_hit: Some(true),
            ..ReplyFlags::default()
        };
        let whole = Ok(Parsed::Complete(Ok(Some(flags)), answer.len()));
        assert_eq!(parse_look_reply(answer), whole);
        assert_eq!(parse_look_reply(b"EN\r\n"), Ok(Parsed::Complete(Ok(None), 4)));
        assert!(parse_look_reply(b"HD sx\r\n").is_err());
    }

    #[test]
    fn a_lease_is_told_from_a_stale_value_and_from_an_empty_one() {
        let mut out = Vec::new();
        encode_or_lease(&mut out, b"k", 30);
        assert_eq!(out, b"mg k v f c t N30\r\n");
        // Answers of 1.6.18: the winner's, another client's, a stale value's, and a set value's.
        for (answer, is_lease, is_stale, is_won) in [
            ("VA 0 f0 c1 t-1 W", true, false, true),
            ("VA 0 f0 c1 t30 Z", true, false, false),
            ("VA 3 f0 c4 t60 X W", false, true, true),
            ("VA 0 f0 c4 t60 Z X", false, true, false),
            ("VA 0 f0 c4 t60", false, false, false),
        ] {
            let reply = parse_reply_of(answer);
            let GetReply::Value { len, flags } = reply else { panic!("{reply:?}") };
            let found = (flags.is_lease(len), flags.is_stale, flags.is_won);
            assert_eq!(found, (is_lease, is_stale, is_won), "{answer}");
        }
    }

    fn parse_reply_of(line: &str) -> GetReply {
        match parse_reply(format!("{line}\r\n").as_bytes()) {
            Ok(Parsed::Complete(Ok(reply), _)) => reply,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn headers_that_cannot_be_are_malformed() {
        for line in ["VA\r\n", "VA x\r\n", "VA 2000000000\r\n", "VA 1 fx\r\n", "HD\r\n"] {
            let malformed = Err(Malformed { command: "mg" });
            assert_eq!(parse_reply(line.as_bytes()), malformed, "{line}");
        }
    }
}
