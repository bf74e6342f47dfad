//! `larder report`: shows the results of a comparison again.

mod merged;
mod set;

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{fs, iter};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use larder_bench::is_of_one_plan;
use larder_report::{
    Chart, Error, Format, Ground, Run, TraceInfo, charts, info_charts, is_chart_id,
    is_info_chart_id, png, render, svg,
};
use larder_store::count;

use self::merged::merged;
use self::set::SetResults;
use super::gate::Gate;
use crate::exit::{Exit, Usage};
use crate::terminal;

/// The file in a folder of results from which all other files are made.
const RUN: &str = "run.json";

/// Formats in which a file holds a single run: programs cannot read two in a row.
const SINGLE: [Format; 3] = [Format::HTML, Format::JSON, Format::CSV];

/// The results, and the reports to make of them.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The folders of results, of one scenario or of a set of them, or their run.json
    #[arg(required = true, value_name = "DIR")]
    results: Vec<PathBuf>,

    /// Print the results instead of writing files: table, matrix, markdown, html, json, csv
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// Put slices of one plan together, and leave the whole run in this folder, as a comparison leaves its results
    ///
    /// `larder compare --slice 1/8` and its like have left the slices. With --format, slices of one plan are printed as
    /// the whole run in any case.
    #[arg(long, value_name = "DIR", conflicts_with = "index")]
    merge: Option<PathBuf>,

    /// Replace the results in the folder of --merge also where they are of another plan
    #[arg(long, requires = "merge")]
    overwrite: bool,

    /// Leave an index of all results in this folder: index.html, index.md, index.json
    #[arg(long, value_name = "DIR")]
    index: Option<PathBuf>,

    /// Leave each chart as SVG in this folder; of several runs, each in a folder of its own
    #[arg(long, value_name = "DIR")]
    export_svg: Option<PathBuf>,

    /// Leave each chart as PNG in this folder; of several runs, each in a folder of its own
    #[arg(long, value_name = "DIR")]
    export_png: Option<PathBuf>,

    #[command(flatten)]
    gate: Gate,
}

