//! The output of a comparison: a folder with `run.json`, `samples.csv`, `usage.csv`, the latencies as HDR logs and the
//! reports.
//!
//! `run.json` comes first, because [`write_reports`] makes all files but the latencies from it at any time. So a disk
//! that fills up costs files that can be made again. Every file is written under a temporary name and renamed, so a
//! reader never meets half of one.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use larder_report::figures::count;
use larder_report::{
    Chart, Format, Index, Run, Style, render, render_index, samples_csv, usage_csv,
};
use tempfile::NamedTempFile;

use crate::compare::{CellHistograms, LATENCIES, Outcome, Times, log_path};
use crate::error::{Error, Result};

/// Files have no colours, and no width of their own.
const PLAIN: Style = Style { colour: false, width: 120 };

/// The data of a run within a folder of results.
pub(crate) const RUN: &str = "run.json";

/// The name of a file, and the function that makes its content from a run.
type Report = (&'static str, fn(&Run) -> String);

/// The files in a folder of results that are made of `run.json`.
const REPORTS: &[Report] = &[
    ("samples.csv", samples_csv),
    ("usage.csv", usage_csv),
    ("report.md", |run| render(run, Format::MARKDOWN, PLAIN)),
    ("report.html", |run| render(run, Format::HTML, PLAIN)),
];

/// The files in the folder of a set; the data last, because a reader that finds the data takes the rest to be there.
const INDEXES: &[(&str, Format)] =
    &[("index.md", Format::MARKDOWN), ("index.html", Format::HTML), (INDEX_DATA, Format::JSON)];

/// The data of a set within its folder.
pub(crate) const INDEX_DATA: &str = "index.json";

/// The names of the files that the folder of a set has.
pub fn index_names() -> impl Iterator<Item = &'static str> {
    INDEXES.iter().map(|(name, _)| *name)
}

/// The files that an advice leaves beside the results of its comparison, or alone where there was nothing to measure: for people, and
/// for programs. The latter begins as a `run.json` does.
pub const ADVICE: [&str; 2] = ["advice.md", "advice.json"];

/// The files that `larder trace info -o` leaves in its folder: the data first, because they tell that the others are Larder's, the
/// page, and the text for a pull request.
pub const TRACE_INFO: [&str; 3] = ["trace-info.json", "trace-info.html", "trace-info.md"];

/// Whether a file of this name belongs to the results of a run or of a set.
pub(crate) fn is_result(name: &str) -> bool {
    name == RUN
        || ADVICE.contains(&name)
        || REPORTS.iter().any(|(report, _)| *report == name)
        || index_names().any(|index| index == name)
}

/// Makes sure that `folder` is there and can be written, before any work is done for it.
pub fn prepare(folder: &Path) -> Result<()> {
    let at = |source| Error::Write { path: folder.into(), source };
    let made = fs::create_dir_all(folder).map_err(|error| {
        if folder.is_file() { io::Error::other("it is a file; name a folder") } else { error }
    });
    made.map_err(at)?;
    NamedTempFile::new_in(folder).map(drop).map_err(at)
}

/// Writes a result into `folder`, which is created where it is missing: `run.json` first, which no other file can
/// replace. Returns the failures after it, a sentence for each.
///
/// # Errors
///
/// Where `run.json` cannot be written; the file of an earlier run is still there then.
pub fn write(folder: &Path, outcome: &Outcome) -> Result<Vec<String>> {
    prepare(folder)?;
    remove_reports(folder);
    let json = render(&outcome.run, Format::JSON, PLAIN);
    let run = staged(&folder.join(RUN), json.as_bytes())?;
    remove_latencies(folder)?;
    run.persist(&folder.join(RUN))?;
    let again = format!("`larder report {}` makes it", folder.display());
    let lost = write_latencies(folder, outcome);
    let reports = failed_reports(folder, &outcome.run);
    let told = reports.into_iter().map(|error| format!("{error}; {again} once there is room"));
    Ok(lost.into_iter().chain(told).collect())
}

/// Removes the earlier result from a folder in which the new one is another kind of file.
pub fn remove_result(folder: &Path) -> Result<()> {
    remove_reports(folder);
    remove_latencies(folder)?;
    let _ = fs::remove_dir(folder.join(LATENCIES));
    let run = folder.join(RUN);
    match fs::remove_file(&run) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Error::Write { path: run, source })
        }
        _ => Ok(()),
    }
}

/// Removes what was made of an earlier run: the new files may need the room, and none of it may stay beside a run whose own
/// cannot be written.
fn remove_reports(folder: &Path) {
    for name in REPORTS.iter().map(|(name, _)| *name).chain(ADVICE) {
        let _ = fs::remove_file(folder.join(name));
    }
}

/// Removes the latencies of an earlier run, which may have had other cells.
fn remove_latencies(folder: &Path) -> Result<()> {
    let latencies = folder.join(LATENCIES);
    if latencies.is_dir() { remove(&latencies, "hlog", |_| true) } else { Ok(()) }
}

