//! `ma <key> <flags>*`: adds to or subtracts from a number.

use super::ReplyFlags;
use super::request::{Facts, Request, RequestFlags};
use crate::line::{next_number, parse};
use crate::number::{parse_u64, push_i64, push_u64};
use crate::request::Fault;
use crate::{Parse, Parsed};

/// The change of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The difference.
    pub delta: u64,
    /// Whether the difference is taken away.
    pub is_down: bool,
    /// The number of an absent key and its end, as [`exptime`](crate::ttl::exptime) gives it.
    pub absent: Option<(u64, i64)>,
}

/// A number after its change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    /// The number.
    pub number: u64,
    /// The version of its entry.
    pub version: Option<u64>,
}

/// Asks for the changed number and its version.
pub fn encode(out: &mut Vec<u8>, key: &[u8], change: &Change) {
    out.extend_from_slice(b"ma ");
    out.extend_from_slice(key);
    out.extend_from_slice(if change.is_down { b" v c MD D" } else { b" v c D" });
    push_u64(out, change.delta);
    if let Some((number, exptime)) = change.absent {
        out.extend_from_slice(b" J");
        push_u64(out, number);
        out.extend_from_slice(b" N");
        push_i64(out, exptime);
    }
    out.extend_from_slice(b"\r\n");
}

/// Reads the answer, both its lines: the number, or `None` when the key is not there.
pub fn parse_reply(input: &[u8]) -> Parse<'_, Option<Changed>> {
    let header = parse(input, "ma", |line| {
        if line == b"NF" {
            return Some(None);
        }
        let (len, flags) = next_number(line.strip_prefix(b"VA ")?)?;
        Some(Some((len, ReplyFlags::parse(flags)?.version)))
    })?;
    let (len, version, header_len) = match header {
        Parsed::Complete(Ok(Some((len, version))), header_len) => (len, version, header_len),
        Parsed::Complete(Ok(None), header_len) => {
            return Ok(Parsed::Complete(Ok(None), header_len));
        }
        Parsed::Complete(Err(refusal), header_len) => {
            return Ok(Parsed::Complete(Err(refusal), header_len));
        }
        Parsed::Incomplete => return Ok(Parsed::Incomplete),
    };
    let number = parse(&input[header_len..], "ma", |line| {
        (line.len() as u64 == len).then(|| parse_u64(line)).flatten()
    })?;
    Ok(match number {
        Parsed::Complete(number, number_len) => {
            let changed = number.map(|number| Some(Changed { number, version }));
            Parsed::Complete(changed, header_len + number_len)
        }
        Parsed::Incomplete => Parsed::Incomplete,
    })
}

/// Whether the flags ask for a subtraction.
pub fn is_down(flags: &RequestFlags) -> Result<bool, Fault> {
    match flags.mode {
        None | Some(b'I' | b'i' | b'+') => Ok(false),
        Some(b'D' | b'd' | b'-') => Ok(true),
        Some(_) => Err(Fault::ArithmeticMode),
    }
}

/// Writes the answer with the number.
pub fn encode_reply(out: &mut Vec<u8>, request: &Request<'_>, number: u64, facts: &Facts) {
    if !request.flags.wants_value {
        out.extend_from_slice(b"HD");
        request.encode_flags(out, b"ct", facts);
        out.extend_from_slice(b"\r\n");
        return;
    }
    out.extend_from_slice(b"VA ");
    push_u64(out, n_digits(number));
    request.encode_flags(out, b"ct", facts);
    out.extend_from_slice(b"\r\n");
    push_u64(out, number);
    out.extend_from_slice(b"\r\n");
}

fn n_digits(number: u64) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0)) + 1
}

/// Writes the answer where the key does not exist.
pub fn encode_miss(out: &mut Vec<u8>, request: &Request<'_>) {
    out.extend_from_slice(b"NF");
    request.encode_own(out);
    out.extend_from_slice(b"\r\n");
}

/// Writes the answer where the entry has another version.
pub fn encode_exists(out: &mut Vec<u8>, request: &Request<'_>) {
    out.extend_from_slice(b"EX");
    request.encode_own(out);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_a_value() {
        for (header, version) in [("VA 2", None), ("VA 2 c9", Some(9))] {
            let answer = format!("{header}\r\n41\r\n");
            let changed = Changed { number: 41, version };
            let whole = Ok(Parsed::Complete(Ok(Some(changed)), answer.len()));
            assert_eq!(parse_reply(answer.as_bytes()), whole);
            let piece = &answer.as_bytes()[..answer.len() - 1];
            assert_eq!(parse_reply(piece), Ok(Parsed::Incomplete));
        }
        assert_eq!(parse_reply(b"NF\r\n"), Ok(Parsed::Complete(Ok(None), 4)));
        assert!(parse_reply(b"VA 3\r\n41\r\n").is_err());
    }

    #[test]
    fn a_change_has_its_sign_and_perhaps_an_initial_number() {
        let mut out = Vec::new();
        let change = Change { delta: 5, is_down: false, absent: None };
        encode(&mut out, b"n", &change);
        encode(&mut out, b"n", &Change { is_down: true, absent: Some((7, -1)), ..change });
        assert_eq!(out, b"ma n v c D5\r\nma n v c MD D5 J7 N-1\r\n");
    }
}
