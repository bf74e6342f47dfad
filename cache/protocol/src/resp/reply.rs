//! One reply, or one element of an array.

use crate::line::position_of_newline;
use crate::number::{leading_u64, parse_i64, parse_u64};
use crate::{MAX_LINE_LEN, MAX_VALUE_LEN, Malformed, Parsed};

/// The largest array that the parser accepts, in elements: a request has at most as many keys.
pub const MAX_ARRAY_LEN: usize = 1 << 20;

/// The type byte, ten digits and the end of the line: [`MAX_VALUE_LEN`] has ten digits.
const SHORT_HEAD_LEN: usize = 13;

/// A reply, or the head of a longer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply<'a> {
    /// `+<text>`, such as `+OK`; or a number of RESP3 that is no integer of 64 bits: `,3.14` or `(123…`.
    Simple(&'a [u8]),
    /// `-<text>`: the server did not do the request. The first word is the kind of the error, such as `ERR` or `MOVED`.
    Error(&'a [u8]),
    /// `:<number>`, or a boolean of RESP3: `#t` is 1, `#f` is 0.
    Integer(i64),
    /// `$<len>`: as many bytes of a value and a `\r\n` follow.
    Bulk(usize),
    /// `=<len>` of RESP3: the same, but the value begins with its format, such as `txt:`.
    Verbatim(usize),
    /// `$-1` or `*-1`, or `_` of RESP3: nothing is there.
    Nil,
    /// `*<len>`: as many elements follow, each a reply of its own. A map of RESP3, `%<len>`, has twice as many as pairs; a set is
    /// `~<len>`.
    Array(usize),
}

/// Reads the reply at the beginning of `input`. `command` is the request, for messages.
///
/// Most replies are read here in one pass: `$<len>`, `+OK` and an integer of one digit. All others are left to the
/// general parser, which reads these three to the same result.
#[inline]
pub fn parse_reply<'a>(
    input: &'a [u8],
    command: &'static str,
) -> Result<Parsed<Reply<'a>>, Malformed> {
    match input {
        [b'$', rest @ ..] => {
            let head = &rest[..rest.len().min(SHORT_HEAD_LEN - 1)];
            if let Some((len, [b'\r', b'\n', behind @ ..])) = leading_u64(head)
                && let Some(len) = limited(len, MAX_VALUE_LEN)
            {
                let head_len = 1 + head.len() - behind.len();
                return Ok(Parsed::Complete(Reply::Bulk(len), head_len));
            }
        }
        [b'+', b'O', b'K', b'\r', b'\n', ..] => {
            return Ok(Parsed::Complete(Reply::Simple(b"OK"), 5));
        }
        [b':', digit @ b'0'..=b'9', b'\r', b'\n', ..] => {
            return Ok(Parsed::Complete(Reply::Integer(i64::from(digit - b'0')), 4));
        }
        _ => {}
    }
    parse_any(input, command)
}

/// Reads every reply.
fn parse_any<'a>(input: &'a [u8], command: &'static str) -> Result<Parsed<Reply<'a>>, Malformed> {
    let malformed = Malformed { command };
    let Some((kind, rest)) = input.split_first() else { return Ok(Parsed::Incomplete) };
    if !b"+-:$*_#,(=%~".contains(kind) {
        return Err(malformed);
    }
    let window = &rest[..rest.len().min(MAX_LINE_LEN - 1)];
    let Some(end) = position_of_newline(window) else {
        let waiting = window.len() < MAX_LINE_LEN - 1;
        return if waiting { Ok(Parsed::Incomplete) } else { Err(malformed) };
    };
    let line = window[..end].strip_suffix(b"\r").ok_or(malformed)?;
    let reply = match kind {
        b'+' | b',' | b'(' => Some(Reply::Simple(line)),
        b'-' => Some(Reply::Error(line)),
        b':' => integer(line).map(Reply::Integer),
        b'#' if line == b"t" => Some(Reply::Integer(1)),
        b'#' if line == b"f" => Some(Reply::Integer(0)),
        b'_' if line.is_empty() => Some(Reply::Nil),
        b'$' | b'*' if line == b"-1" => Some(Reply::Nil),
        b'$' => parse_u64(line).and_then(|len| limited(len, MAX_VALUE_LEN)).map(Reply::Bulk),
        b'=' => parse_u64(line).and_then(|len| limited(len, MAX_VALUE_LEN)).map(Reply::Verbatim),
        b'*' | b'~' => {
            parse_u64(line).and_then(|len| limited(len, MAX_ARRAY_LEN)).map(Reply::Array)
        }
        b'%' => {
            let n_pairs = parse_u64(line).and_then(|len| limited(len, MAX_ARRAY_LEN / 2));
            n_pairs.map(|n_pairs| Reply::Array(2 * n_pairs))
        }
        _ => None,
    };
    // The type byte and the newline are not part of the line.
    Ok(Parsed::Complete(reply.ok_or(malformed)?, end + 2))
}

#[inline]
fn limited(len: u64, limit: usize) -> Option<usize> {
    usize::try_from(len).ok().filter(|len| *len <= limit)
}

