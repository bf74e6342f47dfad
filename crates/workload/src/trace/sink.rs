//! Where the rows of a trace go, one after the other. Nothing but the sink decides what is kept of them.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;

use super::error::{TraceError, TraceFault};
use super::format::TraceFormat;
use super::input::Input;
use super::row::Row;
use super::source::TraceSource;

/// What takes rows: a trace in memory, a writer of a format, an analysis.
///
/// A sink that fails keeps its error, and ends the reading.
pub trait Sink {
    /// Takes the next row. `Break` ends the reading early, which is no error of the trace.
    fn push(&mut self, row: &Row<'_>) -> ControlFlow<()>;

    /// Hears that one entry of the trace stands for so many rows, before the first of them.
    fn announce(&mut self, n_rows: u64) -> ControlFlow<()> {
        let _ = n_rows;
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(&Row<'_>) -> ControlFlow<()>> Sink for F {
    fn push(&mut self, row: &Row<'_>) -> ControlFlow<()> {
        self(row)
    }
}

/// The traffic on keys that are not in a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OtherKeys {
    /// Operations.
    pub operations: u64,
    /// Reads that found their key.
    pub hits: u64,
    /// Reads that found nothing.
    pub misses: u64,
}

impl OtherKeys {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            operations: self.operations + other.operations,
            hits: self.hits + other.hits,
            misses: self.misses + other.misses,
        }
    }
}

/// What a trace tells of itself, beside its rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct About {
    /// The share of the keys that were recorded, where not all were: 0.01 is one in a hundred.
    pub sample: Option<f64>,
    /// The traffic on the other keys.
    pub others: OtherKeys,
    /// The kind of server that was recorded, such as `memcached`.
    pub upstream: Option<String>,
    /// Operations that were not recorded, because writing fell behind.
    pub dropped_rows: u64,
    /// Bytes of an unfinished record behind the last whole one.
    pub torn_bytes: u64,
}

impl About {
    /// What two files of one trace tell, of which the other comes before.
    fn after(self, before: Self) -> Self {
        Self {
            sample: before.sample.or(self.sample),
            others: before.others.plus(self.others),
            upstream: before.upstream.or(self.upstream),
            dropped_rows: before.dropped_rows + self.dropped_rows,
            torn_bytes: before.torn_bytes + self.torn_bytes,
        }
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut told = Vec::new();
        if let Some(upstream) = &self.upstream {
            told.push(format!("recorded on {upstream}"));
        }
        if let Some(sample) = self.sample {
            told.push(format!("a share of {sample} of the keys"));
        }
        if self.dropped_rows > 0 {
            told.push(format!("{} operations not recorded", self.dropped_rows));
        }
        if self.torn_bytes > 0 {
            told.push(format!("{} bytes of a torn record left out", self.torn_bytes));
        }
        write!(f, "{}", told.join(", "))
    }
}

/// Gives all rows of a trace to a sink, in order and one at a time. A trace of any length takes little memory.
///
/// # Errors
///
/// A broken trace, with its file and the place of the fault. The sink has the rows before the fault.
pub fn read_rows(source: &TraceSource, sink: &mut dyn Sink) -> Result<About, TraceError> {
    let mut about = None;
    let mut n_requests = 0;
    for path in source.files()? {
        let failed = |fault| TraceError { path: path.clone(), fault };
        let file = File::open(&path).map_err(|error| failed(TraceFault::Read(error)))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let whole = file.try_clone().ok();
        let mut rows = Rows::new(sink, n_requests);
        let end = read_input(&name, file, whole, source.format, &mut rows).map_err(failed)?;
        n_requests = rows.next_request;
        about = Some(match about {
            Some(before) => rows.about.after(before),
            None => rows.about,
        });
        if end == End::Early {
            break;
        }
    }
    Ok(about.unwrap_or_default())
}

/// As [`read_rows`], from any reader. Its name only serves to recognise the format, where `format` is not given.
pub fn read_rows_of(
    name: &str,
    input: impl Read,
    format: Option<TraceFormat>,
    sink: &mut dyn Sink,
) -> Result<About, TraceFault> {
    let mut rows = Rows::new(sink, 0);
    read_input(name, input, None, format, &mut rows)?;
    Ok(rows.about)
}

/// The end of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    OfTrace,
    /// The sink has what it needs.
    Early,
}

/// Reads an input, which may be a whole file.
fn read_input(
    name: &str,
    input: impl Read,
    file: Option<File>,
    format: Option<TraceFormat>,
    rows: &mut Rows<'_>,
) -> Result<End, TraceFault> {
    let input = Input::of(input, file).map_err(TraceFault::Read)?;
    let format = match format {
        Some(format) => format,
        None => TraceFormat::detect(name, &input.head)?,
    };
    match format.read(input, rows) {
        Ok(()) => Ok(End::OfTrace),
        Err(Stop::Enough) => Ok(End::Early),
        Err(Stop::Fault(fault)) => Err(fault),
    }
}

/// The rows on their way from the reader of a format to a sink.
pub(super) struct Rows<'a> {
    sink: &'a mut dyn Sink,
    /// The number of the first request of this file. The files of a trace may each count their requests from 0.
    first_request: u64,
    next_request: u64,
    /// What the reader finds beside the rows.
    pub(super) about: About,
}

impl<'a> Rows<'a> {
    fn new(sink: &'a mut dyn Sink, first_request: u64) -> Self {
        Self { sink, first_request, next_request: first_request, about: About::default() }
    }

    /// Gives the sink a row, whose request has its number in this file.
    pub(super) fn push(&mut self, row: &Row<'_>) -> Result<(), Stop> {
        let request = row.request.wrapping_add(self.first_request);
        self.next_request = self.next_request.max(request.saturating_add(1));
        go_on(self.sink.push(&Row { request, ..*row }))
    }

    /// Gives the sink a row, `times` times, each time as a request of its own. For formats that do not tell requests.
    pub(super) fn push_request(&mut self, row: &Row<'_>, times: u32) -> Result<(), Stop> {
        for _ in 0..times {
            let request = self.next_request;
            self.next_request += 1;
            go_on(self.sink.push(&Row { request, ..*row }))?;
        }
        Ok(())
    }

    /// Tells the sink that so many rows follow at once.
    pub(super) fn announce(&mut self, n_rows: u64) -> Result<(), Stop> {
        go_on(self.sink.announce(n_rows))
    }
}

fn go_on(flow: ControlFlow<()>) -> Result<(), Stop> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Stop::Enough),
    }
}

/// The reason why a reader stops before the end.
pub(super) enum Stop {
    /// The sink has what it needs.
    Enough,
    /// The trace is broken.
    Fault(TraceFault),
}

impl Stop {
    /// The fault of an invalid line.
    pub(super) fn line(line: u64, reason: String) -> Self {
        Self::Fault(TraceFault::Line { line, reason })
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Fault(TraceFault::Read(error))
    }
}

impl From<TraceFault> for Stop {
    fn from(fault: TraceFault) -> Self {
        Self::Fault(fault)
    }
}
