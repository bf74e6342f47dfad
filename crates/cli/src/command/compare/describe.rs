//! A plan in words, for `--dry-run`: what it does and what it would take.

use std::fmt::Write;
use std::time::Duration;

use larder_bench::{Estimate, Plan};
use larder_report::Slice;
use larder_store::ByteSize;

/// The plan, and a line for each target.
pub(super) fn describe(plan: &Plan, estimates: &[Estimate]) -> String {
    let mut text = format!("plan: {}, seed {}\n", plan.scenario, plan.seed);
    for (name, value) in &plan.workload {
        let _ = writeln!(text, "  {name}: {value}");
    }
    let points = plan.points.len();
    let rounds = match &plan.slice {
        Some(Slice { number, of, rounds, .. }) => {
            format!("{} of {rounds}, as slice {number} of {of}", plan.own_rounds())
        }
        None => plan.rounds.to_string(),
    };
    let _ = writeln!(text, "  rounds: {rounds}");
    let _ = writeln!(text, "  points of the sweep: {points}");
    let width = estimates.iter().map(|estimate| estimate.target.len()).max().unwrap_or(0).max(6);
    let _ = writeln!(text, "\n{:width$}  {:>8}  {:>9}  {:>9}", "target", "time", "memory", "disk");
    for estimate in estimates {
        let time = estimate.time.map_or_else(|| "?".into(), seconds);
        let _ = writeln!(
            text,
            "{:width$}  {time:>8}  {:>9}  {:>9}  {}",
            estimate.target,
            ByteSize(estimate.memory_bytes).to_string(),
            ByteSize(estimate.disk_bytes).to_string(),
            estimate.reason.as_deref().unwrap_or_default()
        );
    }
    let _ = writeln!(text, "{:width$}  {:>8}", "all", seconds(total(estimates)));
    for note in &plan.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// The time of all targets, as far as it is known.
pub(super) fn total(estimates: &[Estimate]) -> Duration {
    estimates.iter().filter_map(|estimate| estimate.time).sum()
}

/// A time as long as that of a plan.
pub(super) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 100.0 { format!("{seconds:.1} s") } else { format!("{:.1} min", seconds / 60.0) }
}
