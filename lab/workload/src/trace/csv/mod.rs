//! Comma-separated values under a header that names the columns; Meta's traces of key-value caches are such files, and so is what
//! databases and data frames write. Blank lines and comments may stand before the header, which may be a comment itself. Where the header
//! has its columns only by semicolons or tabs, these separate the fields.
//!
//! The known columns, in any order: `key`, `op`, `size` or `value_size`, `key_size`, `ttl` in seconds, `op_count` (the
//! number of repetitions), `op_time` or `time`, and those of a recording: `key_hash`, `connection`, `request`,
//! `amount`, `result`, `latency_ns`. `key` or `key_hash` is required; without `op` all operations are gets. Other columns
//! are ignored. Without `key_size` a key is as long as its text. A field may be quoted, and may then have commas in it,
//! and a quote as two. It never extends beyond its line, so that a stray quote spoils one line only and is found there.

mod write;

use std::io::BufRead;

use super::cell::{is_missing, whole};
use super::clock::{Clock, bare, unit_of};
use super::error::TraceFault;
use super::format::{Detection, Head, Reader, TraceFormat};
use super::heading::{ColumnNames, Heading, HeadingFault, Headings, list};
use super::lines::{
    Lines, MAX_KEY, ahead, key_size, long, number, operation, outcome, ttl, value_size,
};
use super::row::{Key, Row};
use super::sink::{MOST_ROWS, Rows, Stop};
use super::time_unit::Beginning;
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

/// What may stand between columns, the likeliest first.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

fn detect(head: &Head<'_>) -> Detection {
    let mut bytes = head.bytes;
    let unread = match Header::find(&mut Lines::new(&mut bytes), head.columns) {
        Ok(Some(Ok(_))) => return Detection::ByContent("by its header"),
        Ok(Some(Err(unread))) if head.is_text() => unread,
        _ => return Detection::No,
    };
    // A line without keys is a header only where its columns were named.
    let is_header = unread.fault != HeadingFault::NoKey || !head.columns.is_empty();
    if is_header { Detection::Broken(unread.into()) } else { Detection::No }
}

fn read(input: &mut dyn BufRead, rows: &mut Rows<'_>) -> Result<(), Stop> {
    let (ahead, mut input) = ahead(input)?;
    let mut lines = Lines::new(&mut input);
    let Some(header) = Header::find(&mut lines, &rows.names)? else { return Ok(()) };
    let header = header.map_err(TraceFault::from)?;
    rows.tell_columns(header.as_text());
    let has_requests = header.has(Heading::Request);
    let unit = unit_of(rows.unit, header.columns.unit(), header.has(Heading::Time));
    let unit = unit.map_err(|reason| TraceFault::Structure { reason })?;
    let beginning = header.beginning(&ahead);
    let mut clock = Clock::judging(unit, beginning, rows.counted_before);
    let mut unquoted = Vec::new();
    while let Some((line, text)) = lines.next()? {
        let row = header.row(text, &mut clock, &mut unquoted);
        let (row, times) = row.map_err(|reason| Stop::line(line, reason))?;
        rows.judged(clock.take_judgement());
        rows.repeat(&row, times, has_requests, |reason| Stop::line(line, reason))?;
    }
    Ok(())
}

/// The names of the columns, and what the columns say.
struct Header {
    columns: Headings,
    names: Vec<Vec<u8>>,
    /// What stands between the columns.
    separator: u8,
}

/// A first line that is no header to read by.
struct Unread {
    line: u64,
    fault: HeadingFault,
    names: Vec<Vec<u8>>,
}

impl From<Unread> for TraceFault {
    fn from(Unread { line, fault, names }: Unread) -> Self {
        let reason = match fault {
            HeadingFault::Reason(reason) => reason,
            HeadingFault::NoKey => {
                let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
                format!(
                    "no column is named `key`; there are {}; name it by `?columns=key:NAME`",
                    list(&names)
                )
            }
        };
        Self::Line { line, reason }
    }
}

