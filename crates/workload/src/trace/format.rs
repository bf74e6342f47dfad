//! The formats of traces.

use std::fmt;
use std::fs::File;
use std::io::BufRead;
use std::path::Path;
use std::str::FromStr;

use super::error::TraceFault;
use super::input::Input;
use super::sink::{Rows, Stop};
use super::writer::{BeginTrace, Field};
use super::{blocks, cache2k, csv, journal, oracle_general, parquet, twitter};

/// All formats, in the order in which they are tried on a file.
pub const FORMATS: &[TraceFormat] = &[
    parquet::FORMAT,
    journal::FORMAT,
    csv::FORMAT,
    twitter::FORMAT,
    oracle_general::FORMAT,
    blocks::ARC,
    blocks::LIRS,
    cache2k::FORMAT,
];

/// The endings of compressed files.
const COMPRESSED: &[&str] = &[".xz", ".gz", ".zst"];

/// A format of traces.
#[derive(Clone, Copy)]
pub struct TraceFormat {
    /// The name after `?format=`.
    pub name: &'static str,
    /// A description, in one line.
    pub summary: &'static str,
    /// Whether the format can have the sizes of values.
    pub has_sizes: bool,
    /// Whether a trace is probably of this format.
    pub(super) detect: fn(&Head<'_>) -> bool,
    /// Gives every operation on, in order.
    pub(super) read: Reader,
    /// Begins a trace of the format. Not every format is written.
    pub(super) write: Option<BeginTrace>,
    /// What the format has columns for, beside a time in seconds, a key and the size of its value.
    pub(super) holds: &'static [Field],
}

/// The reader of a format, by what it reads from.
#[derive(Clone, Copy)]
pub(super) enum Reader {
    /// The bytes in their order.
    Stream(fn(&mut dyn BufRead, &mut Rows<'_>) -> Result<(), Stop>),
    /// A file, in any order.
    File(fn(File, &mut Rows<'_>) -> Result<(), Stop>),
}

/// The beginning of a trace, by which its format is recognised.
pub(super) struct Head<'a> {
    /// Its file name, without the suffix of a compression.
    pub(super) name: &'a Path,
    /// Its first bytes, decompressed.
    pub(super) bytes: &'a [u8],
}

impl Head<'_> {
    /// The first line, or the available part of it.
    pub(super) fn line(&self) -> &[u8] {
        let end = self.bytes.iter().position(|&byte| byte == b'\n');
        self.bytes[..end.unwrap_or(self.bytes.len())].trim_ascii_end()
    }

    /// The reason why no format matches, with a hint where the first line shows the intended one.
    fn not_known(&self) -> TraceFault {
        let line = String::from_utf8_lossy(self.line()).to_ascii_lowercase();
        let columns = |separator: char| line.split(separator).any(|name| name.trim() == "key");
        if self.bytes.is_empty() {
            TraceFault::Header { reason: "it is empty".into() }
        } else if let Some(separator) = [';', '\t', '|'].into_iter().find(|other| columns(*other)) {
            let shown = separator.escape_default();
            let reason = format!("its first line has `{shown}` between the columns");
            TraceFault::Header { reason }
        } else {
            TraceFault::UnknownFormat
        }
    }
}

impl TraceFormat {
    /// The first format that recognises a trace.
    pub(super) fn detect(name: &str, bytes: &[u8]) -> Result<Self, TraceFault> {
        let name = COMPRESSED.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        let head = Head { name: Path::new(name), bytes };
        let format = FORMATS.iter().find(|format| (format.detect)(&head));
        format.copied().ok_or_else(|| head.not_known())
    }

    /// The format whose name is a part of a file's name, of those that can be written.
    pub(super) fn of_new_file(name: &str) -> Result<Self, String> {
        let small = name.to_ascii_lowercase();
        if let Some(ending) = COMPRESSED.iter().find(|ending| small.ends_with(**ending)) {
            return Err(format!("`{name}`: traces are written uncompressed; leave out {ending}"));
        }
        let is_named = |format: &&Self| small.contains(&format.name.to_ascii_lowercase());
        let found = FORMATS.iter().filter(|format| format.write.is_some()).find(is_named);
        let formats = written();
        let unknown = || format!("`{name}` names no format; write `?format=`, one of {formats}");
        found.copied().ok_or_else(unknown)
    }

    /// The function that begins a trace of the format.
    pub(super) fn writer(&self) -> Result<BeginTrace, String> {
        let formats = written();
        self.write.ok_or_else(|| format!("{self} is only read; traces are written as {formats}"))
    }

    pub(super) fn read(&self, input: Input<'_>, rows: &mut Rows<'_>) -> Result<(), Stop> {
        match self.read {
            Reader::Stream(read) => read(&mut *{ input.stream }, rows),
            Reader::File(read) => read(input.into_file()?, rows),
        }
    }
}

/// The names of all formats, comma-separated.
pub(super) fn known() -> String {
    names(|_| true)
}

/// The names of the formats that can be written, comma-separated.
fn written() -> String {
    names(|format| format.write.is_some())
}

fn names(are_meant: fn(&TraceFormat) -> bool) -> String {
    let meant = FORMATS.iter().filter(|format| are_meant(format));
    meant.map(|format| format.name).collect::<Vec<_>>().join(", ")
}

impl FromStr for TraceFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let format = FORMATS.iter().find(|format| format.name == name);
        format.copied().ok_or_else(|| format!("no trace format `{name}`; known: {}", known()))
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl fmt::Debug for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceFormat({})", self.name)
    }
}

impl PartialEq for TraceFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TraceFormat {}
