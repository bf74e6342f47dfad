//! Writers of formats. They take one row after the other, so that a trace of any length takes little memory.

use std::fmt;
use std::io::{self, Write};
use std::ops::ControlFlow;

use super::format::TraceFormat;
use super::row::Row;
use super::sink::{About, Sink};

/// A trace that is being written. It is whole after [`TraceWriter::finish`].
pub struct TraceWriter<'a> {
    format: TraceFormat,
    rows: Box<dyn RowWriter + 'a>,
    n_rows: u64,
    error: Option<io::Error>,
}

/// The writer of one format.
pub(super) trait RowWriter: Send {
    /// Writes a row.
    fn push(&mut self, row: &Row<'_>) -> io::Result<()>;

    /// Writes what comes behind the last row.
    fn finish(self: Box<Self>, about: &About) -> io::Result<()>;
}

/// Begins a trace of a format.
pub(super) type BeginTrace =
    for<'a> fn(Box<dyn Write + Send + 'a>) -> io::Result<Box<dyn RowWriter + 'a>>;

impl<'a> TraceWriter<'a> {
    /// Begins a trace.
    ///
    /// # Errors
    ///
    /// Errors of `out`, and [`io::ErrorKind::Unsupported`] where the format is only read.
    pub fn new(format: TraceFormat, out: impl Write + Send + 'a) -> io::Result<Self> {
        let unsupported = |reason| io::Error::new(io::ErrorKind::Unsupported, reason);
        let begin = format.begin().map_err(unsupported)?;
        Ok(Self { format, rows: begin(Box::new(out))?, n_rows: 0, error: None })
    }

    /// Appends a row.
    pub fn push(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.rows.push(row)?;
        self.n_rows += 1;
        Ok(())
    }

    /// Completes the trace, and returns the number of its rows. `out` is flushed.
    ///
    /// # Errors
    ///
    /// Errors of `out`, those included that ended the writing as a [`Sink`].
    pub fn finish(self, about: &About) -> io::Result<u64> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.rows.finish(about)?;
        Ok(self.n_rows)
    }
}

impl Sink for TraceWriter<'_> {
    fn push(&mut self, row: &Row<'_>) -> ControlFlow<()> {
        match TraceWriter::push(self, row) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

impl fmt::Debug for TraceWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceWriter").field("format", &self.format).finish_non_exhaustive()
    }
}