const EXAMPLES: &str = "\
Examples:
  larder report larder-results/2026-11-21T20-41-07-quick
  larder report result --format matrix
  larder report result --strict --assert 'rate(get, moka:) > 500k'
  larder report before after --export-svg charts
  larder report slice-1 slice-2 slice-3 --merge whole
  larder report larder-results/* --index larder-results";

/// A run and the folder that it was read from.
pub(super) struct Results {
    folder: PathBuf,
    pub(super) run: Run,
}

/// The kind of results at a path.
enum Found {
    Run(Box<Results>),
    Set(SetResults),
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let is_ours = |path: &&PathBuf| {
        arguments.index.as_ref().is_some_and(|folder| set::is_of_index(folder, path))
    };
    let paths: Vec<&PathBuf> = arguments.results.iter().filter(|path| !is_ours(path)).collect();
    if paths.is_empty() {
        let index = &arguments.results[0].display();
        bail!(Usage(format!(
            "{index}: an index and no run; name a folder that `larder compare` made"
        )));
    }
    if let Some(folder) = &arguments.index {
        larder_bench::check_index(folder)?;
    }
    // All results are read before any file is written, so that a wrong name among them changes nothing.
    let mut found: Vec<Found> =
        paths.iter().map(|path| find(path)).collect::<anyhow::Result<_>>()?;
    let sliced = is_of_one_plan(&runs_of(&found)) && arguments.index.is_none();
    let merges = arguments.merge.is_some() || sliced && arguments.format.is_some();
    if !merges && found.len() > 1 {
        refuse_single(arguments, found.len())?;
    }
    if merges {
        found = vec![merged(found, arguments.merge.as_deref(), arguments.overwrite)?];
    }
    arguments.gate.names_cells(&runs_of(&found))?;
    for found in &found {
        match (found, arguments.format) {
            (Found::Run(results), Some(format)) => {
                super::print(render(&results.run, format, terminal::style()).as_bytes())?;
            }
            // The merged run has just been written.
            (Found::Run(_), None) if merges => {}
            (Found::Run(results), None) => write(results)?,
            (Found::Set(set), Some(format)) => set.print(format)?,
            (Found::Set(set), None) => set.write()?,
        }
    }
    if sliced && !merges {
        anstream::eprintln!("these are slices of one plan: --merge DIR puts them together");
    }
    if let Some(folder) = &arguments.index {
        set::index(folder, &found)?;
    }
    let results: Vec<Results> = found.into_iter().flat_map(Found::into_runs).collect();
    for (Results { run, .. }, name) in results.iter().zip(names(&results)) {
        let of_run = |folder: &PathBuf| match &name {
            Some(name) => folder.join(name),
            None => folder.clone(),
        };
        if let Some(folder) = &arguments.export_svg {
            Charts::of_run(run).export_svg(&of_run(folder))?;
        }
        if let Some(folder) = &arguments.export_png {
            Charts::of_run(run).export_png(&of_run(folder))?;
        }
    }
    let runs: Vec<&Run> = results.iter().map(|results| &results.run).collect();
    Ok(arguments.gate.judge(&runs))
}

/// The runs of all these results.
fn runs_of(found: &[Found]) -> Vec<&Run> {
    found.iter().flat_map(Found::runs).collect()
}

/// Refuses to print several runs in a format that holds a single run.
fn refuse_single(arguments: &Arguments, runs: usize) -> anyhow::Result<()> {
    match arguments.format.filter(|format| SINGLE.contains(format)) {
        Some(format) => {
            bail!(Usage(format!(
                "--format {format} takes one run, not {runs}; print each run by itself"
            )))
        }
        None => Ok(()),
    }
}

impl Found {
    fn runs(&self) -> Vec<&Run> {
        match self {
            Self::Run(results) => vec![&results.run],
            Self::Set(set) => set.runs(),
        }
    }

    fn into_runs(self) -> Vec<Results> {
        match self {
            Self::Run(results) => vec![*results],
            Self::Set(set) => set.into_runs(),
        }
    }
}

/// Reads the results at a path: a set where there is an index and no run.
fn find(path: &Path) -> anyhow::Result<Found> {
    if path.join(set::INDEX).exists() && !path.join(RUN).exists() {
        return Ok(Found::Set(SetResults::read(path)?));
    }
    Ok(Found::Run(Box::new(read(path)?)))
}

/// Writes the reports of a run beside it.
fn write(Results { folder, run }: &Results) -> anyhow::Result<()> {
    larder_bench::write_reports(folder, run)?;
    anstream::eprintln!("reports: {}", folder.display());
    Ok(())
}

/// All charts of a run or of a trace, to be written as files.
pub(super) struct Charts {
    all: Vec<Chart>,
    /// Whether an earlier export of the kind can have left a file of this name.
    is_id: fn(&str) -> bool,
}

impl Charts {
    /// The charts of a run.
    pub(super) fn of_run(run: &Run) -> Self {
        Self { all: charts(run), is_id: is_chart_id }
    }

    /// The charts of what a trace tells.
    pub(super) fn of_trace(info: &TraceInfo) -> Self {
        Self { all: info_charts(info), is_id: is_info_chart_id }
    }

    /// Writes each as SVG into a folder.
    pub(super) fn export_svg(&self, folder: &Path) -> anyhow::Result<()> {
        self.export(folder, "svg", |chart| svg(chart, Ground::White).into_bytes())
    }

    /// Writes each as PNG into a folder.
    pub(super) fn export_png(&self, folder: &Path) -> anyhow::Result<()> {
        self.export(folder, "png", png)
    }

    fn export(
        &self,
        folder: &Path,
        extension: &str,
        picture: impl Fn(&Chart) -> Vec<u8>,
    ) -> anyhow::Result<()> {
        larder_bench::write_charts(folder, &self.all, self.is_id, extension, picture)?;
        anstream::eprintln!("charts: {} ({})", folder.display(), count(self.all.len(), "file"));
        Ok(())
    }
}

/// Reads the run in a folder of results, or in the file itself.
pub(super) fn read(path: &Path) -> anyhow::Result<Results> {
    let is_folder = path.is_dir();
    let file = if is_folder { path.join(RUN) } else { path.to_owned() };
    let shown = path.display();
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let missing = if is_folder { "no run.json in" } else { "nothing at" };
            bail!(Usage(format!("{missing} {shown}; name a folder that `larder compare` made")));
        }
        Err(error) => return Err(error).context(format!("reading {}", file.display())),
    };
    let run = Run::from_json(&text).map_err(|error| match error {
        // Another path may have been meant; for a run of another version no other path helps.
        Error::NotARun { .. } => anyhow!(Usage(format!("{}: {error}", file.display()))),
        error => anyhow!(error).context(file.display().to_string()),
    })?;
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    Ok(Results { folder: folder.unwrap_or(Path::new(".")).to_owned(), run })
}

/// The names of several runs' folders, to tell them apart; a single run needs no name.
fn names(results: &[Results]) -> Vec<Option<String>> {
    let mut taken: Vec<String> = Vec::new();
    for Results { folder, .. } in results {
        let whole = folder.canonicalize();
        let name = whole.as_deref().unwrap_or(folder).file_name();
        let name = name.map_or_else(|| "run".into(), OsStr::to_string_lossy);
        let others = (2..).map(|number| format!("{name}-{number}"));
        let mut free = iter::once(name.to_string()).chain(others);
        taken.extend(free.find(|name| !taken.contains(name)));
    }
    let several = results.len() > 1;
    taken.into_iter().map(|name| several.then_some(name)).collect()
}
