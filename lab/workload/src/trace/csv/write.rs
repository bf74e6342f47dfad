//! Writes rows under a header: the columns of Meta's traces of 2024, and behind them those that only recordings have.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use crate::trace::lines::is_text_key;
use crate::trace::row::{Key, Row};
use crate::trace::sink::About;
use crate::trace::writer::{Fit, RowWriter};

#[expect(clippy::unnecessary_wraps, reason = "every format begins a trace in this form")]
pub(super) fn begin<'a>(
    out: Box<dyn Write + Send + 'a>,
    _: &Path,
) -> io::Result<Box<dyn RowWriter + 'a>> {
    Ok(Box::new(Writer { out, keys: None }))
}

struct Writer<'a> {
    out: Box<dyn Write + Send + 'a>,
    /// What the first row has, for which the column of keys is named.
    keys: Option<Keys>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    InClear,
    Hashes,
}

impl RowWriter for Writer<'_> {
    fn push(&mut self, row: &Row<'_>) -> io::Result<Fit> {
        let of_row = if matches!(row.key, Key::Hash(_)) { Keys::Hashes } else { Keys::InClear };
        if self.keys.is_none() {
            self.header(of_row)?;
        }
        let out = &mut self.out;
        if let Some(us) = row.time_us {
            write!(out, "{}.{:06}", us / 1_000_000, us % 1_000_000)?;
        }
        out.write_all(b",")?;
        let fit = match row.key {
            Key::Bytes(key) if self.keys == Some(Keys::InClear) && is_text_key(key) => {
                write_key(out, key)?;
                Fit::Whole
            }
            Key::Bytes(_) => {
                write!(out, "{}", row.key.hash())?;
                Fit::Hashed
            }
            Key::Hash(hash) => {
                write!(out, "{hash}")?;
                Fit::Whole
            }
        };
        let Row { key_size, operation, value_size, ttl_s, connection, request, .. } = *row;
        write!(out, ",{},{operation},{},{}", shown(key_size), shown(value_size), shown(ttl_s))?;
        let Row { amount, result, latency_ns, .. } = *row;
        let (amount, result, latency) = (shown(amount), shown(result), shown(latency_ns));
        writeln!(out, ",{connection},{request},{amount},{result},{latency}")?;
        Ok(fit)
    }

    fn finish(mut self: Box<Self>, _: &About) -> io::Result<()> {
        if self.keys.is_none() {
            self.header(Keys::InClear)?;
        }
        self.out.flush()
    }
}

impl Writer<'_> {
    fn header(&mut self, keys: Keys) -> io::Result<()> {
        self.keys = Some(keys);
        let key = if keys == Keys::InClear { "key" } else { "key_hash" };
        writeln!(
            self.out,
            "op_time,{key},key_size,op,size,ttl,connection,request,amount,result,latency_ns"
        )
    }
}

/// Writes a key, in quotes where a reader would take it for something else.
fn write_key(out: &mut impl Write, key: &[u8]) -> io::Result<()> {
    let is_plain = !key.is_empty() && !key.contains(&b',') && !key.contains(&b'"');
    if is_plain && key.trim_ascii() == key {
        return out.write_all(key);
    }
    out.write_all(b"\"")?;
    for part in key.split_inclusive(|byte| *byte == b'"') {
        out.write_all(part)?;
        if part.ends_with(b"\"") {
            out.write_all(b"\"")?;
        }
    }
    out.write_all(b"\"")
}

/// A value, or nothing.
fn shown(value: Option<impl Display>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}
