//! A trace as typed.

use std::fmt;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::builder::TraceBuilder;
use super::row::Row;
use super::{Trace, TraceError, TraceFault, TraceFormat, read_rows};

/// The rows that tell whether a trace has sizes. A recording may begin with many reads that miss, and have no size.
const JUDGED_ROWS: usize = 100_000;

/// The path of a trace: `FILE`, or `FILE?format=NAME` where its format cannot be recognised. `NAME-*.parquet` is a
/// trace of several files. Only [`TraceSource::open`] and [`read_rows`] read the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceSource {
    /// The file, or the files that a `*` in its name stands for.
    pub path: PathBuf,
    /// Its format; `None` to recognise it.
    pub format: Option<TraceFormat>,
}

impl TraceSource {
    /// Reads the trace: all of it, or its first `at_most` operations.
    pub fn open(&self, at_most: Option<usize>) -> Result<Trace, TraceError> {
        let mut builder = TraceBuilder::new(at_most);
        read_rows(self, &mut builder)?;
        builder.finish().map_err(|fault| self.failed(fault))
    }

    /// The files: the given one, or those that a `*` in its name stands for, in the order of their names. A recording of
    /// many files has the time of each in its name.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>, TraceError> {
        let pattern = self.path.file_name().unwrap_or_default();
        if !pattern.as_bytes().contains(&b'*') || self.path.exists() {
            return Ok(vec![self.path.clone()]);
        }
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let unread = |error| self.failed(TraceFault::Read(error));
        let mut files = Vec::new();
        for entry in fs::read_dir(here).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let name = entry.file_name();
            let is_hidden = name.as_bytes().starts_with(b".");
            if !is_hidden && matches(pattern.as_bytes(), name.as_bytes()) && !entry.path().is_dir()
            {
                files.push(folder.join(name));
            }
        }
        files.sort();
        if files.is_empty() {
            return Err(self.failed(TraceFault::NoFile));
        }
        Ok(files)
    }

    fn failed(&self, fault: TraceFault) -> TraceError {
        TraceError { path: self.path.clone(), fault }
    }

    /// The format in which a new file is written: the given one, or the one that its name tells, as in `web.csv`.
    ///
    /// # Errors
    ///
    /// A sentence, where there is no such format or it is only read.
    pub fn format_to_write(&self) -> Result<TraceFormat, String> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let format = self.format.map_or_else(|| TraceFormat::of_new_file(&name), Ok)?;
        format.writer().map(|_| format)
    }

    /// Whether the trace has the sizes of values, judged by its first rows. A trace that cannot be read is judged by its
    /// format: the reading that follows tells what is wrong with it. Nothing is read of a format without sizes.
    pub fn has_sizes(&self) -> bool {
        if !self.format_has_sizes() {
            return false;
        }
        let mut left = JUDGED_ROWS;
        let mut found = false;
        let mut judge = |row: &Row<'_>| {
            left -= 1;
            found = row.value_size.is_some();
            if found || left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        match read_rows(self, &mut judge) {
            Ok(_) => found,
            Err(_) => true,
        }
    }

    /// Whether traces of its format have sizes. An unknown format may have them.
    fn format_has_sizes(&self) -> bool {
        let by_name = || TraceFormat::detect(&self.path.to_string_lossy(), b"").ok();
        self.format.or_else(by_name).is_none_or(|format| format.has_sizes)
    }
}

/// Whether a name is one that the pattern means. A `*` stands for any letters.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let mut parts = pattern.split(|byte| *byte == b'*');
    let Some(mut left) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return left.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        let found = (0..=left.len()).find(|at| left[*at..].starts_with(part));
        let Some(at) = found else { return false };
        left = &left[at + part.len()..];
    }
    true
}

impl FromStr for TraceSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, format) = match text.rsplit_once("?format=") {
            Some((path, format)) => (path, Some(format.parse()?)),
            None => (text, None),
        };
        if path.is_empty() {
            return Err("no file; write trace:FILE".into());
        }
        Ok(Self { path: path.into(), format })
    }
}

impl fmt::Display for TraceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.format.map_or(Ok(()), |format| write!(f, "?format={format}"))
    }
}
