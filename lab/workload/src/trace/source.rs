//! A trace as typed.

use std::fmt;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::builder::TraceBuilder;
use super::builtin;
use super::clock::Unit;
use super::heading::ColumnNames;
use super::recognised::{Formats, Recognised};
use super::row::Row;
use super::sink::{About, Sink};
use super::{Trace, TraceError, TraceFault, TraceFormat, parts, read_rows};

/// The rows that tell whether a trace has sizes. A recording may begin with many reads that miss, and have no size.
const JUDGED_ROWS: usize = 100_000;

/// What comes before the options of a trace.
const OPTIONS: [&str; 3] = ["?format=", "?columns=", "?time="];

/// The path of a trace: `FILE`, or `FILE?format=NAME` where its format cannot be recognised, and
/// `FILE?columns=key:NAME,size:NAME` where its columns cannot, and `FILE?time=ms` where the unit of its times cannot; with `&`
/// between. `NAME-*.parquet` is a trace of several files, and `builtin:NAME` one that is in the program. Only [`TraceSource::open`] and [`read_rows`] read the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceSource {
    /// The file, or the files that a `*` in its name stands for.
    pub path: PathBuf,
    /// Its format; `None` to recognise it.
    pub format: Option<TraceFormat>,
    /// The names of its columns, as far as they are not known by themselves.
    pub columns: ColumnNames,
    /// The unit of its times, where neither the format nor a name or a type tells it.
    pub time: Option<Unit>,
}

impl From<&Path> for TraceSource {
    /// A file whose format is recognised.
    fn from(path: &Path) -> Self {
        Self { path: path.into(), format: None, columns: ColumnNames::default(), time: None }
    }
}

impl TraceSource {
    /// Reads the trace: all of it, or its first `at_most` operations. Also returns what it was read as.
    pub fn open(&self, at_most: Option<usize>) -> Result<(Trace, Formats), TraceError> {
        let mut builder = TraceBuilder::new(at_most);
        let about = read_rows(self, &mut builder)?;
        self.finished(builder, &about)
    }

    /// As [`TraceSource::open`]. Another sink gets the same operations as they were recorded, of which a trace keeps a part.
    pub fn open_beside(
        &self,
        at_most: Option<usize>,
        beside: &mut dyn Sink,
    ) -> Result<(Trace, Formats), TraceError> {
        let mut both = Both { builder: TraceBuilder::new(at_most), beside };
        let about = read_rows(self, &mut both)?;
        self.finished(both.builder, &about)
    }

    fn finished(
        &self,
        mut builder: TraceBuilder,
        about: &About,
    ) -> Result<(Trace, Formats), TraceError> {
        let mut formats = std::mem::take(&mut builder.formats);
        formats.add_notes(about);
        builder.finish().map(|trace| (trace, formats)).map_err(|fault| self.failed(fault))
    }

    /// Whether it is in the program, and no file.
    pub fn is_built_in(&self) -> bool {
        builtin::is_meant(&self.path)
    }

    /// Its name without folders: that of the file, or of the trace that is built in.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        builtin::of_path(&self.path).map_or(name.into_owned(), |built_in| built_in.name.to_owned())
    }

    /// The files: the given one, or those that a `*` in its name stands for, in the order of their names.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>, TraceError> {
        let pattern = self.path.file_name().unwrap_or_default();
        let is_one = !pattern.as_bytes().contains(&b'*') || builtin::is_meant(&self.path);
        if is_one || self.path.exists() {
            return Ok(vec![self.path.clone()]);
        }
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let files = parts::matching(folder, pattern.as_bytes());
        let files = files.map_err(|error| self.failed(TraceFault::Read(error)))?;
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
        let shown = self.path.display();
        if builtin::is_meant(&self.path) {
            return Err(format!("{shown} is only read; name a file"));
        }
        if !self.columns.is_empty() {
            return Err(format!("{shown}: ?columns= names columns of the trace that is read"));
        }
        if self.time.is_some() {
            return Err(format!("{shown}: ?time= tells the unit of the trace that is read"));
        }
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let format = self.format.map_or_else(|| TraceFormat::of_new_file(&name), Ok)?;
        format.writer().map(|_| format)
    }

    /// Whether the trace has the sizes of values, judged by its first rows. A trace that cannot be read is judged by its
    /// name: the reading that follows tells what is wrong with it. Nothing is read where a format without sizes was given.
    pub fn has_sizes(&self) -> bool {
        if self.format.is_some_and(|format| !format.has_sizes) {
            return false;
        }
        let mut left = JUDGED_ROWS;
        let mut found = false;
        let mut judge = |row: &Row<'_>| {
            left -= 1;
            found = row.known_size().is_some();
            if found || left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        match read_rows(self, &mut judge) {
            Ok(_) => found,
            Err(_) => self.may_have_sizes(),
        }
    }

    /// Whether traces of the format that its name tells have sizes. An unknown format may have them.
    fn may_have_sizes(&self) -> bool {
        let by_name = TraceFormat::detect(&self.path.to_string_lossy(), b"", &self.columns);
        by_name.map_or(true, |(format, _)| format.has_sizes)
    }
}

/// Two sinks of the same operations: the trace in memory decides when it has enough.
struct Both<'a> {
    builder: TraceBuilder,
    beside: &'a mut dyn Sink,
}

impl Sink for Both<'_> {
    fn begin(&mut self, file: &Recognised) {
        self.builder.begin(file);
        self.beside.begin(file);
    }

    fn push(&mut self, row: &Row<'_>) -> ControlFlow<()> {
        // A sink that has enough for itself takes no more.
        let _ = self.beside.push(row);
        self.builder.push(row)
    }

    fn announce(&mut self, n_rows: u64) -> ControlFlow<()> {
        let _ = self.beside.announce(n_rows);
        self.builder.announce(n_rows)
    }
}

impl FromStr for TraceSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let at = OPTIONS.iter().filter_map(|option| text.rfind(option)).max();
        let (path, options) = at.map_or((text, None), |at| (&text[..at], Some(&text[at + 1..])));
        if path.is_empty() {
            return Err("no file; write trace:FILE".into());
        }
        let mut source = Self::from(Path::new(path));
        builtin::check(&source.path)?;
        for option in options.iter().flat_map(|options| options.split('&')) {
            match option.split_once('=') {
                Some(("format", format)) => source.format = Some(format.parse()?),
                Some(("columns", columns)) => source.columns = columns.parse()?,
                Some(("time", unit)) => source.time = Some(unit.parse()?),
                _ => {
                    return Err(format!(
                        "no option `{option}` of a trace; known: format, columns, time"
                    ));
                }
            }
        }
        Ok(source)
    }
}

impl fmt::Display for TraceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        let format = self.format.map(|format| format!("format={format}"));
        let columns = (!self.columns.is_empty()).then(|| format!("columns={}", self.columns));
        let time = self.time.map(|unit| format!("time={}", unit.symbol()));
        let options = format.into_iter().chain(columns).chain(time);
        for (option, separator) in options.zip(["?", "&", "&"]) {
            write!(f, "{separator}{option}")?;
        }
        Ok(())
    }
}
