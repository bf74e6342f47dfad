//! Lines of text formats, and the values of their fields.

use std::io::{BufRead, Read};

use super::row::{Outcome, Verb};
use super::sink::Stop;
use crate::SizeSpec;

/// The longest line: a file without line breaks is not read into memory whole.
const MAX_LINE: u64 = 64 * 1024;

/// The longest key of any cache.
pub(super) const MAX_KEY: u32 = u16::MAX as u32;

/// In seconds; no trace has TTLs of more than a century.
const MAX_TTL: u32 = u32::MAX - 1;

/// Longer than any clock has run, and far from the most microseconds that a number holds.
pub(super) const MAX_TIME_S: f64 = 1e12;

/// A reader of lines.
pub(super) struct Lines<'a> {
    input: &'a mut dyn BufRead,
    line: Vec<u8>,
    number: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input, line: Vec::new(), number: 0 }
    }

    /// The number and the text of the next line that is not empty.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &[u8])>, Stop> {
        loop {
            self.line.clear();
            if self.input.take(MAX_LINE + 1).read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.line.len() as u64 > MAX_LINE {
                let reason = format!("longer than {MAX_LINE} bytes: not a trace of this format");
                return Err(Stop::line(self.number, reason));
            }
            if !self.line.trim_ascii_end().is_empty() {
                return Ok(Some((self.number, self.line.trim_ascii_end())));
            }
        }
    }
}

/// The operation of a name.
pub(super) fn operation(field: &[u8]) -> Result<Verb, String> {
    Verb::parse(field)
        .ok_or_else(|| format!("no operation `{}`; known: {}", shown(field), Verb::known()))
}

/// The answer of a name.
pub(super) fn outcome(field: &[u8]) -> Result<Option<Outcome>, String> {
    if field.is_empty() {
        return Ok(None);
    }
    let unknown = || format!("no result `{}`; known: {}", shown(field), Outcome::known());
    Outcome::parse(field).map(Some).ok_or_else(unknown)
}

/// Whether a key can stand in a line among other fields.
pub(super) fn is_text_key(key: &[u8]) -> bool {
    const LONGEST: u64 = MAX_LINE / 2;
    key.len() as u64 <= LONGEST && !key.contains(&b'\n') && !key.contains(&b'\r')
}

/// The size of a value.
pub(super) fn value_size(field: &[u8]) -> Result<Option<u32>, String> {
    number(field, "value size", SizeSpec::LIMIT)
}

/// The same of a number.
pub(super) fn value_size_of(size: u32) -> Result<Option<u32>, String> {
    let limit = SizeSpec::LIMIT;
    if size > limit { Err(format!("value size {size} > limit {limit}")) } else { Ok(Some(size)) }
}

/// The length of a key.
pub(super) fn key_size(field: &[u8]) -> Result<Option<u32>, String> {
    // A key of Redis may be longer than any key that a replay makes.
    number(field, "key size", u32::MAX - 1)
}

/// A TTL.
pub(super) fn ttl(field: &[u8]) -> Result<Option<u32>, String> {
    number(field, "TTL", MAX_TTL)
}

/// A time in microseconds, from seconds of any clock, whole or fractional; `None` where the field is empty.
pub(super) fn time(field: &[u8]) -> Result<Option<u64>, String> {
    if field.is_empty() {
        return Ok(None);
    }
    let number = std::str::from_utf8(field).ok().and_then(|text| text.parse::<f64>().ok());
    let number = number.filter(|number| (0.0..=MAX_TIME_S).contains(number));
    let unlike = || format!("time `{}` is not a number of seconds from 0 on", shown(field));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
    number.map(|seconds| Some((seconds * 1e6).round() as u64)).ok_or_else(unlike)
}

/// The whole number in a field; `None` where it is empty.
pub(super) fn number(field: &[u8], what: &str, limit: u32) -> Result<Option<u32>, String> {
    if field.is_empty() {
        return Ok(None);
    }
    let number = std::str::from_utf8(field).ok().and_then(|text| text.parse::<u32>().ok());
    match number {
        Some(number) if number <= limit => Ok(Some(number)),
        _ => Err(format!("{what} `{}` is not a whole number up to {limit}", shown(field))),
    }
}

/// The whole number of 64 bits in a field; `None` where it is empty.
pub(super) fn long(field: &[u8], what: &str) -> Result<Option<u64>, String> {
    if field.is_empty() {
        return Ok(None);
    }
    let number = std::str::from_utf8(field).ok().and_then(|text| text.parse().ok());
    let unlike = || format!("{what} `{}` is not a whole number of 64 bits", shown(field));
    number.map(Some).ok_or_else(unlike)
}

/// A field as a message shows it: escaped and cut.
pub(super) fn shown(field: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = field[..field.len().min(LONGEST)].escape_ascii().to_string();
    if field.len() > LONGEST { text + "…" } else { text }
}
