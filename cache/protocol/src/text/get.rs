//! `get <key>*`: values; `gat <exptime> <key>`: a value that also gets a new TTL.

use crate::key::MAX_KEY_LEN;
use crate::line::{next_number, next_word, parse, position_of_newline};
use crate::number::{leading_u64, push_i64, push_u64};
use crate::request::{Fault, Words, exptime};
use crate::{MAX_VALUE_LEN, Parse};

/// The bytes between the end of a value and the end of the answer, when no further value comes.
pub const TAIL: &[u8; 7] = b"\r\nEND\r\n";

/// One line of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GetReply<'a> {
    /// The header of a value: `len` bytes and a `\r\n` follow, then the next line.
    Value(ValueHeader<'a>),
    /// `END`: no more values.
    End,
}

/// `VALUE <key> <flags> <len> [<version>]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueHeader<'a> {
    /// The key as the server has it.
    pub key: &'a [u8],
    /// The flags that the value was set with.
    pub flags: u32,
    /// Number of bytes of the value.
    pub len: usize,
    /// The version of the value; only a server that was asked by `gets` tells it.
    pub version: Option<u64>,
}

/// Asks for the values of these keys.
#[inline]
pub fn encode<'a>(out: &mut Vec<u8>, keys: impl IntoIterator<Item = &'a [u8]>) {
    out.extend_from_slice(b"get");
    for key in keys {
        out.push(b' ');
        out.extend_from_slice(key);
    }
    out.extend_from_slice(b"\r\n");
}

/// Asks for the value of `key`, and that `key` end at `exptime`, as [`exptime`](crate::ttl::exptime) gives it.
pub fn encode_get_and_touch(out: &mut Vec<u8>, key: &[u8], exptime: i64) {
    out.extend_from_slice(b"gat ");
    push_i64(out, exptime);
    out.push(b' ');
    out.extend_from_slice(key);
    out.extend_from_slice(b"\r\n");
}

/// Reads the next line of the answer.
#[inline]
pub fn parse_reply(input: &[u8]) -> Parse<'_, GetReply<'_>> {
    parse(input, "get", |line| {
        if line == b"END" {
            return Some(GetReply::End);
        }
        let (key, rest) = next_word(line.strip_prefix(b"VALUE ")?)?;
        let (flags, rest) = next_number(rest)?;
        let (len, rest) = next_number(rest)?;
        let (version, rest) = match next_number(rest) {
            Some((version, rest)) => (Some(version), rest),
            None => (None, rest),
        };
        let flags = u32::try_from(flags).ok()?;
        let len = usize::try_from(len).ok().filter(|len| *len <= MAX_VALUE_LEN)?;
        rest.is_empty().then_some(GetReply::Value(ValueHeader { key, flags, len, version }))
    })
}

/// Reads the header of a hit for `key`, exactly as memcached answers [`encode`], in one pass: a third of the work
/// of [`parse_reply`]. `None` leaves any other input to [`parse_reply`].
#[inline]
pub fn parse_hit<'a>(input: &'a [u8], key: &[u8]) -> Option<(ValueHeader<'a>, usize)> {
    let rest = input.strip_prefix(b"VALUE ")?;
    let (found, rest) = rest.split_at_checked(key.len())?;
    let (flags, rest) = leading_u64(rest.strip_prefix(b" ")?)?;
    let (len, rest) = leading_u64(rest.strip_prefix(b" ")?)?;
    let rest = rest.strip_prefix(b"\r\n")?;
    if found != key {
        return None;
    }
    let len = usize::try_from(len).ok().filter(|len| *len <= MAX_VALUE_LEN)?;
    let flags = u32::try_from(flags).ok()?;
    let header = ValueHeader { key: found, flags, len, version: None };
    Some((header, input.len() - rest.len()))
}

/// A request as a server receives it: `get`, `gets`, `gat` or `gats`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The keys; at least one.
    pub keys: Words<'a>,
    /// Whether the versions are wanted.
    pub wants_version: bool,
    /// The end that the entries get.
    pub exptime: Option<i64>,
}

/// Reads the words of a request behind its verb.
#[inline]
pub fn parse_request<'a>(verb: &[u8], mut words: Words<'a>) -> Result<Request<'a>, Fault> {
    let wants_version = verb.ends_with(b"s");
    let exptime = if verb.starts_with(b"gat") {
        let time = words.needed()?;
        // Without a key, a wrong time is no reason of its own.
        words.clone().needed()?;
        Some(exptime(time)?)
    } else {
        None
    };
    words.clone().needed()?;
    Ok(Request { keys: words, wants_version, exptime })
}