/// A number with an optional sign, which may be a plus.
fn integer(line: &[u8]) -> Option<i64> {
    match line.strip_prefix(b"+") {
        Some(digits) => parse_u64(digits).and_then(|number| i64::try_from(number).ok()),
        None => parse_i64(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(input: &[u8]) -> Result<Parsed<Reply<'_>>, Malformed> {
        parse_reply(input, "GET")
    }

    /// Each with the bytes of a value or an element behind it, which are not its own.
    const REPLIES: &[(&str, Reply<'_>)] = &[
        ("+OK\r\n", Reply::Simple(b"OK")),
        ("+OKAY\r\n", Reply::Simple(b"OKAY")),
        ("+\r\n", Reply::Simple(b"")),
        ("+PONG\r\n", Reply::Simple(b"PONG")),
        ("-MOVED 3999 127.0.0.1:6381\r\n", Reply::Error(b"MOVED 3999 127.0.0.1:6381")),
        ("-\r\n", Reply::Error(b"")),
        (":0\r\n", Reply::Integer(0)),
        (":1\r\n", Reply::Integer(1)),
        (":9\r\n", Reply::Integer(9)),
        (":12\r\n", Reply::Integer(12)),
        (":-2\r\n", Reply::Integer(-2)),
        (":+7\r\n", Reply::Integer(7)),
        (":9223372036854775807\r\n", Reply::Integer(i64::MAX)),
        (":-9223372036854775808\r\n", Reply::Integer(i64::MIN)),
        ("$0\r\n", Reply::Bulk(0)),
        ("$5\r\n", Reply::Bulk(5)),
        ("$102400\r\n", Reply::Bulk(102_400)),
        ("$1073741824\r\n", Reply::Bulk(MAX_VALUE_LEN)),
        ("$000000000000000000000007\r\n", Reply::Bulk(7)),
        ("$-1\r\n", Reply::Nil),
        ("*0\r\n", Reply::Array(0)),
        ("*3\r\n", Reply::Array(3)),
        ("*1048576\r\n", Reply::Array(MAX_ARRAY_LEN)),
        ("*-1\r\n", Reply::Nil),
        ("_\r\n", Reply::Nil),
        ("#t\r\n", Reply::Integer(1)),
        ("#f\r\n", Reply::Integer(0)),
        (",-3.25e7\r\n", Reply::Simple(b"-3.25e7")),
        ("(18446744073709551616\r\n", Reply::Simple(b"18446744073709551616")),
        ("=9\r\n", Reply::Verbatim(9)),
        ("%0\r\n", Reply::Array(0)),
        ("%7\r\n", Reply::Array(14)),
        ("%524288\r\n", Reply::Array(MAX_ARRAY_LEN)),
        ("~3\r\n", Reply::Array(3)),
    ];

    #[test]
    fn each_type_of_reply_is_read_and_nothing_behind_it() {
        for (text, reply) in REPLIES {
            let complete = Ok(Parsed::Complete(*reply, text.len()));
            for behind in ["", "\r\n", "+OK\r\n", "$1\r\nx\r\n", "\n", "7"] {
                let input = format!("{text}{behind}");
                assert_eq!(parse(input.as_bytes()), complete, "{input:?}");
                assert_eq!(parse_any(input.as_bytes(), "GET"), complete, "{input:?}");
            }
        }
    }

    #[test]
    fn every_cut_of_a_reply_is_incomplete() {
        for (text, _) in REPLIES {
            for end in 0..text.len() {
                let piece = &text.as_bytes()[..end];
                assert_eq!(parse(piece), Ok(Parsed::Incomplete), "{:?}", &text[..end]);
            }
        }
    }

    #[test]
    fn the_elements_of_an_array_are_replies_of_their_own() {
        let mut rest = &b"*4\r\n$3\r\nabc\r\n$-1\r\n$0\r\n\r\n:5\r\n+OK\r\n"[..];
        let mut read = Vec::new();
        while let Ok(Parsed::Complete(reply, len)) = parse(rest) {
            let value_len = if let Reply::Bulk(len) = reply { len + 2 } else { 0 };
            read.push(reply);
            rest = &rest[len + value_len..];
        }
        let elements = [Reply::Bulk(3), Reply::Nil, Reply::Bulk(0), Reply::Integer(5)];
        let all = [&[Reply::Array(4)], &elements[..], &[Reply::Simple(b"OK")]].concat();
        assert_eq!((read, rest), (all, &b""[..]));
    }

    #[test]
    fn bytes_that_are_no_reply_are_malformed() {
        for input in [
            "OK\r\n",
            "\r\n",
            "\n",
            "_0\r\n",
            "#\r\n",
            "#true\r\n",
            "=-1\r\n",
            "%-1\r\n",
            "%524289\r\n",
            "~-1\r\n",
            "~1048577\r\n",
            ">1\r\n",
            "|1\r\n",
            "+OK\n",
            "$5\n",
            "$\r\n",
            "$-2\r\n",
            "$+5\r\n",
            "$ 5\r\n",
            "$5 \r\n",
            "$5x\r\n",
            "$1073741825\r\n",
            "$18446744073709551616\r\n",
            "*\r\n",
            "*-2\r\n",
            "*1048577\r\n",
            ":\r\n",
            ":-\r\n",
            ":+\r\n",
            ":+-1\r\n",
            ":1.5\r\n",
            ":9223372036854775808\r\n",
            ":-9223372036854775809\r\n",
        ] {
            let malformed = Err(Malformed { command: "GET" });
            assert_eq!(parse(input.as_bytes()), malformed, "{input:?}");
        }
    }

    #[test]
    fn a_line_that_never_ends_is_malformed() {
        for kind in *b"+-:$*_#,(=%~" {
            let mut input = vec![b'1'; MAX_LINE_LEN];
            input[0] = kind;
            assert_eq!(parse(&input), Err(Malformed { command: "GET" }));
            assert_eq!(parse(&input[..MAX_LINE_LEN - 1]), Ok(Parsed::Incomplete));
        }
        let mut longest = vec![b'x'; MAX_LINE_LEN];
        longest[0] = b'-';
        longest[MAX_LINE_LEN - 2..].copy_from_slice(b"\r\n");
        let text = &longest[1..MAX_LINE_LEN - 2];
        assert_eq!(parse(&longest), Ok(Parsed::Complete(Reply::Error(text), MAX_LINE_LEN)));
    }
}
