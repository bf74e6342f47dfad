//! `larder advise`: which cache to take for a trace, and how large.
//!
//! Simulated caches pick the few sizes that are worth a measurement ([`model`], [`sizes`]). A first look replays the trace on
//! every candidate at these sizes, in one round. Candidates that may win are then compared for longer, and
//! [`larder_analysis::advice`] chooses among the figures of both.

mod floors;
mod measure;
mod model;
mod results;
mod sizes;

use std::path::PathBuf;
use std::slice;
use std::str::FromStr;

use clap::Args;
use larder_analysis::advice::{Wishes, advise, advise_after_look, advise_unmeasured};
use larder_bench::{NewResults, PlanIdentity, plan_targets};
use larder_store::{ByteSize, Span};
use larder_workload::trace::TraceSource;
use larder_workload::{Count, SizeSpec};

use self::measure::{Measured, measure};
use self::results::{AdviceFile, remove_earlier, write_and_print};
use super::results_folder::{claimed, replaced};
use crate::catalog::CATALOG;
use crate::exit::{Exit, Usage};
use crate::interrupt::Interrupts;

/// The candidates of a user who names none: those of them that can run here.
const CANDIDATES: [&str; 5] = ["memory:", "moka:", "quick_cache:", "memcached:", "redis:"];

/// Says which cache to take for a trace, how large, and what would change the answer.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The trace: a recording, or any other that `larder trace` reads; `builtin:web12` for one that is built in
    trace: TraceSource,

    /// The candidates [default: `memory: moka: quick_cache: memcached: redis:`, those that can run here]
    targets: Vec<String>,

    /// The most memory that the cache is given: 512m, 4g [default: what all keys and values take]
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,

    /// The longest time that 99 % of the hits may take: 1ms
    #[arg(long, value_name = "TIME")]
    p99: Option<Span>,

    /// The least share of the reads that must hit: 95%
    #[arg(long, value_name = "PERCENT")]
    min_hit_ratio: Option<Percent>,

    /// The time that a miss costs beyond the cache, such as a query's: 8ms
    #[arg(long, value_name = "TIME")]
    cost_of_miss: Option<Span>,

    /// Size of values, for a trace that records none: 4k, uniform:1k-64k [default: 1k]
    #[arg(short, long, value_name = "SIZE")]
    data_size: Option<SizeSpec>,

    /// Replay only the first N operations of the trace
    #[arg(long, value_name = "N")]
    requests: Option<Count>,

    /// Rounds of the candidates that may win; six or more give intervals [default: 6]
    #[arg(short, long, value_name = "N")]
    rounds: Option<Count>,

    /// The folder for the advice and the results of the comparison
    #[arg(short, long, value_name = "DIR", default_value = "larder-advice")]
    output: PathBuf,

    /// Replace the results in that folder also where they are of another trace
    #[arg(long)]
    overwrite: bool,

    /// The format to print: text, json
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"], default_value = "text")]
    format: String,

    /// No progress on standard error, only errors
    #[arg(short, long)]
    quiet: bool,

    /// Go ahead where a plan would fill a good part of memory, disk, or an external server
    #[arg(short, long)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  larder advise builtin:web12 -d 8k
  larder advise web.parquet --cost-of-miss 8ms
  larder advise web.parquet memory: java+caffeine: memcached: --memory 4g --p99 1ms
  larder advise web12.trace.xz --min-hit-ratio 70% -d 8k -o advice";

