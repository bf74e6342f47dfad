//! The formats of traces.

use std::fmt;
use std::fs::File;
use std::io::BufRead;
use std::path::Path;
use std::str::FromStr;

use super::error::TraceFault;
use super::heading::ColumnNames;
use super::input::Input;
use super::sink::{Rows, Stop};
use super::writer::{BeginTrace, Field};
use super::{
    blocks, cache2k, csv, foreign, journal, keys, keys64, oracle_general, parquet, twitter,
};

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
    keys64::BIG,
    keys64::LITTLE,
    keys::FORMAT,
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
    /// Whether a trace is of this format, by its beginning.
    pub(super) detect: fn(&Head<'_>) -> Detection,
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

/// Whether a trace is of a format.
pub(super) enum Detection {
    /// Its bytes are of the format; the reason completes "read as csv, …".
    ByContent(&'static str),
    /// Its name is that of the format, and its bytes may be; the reason as above.
    ByName(&'static str),
    /// It is meant to be of the format, and cannot be read as such.
    Broken(TraceFault),
    /// It is of another format.
    No,
}

/// The beginning of a trace, by which its format is recognised.
pub(super) struct Head<'a> {
    /// Its file name, without the suffix of a compression.
    pub(super) name: &'a Path,
    /// Its first bytes, decompressed.
    pub(super) bytes: &'a [u8],
    /// The names of its columns, as far as they were given.
    pub(super) columns: &'a ColumnNames,
}

impl Head<'_> {
    /// The first line, or the available part of it.
    pub(super) fn line(&self) -> &[u8] {
        let end = self.bytes.iter().position(|&byte| byte == b'\n');
        self.bytes[..end.unwrap_or(self.bytes.len())].trim_ascii_end()
    }

    pub(super) fn has_ending(&self, ending: &str) -> bool {
        self.name.extension().is_some_and(|extension| extension == ending)
    }

    /// Whether its bytes are text, as far as they are there.
    pub(super) fn is_text(&self) -> bool {
        foreign::is_text(self.bytes)
    }
}

impl TraceFormat {
    /// The format of a trace, with the reason. Bytes that tell a format count for more than a name.
    pub(super) fn detect(
        name: &str,
        bytes: &[u8],
        columns: &ColumnNames,
    ) -> Result<(Self, &'static str), TraceFault> {
        let name = COMPRESSED.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        let head = Head { name: Path::new(name), bytes, columns };
        let (mut named, mut broken) = (None, None);
        for format in FORMATS {
            match (format.detect)(&head) {
                Detection::ByContent(reason) => return Ok((*format, reason)),
                Detection::ByName(reason) => named = named.or(Some((*format, reason))),
                Detection::Broken(fault) => broken = broken.or(Some(fault)),
                Detection::No => {}
            }
        }
        let foreign = foreign::by_first_bytes(&head);
        match foreign.or(broken) {
            Some(fault) => Err(fault),
            None => named.ok_or_else(|| foreign::unknown(&head)),
        }
    }

    /// Whether traces of the format have columns with names.
    pub(super) fn has_columns(&self) -> bool {
        [parquet::FORMAT, csv::FORMAT].contains(self)
    }

    /// Whether traces of the format have times whose unit may be unknown.
    pub(super) fn has_bare_times(&self) -> bool {
        self.has_columns() || *self == twitter::FORMAT
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
