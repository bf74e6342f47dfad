//! Lines and the words in them.

use crate::number::leading_u64;
use crate::{MAX_LINE_LEN, Malformed, Parse, Parsed, Refusal};

/// Parses the first line of `input` with `read`, which returns `None` for a line that it does not know.
#[inline]
pub(crate) fn parse<'a, T>(
    input: &'a [u8],
    command: &'static str,
    read: impl FnOnce(&'a [u8]) -> Option<T>,
) -> Parse<'a, T> {
    let window = &input[..input.len().min(MAX_LINE_LEN)];
    let Some(end) = position_of_newline(window) else {
        let waiting = window.len() < MAX_LINE_LEN;
        return if waiting { Ok(Parsed::Incomplete) } else { Err(Malformed { command }) };
    };
    let line = window[..end].strip_suffix(b"\r").ok_or(Malformed { command })?;
    let reply = match read(line) {
        Some(reply) => Ok(reply),
        None => Err(refusal(line).ok_or(Malformed { command })?),
    };
    Ok(Parsed::Complete(reply, end + 1))
}

/// The place of the first newline. This is the longest loop over a small answer, so it takes eight bytes at a time.
#[inline]
pub(crate) fn position_of_newline(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    let (words, rest) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        // A newline becomes a zero byte; a borrow marks the first zero byte, and perhaps bytes behind it.
        let zeroed = u64::from_le_bytes(*word) ^ (ONES * u64::from(b'\n'));
        let marks = zeroed.wrapping_sub(ONES) & !zeroed & HIGHS;
        if marks != 0 {
            return Some(i * 8 + marks.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|byte| *byte == b'\n')?;
    Some(words.len() * 8 + at)
}

#[cold]
fn refusal(line: &[u8]) -> Option<Refusal<'_>> {
    if line == b"ERROR" {
        return Some(Refusal::Unknown);
    }
    let (word, reason) = next_word(line)?;
    match word {
        b"CLIENT_ERROR" => Some(Refusal::Client(reason)),
        b"SERVER_ERROR" => Some(Refusal::Server(reason)),
        _ => None,
    }
}

/// The first word, and the rest behind the blank after it; `None` at the end of the line.
#[inline]
pub(crate) fn next_word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    if line.is_empty() {
        return None;
    }
    let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
    Some((&line[..end], line.get(end + 1..).unwrap_or_default()))
}

/// The first word as a number, and the rest.
#[inline]
pub(crate) fn next_number(line: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = leading_u64(line)?;
    match rest.split_first() {
        None => Some((number, rest)),
        Some((b' ', rest)) => Some((number, rest)),
        Some(_) => None,
    }
}

/// The first line of a peer's bytes, short and printable, for messages.
pub fn shown(bytes: &[u8]) -> String {
    const LONGEST: usize = 120;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = line[..line.len().min(LONGEST)].escape_ascii();
    if line.len() > LONGEST { format!("{text}…") } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(line: &[u8]) -> Option<()> {
        (line == b"OK").then_some(())
    }

    #[test]
    fn a_line_is_complete_at_its_end_and_not_before() {
        assert_eq!(parse(b"OK\r", "test", ok), Ok(Parsed::Incomplete));
        assert_eq!(parse(b"OK\r\nmore", "test", ok), Ok(Parsed::Complete(Ok(()), 4)));
    }

    #[test]
    fn a_newline_is_found_wherever_it_is() {
        for len in 0..40 {
            // A careless search in words takes 0x0b and 0x8a for a newline.
            let mut bytes = vec![0x0b; len];
            bytes.iter_mut().step_by(2).for_each(|byte| *byte = 0x8a);
            assert_eq!(position_of_newline(&bytes), None);
            for at in (0..len).rev() {
                bytes[at] = b'\n';
                assert_eq!(position_of_newline(&bytes), Some(at), "{at} of {len}");
            }
        }
    }

    #[test]
    fn every_refusal_is_named() {
        let of = |input| match parse(input, "test", ok) {
            Ok(Parsed::Complete(Err(refusal), _)) => refusal,
            other => panic!("{other:?}"),
        };
        assert_eq!(of(b"ERROR\r\n"), Refusal::Unknown);
        assert_eq!(of(b"CLIENT_ERROR bad data chunk\r\n"), Refusal::Client(b"bad data chunk"));
        assert_eq!(of(b"SERVER_ERROR out of memory\r\n"), Refusal::Server(b"out of memory"));
    }

    #[test]
    fn a_line_that_is_no_answer_is_malformed() {
        let endless = vec![b'x'; MAX_LINE_LEN];
        for input in [&b"OK\n"[..], b"\r\n", b"ERRORS\r\n", b"\n", &endless] {
            assert_eq!(parse(input, "test", ok), Err(Malformed { command: "test" }), "{input:?}");
        }
    }

    #[test]
    fn messages_show_one_short_line() {
        assert_eq!(shown(b"a\x00b\r\nsecond"), "a\\x00b");
        assert_eq!(shown(&[b'x'; 500]).chars().count(), 121);
    }
}
