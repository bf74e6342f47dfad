//! `larder compare`: runs a comparison.

mod describe;
mod next;
mod set;

use std::io::{self, IsTerminal};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use clap::Args;
use larder_bench::{
    Named, NewResults, Permissions, Plan, Scenario, SliceSpec, compare, estimate, fit,
    limit_memory, refuse_too_large,
};
use larder_host::cgroup::MemoryLimit;
use larder_report::{ArticleForm, Cell, Format, ReasonKind, Run, render};
use larder_workload::WorkloadSpec;

use self::describe::describe;
use self::next::next_step;
use super::gate::Gate;
use super::report::Charts;
use super::results_folder::{claimed, replaced};
use super::trace::tell_format_of;
use crate::catalog::CATALOG;
use crate::exit::{Exit, one_line};
use crate::interrupt::Interrupts;
use crate::progress::Progress;
use crate::terminal;

/// The scenario that runs when no target and no scenario is named.
const DEFAULT_SCENARIO: &str = "quick";
/// The scenario name of a comparison with typed targets.
const TYPED: &str = "custom";
/// The default folder of results, with a folder for each run.
const RESULTS: &str = "larder-results";

/// Measures several caches on the same verified work, side by side.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "flags are independent of each other")]
pub(crate) struct Arguments {
    /// The caches: `moka:`, `memcached://host:11211` …; `larder engines` lists all
    ///
    /// Options stand behind a question mark: `lmdb:/var/tmp?sync=group`. Without targets, the scenario's own
    targets: Vec<String>,

    /// A built-in scenario, a set of them, or a .toml file [default: quick]
    ///
    /// The default is for a comparison without targets.
    #[arg(long, value_name = "NAME|FILE")]
    scenario: Option<String>,

    /// Repeat the scenario's article as it was published, mistakes included, or corrected [default: corrected]
    #[arg(hide_short_help = true, long = "as", value_name = "FORM", requires = "scenario")]
    form: Option<ArticleForm>,

    /// Run the scenario at its full length, where it has a short form and a long one
    #[arg(hide_short_help = true, long, requires = "scenario")]
    full: bool,

    #[command(flatten)]
    workload: Box<WorkloadSpec>,

    /// The folder for the results [default: larder-results/<time>-<scenario>]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Replace the results in that folder also where they are of another plan
    #[arg(hide_short_help = true, long, requires = "output", help_heading = "Output")]
    overwrite: bool,

    /// Print table, matrix, markdown, html, json, csv
    #[arg(long, value_name = "FORMAT", default_value = "table", help_heading = "Output")]
    format: Format,

    /// Also leave each chart as SVG in this folder
    #[arg(hide_short_help = true, long, value_name = "DIR", help_heading = "Output")]
    export_svg: Option<PathBuf>,

    /// Also leave each chart as PNG in this folder
    #[arg(hide_short_help = true, long, value_name = "DIR", help_heading = "Output")]
    export_png: Option<PathBuf>,

    /// No progress on standard error, only errors and the folder of the results
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,

    /// Run only a part of the rounds, `3/8` for rounds 3, 11, 19 and so on; `larder report --merge` joins the slices
    /// that several machines ran of one plan
    #[arg(hide_short_help = true, long, value_name = "N/M")]
    slice: Option<SliceSpec>,

    /// Print the plan with its time, memory and disk; do not run it
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    gate: Gate,

    /// Go ahead where a plan fills a good part of memory or disk
    ///
    /// Also of an external server.
    #[arg(short, long)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  larder compare
  larder compare moka: lmdb: memcached: -d 100,1k,10k,100k -t 4
  larder compare file:/dev/shm file:/var/tmp --payload page.html
  larder compare --scenario a003 --as published
  larder compare --scenario all-articles
  larder compare moka: memcached: --keys-from trace:builtin:web12 --on-miss fill
  larder compare memcached://cache1:11211 --ratio 1:10 --duration 30s -o result
  larder compare moka: memcached: -r 80 --slice 3/8 -o slice-3
  larder compare memcached: --strict --assert 'p99(get, memcached:) < 1ms'";

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let typed = !arguments.targets.is_empty();
    let name = match &arguments.scenario {
        Some(name) => Some(name.as_str()),
        None if !typed => Some(DEFAULT_SCENARIO),
        None => None,
    };
    match name.map(Named::find).transpose()? {
        Some(Named::Set(set)) => set::run(arguments, &set),
        Some(Named::Scenario(scenario)) => {
            let form = arguments.form.unwrap_or_default();
            one(arguments, scenario.resolve(form, arguments.full)?)
        }
        None => one(arguments, Scenario { name: TYPED.into(), ..Scenario::default() }),
    }
}

/// Limits the memory of a run by its scenario or by the user's flag; also returns the permissions of the run.
fn limited(
    arguments: &Arguments,
    scenario: &mut Scenario,
) -> larder_bench::Result<(Option<MemoryLimit>, Permissions)> {
    let is_typed = arguments.workload.memory.is_some();
    let limit = limit_memory(scenario, is_typed)?;
    let is_of_article =
        scenario.article.is_some() && !is_typed && arguments.targets.is_empty() && limit.is_some();
    Ok((limit, Permissions { yes: arguments.yes, within_limit: is_of_article }))
}

