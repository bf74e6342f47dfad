//! `larder trace info`: what a trace tells, in one pass and in bounded memory.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::bail;
use clap::Args;
use larder_bench::{Claimed, TRACE_INFO};
use larder_insight::{Capacities, Insight, Settings};
use larder_report::{Format, Style, TraceFile, TraceInfo, info_formats, is_info_page, render_info};
use larder_store::ByteSize;
use larder_workload::Count;
use larder_workload::trace::{TraceSource, read_rows};

use super::super::report::Charts;
use super::super::results_folder::tell_replaced;
use super::super::{atomic_file, page, print, refuse_other_formats};
use super::{Beginning, refuse_trace};
use crate::exit::{Exit, Usage};
use crate::terminal;

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Info {
    /// The trace, compressed or not; `FILE?format=NAME` where its format cannot be recognised;
    /// `FILE?columns=key:NAME,size:NAME` where its columns have other names; `FILE?time=us` where its times have another unit
    /// than the one that is told; `NAME-*.parquet` for several files in the order of their names, or of their dates;
    /// `builtin:web12` for one that is built in
    file: TraceSource,

    /// The format to print: table, markdown, html, json [default: table, or nothing where files are written]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// Write trace-info.html, .json and .md into this folder, which is made where it is missing
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Replace the results in that folder also where they are of another trace
    #[arg(long, requires = "output")]
    overwrite: bool,

    /// Write the page to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Leave each chart as SVG in this folder
    #[arg(long, value_name = "DIR")]
    export_svg: Option<PathBuf>,

    /// Leave each chart as PNG in this folder
    #[arg(long, value_name = "DIR")]
    export_png: Option<PathBuf>,

    /// The capacities to tell: sizes, shares of all, or entries (64m,10%,20k-entries) [default: a series up to all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    capacity: Vec<AskedCapacity>,

    /// The share of the keys that is followed over all of the time at most: 1%. Small caches are followed with more keys
    /// for a part of the time. A trace of few operations is always followed exactly, and one of few keys with all of them.
    #[arg(long, value_name = "PERCENT")]
    sample: Option<SampleShare>,

    /// The operations that each level of the sample keeps at most. Up to this many, a trace is followed exactly. A million
    /// take 16 MB for each level
    #[arg(long, value_name = "N", default_value = "4m")]
    keep: Count,

    /// Read only the first N operations
    #[arg(long, value_name = "N")]
    requests: Option<Count>,

    /// Simulations at the same time [default: as many as there are processors]
    #[arg(short, long, value_name = "N")]
    threads: Option<usize>,
}

const EXAMPLES: &str = "\
Examples:
  larder trace info builtin:web12
  larder trace info web.parquet
  larder trace info web.parquet --html web.html
  larder trace info web.parquet --export-svg charts
  larder trace info 'web-*.parquet' --capacity 64m,256m,1g --format markdown
  larder trace info cluster52.zst?format=twitter -o cluster52";

/// A capacity as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
struct AskedCapacity(Capacities);

impl FromStr for AskedCapacity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a capacity above 0; write 64m, 10% or 20k-entries");
        let capacity = if let Some(percent) = text.strip_suffix('%') {
            let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
            let is_share = percent > 0.0 && percent <= 1e6;
            is_share.then_some(Capacities::Share(percent / 100.0))
        } else if let Some(entries) = text.strip_suffix("-entries") {
            let Count(entries) = entries.parse().map_err(|_| wrong())?;
            (entries > 0).then_some(Capacities::Entries(entries.into()))
        } else {
            let ByteSize(bytes) = text.parse().map_err(|_| wrong())?;
            (bytes > 0).then_some(Capacities::Bytes(bytes))
        };
        capacity.map(Self).ok_or_else(wrong)
    }
}

/// A share of the keys.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SampleShare(f64);

impl FromStr for SampleShare {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a share above 0 and up to 100%; write 1%");
        let percent = text.strip_suffix('%').and_then(|text| text.trim().parse::<f64>().ok());
        let percent = percent.filter(|percent| *percent > 0.0 && *percent <= 100.0);
        percent.map(|percent| Self(percent / 100.0)).ok_or_else(wrong)
    }
}

pub(super) fn run(arguments: &Info) -> anyhow::Result<Exit> {
    let files = [&arguments.output, &arguments.html, &arguments.export_svg, &arguments.export_png];
    let writes = files.iter().any(|file| file.is_some());
    let printed = arguments.format.or_else(|| (!writes).then_some(Format::TABLE));
    if let Some(format) = printed {
        refuse_other_formats(format, info_formats(), "what a trace tells has")?;
    }
    // Before the trace is read, which may take minutes.
    let content = arguments.file.content();
    let places = Places::check(arguments, content.clone())?;
    let mut info = analysed(arguments).inspect_err(|_| places.discard())?;
    info.trace.content = content;
    let style = terminal::style();
    let text = |format: Format| {
        render_info(&info, format, style)
            .expect("other formats are refused, and a trace has a page")
    };
    if let Some(folder) = &arguments.output {
        write_all(folder, &info)?;
    }
    if let Some(path) = &arguments.html {
        page::write(path, &text(Format::HTML))?;
    }
    if let Some(folder) = &arguments.export_svg {
        Charts::of_trace(&info).export_svg(folder)?;
    }
    if let Some(folder) = &arguments.export_png {
        Charts::of_trace(&info).export_png(folder)?;
    }
    if let Some(format) = printed {
        print(text(format).as_bytes())?;
    }
    Ok(Exit::Done)
}

