//! Lines of text formats, and the values of their fields.

use std::io::{self, BufRead, Read};

use super::cell::{decimal, is_missing, whole};
use super::row::{Outcome, Verb};
use super::sink::Stop;

/// The longest line: a file without line breaks is not read into memory whole.
const MAX_LINE: u64 = 64 * 1024;

/// The longest key of any cache.
pub(super) const MAX_KEY: u32 = u16::MAX as u32;

/// In seconds; no trace has TTLs of more than a century.
const MAX_TTL: u32 = u32::MAX - 1;

/// A reader of lines.
pub(super) struct Lines<'a> {
    input: &'a mut dyn BufRead,
    line: Vec<u8>,
    number: u64,
    comes_again: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input, line: Vec::new(), number: 0, comes_again: false }
    }

    /// Lets the last line come again.
    pub(super) fn put_back(&mut self) {
        self.comes_again = self.number > 0;
    }

    /// The number and the text of the next line that is not empty.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &[u8])>, Stop> {
        if std::mem::take(&mut self.comes_again) {
            return Ok(Some((self.number, trimmed(&self.line))));
        }
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
                return Ok(Some((self.number, trimmed(&self.line))));
            }
        }
    }
}

/// A line without the blanks and the line break at its end. Tabs may stand between fields, the last of which may be empty.
fn trimmed(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|byte| *byte == b'\t' || !byte.is_ascii_whitespace());
    &line[..end.map_or(0, |end| end + 1)]
}

/// This much of a file is looked at before its first line is read.
const AHEAD: u64 = 256 * 1024;

/// The whole lines at the beginning of an input, and the whole input including them.
pub(super) fn ahead(input: &mut dyn BufRead) -> io::Result<(Vec<u8>, impl BufRead)> {
    let mut lines = Vec::new();
    input.take(AHEAD).read_to_end(&mut lines)?;
    let whole = io::Cursor::new(lines.clone()).chain(&mut *input);
    if lines.len() as u64 == AHEAD {
        let end = lines.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        lines.truncate(end);
    }
    Ok((lines, whole))
}

/// The operation of a name.
pub(super) fn operation(field: &[u8]) -> Result<Verb, String> {
    Verb::parse(field)
        .ok_or_else(|| format!("no operation `{}`; known: {}", shown(field), Verb::known()))
}

/// The answer of a name.
pub(super) fn outcome(field: &[u8]) -> Result<Option<Outcome>, String> {
    if is_missing(field) {
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

/// The size of a value. It may be larger than a replay can store: in most uses of a trace only the number counts.
pub(super) fn value_size(field: &[u8]) -> Result<Option<u32>, String> {
    number(field, "value size", u32::MAX)
}

/// The length of a key.
pub(super) fn key_size(field: &[u8]) -> Result<Option<u32>, String> {
    // A key of Redis may be longer than any key that a replay makes.
    number(field, "key size", u32::MAX - 1)
}

/// A TTL: 0, or -1 as Redis tells it, for an entry without one. A part of a second counts as a whole one, because 0 is no TTL.
pub(super) fn ttl(field: &[u8]) -> Result<Option<u32>, String> {
    if whole(field.strip_prefix(b"-").unwrap_or_default()) == Some(1) {
        return Ok(Some(0));
    }
    match decimal(field).map(f64::ceil).filter(|seconds| *seconds <= MAX_TTL.into()) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is in range"
        )]
        Some(seconds) => Ok(Some(seconds as u32)),
        None => number(field, "TTL", MAX_TTL),
    }
}

/// The whole number in a field; `None` where there is none.
pub(super) fn number(field: &[u8], what: &str, limit: u32) -> Result<Option<u32>, String> {
    if is_missing(field) {
        return Ok(None);
    }
    let number = whole(field).and_then(|number| u32::try_from(number).ok());
    match number {
        Some(number) if number <= limit => Ok(Some(number)),
        _ => Err(format!("{what} `{}` is not a whole number up to {limit}", shown(field))),
    }
}

/// The whole number of 64 bits in a field; `None` where there is none.
pub(super) fn long(field: &[u8], what: &str) -> Result<Option<u64>, String> {
    if is_missing(field) {
        return Ok(None);
    }
    let unlike = || format!("{what} `{}` is not a whole number of 64 bits", shown(field));
    whole(field).map(Some).ok_or_else(unlike)
}

/// A field as a message shows it: escaped and cut.
pub(super) fn shown(field: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = field[..field.len().min(LONGEST)].escape_ascii().to_string();
    if field.len() > LONGEST { text + "…" } else { text }
}
