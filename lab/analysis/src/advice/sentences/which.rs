//! Which candidate to take, how large, and its figures.

use std::fmt::Write as _;

use larder_report::figures::{bytes, count, list, nanoseconds, percent, significant};

use super::{Facts, size};
use crate::advice::{Candidate, Wishes};
use larder_report::{HitLimit, misses_explained};

/// The first sentence: the chosen candidate, or the nearest one where none fits.
pub(super) fn which(chosen: &Candidate, fits: bool, facts: &Facts<'_>) -> String {
    let mut text = if fits {
        format!("Take {} with {}: {}.", chosen.name, size(chosen), figures(chosen))
    } else {
        nothing_fits(chosen, facts.wishes)
    };
    let limit = facts.model.limit.as_ref();
    if let Some(limit) = limit.filter(|limit| is_out_of_reach(facts.wishes, limit)) {
        let _ = write!(
            text,
            " No cache has so many hits. {}",
            misses_explained(limit, facts.model.reads())
        );
    }
    text.extend(facts.model.sample.map(size_for_all_keys));
    text
}

/// That no candidate fits, and the figures of the nearest.
fn nothing_fits(nearest: &Candidate, wishes: &Wishes) -> String {
    let mut wished = Vec::new();
    wished.extend(wishes.memory_bytes.map(|most| format!("at most {}", bytes(most))));
    wished.extend(wishes.p99_ns.map(|most| format!("a p99 of at most {}", nanoseconds(most))));
    wished.extend(wishes.min_hit_ratio.map(|least| format!("{} of hits", percent(least))));
    let wished: Vec<&str> = wished.iter().map(String::as_str).collect();
    format!(
        "No measured candidate has {}. The nearest is {} with {}: {}.",
        list(&wished),
        nearest.name,
        size(nearest),
        figures(nearest)
    )
}

/// Whether no cache can hit as often as is wished.
pub(super) fn is_out_of_reach(wishes: &Wishes, limit: &HitLimit) -> bool {
    wishes.min_hit_ratio.is_some_and(|least| least > limit.at_most())
}

/// That a sample of the keys needs only its share of the room.
fn size_for_all_keys(sample: f64) -> String {
    format!(
        " The recording has {} of the keys, and all of them need {} times the room.",
        percent(sample),
        significant(1.0 / sample, 3)
    )
}

/// The figures of a candidate, with their intervals.
pub(super) fn figures(candidate: &Candidate) -> String {
    let mut parts = vec![format!(
        "{} of the reads hit ({})",
        percent(candidate.hit_ratio),
        hit_ratios_of_rounds(candidate)
    )];
    if let Some(p99) = candidate.p99_ns {
        let interval = candidate.p99_ns_ci95.map_or_else(String::new, interval);
        parts.push(format!("99 % of the hits take at most {}{interval}", nanoseconds(p99)));
    }
    let (time, ci95, which) = match candidate.with_misses_ns {
        Some(time) => (time, candidate.with_misses_ns_ci95, " with the cost of its misses"),
        None => (candidate.request_ns, candidate.request_ns_ci95, ""),
    };
    let interval = ci95.map_or_else(String::new, interval);
    parts.push(format!("a request takes {}{interval} on average{which}", nanoseconds(time)));
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    list(&parts)
}

/// `49.8 % to 50.3 % over the rounds`.
fn hit_ratios_of_rounds(candidate: &Candidate) -> String {
    let [least, most] = candidate.hit_ratio_of_rounds.map(percent);
    match candidate.rounds {
        1 => "in one round".to_owned(),
        rounds if least == most => format!("in each of {}", count(rounds, "round")),
        _ => format!("{least} to {most} over the rounds"),
    }
}

fn interval([low, high]: [f64; 2]) -> String {
    format!(" ({} to {})", nanoseconds(low), nanoseconds(high))
}
