//! The grounds of an answer: how sure it is, and what was not tried.

use std::collections::BTreeSet;

use larder_report::figures::{bytes, count, list, noun_after, seconds};
use larder_report::{Run, Severity};

use super::Facts;
use crate::advice::Candidate;
use crate::advice::candidate::Struck;

/// The fourth sentence: the rounds behind the figures, and the doubts about them.
pub(super) fn sureness(chosen: &Candidate, facts: &Facts<'_>) -> String {
    format!(
        "The figures come from {}, in {}; {}.",
        rounds(chosen, facts),
        seconds(facts.run.duration_s),
        doubts(facts.run)
    )
}

/// `6 rounds of 30000 requests of the trace at each of 9 sizes of 3 candidates`.
fn rounds(chosen: &Candidate, facts: &Facts<'_>) -> String {
    let Facts { run, candidates, .. } = *facts;
    let requests = run
        .cells
        .iter()
        .filter(|cell| cell.target == chosen.target && cell.reason.is_none())
        .map(|cell| cell.counts.ops / u64::from(cell.rounds.max(1)))
        .max()
        .unwrap_or(0);
    let requests = count(requests, "request");
    let most = candidates.iter().map(|candidate| candidate.rounds).max().unwrap_or(0);
    let n_longest = candidates.iter().filter(|candidate| candidate.rounds == most).count();
    let mut targets: Vec<&str> = candidates.iter().map(|it| it.target.as_str()).collect();
    targets.dedup();
    let sizes = match candidates.len() {
        1 => "1 size".to_owned(),
        n => format!("each of {n} sizes"),
    };
    let all =
        format!("{requests} of the trace at {sizes} of {}", count(targets.len(), "candidate"));
    let most = count(most, "round");
    if n_longest == candidates.len() {
        format!("{most} of {all}")
    } else {
        format!("1 round of {all}, and from {most} at {n_longest} of them that may have won")
    }
}

/// What the checks say of the figures.
fn doubts(run: &Run) -> String {
    let checks = |severity: Severity| {
        let of_severity = run.checks.iter().filter(|check| check.severity == severity);
        let ids: BTreeSet<&str> = of_severity.map(|check| check.id.as_str()).collect();
        let ids: Vec<&str> = ids.into_iter().collect();
        let checks = noun_after(ids.len(), "check");
        (!ids.is_empty()).then(|| format!("the {checks} {}", list(&ids)))
    };
    match (checks(Severity::Error), checks(Severity::Warn)) {
        (Some(errors), _) => format!("{errors} found figures that are no results"),
        (None, Some(warnings)) => format!("the report has the doubts of {warnings}"),
        (None, None) => "no check found a doubt".to_owned(),
    }
}

/// The fifth sentence: targets without figures, and what no replay of a trace shows.
pub(super) fn not_tried(facts: &Facts<'_>) -> String {
    let Facts { run, model, .. } = *facts;
    let without = not_considered(facts);
    let ttls = if model.has_untimed_ttls { "the TTLs of the trace, " } else { "" };
    let threads = run.cells.iter().map(|cell| cell.workers).max().unwrap_or(1);
    let notes = match run.notes.len() {
        0 => String::new(),
        n => format!(" The report has {} on the replay.", count(n, "note")),
    };
    format!(
        "{without}Not tried: {ttls}other sizes, other settings of the caches, more than {}, a network between, and \
         another hour of your traffic.{notes}",
        count(threads, "thread")
    )
}

/// The targets without a figure, and the figures that are no results, each with its reason.
pub(super) fn not_considered(facts: &Facts<'_>) -> String {
    let struck: Vec<&Struck> = facts.struck.iter().collect();
    let without = without_figure(facts);
    if struck.is_empty() {
        return without;
    }
    format!("{without}No result: {}. ", struck_at(&struck))
}

/// Figures that are no results: `memcached: with 4.00 MiB (NEVER-HITS)`.
pub(super) fn struck_at(struck: &[&Struck]) -> String {
    let each: Vec<String> = struck
        .chunk_by(|a, b| a.target == b.target && a.why == b.why)
        .map(|alike| {
            let sizes: Vec<String> = alike.iter().map(|it| bytes(it.capacity_bytes)).collect();
            let sizes: Vec<&str> = sizes.iter().map(String::as_str).collect();
            format!("{} with {} ({})", alike[0].name, list(&sizes), alike[0].why)
        })
        .collect();
    let each: Vec<&str> = each.iter().map(String::as_str).collect();
    list(&each)
}

/// The targets without a figure, each with its reason.
fn without_figure(facts: &Facts<'_>) -> String {
    let Facts { run, candidates, struck, .. } = *facts;
    let has_figures = |url: &str| {
        candidates.iter().any(|candidate| candidate.target == url)
            || struck.iter().any(|struck| struck.target == url)
    };
    let missing: Vec<String> = run
        .targets
        .iter()
        .filter(|target| !has_figures(&target.url))
        .map(|target| {
            let mut cells = run.cells.iter().filter(|cell| cell.target == target.url);
            let reason = target.reason.clone().or_else(|| cells.find_map(|it| it.reason.clone()));
            let reason = reason.unwrap_or_else(|| "no figure".into());
            // Some reasons begin with the name.
            let reason = reason.strip_prefix(&format!("{} ", target.name)).unwrap_or(&reason);
            format!("{} ({reason})", target.name)
        })
        .collect();
    let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
    match &missing[..] {
        [] => String::new(),
        missing => format!("Without a figure: {}. ", list(missing)),
    }
}