impl Header {
    /// The header: the first line with a text that is no comment, or else the last comment before it that has names of columns.
    /// `None` is a file without a line.
    fn find(
        lines: &mut Lines<'_>,
        typed: &ColumnNames,
    ) -> Result<Option<Result<Self, Unread>>, Stop> {
        let mut commented = None;
        while let Some((line, text)) = lines.next()? {
            let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
            // A tab there stands behind a first column without a name.
            let begin = text.iter().position(|byte| *byte != b' ').unwrap_or(text.len());
            let text = &text[begin..];
            if text.trim_ascii().is_empty() {
                continue;
            }
            if let Some(comment) = text.strip_prefix(b"#") {
                commented = Self::parse(comment, typed).ok().or(commented);
                continue;
            }
            let header = Self::parse(text, typed);
            return Ok(Some(match (header, commented) {
                (Err(_), Some(commented)) => {
                    lines.put_back();
                    Ok(commented)
                }
                (header, _) => header.map_err(|(fault, names)| Unread { line, fault, names }),
            }));
        }
        Ok(commented.map(Ok))
    }

    /// The header in a text, by the first separator that gives one. Else the fault is the first that shows what was meant.
    fn parse(text: &[u8], typed: &ColumnNames) -> Result<Self, (HeadingFault, Vec<Vec<u8>>)> {
        let separated = |separator: u8| {
            let fields = fields(text, separator);
            let names: Vec<Vec<u8>> = fields.map(|(name, _)| name.to_owned()).collect();
            let slices: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
            match Headings::of(&slices, typed) {
                Ok(columns) => Ok(Self { columns, names, separator }),
                Err(fault) => Err((fault, names)),
            }
        };
        let mut faults = Vec::new();
        for separator in SEPARATORS {
            match separated(separator) {
                Ok(header) => return Ok(header),
                Err(fault) => faults.push(fault),
            }
        }
        let is_told = |(fault, _): &(HeadingFault, _)| *fault != HeadingFault::NoKey;
        let told = faults.iter().position(is_told).unwrap_or(0);
        Err(faults.swap_remove(told))
    }

    /// The times in the first lines of the file, by which their unit is judged.
    fn beginning(&self, ahead: &[u8]) -> Beginning {
        let mut beginning = Beginning::default();
        for line in ahead.split(|byte| *byte == b'\n') {
            let (mut time, mut times) = (None, 1);
            for (place, (field, _)) in fields(line, self.separator).enumerate() {
                match self.columns.at(place) {
                    Some(Heading::Time) => time = bare(field),
                    Some(Heading::Times) => times = whole(field).unwrap_or(1),
                    _ => {}
                }
            }
            beginning.push(time, times);
        }
        beginning
    }

    fn has(&self, heading: Heading) -> bool {
        self.columns.has(heading)
    }

    fn as_text(&self) -> String {
        let names: Vec<&[u8]> = self.names.iter().map(Vec::as_slice).collect();
        self.columns.in_order(&names)
    }

