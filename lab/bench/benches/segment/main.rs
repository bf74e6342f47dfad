//! The segment cache beside its peers and its floors, in one run.
//!
//! `just bench-segment`, or `cargo bench -p larder-bench --bench segment -- [PART]...`, the parts being `hit`, `many`,
//! `set`, `processes`, `items` and `ratios`. The contenders take short turns, in an order that changes from round to
//! round, so that other work of the machine meets all of them. Every ratio is of figures from the same rounds. A goal
//! stands beside the figure that was found; a missed goal is no failure.
//!
//! Times are those for which the thread had a processor: no contender waits for another, unless other programs take
//! the processor away. Rates of processes are by the wall clock. A line says where a thread or process waited for a
//! processor.
//!
//! Keys are drawn into a small block before each timed stretch, so no figure includes their making or their memory.
//! Every contender copies values from and to the caller's buffers, and all values are checked once before reads are
//! timed.
//!
//! The parts with two processes start this program again as a worker: see `worker.rs`.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

mod caches;
mod contender;
mod guests;
mod hit;
mod items;
mod keys;
mod many;
mod memcpy;
mod peers;
mod policies;
mod processes;
mod ratios;
mod report;
mod set;
mod worker;

use std::path::Path;
use std::time::{Duration, Instant};

use larder_host::scratch::ScratchDir;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The scale of the measurements.
#[derive(Debug, Clone, Copy)]
struct Scale {
    /// Whether the run only shows that the benchmark works.
    is_brief: bool,
}

impl Scale {
    /// The whole amount, or the brief amount.
    fn of(self, whole: usize, brief: usize) -> usize {
        if self.is_brief { brief } else { whole }
    }
}

/// Measures a part and prints it.
type Part = fn(Scale) -> Result<()>;

/// The parts, in their order.
const PARTS: &[(&str, Part)] = &[
    ("hit", hit::measure),
    ("many", many::measure),
    ("set", set::measure),
    ("processes", processes::measure),
    ("items", items::measure),
    ("ratios", ratios::measure),
];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some((worker::COMMAND, arguments)) =
        arguments.split_first().map(|(first, rest)| (first.as_str(), rest))
    {
        return worker::serve(arguments);
    }
    // `cargo test --benches` only checks that the benchmark runs.
    let scale = Scale { is_brief: !arguments.iter().any(|argument| argument == "--bench") };
    let asked: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let is_known = |asked: &&&String| PARTS.iter().any(|(name, _)| name == **asked);
    if let Some(unknown) = asked.iter().find(|asked| !is_known(asked)) {
        let known: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
        return Err(format!("part `{unknown}`: known are {}", known.join(", ")).into());
    }
    for (name, measure) in PARTS {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            let (before, began) = (waited(), Instant::now());
            measure(scale)?;
            report::waited("this process", share(before, began.elapsed()));
        }
    }
    Ok(())
}

/// The time for which this thread could have run and had no processor, since its start; 0 where the system does
/// not tell.
fn waited() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = told.split_whitespace().nth(1).and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap_or(0))
}

/// The part of a time for which the thread waited for a processor; `before` is its wait at the start of that time.
fn share(before: Duration, time: Duration) -> f64 {
    waited().saturating_sub(before).as_secs_f64() / time.as_secs_f64()
}

/// A folder for files, in memory where possible, gone when this program has ended.
fn scratch() -> Result<ScratchDir> {
    let memory = Path::new("/dev/shm");
    Ok(if memory.is_dir() {
        ScratchDir::create_in("bench", memory)?
    } else {
        ScratchDir::create("bench")?
    })
}