/// Reads a `get` of one key, as every client writes it, in one pass: the key, and the length of the request. `None` leaves
/// any other input to [`text::parse_request`](super::parse_request).
#[inline]
pub fn parse_single(input: &[u8]) -> Option<(&[u8], usize)> {
    const VERB: &[u8] = b"get ";
    let rest = input.strip_prefix(VERB)?;
    let end = position_of_newline(&rest[..rest.len().min(MAX_KEY_LEN + 2)])?;
    let key = rest[..end].strip_suffix(b"\r")?;
    (!key.is_empty() && !key.contains(&b' ')).then_some((key, VERB.len() + end + 1))
}

/// Writes the header of a value; the value and a `\r\n` follow it.
#[inline]
pub fn encode_header(out: &mut Vec<u8>, header: &ValueHeader<'_>) {
    out.extend_from_slice(b"VALUE ");
    out.extend_from_slice(header.key);
    out.push(b' ');
    push_u64(out, u64::from(header.flags));
    out.push(b' ');
    push_u64(out, header.len as u64);
    if let Some(version) = header.version {
        out.push(b' ');
        push_u64(out, version);
    }
    out.extend_from_slice(b"\r\n");
}

/// Writes the end of the answer.
#[inline]
pub fn encode_end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"END\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Malformed, Parsed};

    #[test]
    fn a_request_names_all_keys() {
        let mut out = Vec::new();
        encode(&mut out, [&b"a"[..], b"bc"]);
        encode_get_and_touch(&mut out, b"a", -1);
        assert_eq!(out, b"get a bc\r\ngat -1 a\r\n");
    }

    #[test]
    fn a_header_tells_all_but_the_value() {
        let header = ValueHeader { key: b"k", flags: 7, len: 5, version: Some(9) };
        let answer = b"VALUE k 7 5 9\r\nhello\r\nEND\r\n";
        assert_eq!(
            parse_reply(answer),
            Ok(Parsed::Complete(Ok(GetReply::Value(header)), answer.len() - 5 - TAIL.len()))
        );
        assert_eq!(parse_reply(b"END\r\n"), Ok(Parsed::Complete(Ok(GetReply::End), 5)));
    }

    #[test]
    fn a_hit_reads_the_same_in_one_pass() {
        let answer = b"VALUE k 7 5\r\nhello\r\nEND\r\n";
        let (header, len) = parse_hit(answer, b"k").unwrap();
        assert_eq!(parse_reply(answer), Ok(Parsed::Complete(Ok(GetReply::Value(header)), len)));
        for other in ["END\r\n", "VALUE k 7 5\r", "VALUE k 7 5 9\r\n", "VALUE kk 7 5\r\n"] {
            assert_eq!(parse_hit(other.as_bytes(), b"k"), None, "{other}");
        }
        assert_eq!(parse_hit(answer, b"x"), None);
    }

    #[test]
    fn a_get_of_one_key_reads_the_same_in_one_pass() {
        let key = [b'k'; MAX_KEY_LEN];
        let long = [b"get ", &key[..], b"\r\nget b\r\n"].concat();
        assert_eq!(parse_single(b"get a\r\n"), Some((&b"a"[..], 7)));
        assert_eq!(parse_single(&long), Some((&key[..], 256)));
        let too_long = [b"get k", &key[..], b"\r\n"].concat();
        assert_eq!(parse_single(&too_long), None);
        for other in ["get a b\r\n", "get a\n", "get \r\n", "get a\r", "gets a\r\n", "get  a\r\n"] {
            assert_eq!(parse_single(other.as_bytes()), None, "{other:?}");
        }
    }

    #[test]
    fn headers_that_cannot_be_are_malformed() {
        for line in [
            "VALUE k 7\r\n",
            "VALUE k 7 99999999999\r\n",
            "VALUE k 4294967296 1\r\n",
            "VALUE k 7 5 9 1\r\n",
            "VALUE k 7 5 x\r\n",
            "END \r\n",
        ] {
            let malformed = Err(Malformed { command: "get" });
            assert_eq!(parse_reply(line.as_bytes()), malformed, "{line}");
        }
    }
}