/// Runs one comparison.
fn one(arguments: &Arguments, mut scenario: Scenario) -> anyhow::Result<Exit> {
    let interrupts = Interrupts::listen()?;
    let stop = &*interrupts.stop;
    let typed = !arguments.targets.is_empty();
    if typed {
        scenario.targets.clone_from(&arguments.targets);
    }
    let mut scenario = scenario.with_workload(&arguments.workload);
    // The limit is set before anything is made of the scenario, and ends after everything else.
    let (_limit, permissions) = limited(arguments, &mut scenario)?;
    refuse_too_large(&scenario, typed, &CATALOG, permissions)?;
    let mut plan = Plan::new(&scenario, typed, &CATALOG)?;
    if let Some(slice) = arguments.slice {
        plan = plan.sliced(slice)?;
    }
    // An assertion about no cell is refused before the run, not after it.
    arguments.gate.names_cells(&[&plan.outline()])?;
    if arguments.dry_run {
        let progress = Progress::new(arguments.quiet);
        let plan = fit(plan, &scenario, typed, &CATALOG, permissions, &progress, stop)?;
        let (estimates, few) = estimate(&plan, &CATALOG, permissions, &progress, stop)?;
        drop(progress);
        super::print(describe(&plan, &estimates, few.as_deref()).as_bytes())?;
        return Ok(Exit::Done);
    }
    let folder = folder(arguments, &plan.scenario)?;
    let identity = plan.identity();
    let exports: Vec<&PathBuf> = arguments.export_svg.iter().chain(&arguments.export_png).collect();
    let parent = arguments.output.is_none().then(|| PathBuf::from(RESULTS));
    let new = NewResults { plan: &identity, overwrite: arguments.overwrite };
    let claimed = claimed(&folder, new, arguments.quiet, &interrupts)?;
    if !arguments.quiet {
        tell_format_of(&plan);
    }
    let folders = iter::once(&folder).chain(exports.iter().copied());
    interrupts.made(folders.cloned().chain(parent).collect());
    let prepared = exports.iter().try_for_each(|folder| larder_bench::prepare(folder));
    let progress = Progress::new(arguments.quiet);
    let outcome = prepared
        .and_then(|()| fit(plan, &scenario, typed, &CATALOG, permissions, &progress, stop))
        .and_then(|plan| {
            compare(&plan, &CATALOG, super::masked_argv(), permissions, &progress, stop)
        });
    let told = progress.tells_failures();
    drop(progress);
    let mut outcome = outcome.inspect_err(|_| interrupts.discard())?;
    outcome.run.plan = Some(identity.text);
    interrupts.writing();
    let written = larder_bench::write(&folder, &outcome);
    // The results are shown even where they cannot be kept.
    super::print(render(&outcome.run, arguments.format, terminal::style()).as_bytes())?;
    let missing = written?;
    for missing in &missing {
        anstream::eprintln!("larder: {}", one_line(missing));
    }
    anstream::eprintln!("results: {}{}", folder.display(), replaced(&claimed, arguments.quiet));
    if let Some(folder) = &arguments.export_svg {
        Charts::of_run(&outcome.run).export_svg(folder)?;
    }
    if let Some(folder) = &arguments.export_png {
        Charts::of_run(&outcome.run).export_png(folder)?;
    }
    if !arguments.quiet && io::stderr().is_terminal() {
        anstream::eprintln!("{}", next_step(&outcome.run, &folder));
    }
    let failed = outcome.failed || !missing.is_empty();
    let exit = exit(arguments, failed, &[&outcome.run], stop);
    if exit == Exit::Done {
        Gate::tell_errors(&[&outcome.run]);
    }
    if exit == Exit::Failed && !told {
        for failure in failures(&outcome.run) {
            anstream::eprintln!("larder: {}", one_line(&failure));
        }
    }
    Ok(exit)
}

/// The folder for the results of a scenario or set with this name.
fn folder(arguments: &Arguments, name: &str) -> anyhow::Result<PathBuf> {
    if let Some(folder) = &arguments.output {
        return Ok(folder.clone());
    }
    let now = jiff::Zoned::now().strftime("%Y-%m-%dT%H-%M-%S").to_string();
    let first = Path::new(RESULTS).join(format!("{now}-{name}"));
    // Two runs within one second do not share a folder.
    let other = |n: u32| PathBuf::from(format!("{}-{n}", first.display()));
    std::iter::once(first.clone())
        .chain((2..1000).map(other))
        .find(|folder| !folder.exists())
        .context("no free name for the results")
}

/// The exit code: interruption comes first, then failure, then the conditions on the results.
fn exit(arguments: &Arguments, failed: bool, runs: &[&Run], stop: &AtomicBool) -> Exit {
    let judged = arguments.gate.judge(runs);
    if stop.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else if failed {
        Exit::Failed
    } else {
        judged
    }
}

/// The reasons why targets failed, a line for each.
fn failures(run: &Run) -> impl Iterator<Item = String> {
    run.targets.iter().filter_map(|target| {
        if let Some(reason) = &target.reason {
            return Some(format!("{} cannot run: {reason}", target.name));
        }
        let mut cells = run.cells.iter().filter(|cell| cell.target == target.url).peekable();
        let first = cells.peek().and_then(|cell| cell.reason.as_ref());
        if let Some(reason) = first
            && cells.all(|cell| cell.reason_kind == Some(ReasonKind::Unsupported))
        {
            return Some(format!("{} cannot run: {reason}", target.name));
        }
        let lost =
            |cell: &&Cell| cell.target == target.url && cell.reason_kind == Some(ReasonKind::Lost);
        let reason = run.cells.iter().find(lost)?.reason.as_ref()?;
        Some(format!("{} is {reason}", target.name))
    })
}
