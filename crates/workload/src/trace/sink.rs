//! Where the rows of a trace go, one after the other. Nothing but the sink decides what is kept of them.

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

/// What a trace tells of itself, beside its rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct About {
    /// The share of the keys that were recorded, where not all were: 0.01 is one in a hundred.
    pub sample: Option<f64>,
    /// The kind of server that was recorded, such as `memcached`.
    pub upstream: Option<String>,
    /// Operations that were not recorded, because writing fell behind.
    pub dropped_rows: u64,
    /// Bytes of an unfinished record behind the last whole one.
    pub torn_bytes: u64,
}

/// Gives all rows of a trace to a sink, in order and one at a time. A trace of any length takes little memory.
///
/// # Errors
///
/// A broken trace, with its file and the place of the fault. The sink has the rows before the fault.
pub fn read_rows(source: &TraceSource, sink: &mut dyn Sink) -> Result<About, TraceError> {
    let failed = |fault| TraceError { path: source.path.clone(), fault };
    let file = File::open(&source.path).map_err(|error| failed(TraceFault::Read(error)))?;
    let name = source.path.file_name().unwrap_or_default().to_string_lossy();
    let whole = file.try_clone().ok();
    read_input(&name, file, whole, source.format, sink).map_err(failed)
}

/// As [`read_rows`], from any reader. Its name only serves to recognise the format, where `format` is not given.
pub fn read_rows_of(
    name: &str,
    input: impl Read,
    format: Option<TraceFormat>,
    sink: &mut dyn Sink,
) -> Result<About, TraceFault> {
    read_input(name, input, None, format, sink)
}

/// Reads an input, which may be a whole file.
fn read_input(
    name: &str,
    input: impl Read,
    file: Option<File>,
    format: Option<TraceFormat>,
    sink: &mut dyn Sink,
) -> Result<About, TraceFault> {
    let input = Input::of(input, file).map_err(TraceFault::Read)?;
    let format = match format {
        Some(format) => format,
        None => TraceFormat::detect(name, &input.head)?,
    };
    let mut rows = Rows { sink, n_requests: 0, about: About::default() };
    match format.read(input, &mut rows) {
        Ok(()) | Err(Stop::Enough) => Ok(rows.about),
        Err(Stop::Fault(fault)) => Err(fault),
    }
}

/// The rows on their way from the reader of a format to a sink.
pub(super) struct Rows<'a> {
    sink: &'a mut dyn Sink,
    n_requests: u64,
    /// What the reader finds beside the rows.
    pub(super) about: About,
}

impl Rows<'_> {
    /// Gives the sink a row as it is.
    pub(super) fn push(&mut self, row: &Row<'_>) -> Result<(), Stop> {
        go_on(self.sink.push(row))
    }

    /// Gives the sink a row, `times` times, each time as a request of its own. For formats that do not tell requests.
    pub(super) fn push_request(&mut self, row: &Row<'_>, times: u32) -> Result<(), Stop> {
        for _ in 0..times {
            let request = self.n_requests;
            self.n_requests += 1;
            self.push(&Row { request, ..*row })?;
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
