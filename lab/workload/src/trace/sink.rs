//! Where the rows of a trace go, one after the other. Nothing but the sink decides what is kept of them.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use larder_store::count;

use super::builtin;
use super::clock::Unit;
use super::error::{TraceError, TraceFault};
use super::format::TraceFormat;
use super::heading::ColumnNames;
use super::input::Input;
use super::parts;
use super::recognised::Recognised;
use super::row::Row;
use super::source::TraceSource;
use super::time_unit::{Judgement, Judgements};

/// What takes rows: a trace in memory, a writer of a format, an analysis.
///
/// A sink that fails keeps its error, and ends the reading.
pub trait Sink {
    /// Takes the next row. `Break` ends the reading early, which is no error of the trace.
    fn push(&mut self, row: &Row<'_>) -> ControlFlow<()>;

    /// Hears in which format the next file of the trace is read, before the first row of it.
    fn begin(&mut self, file: &Recognised) {
        let _ = file;
    }

    /// Hears that one entry of the trace stands for this many rows, before the first of them.
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
    /// What the reader took for granted, each in a sentence with its reason: `times are seconds, because …`.
    pub notes: Vec<String>,
}

impl About {
    /// Whether the trace itself tells anything. The notes are the reader's own.
    pub(super) fn is_told(&self) -> bool {
        Self { notes: Vec::new(), ..self.clone() } != Self::default()
    }

    /// What two files of one trace tell, of which the other comes before.
    fn after(self, mut before: Self) -> Self {
        let notes = self.notes.into_iter().filter(|note| !before.notes.contains(note));
        let notes: Vec<_> = notes.collect();
        before.notes.extend(notes);
        Self {
            sample: before.sample.or(self.sample),
            others: before.others.plus(self.others),
            upstream: before.upstream.or(self.upstream),
            dropped_rows: before.dropped_rows + self.dropped_rows,
            torn_bytes: before.torn_bytes + self.torn_bytes,
            notes: before.notes,
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
            told.push(format!("{} not recorded", count(self.dropped_rows, "operation")));
        }
        if self.torn_bytes > 0 {
            told.push(format!("{} of a torn record left out", count(self.torn_bytes, "byte")));
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
    let mut judgements = Judgements::default();
    let mut n_requests = 0;
    let mut files = source.files()?;
    let reordered = parts::put_in_order(&mut files, |path| first_time(path, source));
    for path in files {
        let mut rows = Rows::of(source, sink, n_requests);
        rows.counted_before = judgements.counted();
        let end = read_file(&path, source.format, &mut rows)
            .map_err(|fault| TraceError { path: path.clone(), fault })?;
        n_requests = rows.next_request;
        rows.judgement.take().into_iter().for_each(|judgement| judgements.add(judgement));
        about = Some(match about {
            Some(before) => rows.about.after(before),
            None => rows.about,
        });
        if end == End::Early {
            break;
        }
    }
    let mut about = about.unwrap_or_default();
    about.notes.extend(judgements.sentences());
    about.notes.extend(reordered);
    Ok(about)
}

/// The time of the first row of a file. What cannot be read is told by the reading that follows.
fn first_time(path: &Path, source: &TraceSource) -> Option<u64> {
    // A pipe gives its bytes once.
    path.metadata().ok().filter(Metadata::is_file)?;
    let mut found = None;
    let mut sink = |row: &Row<'_>| {
        found = row.time_us;
        ControlFlow::Break(())
    };
    read_file(path, source.format, &mut Rows::of(source, &mut sink, 0)).ok()?;
    found
}

/// Reads a file, or a trace that is built in.
fn read_file(
    path: &Path,
    format: Option<TraceFormat>,
    rows: &mut Rows<'_>,
) -> Result<End, TraceFault> {
    if let Some(built_in) = builtin::of_path(path) {
        let format = format.map_or_else(|| built_in.recognised(), |format| Ok(as_asked(format)))?;
        let input = Input::of(built_in.bytes, None).map_err(TraceFault::Read)?;
        return read_as(format, input, rows);
    }
    let file = File::open(path).map_err(TraceFault::Read)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let whole = file.try_clone().ok();
    read_input(&name, file, whole, format, rows)
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
    let mut judgements = Judgements::default();
    rows.judgement.take().into_iter().for_each(|judgement| judgements.add(judgement));
    let mut about = rows.about;
    about.notes.extend(judgements.sentences());
    Ok(about)
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
    let file = if let Some(format) = format {
        as_asked(format)
    } else {
        let (format, reason) = TraceFormat::detect(name, &input.head, &rows.names)?;
        Recognised { format, reason, columns: None }
    };
    read_as(file, input, rows)
}

fn as_asked(format: TraceFormat) -> Recognised {
    Recognised { format, reason: "as asked", columns: None }
}

fn read_as(file: Recognised, input: Input<'_>, rows: &mut Rows<'_>) -> Result<End, TraceFault> {
    let format = file.format;
    if let Some(unit) = rows.unit.filter(|_| !format.has_bare_times()) {
        let reason = format!(
            "?time={} tells the unit of bare times in parquet, csv and twitter, and the trace is {format}",
            unit.symbol()
        );
        return Err(TraceFault::Structure { reason });
    }
    if !rows.names.is_empty() && !format.has_columns() {
        let reason =
            format!("?columns= names columns of csv and parquet, and the trace is {format}");
        return Err(TraceFault::Structure { reason });
    }
    rows.file = Some(file);
    let end = format.read(input, rows);
    rows.begin();
    match end {
        Ok(()) => Ok(End::OfTrace),
        Err(Stop::Enough) => Ok(End::Early),
        Err(Stop::Fault(fault)) => Err(fault),
    }
}

/// The most operations that one row of a trace may stand for. A sink takes them within seconds.
pub(super) const MOST_ROWS: u32 = 1 << 24;

/// The rows on their way from the reader of a format to a sink.
pub(super) struct Rows<'a> {
    sink: &'a mut dyn Sink,
    /// The number of the first request of this file. The files of a trace may each count their requests from 0.
    first_request: u64,
    next_request: u64,
    /// What the file is read as, until the sink has heard it.
    file: Option<Recognised>,
    /// The columns that the user has named.
    pub(super) names: ColumnNames,
    /// The unit of bare times that the user has named.
    pub(super) unit: Option<Unit>,
    /// The unit of bare times in the files before, where they count from 0 on.
    pub(super) counted_before: Option<Unit>,
    /// How bare times were judged.
    judgement: Option<Judgement>,
    /// What the reader finds beside the rows.
    pub(super) about: About,
}

impl<'a> Rows<'a> {
    fn new(sink: &'a mut dyn Sink, first_request: u64) -> Self {
        Self {
            sink,
            first_request,
            next_request: first_request,
            file: None,
            names: ColumnNames::default(),
            unit: None,
            counted_before: None,
            judgement: None,
            about: About::default(),
        }
    }

