//! A whole reply, with everything in it.

use std::fmt;

use super::{Reply, parse_reply};
use crate::{Malformed, Parsed};

/// Arrays within arrays up to this depth are read. The deepest answer that is asked for has four, and each level takes some of the stack.
const MAX_DEPTH: usize = 16;

/// The bytes behind a value.
const END: &[u8] = b"\r\n";

/// The length of the format before a verbatim text, such as `txt:`.
const FORMAT_LEN: usize = 4;

/// A whole reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing is there.
    Nil,
    /// `+OK`.
    Okay,
    /// Another line of text.
    Simple(String),
    /// A number, or a boolean as 0 or 1.
    Integer(i64),
    /// The bytes of a value.
    Bulk(Vec<u8>),
    /// Several replies. A map is each key and its value behind it.
    Array(Vec<Self>),
    /// The server did not do the request, or this part of it.
    Error(ServerError),
}

/// The line by which a server refuses a request.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerError {
    line: String,
}

impl ServerError {
    /// Bytes that are no UTF-8 are replaced: the line is for people.
    pub fn new(line: &[u8]) -> Self {
        Self { line: String::from_utf8_lossy(line).into_owned() }
    }

    /// The kind of the error, which is the first word: `ERR`, `MOVED`, `WRONGTYPE` …
    pub fn code(&self) -> &str {
        self.line.split(' ').next().unwrap_or_default()
    }

    /// The text behind the code.
    pub fn details(&self) -> &str {
        self.line.split_once(' ').map_or("", |(_, details)| details)
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.line, f)
    }
}

/// What the received bytes begin with.
#[derive(Debug, PartialEq, Eq)]
pub enum ParsedValue {
    /// A whole reply, and the number of its bytes.
    Complete(Value, usize),
    /// The beginning of a reply that takes this number of bytes at least; 0 where that is not known.
    Incomplete(usize),
}

/// Reads the whole reply at the beginning of `input`. `command` is the request, for messages.
pub fn parse_value(input: &[u8], command: &'static str) -> Result<ParsedValue, Malformed> {
    let mut reader = Reader { input, at: 0, command };
    match reader.value(0) {
        Ok(value) => Ok(ParsedValue::Complete(value, reader.at)),
        Err(Stop::Incomplete(needed)) => Ok(ParsedValue::Incomplete(needed)),
        Err(Stop::Malformed(malformed)) => Err(malformed),
    }
}

/// The reason why reading stops before a reply is whole.
enum Stop {
    Incomplete(usize),
    Malformed(Malformed),
}

