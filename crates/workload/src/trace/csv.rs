//! Comma-separated values under a header that names the columns; Meta's traces of key-value caches are such files.
//!
//! The known columns, in any order: `key`, `op`, `size` or `value_size`, `key_size`, `ttl` in seconds, `op_count` (the
//! number of repetitions), `op_time` or `time` in seconds. `key` is required; without `op` all operations are gets.
//! Other columns are ignored. Without `key_size` a key is as long as its text. A field may be quoted, and may then have
//! commas in it. It never extends beyond its line, so that a stray quote spoils one line only and is found there.

use std::io::{self, BufRead, Write};

use super::Trace;
use super::format::{Head, Reader, TraceFormat};
use super::lines::{Lines, MAX_KEY, key_size, number, operation, time, ttl, value_size};
use super::row::{Key, Row};
use super::sink::{Rows, Stop};
use crate::Access;

pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "csv",
    summary: "a header with `key` and any of op, size, key_size, ttl, op_count, op_time (Meta's kvcache)",
    has_sizes: true,
    detect,
    read: Reader::Stream(read),
    write: Some(write),
    begin: None,
};

fn detect(head: &Head<'_>) -> bool {
    Columns::parse(head.line()).is_ok()
}

fn read(input: &mut dyn BufRead, rows: &mut Rows<'_>) -> Result<(), Stop> {
    let mut lines = Lines::new(input);
    let Some((line, header)) = lines.next()? else { return Ok(()) };
    let columns = Columns::parse(header).map_err(|reason| Stop::line(line, reason))?;
    while let Some((line, text)) = lines.next()? {
        let (row, times) = columns.row(text).map_err(|reason| Stop::line(line, reason))?;
        rows.announce(times.into())?;
        rows.push_request(&row, times)?;
    }
    Ok(())
}

/// Writes all that a trace has, in the columns of Meta's traces of 2024.
fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<u64> {
    let text = |number: Option<u32>| number.map_or(String::new(), |number| number.to_string());
    writeln!(out, "op_time,key,key_size,op,size,ttl")?;
    for (op, time_ms) in trace.ops().zip(trace.times_ms()) {
        let time_s = time_ms.map_or(String::new(), |ms| format!("{}.{:03}", ms / 1000, ms % 1000));
        let name = match op.kind {
            Access::Get | Access::GetOrSet => "get",
            Access::Set => "set",
            Access::Delete => "delete",
            Access::Touch => "touch",
        };
        let key_size = text(trace.key_size(op.key));
        let (size, ttl) = (text(op.value_size), text(op.ttl));
        writeln!(out, "{time_s},{},{key_size},{name},{size},{ttl}", op.key)?;
    }
    Ok(0)
}

/// The columns by their places.
struct Columns(Vec<Column>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Key,
    Operation,
    ValueSize,
    KeySize,
    Ttl,
    Times,
    Time,
    Other,
}

impl Columns {
    fn parse(header: &[u8]) -> Result<Self, String> {
        let mut columns = Vec::new();
        for name in fields(header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header)) {
            let column = match name {
                b"key" => Column::Key,
                b"op" => Column::Operation,
                b"size" | b"value_size" => Column::ValueSize,
                b"key_size" => Column::KeySize,
                b"ttl" => Column::Ttl,
                b"op_count" => Column::Times,
                b"op_time" | b"time" => Column::Time,
                _ => Column::Other,
            };
            if column != Column::Other && columns.contains(&column) {
                return Err(format!("two columns for `{}`", name.escape_ascii()));
            }
            columns.push(column);
        }
        if !columns.contains(&Column::Key) {
            return Err("no column is named `key`".into());
        }
        Ok(Self(columns))
    }

    /// The operation in a line, and its number of repetitions.
    fn row<'a>(&self, line: &'a [u8]) -> Result<(Row<'a>, u32), String> {
        let mut row = Row::get(Key::Bytes(b""));
        let mut key_len = None;
        let mut times = 1;
        let mut count = 0;
        for (place, field) in fields(line).enumerate() {
            count += 1;
            match self.0.get(place).unwrap_or(&Column::Other) {
                Column::Key => {
                    row.key = Key::Bytes(field);
                    key_len = u32::try_from(field.len()).ok().filter(|len| *len <= MAX_KEY);
                }
                Column::Operation => row.operation = operation(field)?,
                Column::ValueSize => row.value_size = value_size(field)?,
                Column::KeySize => row.key_size = key_size(field)?,
                Column::Ttl => row.ttl_s = ttl(field)?,
                Column::Time => row.time_us = time(field)?,
                Column::Times => times = number(field, "op_count", u32::MAX)?.unwrap_or(1),
                Column::Other => {}
            }
        }
        if count != self.0.len() {
            let columns = self.0.len();
            return Err(format!("{count} fields, where the header has {columns}: cut off?"));
        }
        if !self.0.contains(&Column::KeySize) {
            row.key_size = key_len;
        }
        Ok((row, times))
    }
}

/// The fields of a line, without surrounding blanks and without their quotes. A comma between quotes separates nothing.
fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    let separates = move |byte: &u8| {
        quoted ^= *byte == b'"';
        *byte == b',' && !quoted
    };
    line.split(separates).map(|field| {
        let field = field.trim_ascii();
        let inner = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\""));
        inner.unwrap_or(field)
    })
}