    /// The rows of a file of this trace.
    fn of(source: &TraceSource, sink: &'a mut dyn Sink, first_request: u64) -> Self {
        let (names, unit) = (source.columns.clone(), source.time);
        Self { names, unit, ..Self::new(sink, first_request) }
    }

    /// Tells which columns are read. A reader of a format with columns does so before its first row.
    pub(super) fn tell_columns(&mut self, columns: String) {
        if let Some(file) = &mut self.file {
            file.columns = Some(columns);
        }
    }

    /// Tells the sink what the file is read as, once.
    fn begin(&mut self) {
        if let Some(file) = self.file.take() {
            self.sink.begin(&file);
        }
    }

    /// Gives the sink a row, whose request has its number in this file.
    pub(super) fn push(&mut self, row: &Row<'_>) -> Result<(), Stop> {
        self.begin();
        let request = row.request.wrapping_add(self.first_request);
        self.next_request = self.next_request.max(request.saturating_add(1));
        go_on(self.sink.push(&Row { request, ..*row }))
    }

    /// Gives the sink a row as a request of its own. For formats that do not tell requests.
    pub(super) fn push_request(&mut self, row: &Row<'_>) -> Result<(), Stop> {
        self.begin();
        let request = self.next_request;
        self.next_request += 1;
        go_on(self.sink.push(&Row { request, ..*row }))
    }

    /// Gives the sink a row `times` times: with its request where requests are told, or each time as one of its own. What
    /// stands for more than [`MOST_ROWS`] is refused at its place, unless the sink has enough before: a damaged number would
    /// cost hours.
    pub(super) fn repeat(
        &mut self,
        row: &Row<'_>,
        times: u32,
        has_request: bool,
        at_place: impl FnOnce(String) -> Stop,
    ) -> Result<(), Stop> {
        self.announce(times.into())?;
        for _ in 0..times.min(MOST_ROWS) {
            if has_request {
                self.push(row)?;
            } else {
                self.push_request(row)?;
            }
        }
        if times > MOST_ROWS {
            let reason = format!(
                "op_count {times} is more operations than the {MOST_ROWS} that one row may stand for; split the row, or \
                 read its beginning by --requests"
            );
            return Err(at_place(reason));
        }
        Ok(())
    }

    /// Keeps how bare times were judged, where they were.
    pub(super) fn judged(&mut self, judgement: Option<Judgement>) {
        self.judgement = judgement.or(self.judgement.take());
    }

    /// Tells the sink that this many rows follow at once.
    pub(super) fn announce(&mut self, n_rows: u64) -> Result<(), Stop> {
        self.begin();
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
