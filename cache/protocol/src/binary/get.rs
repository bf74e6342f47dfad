//! `GET`, `GETQ`, `GETK`, `GETKQ`: a value; `GAT`, `GATQ`, `GATK`, `GATKQ`: a value that also gets a new TTL.
//!
//! Their source is section 4.2 of the Memcache Binary Protocol (`protocol-binary.txt`).

use super::header::{Echo, Lengths, ReplyHeader};
use super::{HEADER_LEN, Status, reply};

/// Number of bytes of the extras of a hit: the flags.
pub(super) const EXTRAS_LEN: usize = 4;

/// A request as a server receives it. A quiet one has no answer to a miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The key of the value.
    pub key: &'a [u8],
    /// Whether the key is wanted in the answer.
    pub wants_key: bool,
    /// The end that the entry gets.
    pub exptime: Option<i64>,
}

impl<'a> Request<'a> {
    /// The number of bytes of a hit before its value: header, flags and perhaps the key.
    #[inline]
    pub fn header_len(&self) -> usize {
        HEADER_LEN + EXTRAS_LEN + self.shown_key().len()
    }

    #[inline]
    fn shown_key(&self) -> &'a [u8] {
        if self.wants_key { self.key } else { b"" }
    }
}

/// What the header of a hit tells of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueHeader {
    /// The flags that the value was set with.
    pub flags: u32,
    /// Number of bytes of the value.
    pub len: usize,
    /// The version of the value, or 0 where it is not known.
    pub version: u64,
}

/// Writes the answer of a hit up to its value; the value follows it.
#[inline]
pub fn encode_header(out: &mut Vec<u8>, echo: Echo, request: &Request<'_>, header: &ValueHeader) {
    let begin = out.len();
    out.resize(begin + request.header_len(), 0);
    fill_header(&mut out[begin..], echo, request, header);
}

/// Writes the answer of a hit up to its value into `place`, which has [`Request::header_len`] bytes.
///
/// A server can thus read a value straight behind the place of its header, and write the header once it knows the
/// length.
#[inline]
pub fn fill_header(place: &mut [u8], echo: Echo, request: &Request<'_>, header: &ValueHeader) {
    let key = request.shown_key();
    let lengths = Lengths { extras: EXTRAS_LEN, key: key.len(), value: header.len };
    let reply = ReplyHeader { echo, status: Status::Success, lengths, version: header.version };
    let (head, rest) = place.split_at_mut(HEADER_LEN);
    let (extras, key_place) = rest.split_at_mut(EXTRAS_LEN);
    head.copy_from_slice(&reply.bytes());
    extras.copy_from_slice(&header.flags.to_be_bytes());
    key_place.copy_from_slice(key);
}

/// Writes the answer of a miss, which a quiet command leaves out. Where the key is wanted, it takes the place of the
/// text.
pub fn encode_miss(out: &mut Vec<u8>, echo: Echo, request: &Request<'_>) {
    if echo.is_quiet() {
        return;
    }
    if !request.wants_key {
        reply::encode_error(out, echo, Status::NotFound);
        return;
    }
    let lengths = Lengths { extras: 0, key: request.key.len(), value: 0 };
    let header = ReplyHeader { echo, status: Status::NotFound, lengths, version: 0 };
    out.extend_from_slice(&header.bytes());
    out.extend_from_slice(request.key);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::opcode;

    const VALUE: ValueHeader = ValueHeader { flags: 0xdead_beef, len: 5, version: 1 };

    /// The example of the protocol's text: the header of a hit, with the lengths of its key and of its body.
    fn hit(opcode: u8, key_len: u8, body_len: u8) -> Vec<u8> {
        let mut bytes = vec![0x81, opcode, 0, key_len, 4, 0, 0, 0, 0, 0, 0, body_len];
        bytes.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xde, 0xad, 0xbe, 0xef]);
        bytes
    }

    #[test]
    fn a_hit_has_flags_and_perhaps_its_key() {
        let mut request = Request { key: b"Hello", wants_key: false, exptime: None };
        let mut out = b"before".to_vec();
        encode_header(&mut out, Echo { opcode: opcode::GET, opaque: 0 }, &request, &VALUE);
        assert_eq!(out, [&b"before"[..], &hit(opcode::GET, 0, 9)].concat());
        assert_eq!(out.len(), 6 + request.header_len());
        request.wants_key = true;
        out.clear();
        encode_header(&mut out, Echo { opcode: opcode::GETKQ, opaque: 0 }, &request, &VALUE);
        assert_eq!(out, [&hit(opcode::GETKQ, 5, 14)[..], b"Hello"].concat());
        assert_eq!(out.len(), request.header_len());
    }

    #[test]
    fn a_header_may_be_written_after_its_value() {
        let request = Request { key: b"Hello", wants_key: true, exptime: None };
        let echo = Echo { opcode: opcode::GETK, opaque: 0 };
        let mut out = vec![0; request.header_len()];
        out.extend_from_slice(b"World");
        fill_header(&mut out[..request.header_len()], echo, &request, &VALUE);
        assert_eq!(out, [&hit(opcode::GETK, 5, 14)[..], b"HelloWorld"].concat());
    }

    #[test]
    fn a_miss_has_a_text_or_the_key_and_is_quiet_where_asked() {
        let mut request = Request { key: b"Hello", wants_key: false, exptime: None };
        let miss = |request: &Request<'_>, opcode| {
            let mut out = Vec::new();
            encode_miss(&mut out, Echo { opcode, opaque: 0 }, request);
            out
        };
        let answer = miss(&request, opcode::GAT);
        assert_eq!((answer[3], answer[7], &answer[24..]), (0, 1, &b"Not found"[..]));
        request.wants_key = true;
        let answer = miss(&request, opcode::GATK);
        assert_eq!((answer[3], answer[7], &answer[24..]), (5, 1, &b"Hello"[..]));
        for opcode in [opcode::GETQ, opcode::GETKQ, opcode::GATQ, opcode::GATKQ] {
            assert_eq!(miss(&request, opcode), b"", "{opcode:#x}");
        }
    }
}