struct Reader<'a> {
    input: &'a [u8],
    at: usize,
    command: &'static str,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<Value, Stop> {
        let malformed = Malformed { command: self.command };
        let reply = match parse_reply(&self.input[self.at..], self.command) {
            Ok(Parsed::Complete(reply, len)) => {
                self.at += len;
                reply
            }
            Ok(Parsed::Incomplete) => return Err(Stop::Incomplete(0)),
            Err(malformed) => return Err(Stop::Malformed(malformed)),
        };
        Ok(match reply {
            Reply::Simple(b"OK") => Value::Okay,
            Reply::Simple(text) => Value::Simple(String::from_utf8_lossy(text).into_owned()),
            Reply::Error(line) => Value::Error(ServerError::new(line)),
            Reply::Integer(number) => Value::Integer(number),
            Reply::Nil => Value::Nil,
            Reply::Bulk(len) => Value::Bulk(self.bytes(len)?.to_vec()),
            Reply::Verbatim(len) => {
                let text = self.bytes(len)?.get(FORMAT_LEN..);
                Value::Bulk(text.ok_or(Stop::Malformed(malformed))?.to_vec())
            }
            Reply::Array(_) if depth == MAX_DEPTH => return Err(Stop::Malformed(malformed)),
            // The server says how many there are, and memory is taken only for those that have come.
            Reply::Array(len) => {
                let values: Result<Vec<_>, Stop> =
                    (0..len).map(|_| self.value(depth + 1)).collect();
                Value::Array(values?)
            }
        })
    }

    /// The bytes of a value, with the end behind them.
    fn bytes(&mut self, len: usize) -> Result<&[u8], Stop> {
        let (start, end) = (self.at, self.at + len);
        match self.input.get(end..end + END.len()) {
            None => Err(Stop::Incomplete(end + END.len())),
            Some(behind) if behind == END => {
                self.at = end + END.len();
                Ok(&self.input[start..end])
            }
            Some(_) => Err(Stop::Malformed(Malformed { command: self.command })),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(input: &[u8]) -> Result<ParsedValue, Malformed> {
        parse_value(input, "EVAL")
    }

    fn bulk(text: &str) -> Value {
        Value::Bulk(text.into())
    }

    /// Answers of real servers.
    fn replies() -> Vec<(&'static str, Value)> {
        let slots = Value::Array(vec![Value::Array(vec![
            Value::Integer(0),
            Value::Integer(16383),
            Value::Array(vec![
                bulk("h1"),
                Value::Integer(7000),
                bulk("id"),
                Value::Array(Vec::new()),
            ]),
        ])]);
        vec![
            ("+OK\r\n", Value::Okay),
            ("+PONG\r\n", Value::Simple("PONG".into())),
            ("-MOVED 1 h1:7\r\n", Value::Error(ServerError::new(b"MOVED 1 h1:7"))),
            (":-7\r\n", Value::Integer(-7)),
            ("$3\r\na\r\n\r\n", bulk("a\r\n")),
            ("$-1\r\n", Value::Nil),
            ("*2\r\n$-1\r\n$1\r\nx\r\n", Value::Array(vec![Value::Nil, bulk("x")])),
            ("*1\r\n*3\r\n:0\r\n:16383\r\n*4\r\n$2\r\nh1\r\n:7000\r\n$2\r\nid\r\n*0\r\n", slots),
            ("=7\r\ntxt:a:1\r\n", bulk("a:1")),
            ("%1\r\n$1\r\nk\r\n#t\r\n", Value::Array(vec![bulk("k"), Value::Integer(1)])),
        ]
    }

    #[test]
    fn each_reply_is_read_and_nothing_behind_it() {
        for (text, value) in replies() {
            let longer = format!("{text}*3");
            let complete = ParsedValue::Complete(value, text.len());
            assert_eq!(parse(longer.as_bytes()), Ok(complete), "{text:?}");
        }
    }

    #[test]
    fn every_cut_of_a_reply_needs_no_more_than_the_whole() {
        for (text, _) in replies() {
            for end in 0..text.len() {
                match parse(&text.as_bytes()[..end]) {
                    Ok(ParsedValue::Incomplete(needed)) => {
                        assert!(needed == 0 || (end + 1..=text.len()).contains(&needed));
                    }
                    other => panic!("{:?}: {other:?}", &text[..end]),
                }
            }
        }
    }

    #[test]
    fn an_error_has_a_code_and_details() {
        for (line, code, details) in [
            (&b"MOVED 3999 h1:1"[..], "MOVED", "3999 h1:1"),
            (b"NOAUTH", "NOAUTH", ""),
            (b"", "", ""),
            (b"ERR \xff", "ERR", "\u{fffd}"),
        ] {
            let error = ServerError::new(line);
            assert_eq!((error.code(), error.details()), (code, details));
        }
    }

    #[test]
    fn what_no_server_sends_is_malformed() {
        let deep = "*1\r\n".repeat(MAX_DEPTH + 1);
        for text in ["=3\r\ntxt\r\n", "$1\r\nxyz", "*1\r\n?", deep.as_str()] {
            assert_eq!(parse(text.as_bytes()), Err(Malformed { command: "EVAL" }), "{text:?}");
        }
        let shallow = format!("{}:1\r\n", "*1\r\n".repeat(MAX_DEPTH));
        assert!(matches!(parse(shallow.as_bytes()), Ok(ParsedValue::Complete(..))));
        // A length alone takes no memory.
        assert_eq!(parse(b"*1048576\r\n"), Ok(ParsedValue::Incomplete(0)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(
            bytes: Vec<u8>, which in 0..10_usize, at: usize, flip: u8, cut: usize,
        ) {
            let _ = parse(&bytes);
            let mut bytes = replies().swap_remove(which).0.as_bytes().to_vec();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            bytes.truncate(cut % (bytes.len() + 1));
            if let Ok(ParsedValue::Complete(_, len)) = parse(&bytes) {
                prop_assert!(len <= bytes.len());
            }
        }
    }
}
