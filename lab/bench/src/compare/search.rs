//! The highest rate at which a target keeps within a bound, found by trying.
//!
//! The closed loop of the same round gives the upper limit: the same number of threads gets no more done. Between zero
//! and a little more than its rate, rates are tried and the span is halved until it is narrow. A rate counts only if
//! the target kept up with it; otherwise its latency would be that of a growing queue. A rate that fails, but not by
//! far, is tried once more: on a busy machine a single hiccup would otherwise halve the result.

use std::time::Duration;

use larder_report::figures::count;
use larder_report::{KEPT_UP, ReasonKind, Search, SearchStep};

use super::TargetSlot;
use super::samples::{Entry, Samples, Searched};
use super::turn::{Amount, Pacing, Turn};
use crate::measure::merged;
use crate::plan::{Plan, PlannedPoint};
use crate::target::Target;
use larder_analysis::statistics::{median, median_ci95};
use larder_workload::Bound;

/// The least time of a trial, in seconds: shorter trials depend on chance.
const TRIAL_S: f64 = 0.5;
/// The rate is found when the span is no wider than this.
const NARROW: f64 = 1.05;
/// The first rate of the search, as a multiple of the closed loop's.
const ABOVE: f64 = 1.1;
/// The search ends below this share of the closed loop's rate.
const HOPELESS: f64 = 0.05;
/// A latency of at least this multiple of the bound is no hiccup.
const FAR: u64 = 10;
/// The most turns of a search, so that no two turns share a version.
const TURNS: u32 = 64;

/// The approximate number of trials of a search.
const ABOUT: f64 = 8.0;

/// Searches for the highest rate within the bound, after the turn's closed loop has returned these entries.
pub(super) fn search(
    turn: &Turn<'_>,
    target: &mut Target,
    bound: Bound,
    closed: &[Entry],
) -> Option<Searched> {
    let reached = reached(closed)?;
    let mut searched = Searched { steps: Vec::new() };
    let (mut low, mut high) = (0.0, reached * ABOVE);
    let mut number = 0;
    while low * NARROW < high && high > reached * HOPELESS {
        let rate = f64::midpoint(low, high);
        let mut is_within = false;
        for _ in 0..2 {
            number += 1;
            let step = try_rate(turn, target, bound, rate, number)?;
            is_within = step.within;
            searched.steps.push(step);
            if is_within || step.latency_ns > bound.within_ns().saturating_mul(FAR) {
                break;
            }
        }
        if is_within {
            low = rate;
        } else {
            high = rate;
        }
    }
    Some(searched)
}

/// The operations a second that the closed loop did, of all kinds; `None` where it did no operation.
#[expect(clippy::cast_precision_loss, reason = "a rate")]
fn reached(closed: &[Entry]) -> Option<f64> {
    // The parts of the time of a mix add up to all of it.
    let wall_s: f64 = closed.iter().map(|entry| entry.sample.wall_s).sum();
    let ops: u64 = closed.iter().map(|entry| entry.sample.counts.ops).sum();
    (ops > 0 && wall_s > 0.0).then(|| ops as f64 / wall_s)
}

/// About how long a search takes, in seconds, after a closed loop with these entries and this much time around a phase.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub(super) fn lasts(bound: Bound, closed: &[Entry], around_s: f64) -> f64 {
    let reached = reached(closed).unwrap_or(1.0);
    ABOUT * (around_s + (bound.operations() as f64 / reached).max(TRIAL_S))
}

