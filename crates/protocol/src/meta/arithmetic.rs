//! `ma <key> <flags>*`: adds to or subtracts from a number.

use crate::line::{next_number, parse};
use crate::number::{parse_u64, push_u64};
use crate::{Parse, Parsed};

/// Asks for the sum; a negative `delta` is subtracted.
pub fn encode(out: &mut Vec<u8>, key: &[u8], delta: i64) {
    out.extend_from_slice(b"ma ");
    out.extend_from_slice(key);
    out.extend_from_slice(if delta < 0 { b" v MD D" } else { b" v D" });
    push_u64(out, delta.unsigned_abs());
    out.extend_from_slice(b"\r\n");
}

/// Reads the answer, both its lines: the sum, or `None` when the key is not there.
pub fn parse_reply(input: &[u8]) -> Parse<'_, Option<u64>> {
    let header = parse(input, "ma", |line| match line {
        b"NF" => Some(None),
        _ => next_number(line.strip_prefix(b"VA ")?).map(|(len, _)| Some(len)),
    })?;
    let (len, header_len) = match header {
        Parsed::Complete(Ok(Some(len)), header_len) => (len, header_len),
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
            Parsed::Complete(number.map(Some), header_len + number_len)
        }
        Parsed::Incomplete => Parsed::Incomplete,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_a_value() {
        assert_eq!(parse_reply(b"VA 2\r\n41\r\n"), Ok(Parsed::Complete(Ok(Some(41)), 10)));
        assert_eq!(parse_reply(b"VA 2\r\n41\r"), Ok(Parsed::Incomplete));
        assert_eq!(parse_reply(b"NF\r\n"), Ok(Parsed::Complete(Ok(None), 4)));
        assert!(parse_reply(b"VA 3\r\n41\r\n").is_err());
    }

    #[test]
    fn the_sign_chooses_the_mode() {
        let mut out = Vec::new();
        encode(&mut out, b"n", 5);
        encode(&mut out, b"n", -5);
        assert_eq!(out, b"ma n v D5\r\nma n v MD D5\r\n");
    }
}
