//! The words of an advice: its answer in one line, and its five sentences. One file for what each is about.

mod changes;
mod grounds;
mod sizes;
mod which;

use std::fmt::Write as _;

use larder_report::figures::{agreeing, at_most, bytes, list, nanoseconds, percent};
use larder_report::{HitLimit, Run, misses_explained};

use super::candidate::Struck;
use super::choice::Choice;
use super::{Candidate, Model, Wishes};

/// What the sentences are made of.
pub(super) struct Facts<'a> {
    pub(super) run: &'a Run,
    pub(super) candidates: &'a [&'a Candidate],
    pub(super) struck: &'a [Struck],
    pub(super) wishes: &'a Wishes,
    pub(super) model: &'a Model,
}

/// The five parts of an advice; a single one where no candidate hits.
pub(super) fn sentences(facts: &Facts<'_>, choice: Choice<'_>) -> Vec<String> {
    let (chosen, fits) = match choice {
        Choice::Take(chosen) => (chosen, true),
        Choice::Nearest(nearest) => (nearest, false),
        Choice::NoFigures => {
            let nothing = nothing_hits(facts);
            return vec![
                format!("{nothing}. {}", grounds::not_considered(facts)).trim_end().to_owned(),
            ];
        }
    };
    vec![
        which::which(chosen, fits, facts),
        sizes::sizes(chosen, facts),
        changes::changes(chosen, fits, facts),
        grounds::sureness(chosen, facts),
        grounds::not_tried(facts),
    ]
}

/// The answer in one line without a full stop: which cache, how large, and its most important figures.
pub(super) fn answer(facts: &Facts<'_>, choice: Choice<'_>) -> String {
    match choice {
        Choice::Take(chosen) => format!("Take {}", in_short(chosen, facts.model)),
        Choice::Nearest(nearest) => {
            format!("Nothing fits; the nearest is {}", in_short(nearest, facts.model))
        }
        Choice::NoFigures => nothing_hits(facts),
    }
}

/// `memory: 1.37 MiB: 96.8 % hits, p99 2.4 µs`.
fn in_short(candidate: &Candidate, model: &Model) -> String {
    let with = if candidate.name.ends_with(':') { "" } else { " with" };
    let keys = model
        .sample
        .map_or_else(String::new, |sample| format!(" for {} of the keys", percent(sample)));
    let mut figures = format!("{} hits", percent(candidate.hit_ratio));
    if let Some(p99) = candidate.p99_ns {
        let _ = write!(figures, ", p99 {}", nanoseconds(p99));
    }
    if let Some(time) = candidate.with_misses_ns {
        let _ = write!(figures, ", {} a request with its misses", nanoseconds(time));
    }
    format!("{}{with} {}{keys}: {figures}", candidate.name, size(candidate))
}

/// The answer where no candidate hits: that no cache helps, or none at the measured sizes, or that there is no figure because
/// of something else.
fn nothing_hits(facts: &Facts<'_>) -> String {
    no_read_hit(facts).unwrap_or_else(|| "No candidate has a figure".to_owned())
}

/// That no read hit, and whether one could; `None` where a read hit, or none was answered.
fn no_read_hit(facts: &Facts<'_>) -> Option<String> {
    let reads = facts.run.cells.iter().filter(|cell| cell.operation.reads());
    let (hits, misses) = reads.fold((0, 0), |(hits, misses), cell| {
        (hits + cell.counts.hits, misses + cell.counts.misses)
    });
    if hits > 0 || misses == 0 {
        return None;
    }
    let possible = facts.model.curve.iter().flat_map(|at| &at.ratios);
    let most = possible.map(|ratio| ratio.hit_ratio).fold(0.0, f64::max);
    let most = facts.model.most_hits().unwrap_or(most);
    if most <= 0.0 {
        return Some(no_cache_helps(None));
    }
    let sizes = facts.candidates.iter().map(|candidate| candidate.capacity_bytes);
    let largest = sizes.chain(facts.struck.iter().map(|struck| struck.capacity_bytes)).max()?;
    // The limit of the trace leaves room for caches that were not tried.
    let mut tried: Vec<&str> = facts.candidates.iter().map(|it| it.name.as_str()).collect();
    tried.extend(facts.struck.iter().map(|struck| struck.name.as_str()));
    tried.sort_unstable();
    tried.dedup();
    Some(format!(
        "{} {} not help with at most {}: no read hit there, and up to {} could in another cache or with more room",
        list(&tried),
        agreeing(tried.len(), "does", "do"),
        bytes(largest),
        at_most(most)
    ))
}

/// The answer on a trace of which no read can hit.
pub(super) fn no_cache_helps(limit: Option<&HitLimit>) -> String {
    let before = limit.and_then(|limit| limit.before);
    let begins_empty =
        if before.is_some_and(|share| share > 0.0) { " that begins empty" } else { "" };
    format!("No cache{begins_empty} helps: no read of the trace can hit")
}

/// The only sentence of an advice on a trace of which no read can hit, without a measurement.
pub(super) fn why_no_cache_helps(limit: &HitLimit, reads: &str) -> String {
    format!("{}. {}", no_cache_helps(Some(limit)), misses_explained(limit, reads))
}

/// The size of a candidate: its capacity, and what it took where that was more.
fn size(candidate: &Candidate) -> String {
    let capacity = bytes(candidate.capacity_bytes);
    if candidate.size_bytes > candidate.capacity_bytes {
        format!("{capacity} (it took {})", bytes(candidate.size_bytes))
    } else {
        capacity
    }
}