/// Tries a rate; `None` when the trial was broken off.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "operations of a short trial"
)]
fn try_rate(
    turn: &Turn<'_>,
    target: &mut Target,
    bound: Bound,
    rate: f64,
    number: u32,
) -> Option<SearchStep> {
    let operations = bound.operations().max((rate * TRIAL_S).ceil() as u64);
    // The limit ends the trial of a target that is far behind.
    let limit = Duration::from_secs_f64(2.0 * operations as f64 / rate + 1.0);
    let trial = Turn {
        number: turn.number.wrapping_mul(TURNS).wrapping_add(number),
        amount: Amount::Paced { operations, limit },
        pacing: Pacing::At(rate),
        ..*turn
    };
    let mut entries = Vec::new();
    trial.run(target, &mut |entry| entries.push(entry));
    let whole = !entries.is_empty() && entries.iter().all(|entry| entry.sample.complete);
    if !whole || target.lost.is_some() {
        return None;
    }
    let latencies = merged(entries.iter().map(|entry| entry.latency.unpack()));
    let latency_ns = latencies.value_at_quantile(bound.quantile);
    // In an open loop each operation of a mix has all of the time.
    let wall_s = entries.iter().map(|entry| entry.sample.wall_s).fold(0.0, f64::max);
    let done: u64 = entries.iter().map(|entry| entry.sample.counts.ops).sum();
    let achieved_per_s = entries.iter().map(|entry| entry.sample.ops_per_s).sum();
    // Operations that failed or came back wrong do not count.
    let failed: u64 = entries.iter().map(|entry| entry.sample.counts.failed_or_wrong()).sum();
    let kept_up = wall_s > 0.0 && done.saturating_sub(failed) as f64 / wall_s >= rate * KEPT_UP;
    Some(SearchStep {
        round: turn.round,
        offered_per_s: rate,
        achieved_per_s,
        latency_ns,
        within: kept_up && !latencies.is_empty() && latency_ns <= bound.within_ns(),
    })
}

/// The results of the searches, for each target and point.
pub(super) fn searches(plan: &Plan, slots: &[TargetSlot], samples: &Samples) -> Vec<Search> {
    let mut searches = Vec::new();
    for (at, point) in plan.points.iter().enumerate() {
        let Some(bound) = point.search() else { continue };
        for (number, slot) in slots.iter().enumerate() {
            if point.is_for(slot.planned()) {
                searches.push(of(slot, point, bound, samples.searches(number, at), plan.seed));
            }
        }
    }
    searches
}

fn of(
    slot: &TargetSlot,
    point: &PlannedPoint,
    bound: Bound,
    found: &[Searched],
    seed: u64,
) -> Search {
    let about = Search {
        target: slot.planned().url.to_string(),
        point: point.point.clone(),
        operations: point.measured_operations(),
        quantile: bound.quantile,
        bound_ns: bound.within_ns(),
        ..Search::default()
    };
    concluded(&about, bound, found, lack(slot, point, found), seed)
}

/// The result of several rounds, wherever they were carried out; `lack` is why the target was not searched.
pub(super) fn concluded(
    about: &Search,
    bound: Bound,
    found: &[Searched],
    lack: Option<(ReasonKind, String)>,
    seed: u64,
) -> Search {
    let rates: Vec<f64> = found.iter().filter_map(Searched::rate).collect();
    // A round without a rate within the bound counts as below all others: with such a round the median is not known.
    let is_known = rates.len() == found.len() && lack.is_none();
    let (reason_kind, reason) = lack.or_else(|| why_none(bound, found)).unzip();
    Search {
        target: about.target.clone(),
        point: about.point.clone(),
        operations: about.operations.clone(),
        quantile: about.quantile,
        bound_ns: about.bound_ns,
        rate: median(&rates).filter(|_| is_known),
        rate_ci95: median_ci95(&rates, seed).filter(|_| is_known),
        rates,
        steps: found.iter().flat_map(|searched| searched.steps.iter().copied()).collect(),
        reason,
        reason_kind,
    }
}

/// The reason why a target was not searched at a point.
fn lack(
    slot: &TargetSlot,
    point: &PlannedPoint,
    found: &[Searched],
) -> Option<(ReasonKind, String)> {
    let target = match slot.at(point) {
        Ok(target) => target,
        Err(refusal) => return Some(refusal),
    };
    found.is_empty().then(|| match &target.lost {
        Some(lost) => (ReasonKind::Lost, lost.reason.clone()),
        None => (ReasonKind::Interrupted, "interrupted before its first search was over".into()),
    })
}

/// The reason why there is no rate, where not every round found a rate.
fn why_none(bound: Bound, found: &[Searched]) -> Option<(ReasonKind, String)> {
    let without = found.iter().filter(|searched| searched.rate().is_none()).count();
    (without > 0).then(|| {
        let text = format!(
            "in {without} of {} {} was longer than {} ms at every rate that was tried",
            count(found.len(), "round"),
            bound.name(),
            bound.within.as_secs_f64() * 1e3
        );
        (ReasonKind::NothingSucceeded, text)
    })
}
