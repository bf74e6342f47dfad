//! Comma-separated values under a header that names the columns; Meta's traces of key-value caches are such files.
//!
//! The known columns, in any order: `key`, `op`, `size` or `value_size`, `key_size`, `ttl` in seconds, `op_count` (the
//! number of repetitions), `op_time` or `time` in seconds, and those of a recording: `key_hash`, `connection`, `request`,
//! `amount`, `result`, `latency_ns`. `key` or `key_hash` is required; without `op` all operations are gets. Other columns
//! are ignored. Without `key_size` a key is as long as its text. A field may be quoted, and may then have commas in it,
//! and a quote as two. It never extends beyond its line, so that a stray quote spoils one line only and is found there.

mod write;

use std::io::BufRead;

use super::format::{Head, Reader, TraceFormat};
use super::heading::Heading;
use super::lines::{
    Lines, MAX_KEY, key_size, long, number, operation, outcome, time, ttl, value_size,
};
use super::row::{Key, Row};
use super::sink::{Rows, Stop};
use super::writer::Field;

pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "csv",
    summary: "a header with `key` and any of op, size, key_size, ttl, op_count, op_time (Meta's kvcache)",
    has_sizes: true,
    detect,
    read: Reader::Stream(read),
    write: Some(write::begin),
    holds: &[
        Field::Operation,
        Field::Fraction,
        Field::Connection,
        Field::Request,
        Field::KeySize,
        Field::Ttl,
        Field::Amount,
        Field::Result,
        Field::Latency,
    ],
};

fn detect(head: &Head<'_>) -> bool {
    Columns::parse(head.line()).is_ok()
}

fn read(input: &mut dyn BufRead, rows: &mut Rows<'_>) -> Result<(), Stop> {
    let mut lines = Lines::new(input);
    let Some((line, header)) = lines.next()? else { return Ok(()) };
    let columns = Columns::parse(header).map_err(|reason| Stop::line(line, reason))?;
    let has_requests = columns.has(Heading::Request);
    let mut unquoted = Vec::new();
    while let Some((line, text)) = lines.next()? {
        let row = columns.row(text, &mut unquoted);
        let (row, times) = row.map_err(|reason| Stop::line(line, reason))?;
        rows.announce(times.into())?;
        if has_requests {
            (0..times).try_for_each(|_| rows.push(&row))?;
        } else {
            rows.push_request(&row, times)?;
        }
    }
    Ok(())
}

/// The columns by their places; `None` is another column.
struct Columns(Vec<Option<Heading>>);

impl Columns {
    fn parse(header: &[u8]) -> Result<Self, String> {
        let mut columns = Vec::new();
        for (name, _) in fields(header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header)) {
            let column = Heading::of(name);
            if column.is_some() && columns.contains(&column) {
                return Err(format!("two columns for `{}`", name.escape_ascii()));
            }
            columns.push(column);
        }
        let columns = Self(columns);
        if !columns.has(Heading::Key) && !columns.has(Heading::KeyHash) {
            return Err("no column is named `key`".into());
        }
        Ok(columns)
    }

    fn has(&self, heading: Heading) -> bool {
        self.0.contains(&Some(heading))
    }

    /// The operation in a line, and its number of repetitions. A key with quotes in it is put together in `unquoted`.
    fn row<'a>(&self, line: &'a [u8], unquoted: &'a mut Vec<u8>) -> Result<(Row<'a>, u32), String> {
        let mut row = Row::get(Key::Bytes(b""));
        let (mut key, mut hash) = (None, None);
        let (mut times, mut count) = (1, 0);
        for (place, (field, is_quoted)) in fields(line).enumerate() {
            count += 1;
            let Some(heading) = self.0.get(place).copied().flatten() else { continue };
            match heading {
                Heading::Key => key = Some((field, is_quoted)),
                Heading::KeyHash => hash = long(field, "key hash")?,
                Heading::Operation => row.operation = operation(field)?,
                Heading::ValueSize => row.value_size = value_size(field)?,
                Heading::KeySize => row.key_size = key_size(field)?,
                Heading::Ttl => row.ttl_s = ttl(field)?,
                Heading::Time => row.time_us = time(field)?,
                Heading::TimeUs => row.time_us = long(field, "time")?,
                Heading::Connection => {
                    row.connection = number(field, "connection", u32::MAX)?.unwrap_or(0);
                }
                Heading::Request => row.request = long(field, "request")?.unwrap_or(0),
                Heading::Amount => row.amount = long(field, "amount")?,
                Heading::Result => row.result = outcome(field)?,
                Heading::Latency => row.latency_ns = long(field, "latency")?,
                Heading::Times => times = number(field, "op_count", u32::MAX)?.unwrap_or(1),
            }
        }
        if count != self.0.len() {
            let columns = self.0.len();
            return Err(format!("{count} fields, where the header has {columns}: cut off?"));
        }
        row.key = match (key, hash) {
            (None | Some((b"", false)), Some(hash)) => Key::Hash(hash),
            (Some((key, is_quoted)), _) => Key::Bytes(unquote(key, is_quoted, unquoted)),
            (None, None) => return Err("it has no key".into()),
        };
        if let (false, Key::Bytes(key)) = (self.has(Heading::KeySize), row.key) {
            row.key_size = u32::try_from(key.len()).ok().filter(|len| *len <= MAX_KEY);
        }
        Ok((row, times))
    }
}

/// A key without the doubled quotes of a quoted field.
fn unquote<'a>(field: &'a [u8], is_quoted: bool, unquoted: &'a mut Vec<u8>) -> &'a [u8] {
    if !is_quoted || !field.contains(&b'"') {
        return field;
    }
    unquoted.clear();
    let mut bytes = field.iter().peekable();
    while let Some(byte) = bytes.next() {
        unquoted.push(*byte);
        if *byte == b'"' {
            bytes.next_if_eq(&&b'"');
        }
    }
    unquoted
}

/// The fields of a line, without surrounding blanks and without their quotes, and whether they had quotes. A comma between
/// quotes separates nothing.
fn fields(line: &[u8]) -> impl Iterator<Item = (&[u8], bool)> {
    let mut quoted = false;
    let separates = move |byte: &u8| {
        quoted ^= *byte == b'"';
        *byte == b',' && !quoted
    };
    line.split(separates).map(|field| {
        let field = field.trim_ascii();
        let inner = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\""));
        (inner.unwrap_or(field), inner.is_some())
    })
}
