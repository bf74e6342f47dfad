//! The choice among candidates.

use std::cmp::Ordering;

use larder_report::LIKE_HITS;

use super::{Candidate, Wishes};

/// Times within this share of the best count as alike, as rates do in a comparison.
pub const LIKE_TIMES: f64 = 0.02;

/// A difference of hit ratios that is shown as 0.0 points.
pub(super) const NO_POINTS: f64 = 0.000_5;

/// The outcome of a choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Choice<'a> {
    /// This candidate fits.
    Take(&'a Candidate),
    /// No candidate fits, and this one comes nearest.
    Nearest(&'a Candidate),
    /// There is no candidate that hits.
    NoFigures,
}

/// Chooses for the wishes, among the candidates that hit at all. The size of a candidate is the room that it took.
///
/// With the cost of a miss, the candidate whose requests take least time on average is the best, of those that hit more than
/// their own smaller sizes. Among those that are alike, the smallest is taken. Without that cost, room is worth its price while
/// more of it buys more than a point of hits: the smallest size is taken that no larger one exceeds by a point, or that has the
/// hits that are asked for. The fastest candidate of that size is taken.
pub(super) fn choose<'a>(candidates: &[&'a Candidate], wishes: &Wishes) -> Choice<'a> {
    let hitting = || candidates.iter().copied().filter(|candidate| candidate.hits());
    let fitting: Vec<&Candidate> = hitting().filter(|candidate| fits(candidate, wishes)).collect();
    let chosen = if wishes.cost_of_miss_ns.is_some() {
        least_time(&fitting)
    } else {
        least_room(&fitting, wishes.min_hit_ratio.is_some())
    };
    if let Some(chosen) = chosen {
        return Choice::Take(chosen);
    }
    let nearest = hitting().min_by(|a, b| nearness(a, b, wishes));
    nearest.map_or(Choice::NoFigures, Choice::Nearest)
}

/// Whether a candidate keeps to every wish.
fn fits(candidate: &Candidate, wishes: &Wishes) -> bool {
    let is_small = wishes.memory_bytes.is_none_or(|most| candidate.size_bytes <= most);
    let is_fast = wishes.p99_ns.is_none_or(|most| candidate.p99_ns.is_some_and(|p99| p99 <= most));
    let hits = wishes.min_hit_ratio.is_none_or(|least| candidate.hit_ratio >= least);
    is_small && is_fast && hits
}

/// The order of candidates that do not fit: first those of the wished size and time, then those with more hits, of these the
/// smaller ones, and of these the faster ones.
fn nearness(a: &Candidate, b: &Candidate, wishes: &Wishes) -> Ordering {
    let without_hits = Wishes { min_hit_ratio: None, ..*wishes };
    let is_far = |candidate: &Candidate| !fits(candidate, &without_hits);
    is_far(a)
        .cmp(&is_far(b))
        .then(b.hit_ratio.total_cmp(&a.hit_ratio))
        .then(a.size_bytes.cmp(&b.size_bytes))
        .then(a.request_ns.total_cmp(&b.request_ns))
}

/// The smallest of those whose requests, with their misses, take about the least time.
fn least_time<'a>(fitting: &[&'a Candidate]) -> Option<&'a Candidate> {
    let time = |candidate: &Candidate| candidate.with_misses_ns.unwrap_or(candidate.request_ns);
    // More room without more hits differs in time by chance, or by too little for its price.
    let is_paid_in_vain = |candidate: &Candidate| {
        let smaller = |it: &&&Candidate| {
            it.target == candidate.target && it.size_bytes < candidate.size_bytes
        };
        let gain = |it: &&Candidate| candidate.hit_ratio - it.hit_ratio;
        fitting.iter().filter(smaller).any(|it| gain(it) < NO_POINTS)
    };
    let worth = || fitting.iter().copied().filter(|candidate| !is_paid_in_vain(candidate));
    let best = worth().map(time).fold(f64::INFINITY, f64::min);
    let alike = worth();
    let alike = alike.filter(|candidate| time(candidate) <= best * (1.0 + LIKE_TIMES));
    alike.min_by(|a, b| a.size_bytes.cmp(&b.size_bytes).then(time(a).total_cmp(&time(b))))
}

/// The fastest of those with about the most hits, at the smallest size that is worth its room. Where a hit ratio was asked
/// for, every size is, and all that fit have hits enough.
fn least_room<'a>(fitting: &[&'a Candidate], any_size: bool) -> Option<&'a Candidate> {
    let of_size =
        |size: u64| fitting.iter().copied().filter(move |candidate| candidate.size_bytes == size);
    let most_hits = |size: u64| of_size(size).map(|it| it.hit_ratio).fold(0.0, f64::max);
    let mut sizes: Vec<u64> = fitting.iter().map(|candidate| candidate.size_bytes).collect();
    sizes.sort_unstable();
    let largest_hits = sizes.iter().map(|size| most_hits(*size)).fold(0.0, f64::max);
    let is_enough = |size: &u64| any_size || most_hits(*size) + LIKE_HITS >= largest_hits;
    let size = sizes.iter().copied().find(is_enough)?;
    let least = if any_size { 0.0 } else { most_hits(size) - LIKE_HITS };
    of_size(size)
        .filter(|candidate| candidate.hit_ratio >= least)
        .min_by(|a, b| a.request_ns.total_cmp(&b.request_ns))
}