/// A share as typed, in percent.
#[derive(Debug, Clone, Copy)]
struct Percent(f64);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
        let share = number.filter(|percent| (0.0..=100.0).contains(percent));
        share.map(Self).ok_or_else(|| format!("`{text}` is not 0% to 100%; write 95%"))
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let interrupts = Interrupts::listen()?;
    let wishes = wishes(arguments)?;
    // Before the trace is read, which may take minutes.
    let targets = targets(arguments)?;
    let plan = format!("advise {}", whole_path(&arguments.trace));
    let plan = PlanIdentity::on_traces(plan, slice::from_ref(&arguments.trace));
    let new = NewResults { plan: &plan, overwrite: arguments.overwrite };
    let claimed = claimed(&arguments.output, new, arguments.quiet, &interrupts)?;
    interrupts.made(vec![arguments.output.clone()]);
    let discards = |_: &_| interrupts.discard();
    let model = model::of(arguments).inspect_err(discards)?;
    let (output, replaced) = (&arguments.output, replaced(&claimed, arguments.quiet));
    let file = |advice| AdviceFile::new(&plan.text, advice);
    if let Some(advice) = advise_unmeasured(wishes, &model) {
        interrupts.writing();
        remove_earlier(output)?;
        write_and_print(&file(advice), output, &arguments.format)?;
        let (trace, file) = (&arguments.trace, output.join("advice.md"));
        anstream::eprintln!(
            "the advice, for which nothing was measured: {}{replaced}",
            file.display()
        );
        anstream::eprintln!("`larder trace info {trace}` tells more of the trace");
        return Ok(Exit::Failed);
    }
    let measured =
        measure(arguments, &targets, &model, &wishes.of_sample(model.sample), &interrupts);
    let Measured { mut results, is_interrupted } = measured.inspect_err(discards)?;
    results.set_plan(&plan.text);
    if is_interrupted {
        results.write(output)?;
        return Ok(Exit::Interrupted);
    }
    let advice = match &results.comparison {
        Some(comparison) => advise_after_look(&results.look.run, &comparison.run, wishes, &model),
        None => advise(&results.look.run, wishes, &model),
    };
    let exit = if advice.choice.is_some() { Exit::Done } else { Exit::Failed };
    results.set_advice(&advice, &arguments.trace);
    results.write(output)?;
    write_and_print(&file(advice), output, &arguments.format)?;
    results.name_pages(output, &replaced);
    Ok(exit)
}

/// The URLs of the candidates; a mistyped one is refused.
fn targets(arguments: &Arguments) -> anyhow::Result<Vec<String>> {
    if arguments.targets.is_empty() {
        return Ok(CANDIDATES.map(str::to_owned).into());
    }
    plan_targets(&arguments.targets, true, &CATALOG)?;
    Ok(arguments.targets.clone())
}

/// A trace by its whole path: the same short one is another file in another folder.
fn whole_path(trace: &TraceSource) -> String {
    let mut whole = trace.clone();
    if !trace.is_built_in() {
        whole.path = std::path::absolute(&trace.path).unwrap_or_else(|_| trace.path.clone());
    }
    whole.to_string()
}

/// The wishes as typed. One that asks for nothing, or that nothing can fulfil, is refused.
fn wishes(arguments: &Arguments) -> anyhow::Result<Wishes> {
    let refused = |wish: &str, why: &str, like: &str| {
        Usage(format!("{wish} 0: {why}; write more than that, such as {like}, or leave it out"))
    };
    let zero_time = |time: Option<Span>| time.is_some_and(|Span(time)| time.is_zero());
    if arguments.memory.is_some_and(|ByteSize(bytes)| bytes == 0) {
        return Err(refused("--memory", "every cache takes some memory", "512m").into());
    }
    if zero_time(arguments.p99) {
        return Err(refused("--p99", "every hit takes some time", "1ms").into());
    }
    if arguments.min_hit_ratio.is_some_and(|Percent(percent)| percent <= 0.0) {
        return Err(refused("--min-hit-ratio", "every cache hits as often", "70%").into());
    }
    if zero_time(arguments.cost_of_miss) {
        let why = "where a miss costs nothing, no cache is worth its memory";
        return Err(refused("--cost-of-miss", why, "8ms").into());
    }
    let nanoseconds = |Span(time): Span| time.as_secs_f64() * 1e9;
    Ok(Wishes {
        memory_bytes: arguments.memory.map(|ByteSize(bytes)| bytes),
        p99_ns: arguments.p99.map(nanoseconds),
        min_hit_ratio: arguments.min_hit_ratio.map(|Percent(percent)| percent / 100.0),
        cost_of_miss_ns: arguments.cost_of_miss.map(nanoseconds),
    })
}