/// Writes the latencies of all cells. Returns how many logs could not be written, with the error of the first.
fn write_latencies(folder: &Path, outcome: &Outcome) -> Option<String> {
    let cells = &outcome.histograms;
    let write = |cell: &CellHistograms| {
        let CellHistograms { target, point, operation, times, .. } = cell;
        whole(&log_path(folder, &outcome.run, target, point, *operation, *times), &hdr_log(cell))
    };
    let prepared = prepare(&folder.join(LATENCIES));
    let failed: Vec<Error> = match prepared {
        Ok(()) => cells.iter().filter_map(|cell| write(cell).err()).collect(),
        Err(error) => return Some(without_latencies(&error, cells.len(), cells.len())),
    };
    failed.first().map(|first| without_latencies(first, failed.len(), cells.len()))
}

fn without_latencies(error: &Error, failed: usize, all: usize) -> String {
    format!(
        "{error}; {failed} of {} of latencies are missing, and only another run can make them; run.json has the \
         percentiles",
        count(all, "log")
    )
}

/// Writes the reports of a run into `folder`, over the files that are there.
pub fn write_reports(folder: &Path, run: &Run) -> Result<()> {
    failed_reports(folder, run).into_iter().next().map_or(Ok(()), Err)
}

/// Writes every report that can be written; returns the errors of the others.
fn failed_reports(folder: &Path, run: &Run) -> Vec<Error> {
    let write = |(name, text): &Report| whole(&folder.join(name), text(run).as_bytes());
    REPORTS.iter().filter_map(|report| write(report).err()).collect()
}

/// Writes the index of a set into `folder`, over the index that is there. The runs of the set lie in folders of their
/// own.
pub fn write_index(folder: &Path, index: &Index) -> Result<()> {
    prepare(folder)?;
    for (name, format) in INDEXES {
        let text = render_index(index, *format, PLAIN).expect("a set has each of these formats");
        whole(&folder.join(name), text.as_bytes())?;
    }
    Ok(())
}

/// Writes a file for each of these charts into `folder`, which is created where it is missing: `rate-get.svg`. Earlier files
/// whose names are those of such charts are removed, other files stay.
pub fn write_charts(
    folder: &Path,
    charts: &[Chart],
    is_id: fn(&str) -> bool,
    extension: &str,
    picture: impl Fn(&Chart) -> Vec<u8>,
) -> Result<()> {
    prepare(folder)?;
    remove(folder, extension, is_id)?;
    for chart in charts {
        whole(&folder.join(format!("{}.{extension}", chart.id)), &picture(chart))?;
    }
    Ok(())
}

/// Removes the files of this extension whose names are ours.
fn remove(folder: &Path, extension: &str, is_ours: fn(&str) -> bool) -> Result<()> {
    let at = |source| Error::Write { path: folder.into(), source };
    for entry in fs::read_dir(folder).map_err(at)? {
        let path = entry.map_err(at)?.path();
        let name = path.file_stem().and_then(OsStr::to_str);
        if path.extension().is_some_and(|found| found == extension) && name.is_some_and(is_ours) {
            fs::remove_file(path).map_err(at)?;
        }
    }
    Ok(())
}

/// Writes a file so that it appears whole.
fn whole(path: &Path, content: &[u8]) -> Result<()> {
    staged(path, content)?.persist(path)
}

/// A file that is written whole and has no name yet.
struct Staged(NamedTempFile);

impl Staged {
    fn persist(self, path: &Path) -> Result<()> {
        let at = |source| Error::Write { path: path.into(), source };
        self.0.persist(path).map(drop).map_err(|error| at(error.error))
    }
}

/// Writes the content for the file at a path, under a temporary name beside it.
fn staged(path: &Path, content: &[u8]) -> Result<Staged> {
    let at = |source| Error::Write { path: path.into(), source };
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder).map_err(at)?;
    file.write_all(content).map_err(at)?;
    readable(&file).map_err(at)?;
    Ok(Staged(file))
}

/// A temporary file is private; a result is readable for every user who may enter the folder.
fn readable(file: &NamedTempFile) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))
}

/// The latencies of a cell as an interval log, the format that HdrHistogram's own tools read: an interval a round, in
/// nanoseconds.
fn hdr_log(cell: &CellHistograms) -> Vec<u8> {
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let times = match cell.times {
        Times::Latency => "latency",
        Times::Service => "service time",
        Times::Lag => "lag of the schedule",
        Times::Connect => "time until a connection was there",
        Times::FirstAnswer => "time until the first answer to a connection",
    };
    let comment = format!("{} {} {times} in ns, one interval a round", cell.target, cell.operation);
    let mut builder = IntervalLogWriterBuilder::new();
    let writer = builder
        .add_comment(&comment)
        .with_start_time(SystemTime::UNIX_EPOCH)
        .with_base_time(SystemTime::UNIX_EPOCH)
        .with_max_value_divisor(1e6)
        .begin_log_with(&mut log, &mut serializer);
    if let Ok(mut writer) = writer {
        for (start, length, histogram) in &cell.rounds {
            let start = Duration::from_secs_f64(*start);
            let length = Duration::from_secs_f64(*length);
            writer
                .write_histogram(&histogram.unpack(), start, length, None)
                .expect("a histogram of ours fits the format, and memory takes every write");
        }
    }
    log
}
