//! `larder advise`: which cache to take for a trace, and how large.
//!
//! Simulated caches pick the few sizes that are worth a measurement ([`model`], [`sizes`]). A first look replays the trace on
//! every candidate at these sizes, in one round. Candidates that may win are then compared for longer, and
//! [`larder_analysis::advice`] chooses among the figures of both.

mod model;
mod sizes;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context;
use clap::Args;
use larder_analysis::advice::{Advice, Model, Wishes, advise, advise_after_look, contenders};
use larder_bench::{ADVICE, Claimed, Outcome, Permissions, Plan, Scenario, claim, compare};
use larder_store::{ByteSize, Span};
use larder_workload::trace::TraceSource;
use larder_workload::{Capacity, Count, OnMiss, SizeSpec, Sweep, WorkloadSpec};

use super::whole;
use crate::catalog::CATALOG;
use crate::exit::{Exit, Usage, one_line};
use crate::interrupt::Interrupts;
use crate::progress::Progress;

/// The candidates of a user who names none: those of them that can run here.
const CANDIDATES: [&str; 5] = ["memory:", "moka:", "quick_cache:", "memcached:", "redis:"];

/// Rounds, of which six are the fewest that give intervals.
const ROUNDS: Count = Count(6);

/// The folder of the first look, within that of the results.
const LOOK: &str = "first-look";

/// Says which cache to take for a trace, how large, and what would change the answer.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The trace: a recording, or any other that `larder trace` reads
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
    let model = model::of(arguments)?;
    let of_trace = wishes.of_sample(model.sample);
    let measured = measured(arguments, &model, &of_trace, &interrupts)?;
    let Some(Measured { mut look, mut comparison, _claimed }) = measured else {
        return Ok(Exit::Interrupted);
    };
    let advice = match &comparison {
        Some(comparison) => advise_after_look(&look.run, &comparison.run, wishes, &model),
        None => advise(&look.run, wishes, &model),
    };
    // The page of the figures has the advice, too.
    comparison.as_mut().unwrap_or(&mut look).run.advice.clone_from(&advice.sentences);
    write_all(arguments, &look, comparison.as_ref())?;
    written(arguments, &advice)?;
    let shown = if arguments.format == "json" {
        format!("{}\n", serde_json::to_string_pretty(&advice)?)
    } else {
        text(&advice)
    };
    super::print(shown.as_bytes())?;
    let page = arguments.output.join("report.html");
    anstream::eprintln!("the figures and curves: {}", page.display());
    if comparison.is_some() {
        let page = arguments.output.join(LOOK).join("report.html");
        anstream::eprintln!("those of all candidates, of one round: {}", page.display());
    }
    Ok(if advice.choice.is_some() { Exit::Done } else { Exit::Failed })
}

fn wishes(arguments: &Arguments) -> anyhow::Result<Wishes> {
    let none = |option: &str, like: &str| {
        Usage(format!("{option} is 0; write more than that, such as {like}"))
    };
    if arguments.memory.is_some_and(|memory| memory.0 == 0) {
        return Err(none("--memory", "512m").into());
    }
    if arguments.p99.is_some_and(|p99| p99.0.is_zero()) {
        return Err(none("--p99", "1ms").into());
    }
    let nanoseconds = |Span(time): Span| time.as_secs_f64() * 1e9;
    Ok(Wishes {
        memory_bytes: arguments.memory.map(|ByteSize(bytes)| bytes),
        p99_ns: arguments.p99.map(nanoseconds),
        min_hit_ratio: arguments.min_hit_ratio.map(|Percent(percent)| percent / 100.0),
        cost_of_miss_ns: arguments.cost_of_miss.map(nanoseconds),
    })
}

/// A comparison of targets at each capacity, which replays the trace and stores what it misses.
fn planned(
    arguments: &Arguments,
    targets: &[String],
    sizes: &[u64],
    rounds: Count,
) -> anyhow::Result<Plan> {
    let trace = format!("trace:{}", arguments.trace);
    let sizes = sizes.iter().map(|bytes| Capacity::Bytes(ByteSize(*bytes)));
    let workload = WorkloadSpec {
        key_pattern: Some(trace.parse().map_err(Usage)?),
        data_size: arguments.data_size.clone().map(Sweep::from),
        on_miss: Some(OnMiss::Fill),
        capacity: Some(sizes.collect()),
        requests: arguments.requests,
        rounds: Some(rounds),
        ..WorkloadSpec::default()
    };
    let targets = targets.to_vec();
    let scenario = Scenario { name: "advise".into(), targets, workload, ..Scenario::default() };
    Ok(Plan::new(&scenario, !arguments.targets.is_empty(), &CATALOG)?)
}

