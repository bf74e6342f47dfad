//! Writers of formats. They take one row after the other, so that a trace of any length takes little memory.

use std::env;
use std::fmt;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use super::format::TraceFormat;
use super::row::{Row, Verb};
use super::sink::{About, Sink};

/// A trace that is being written. It is whole after [`TraceWriter::finish`].
pub struct TraceWriter<'a> {
    format: TraceFormat,
    rows: Box<dyn RowWriter + 'a>,
    tally: Tally,
    error: Option<io::Error>,
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The rows of the new trace.
    pub rows: u64,
    /// What the format has no place for, each with its number of rows, in words: `ttl of 12 rows`.
    pub left_out: Vec<String>,
}

/// The writer of one format.
pub(super) trait RowWriter: Send {
    /// Writes a row.
    fn push(&mut self, row: &Row<'_>) -> io::Result<Fit>;

    /// Writes what comes behind the last row.
    fn finish(self: Box<Self>, about: &About) -> io::Result<()>;
}

/// How a format takes a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// With all that the format has columns for.
    Whole,
    /// With the hash of its key in place of the key.
    Hashed,
    /// As a `get`, because the format does not know its operation.
    AsGet,
    /// Not at all: the format has no place for its operation.
    LeftOut,
}

/// Begins a trace of a format. The folder is one for temporary files.
pub(super) type BeginTrace =
    for<'a> fn(Box<dyn Write + Send + 'a>, &Path) -> io::Result<Box<dyn RowWriter + 'a>>;

impl<'a> TraceWriter<'a> {
    /// Begins a trace. Temporary files lie where the system has them.
    ///
    /// # Errors
    ///
    /// Errors of `out`, and [`io::ErrorKind::Unsupported`] where the format is only read.
    pub fn new(format: TraceFormat, out: impl Write + Send + 'a) -> io::Result<Self> {
        Self::with_scratch(format, out, &env::temp_dir())
    }

    /// The same with another folder for temporary files, which have no names and vanish with this process. Of the formats,
    /// `oracleGeneral` needs some: 32 bytes a row.
    pub fn with_scratch(
        format: TraceFormat,
        out: impl Write + Send + 'a,
        scratch: &Path,
    ) -> io::Result<Self> {
        let unsupported = |reason| io::Error::new(io::ErrorKind::Unsupported, reason);
        let begin = format.writer().map_err(unsupported)?;
        let rows = begin(Box::new(out), scratch)?;
        Ok(Self { format, rows, tally: Tally::default(), error: None })
    }

    /// Appends a row.
    pub fn push(&mut self, row: &Row<'_>) -> io::Result<()> {
        let fit = self.rows.push(row)?;
        self.tally.count(row, fit, self.format.holds);
        Ok(())
    }

    /// Completes the trace. `out` is flushed.
    ///
    /// # Errors
    ///
    /// Errors of `out`, those included that ended the writing as a [`Sink`].
    pub fn finish(self, about: &About) -> io::Result<Written> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.rows.finish(about)?;
        Ok(self.tally.written(self.format.holds, about))
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

/// What a row may have and a format may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// An operation other than a get.
    Operation,
    /// A time between two seconds.
    Fraction,
    /// A number of the connection.
    Connection,
    /// Another key of the same request.
    Request,
    KeySize,
    Ttl,
    Amount,
    Result,
    Latency,
    /// What the trace tells beside its rows.
    About,
}