    /// The operation in a line, and its number of repetitions. A key with quotes in it is put together in `unquoted`.
    ///
    /// # Errors
    ///
    /// The reason. Where there are more fields or fewer than columns, that is why others are not what they should be.
    fn row<'a>(
        &self,
        line: &'a [u8],
        clock: &mut Clock,
        unquoted: &'a mut Vec<u8>,
    ) -> Result<(Row<'a>, u32), String> {
        self.values(line, clock, unquoted)
            .map_err(|reason| self.check_count(line).err().unwrap_or(reason))
    }

    fn values<'a>(
        &self,
        line: &'a [u8],
        clock: &mut Clock,
        unquoted: &'a mut Vec<u8>,
    ) -> Result<(Row<'a>, u32), String> {
        let mut row = Row::get(Key::Bytes(b""));
        let (mut key, mut hash) = (None, None);
        let (mut times, mut count) = (1, 0);
        for (place, (field, is_quoted)) in fields(line, self.separator).enumerate() {
            count += 1;
            let Some(heading) = self.columns.at(place) else { continue };
            match heading {
                Heading::Key => key = Some((field, is_quoted)),
                Heading::KeyHash => hash = long(field, "key hash")?,
                Heading::Operation => row.operation = operation(field)?,
                Heading::ValueSize => row.value_size = value_size(field)?,
                Heading::KeySize => row.key_size = key_size(field)?,
                Heading::Ttl => row.ttl_s = ttl(field)?,
                Heading::Time
                | Heading::TimeS
                | Heading::TimeMs
                | Heading::TimeUs
                | Heading::TimeNs => row.time_us = clock.text(field)?,
                Heading::Connection => {
                    row.connection = number(field, "connection", u32::MAX)?.unwrap_or(0);
                }
                Heading::Request => row.request = long(field, "request")?.unwrap_or(0),
                Heading::Amount => row.amount = long(field, "amount")?,
                Heading::Result => row.result = outcome(field)?,
                Heading::Latency => row.latency_ns = long(field, "latency")?,
                Heading::Times => times = op_count(field)?,
            }
        }
        if count != self.columns.count() {
            self.check_count(line)?;
        }
        row.key = match (key, hash) {
            (None, Some(hash)) => Key::Hash(hash),
            (Some((key, false)), Some(hash)) if is_missing(key) => Key::Hash(hash),
            (Some((key, is_quoted)), _) => Key::Bytes(unquote(key, is_quoted, unquoted)),
            (None, None) => return Err("it has no key".into()),
        };
        if let (false, Key::Bytes(key)) = (self.has(Heading::KeySize), row.key) {
            row.key_size = u32::try_from(key.len()).ok().filter(|len| *len <= MAX_KEY);
        }
        Ok((row, times))
    }
}

/// The operations that a row stands for. More than there may be are refused where they are counted.
fn op_count(field: &[u8]) -> Result<u32, String> {
    match whole(field) {
        Some(times) if times > MOST_ROWS.into() => Ok(u32::try_from(times).unwrap_or(u32::MAX)),
        _ => number(field, "op_count", MOST_ROWS).map(|times| times.unwrap_or(1)),
    }
}

impl Header {
    /// Refuses a line with more or fewer fields than columns. A separator behind the last column is none too many.
    fn check_count(&self, line: &[u8]) -> Result<(), String> {
        let mut is_last_empty = false;
        let fields = fields(line, self.separator);
        let fields = fields.inspect(|(field, _)| is_last_empty = field.is_empty()).count();
        let columns = self.columns.count();
        let is_name_empty = self.names.last().is_some_and(Vec::is_empty);
        if fields == columns
            || fields == columns + 1 && is_last_empty
            || fields + 1 == columns && is_name_empty
        {
            return Ok(());
        }
        let counts =
            format!("{}, where the header has {columns}", larder_store::count(fields, "field"));
        let ends_in_quotes = line.iter().fold(false, |is_in, byte| is_in ^ (*byte == b'"'));
        Err(if fields < columns && ends_in_quotes {
            format!("{counts}: a field in quotes has a line break, and a row must be one line")
        } else if fields < columns {
            format!("{counts}: cut off?")
        } else {
            format!(
                "{counts}: a field with `{}` in it needs quotes, and a column of row names a name in the header",
                char::from(self.separator).escape_default()
            )
        })
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

/// The fields of a line, without surrounding blanks and without their quotes, and whether they had quotes. A separator between
/// quotes separates nothing.
fn fields(line: &[u8], separator: u8) -> impl Iterator<Item = (&[u8], bool)> {
    let mut quoted = false;
    let separates = move |byte: &u8| {
        quoted ^= *byte == b'"';
        *byte == separator && !quoted
    };
    line.split(separates).map(|field| {
        let field = field.trim_ascii();
        let inner = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\""));
        (inner.unwrap_or(field), inner.is_some())
    })
}
