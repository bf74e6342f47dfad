//! A plan in words, for `--dry-run`: its work and its costs.

use std::fmt::Write;
use std::time::Duration;

use larder_bench::{Estimate, Plan};
use larder_report::{Slice, figures};
use larder_store::{ByteSize, Span};

/// The plan, and a line for each target. `few` says that its rounds give no verdict.
pub(super) fn describe(plan: &Plan, estimates: &[Estimate], few: Option<&str>) -> String {
    let mut text = format!("plan: {}, seed {}\n", plan.scenario, plan.seed);
    for (name, value) in &plan.workload {
        let _ = writeln!(text, "  {name}: {value}");
    }
    let points = plan.points.len();
    let _ = writeln!(text, "  rounds: {}", rounds(plan));
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
    if let (Some(_), Some(most)) = (plan.until, plan.max_time) {
        let least = figures::count(plan.rounds as usize, "round");
        let _ = writeln!(
            text,
            "the times above are for {least}; with further rounds the run takes about {} at most",
            Span(most)
        );
    }
    if let (None, Some(most)) = (plan.until, plan.max_time)
        && most < total(estimates)
    {
        let _ = writeln!(
            text,
            "the times above are for all rounds; no round begins after {}, except the first of each point",
            Span(most)
        );
    }
    for note in few.into_iter().chain(plan.notes.iter().map(String::as_str)) {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// The number of rounds.
fn rounds(plan: &Plan) -> String {
    if let Some(Slice { number, of, rounds, .. }) = &plan.slice {
        return format!("{} of {rounds}, as slice {number} of {of}", plan.own_rounds());
    }
    let limit = plan.max_time.map(|time| format!(", at most {}", Span(time))).unwrap_or_default();
    if let Some(until) = plan.until {
        return format!("{} and more, until every rate is known to ±{until}{limit}", plan.rounds);
    }
    let limit = plan.max_time.map(|time| format!(", no round begun after {}", Span(time)));
    format!("{}{}", plan.rounds, limit.unwrap_or_default())
}

/// The time of all targets, as far as it is known.
pub(super) fn total(estimates: &[Estimate]) -> Duration {
    estimates.iter().filter_map(|estimate| estimate.time).sum()
}

/// A time of a plan's magnitude.
pub(super) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 100.0 { format!("{seconds:.1} s") } else { format!("{:.1} min", seconds / 60.0) }
}
