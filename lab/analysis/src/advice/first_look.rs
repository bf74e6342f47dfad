//! The first look: one round of all candidates, which leaves few for the rounds that give intervals.
//!
//! A candidate contends where it would be chosen if its figures of that round were unlucky and all others lucky, as far as
//! one round may err. All others cannot win, and more rounds of them would buy nothing.

use larder_report::{LIKE_HITS, Run};

use super::candidate::{self, Candidate};
use super::choice::{Choice, choose};
use super::{Advice, Model, Wishes, advise};

/// A time of one round is at most this many times too long or too short: other work on the machine does that.
const TIMES_OF_A_ROUND: f64 = 1.5;

/// A hit ratio of one round is wrong by at most this much: some caches evict at random.
const HITS_OF_A_ROUND: f64 = LIKE_HITS / 4.0;

/// The targets and capacities for which a first look cannot decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contenders {
    /// The URLs of targets, in the order of the run.
    pub targets: Vec<String>,
    /// The capacities of all of them, by rising size.
    pub capacities_bytes: Vec<u64>,
}

/// The candidates of a first look that may be the choice; empty where no candidate has a figure.
pub fn contenders(look: &Run, wishes: &Wishes) -> Contenders {
    let all = candidate::measured(look, wishes).candidates;
    let contending: Vec<&Candidate> = all
        .iter()
        .enumerate()
        .filter(|(place, _)| contends(&all, *place, wishes))
        .map(|(_, candidate)| candidate)
        .collect();
    let mut targets: Vec<String> = contending.iter().map(|it| it.target.clone()).collect();
    // Candidates of one target follow each other.
    targets.dedup();
    let mut capacities: Vec<u64> = contending.iter().map(|it| it.capacity_bytes).collect();
    capacities.sort_unstable();
    capacities.dedup();
    Contenders { targets, capacities_bytes: capacities }
}

/// Whether the candidate at a place would be the choice, or the nearest one, with the best luck for it and the worst for all others.
fn contends(all: &[Candidate], place: usize, wishes: &Wishes) -> bool {
    let seen = |(at, candidate): (usize, &Candidate)| {
        let (times, hits) = if at == place {
            (1.0 / TIMES_OF_A_ROUND, HITS_OF_A_ROUND)
        } else {
            (TIMES_OF_A_ROUND, -HITS_OF_A_ROUND)
        };
        let erred = Candidate {
            hit_ratio: (candidate.hit_ratio + hits).clamp(0.0, 1.0),
            p99_ns: candidate.p99_ns.map(|p99| p99 * times),
            request_ns: candidate.request_ns * times,
            ..candidate.clone()
        };
        erred.with_cost(wishes.cost_of_miss_ns)
    };
    let views: Vec<Candidate> = all.iter().enumerate().map(seen).collect();
    let views: Vec<&Candidate> = views.iter().collect();
    match choose(&views, wishes) {
        Choice::Take(best) | Choice::Nearest(best) => std::ptr::eq(best, views[place]),
        Choice::NoFigures => false,
    }
}

/// Chooses among the candidates of both runs, of which the contenders have the figures of the later one.
pub fn advise_after_look(look: &Run, run: &Run, wishes: Wishes, model: &Model) -> Advice {
    let is_again = |target: &str, point: &larder_report::Point| {
        run.cells.iter().any(|cell| cell.target == target && cell.point == *point)
    };
    let mut both = look.clone();
    both.cells.retain(|cell| !is_again(&cell.target, &cell.point));
    both.cells.extend(run.cells.iter().cloned());
    // A target that was lost on the way has its reason from there.
    for target in &mut both.targets {
        if let Some(again) = run.targets.iter().find(|other| other.url == target.url) {
            *target = again.clone();
        }
    }
    both.checks.retain(|check| {
        let (Some(target), Some(point)) = (&check.target, &check.point) else { return true };
        !is_again(target, point)
    });
    both.checks.extend(run.checks.iter().cloned());
    both.duration_s += run.duration_s;
    advise(&both, wishes, model)
}