/// What was measured, and the folder that its results are for.
struct Measured {
    look: Outcome,
    comparison: Option<Outcome>,
    _claimed: Claimed,
}

/// Looks at all candidates in one round, and compares those that may win for longer. There is no second comparison where one round
/// is asked for, or no candidate has a figure. `None` is an interrupted one, whose results are written.
fn measured(
    arguments: &Arguments,
    model: &Model,
    wishes: &Wishes,
    interrupts: &Interrupts,
) -> anyhow::Result<Option<Measured>> {
    let targets = match &arguments.targets[..] {
        [] => CANDIDATES.map(str::to_owned).into(),
        typed => typed.to_owned(),
    };
    let sizes = sizes::worth_measuring(&model.curve, wishes);
    let plan = planned(arguments, &targets, &sizes, Count(1))?;
    let claimed = claim(&arguments.output)?;
    interrupts.made(vec![arguments.output.clone()]);
    let look = compared(arguments, &plan, interrupts)?;
    let mut is_interrupted = look.run.interrupted;
    let rounds = arguments.rounds.unwrap_or(ROUNDS);
    let left = contenders(&look.run, wishes);
    let mut comparison = None;
    if rounds.0 > 1 && !left.targets.is_empty() && !is_interrupted {
        let plan = planned(arguments, &left.targets, &left.capacities_bytes, rounds)?;
        let compared = compared(arguments, &plan, interrupts)?;
        is_interrupted = compared.run.interrupted;
        comparison = Some(compared);
    }
    interrupts.writing();
    if is_interrupted {
        write_all(arguments, &look, comparison.as_ref())?;
        return Ok(None);
    }
    Ok(Some(Measured { look, comparison, _claimed: claimed }))
}

/// Writes the results of the first look and of the comparison behind it.
fn write_all(
    arguments: &Arguments,
    look: &Outcome,
    comparison: Option<&Outcome>,
) -> anyhow::Result<()> {
    let of_look = arguments.output.join(LOOK);
    // The look of an earlier advice would be taken for this one's.
    if of_look.join("run.json").exists() {
        std::fs::remove_dir_all(&of_look).with_context(|| of_look.display().to_string())?;
    }
    match comparison {
        Some(comparison) => {
            write(&of_look, look)?;
            write(&arguments.output, comparison)?;
        }
        None => write(&arguments.output, look)?,
    }
    Ok(())
}

/// Carries out a comparison.
fn compared(
    arguments: &Arguments,
    plan: &Plan,
    interrupts: &Interrupts,
) -> anyhow::Result<Outcome> {
    let permissions = Permissions { yes: arguments.yes, ..Permissions::default() };
    let progress = Progress::new(arguments.quiet);
    let argv = super::masked_argv();
    let outcome = compare(plan, &CATALOG, argv, permissions, &progress, &interrupts.stop);
    drop(progress);
    Ok(outcome.inspect_err(|_| interrupts.discard())?)
}

/// Writes the results of a comparison.
fn write(folder: &Path, outcome: &Outcome) -> anyhow::Result<()> {
    for missing in larder_bench::write(folder, outcome)? {
        anstream::eprintln!("larder: {}", one_line(&missing));
    }
    Ok(())
}

/// Writes the advice beside the results.
fn written(arguments: &Arguments, advice: &Advice) -> anyhow::Result<()> {
    use std::io::Write as _;

    let write_file = |name: &str, content: &str| {
        whole::write(&arguments.output.join(name), |out| Ok(out.write_all(content.as_bytes())?))
    };
    let [for_people, for_programs] = ADVICE;
    write_file(for_people, &text(advice))?;
    write_file(for_programs, &serde_json::to_string_pretty(advice).context("writing the advice")?)
}

/// The sentences, each after its number.
fn text(advice: &Advice) -> String {
    let mut text = String::new();
    for (sentence, number) in advice.sentences.iter().zip(1..) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{number}. {sentence}");
    }
    text
}