impl Field {
    /// All of them, each at the place of its number.
    pub(super) const ALL: &'static [Self] = &[
        Self::Operation,
        Self::Fraction,
        Self::Connection,
        Self::Request,
        Self::KeySize,
        Self::Ttl,
        Self::Amount,
        Self::Result,
        Self::Latency,
        Self::About,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Operation => "the operation",
            Self::Fraction => "the fraction of a second",
            Self::Connection => "the connection",
            Self::Request => "the common request",
            Self::KeySize => "the key size",
            Self::Ttl => "the TTL",
            Self::Amount => "the amount",
            Self::Result => "the result",
            Self::Latency => "the latency",
            Self::About => "what the trace tells of itself",
        }
    }

    /// What its absence changes in the answers of `trace info` and `advise`.
    fn without(self) -> &'static str {
        match self {
            Self::Operation => " (without it, all of them read)",
            Self::Fraction => " (without it, TTLs end up to a second earlier or later)",
            Self::Ttl => " (without it, no entry expires: more reads can hit)",
            Self::Result => {
                " (without it, a miss that nobody filled is not known, and counts as filled: more reads can hit)"
            }
            Self::Connection
            | Self::Request
            | Self::KeySize
            | Self::Amount
            | Self::Latency
            | Self::About => "",
        }
    }

    /// Whether the row has it.
    fn is_in(self, row: &Row<'_>, last_request: Option<u64>) -> bool {
        match self {
            Self::Operation => row.operation != Verb::Get,
            Self::Fraction => row.time_us.is_some_and(|time| !time.is_multiple_of(1_000_000)),
            Self::Connection => row.connection > 0,
            Self::Request => last_request == Some(row.request),
            Self::KeySize => row.key_size.is_some(),
            Self::Ttl => row.ttl_s.is_some_and(|ttl| ttl > 0),
            Self::Amount => row.amount.is_some(),
            Self::Result => row.result.is_some(),
            Self::Latency => row.latency_ns.is_some(),
            Self::About => false,
        }
    }
}

/// What changes in the answers of `trace info` and `advise` without the rows of an operation.
fn without(verb: Verb) -> &'static str {
    match verb {
        Verb::Delete => " (without them, entries stay: more reads can hit)",
        Verb::Touch => " (without them, TTLs end earlier)",
        _ => "",
    }
}

/// Counts what is written and what is left out.
#[derive(Default)]
struct Tally {
    rows: u64,
    last_request: Option<u64>,
    by_field: [u64; Field::ALL.len()],
    as_get: u64,
    hashed: u64,
    left_out: [u64; Verb::ALL.len()],
}

impl Tally {
    fn count(&mut self, row: &Row<'_>, fit: Fit, holds: &[Field]) {
        if fit == Fit::LeftOut {
            self.left_out[row.operation as usize] += 1;
            return;
        }
        self.rows += 1;
        self.as_get += u64::from(fit == Fit::AsGet);
        self.hashed += u64::from(fit == Fit::Hashed);
        if holds.len() < Field::ALL.len() {
            for (field, n_rows) in Field::ALL.iter().zip(&mut self.by_field) {
                *n_rows += u64::from(field.is_in(row, self.last_request));
            }
        }
        self.last_request = Some(row.request);
    }

    fn written(&self, holds: &[Field], about: &About) -> Written {
        let rows = |n: u64| larder_store::count(n, "row");
        let mut left_out = Vec::new();
        for (verb, n_rows) in Verb::ALL.iter().zip(self.left_out).filter(|(_, n_rows)| *n_rows > 0)
        {
            left_out.push(format!("{} with {verb}{}", rows(n_rows), without(*verb)));
        }
        for (field, n_rows) in Field::ALL.iter().zip(self.by_field) {
            if n_rows > 0 && !holds.contains(field) {
                left_out.push(format!("{} of {}{}", field.name(), rows(n_rows), field.without()));
            }
        }
        if about.is_told() && !holds.contains(&Field::About) {
            left_out.push(format!("{} ({about})", Field::About.name()));
        }
        if self.as_get > 0 {
            let were = larder_store::agreeing(self.as_get, "was", "were");
            left_out.push(format!("that {} {were} gat and no get", rows(self.as_get)));
        }
        if self.hashed > 0 {
            left_out.push(format!("the key of {}, which have its hash", rows(self.hashed)));
        }
        Written { rows: self.rows, left_out }
    }
}