/// The folders that are written, and the claim on that of `-o`.
struct Places<'a> {
    /// The folders that were made for the results.
    made: Vec<&'a Path>,
    /// Its lock is held until the files are written.
    _claimed: Option<Claimed>,
}

impl<'a> Places<'a> {
    /// Refuses places that hold the trace, or files of other origin, and makes the folders that are missing.
    fn check(arguments: &'a Info, content: Option<String>) -> anyhow::Result<Self> {
        let Info { file, output, html, export_svg, export_png, .. } = arguments;
        if let Some(path) = html {
            refuse_trace(file, path, &format!("--html {}:", path.display()))?;
            page::refuse_other_file(path, "trace info", is_info_page)?;
        }
        for name in output.iter().flat_map(|folder| TRACE_INFO.map(|name| folder.join(name))) {
            refuse_trace(file, &name, &format!("-o {}:", name.display()))?;
        }
        let folders = [output, export_svg, export_png].into_iter().flatten();
        let made = folders.clone().filter(|folder| !folder.exists()).map(PathBuf::as_path);
        let made: Vec<&Path> = made.collect();
        let claimed = claim(arguments, content).inspect_err(|_| discard(&made))?;
        Ok(Self { made, _claimed: claimed })
    }

    /// Removes the folders that were made, because nothing comes into them.
    fn discard(&self) {
        discard(&self.made);
    }
}

fn discard(folders: &[&Path]) {
    for folder in folders {
        let _ = std::fs::remove_dir(folder);
    }
}

/// Makes the folders, and claims that of `-o` for what a trace with this content tells.
fn claim(arguments: &Info, content: Option<String>) -> anyhow::Result<Option<Claimed>> {
    let Info { file, output, export_svg, export_png, overwrite, .. } = arguments;
    for folder in export_svg.iter().chain(export_png) {
        larder_bench::prepare(folder)?;
    }
    let Some(folder) = output else { return Ok(None) };
    let trace = TraceFile { path: file.to_string(), content, ..TraceFile::default() };
    let claimed = larder_bench::claim_info(folder, &trace, *overwrite)?;
    tell_replaced(folder, &claimed);
    Ok(Some(claimed))
}

/// Reads the trace once.
fn analysed(arguments: &Info) -> anyhow::Result<TraceInfo> {
    let mut rows = Beginning::new(Insight::new(settings(arguments)?), arguments.requests);
    let about = read_rows(&arguments.file, &mut rows)?;
    if rows.sink.rows() == 0 {
        bail!(Usage(format!("trace {}: has no operation", arguments.file)));
    }
    let is_beginning = rows.is_reached();
    let mut info = rows.sink.finish(&arguments.file.to_string(), &about, is_beginning);
    info.trace.format = Some(rows.formats.to_string());
    Ok(info)
}

fn settings(arguments: &Info) -> anyhow::Result<Settings> {
    let keep = u64::from(arguments.keep.0);
    let least = Settings::LEAST_USES as u64;
    if !(least..=Settings::MOST_USES as u64 * 64).contains(&keep) {
        let most = Settings::MOST_USES * 64;
        bail!(Usage(format!("--keep {keep} is not between {least} and {most}")));
    }
    if arguments.threads == Some(0) {
        bail!(Usage("--threads 0 is not 1 or more".to_owned()));
    }
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Settings {
        most_uses: usize::try_from(keep).unwrap_or(usize::MAX),
        keys: arguments.sample.map_or(1.0, |SampleShare(share)| share),
        capacities: arguments.capacity.iter().map(|AskedCapacity(capacity)| *capacity).collect(),
        threads: arguments.threads.unwrap_or_else(processors),
        ..Settings::default()
    })
}

/// Writes the page, the data and the text for a pull request.
fn write_all(folder: &Path, info: &TraceInfo) -> anyhow::Result<()> {
    let style = Style { colour: false, width: 100 };
    for (name, format) in TRACE_INFO.iter().zip([Format::JSON, Format::HTML, Format::MARKDOWN]) {
        let text = render_info(info, format, style).unwrap_or_default();
        atomic_file::write(&folder.join(name), |out| Ok(out.write_all(text.as_bytes())?))?;
    }
    anstream::eprintln!("larder: {} has what the trace tells", folder.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_are_sizes_shares_or_entries() {
        let parsed = |text: &str| text.parse::<AskedCapacity>().map(|AskedCapacity(it)| it);
        assert_eq!(parsed("64m"), Ok(Capacities::Bytes(64 << 20)));
        assert_eq!(parsed("10%"), Ok(Capacities::Share(0.1)));
        assert_eq!(parsed("20k-entries"), Ok(Capacities::Entries(20_000)));
        for text in ["0", "0%", "-1%", "much", "0-entries", "x-entries", ""] {
            let error = parsed(text).unwrap_err();
            assert!(error.ends_with("write 64m, 10% or 20k-entries"), "{error}");
        }
    }

    #[test]
    fn a_sample_is_a_share() {
        assert_eq!("1%".parse(), Ok(SampleShare(0.01)));
        for text in ["0%", "101%", "1", "one%"] {
            assert!(text.parse::<SampleShare>().is_err(), "{text}");
        }
    }
}
