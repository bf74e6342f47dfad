//! Merges slices of one plan to the run that one machine would have made of the plan.
//!
//! Nothing is lost on the way: the rounds are united as they were measured, and their histograms are read from the
//! logs of each slice. So all derived figures are computed again, by the same code as where a run is recorded:
//! medians, intervals, distributions, comparisons and checks.

mod cells;
mod checks;
mod hit_curves;
mod logs;
mod run_fields;
mod searches;
mod slice_match;
mod targets;

pub(super) use targets::add_observed;

use std::path::PathBuf;

use larder_report::{ArticleChecks, Run};

use super::Outcome;
use super::comparisons::comparisons;
use super::steady;
use crate::article::{Repeated, judge_as};
use crate::error::Result;
use crate::scenario::Scenario;

/// A slice, and the folder of its results with its latencies.
#[derive(Debug, Clone)]
pub struct Sliced {
    /// The folder.
    pub folder: PathBuf,
    /// Its `run.json`.
    pub run: Run,
}

/// Whether there are several runs, and all of them are slices of one plan.
pub fn is_of_one_plan(runs: &[&Run]) -> bool {
    let plan = |run: &Run| run.slice.as_ref().map(|slice| slice.plan.clone());
    let first = runs.first().and_then(|run| plan(run));
    runs.len() > 1 && first.is_some() && runs.iter().all(|run| plan(run) == first)
}

/// Merges slices of one plan. Slices may be missing; a note says so.
///
/// # Errors
///
/// A usage error where a run is no slice, or where slices are the same or of different plans. Also where latency logs
/// are missing or incomplete.
pub fn merge(slices: Vec<Sliced>) -> Result<Outcome> {
    let parts = slice_match::slices(slices)?;
    let first = &parts[0].1.run;
    let (mut cells, histograms) = cells::merged(&parts)?;
    steady::examine(&mut cells);
    let started = parts.iter().map(|(_, sliced)| &sliced.run.started).min();
    let mut run = Run {
        argv: run_fields::argv(&first.argv),
        started: started.unwrap_or(&first.started).clone(),
        duration_s: parts.iter().map(|(_, sliced)| sliced.run.duration_s).sum(),
        interrupted: parts.iter().any(|(_, sliced)| sliced.run.interrupted),
        notes: run_fields::notes(&parts),
        advice: Vec::new(),
        rounds_ended: None,
        targets: targets::targets(&parts),
        cells,
        floors: run_fields::floors(&parts),
        searches: searches::searches(&parts),
        hit_curves: hit_curves::hit_curves(&parts),
        usage: Vec::new(),
        comparisons: Vec::new(),
        not_compared: Vec::new(),
        checks: Vec::new(),
        article: None,
        slice: None,
        slices: parts.iter().map(|(slice, sliced)| slice_match::part(slice, &sliced.run)).collect(),
        ..first.clone()
    };
    run.checks = checks::checks(&parts, &run);
    (run.comparisons, run.not_compared) = comparisons(&run);
    judge_article(first, &mut run);
    Ok(Outcome { run, histograms, failed: false })
}

/// Judges again the article that the slices repeat. Its published results are in the scenario. Where the scenario is
/// not at hand, the conclusions are left out, and a note says so.
fn judge_article(first: &Run, run: &mut Run) {
    let Some(before) = &first.article else { return };
    let scenario = Scenario::find(&run.scenario).ok();
    let spec = scenario.and_then(|scenario| scenario.article).filter(|spec| spec.id == before.id);
    let repeated = Repeated {
        form: before.form,
        changed: &before.changed,
        cut: before.cut.clone(),
        checks: before.checks.as_ref().map(ArticleChecks::expected),
    };
    match spec {
        Some(spec) => run.article = Some(judge_as(&spec, &repeated, run)),
        None => run.notes.push(format!(
            "the conclusions of {} are judged in the slices only: their scenario is not built in",
            before.id
        )),
    }
}
