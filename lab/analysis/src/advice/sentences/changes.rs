//! What would change the answer: other processes that share the entries, the next best cache, another cost of a miss.

use larder_report::LIKE_HITS;
use larder_report::figures::nanoseconds;

use super::grounds::struck_at;
use super::which::figures;
use super::{Facts, size};
use crate::advice::candidate::Struck;
use crate::advice::choice::{Choice, LIKE_TIMES, NO_POINTS, choose};
use crate::advice::{Candidate, Wishes};

/// The places of entries, from the nearest.
const REACHES: [(&str, &str); 3] =
    [("process", "one process"), ("host", "all processes of a host"), ("network", "several hosts")];

/// The halvings by which a cost is found, to far below a percent.
const STEPS: u32 = 20;

/// No miss costs less, in nanoseconds: the answer of a cache in the same process takes longer.
const LEAST_COST: f64 = 10.0;

/// The third sentence. `fits` says whether the chosen candidate has what was wished.
pub(super) fn changes(chosen: &Candidate, fits: bool, facts: &Facts<'_>) -> String {
    let Facts { candidates, wishes, .. } = *facts;
    let mut changes = wider_reaches(chosen, facts);
    changes.extend(next_best(chosen, candidates, wishes));
    changes.extend(other_cost(chosen, candidates, wishes));
    if changes.is_empty() {
        changes.push(if fits {
            "Nothing that was measured would change the answer.".to_owned()
        } else {
            "Only other wishes would change the answer.".to_owned()
        });
    }
    changes.join(" ")
}

/// The best candidate of each reach beyond that of the chosen one.
fn wider_reaches(chosen: &Candidate, facts: &Facts<'_>) -> Vec<String> {
    let place = REACHES.iter().position(|(name, _)| *name == chosen.reach).unwrap_or(0);
    let of_reach = |(reach, sharers): &(&str, &str)| {
        let is_meant = |other: &Candidate| other.reach == *reach;
        if let Some(best) = best_of(facts.candidates, facts.wishes, is_meant) {
            return Some(format!(
                "If {sharers} must share the entries, take {} with {}: {}.",
                best.name,
                size(best),
                figures(best)
            ));
        }
        let struck: Vec<&Struck> = facts.struck.iter().filter(|it| it.reach == *reach).collect();
        (!struck.is_empty()).then(|| {
            format!(
                "If {sharers} must share the entries, no measured size can be recommended: {}.",
                struck_at(&struck)
            )
        })
    };
    REACHES[place + 1..].iter().filter_map(of_reach).collect()
}

/// The candidate that the same wishes choose among some.
fn best_of<'a>(
    candidates: &[&'a Candidate],
    wishes: &Wishes,
    is_meant: impl Fn(&Candidate) -> bool,
) -> Option<&'a Candidate> {
    let meant: Vec<&Candidate> =
        candidates.iter().copied().filter(|candidate| is_meant(candidate)).collect();
    match choose(&meant, wishes) {
        Choice::Take(best) => Some(best),
        Choice::Nearest(_) | Choice::NoFigures => None,
    }
}

/// The best of the other targets with the same reach, and how far it is away.
fn next_best(chosen: &Candidate, candidates: &[&Candidate], wishes: &Wishes) -> Option<String> {
    let is_other = |other: &Candidate| other.target != chosen.target && other.reach == chosen.reach;
    let next = best_of(candidates, wishes, is_other)?;
    let (name, size) = (&next.name, size(next));
    let hits = next.hit_ratio - chosen.hit_ratio;
    let times = next.with_misses_ns.unwrap_or(next.request_ns)
        / chosen.with_misses_ns.unwrap_or(chosen.request_ns);
    let is_alike = hits.abs() <= LIKE_HITS
        && (times - 1.0).abs() <= LIKE_TIMES
        && next.size_bytes == chosen.size_bytes;
    Some(if is_alike {
        format!("{name} with {size} is as good.")
    } else {
        let hits = match hits * 100.0 {
            _ if hits.abs() < NO_POINTS => "it hits as often".to_owned(),
            points if points > 0.0 => format!("its hit ratio is {points:.1} points higher"),
            points => format!("its hit ratio is {:.1} points lower", -points),
        };
        let times = format!("{times:.2}");
        // The same time is no reason for either.
        let takes = match times.as_str() {
            "1.00" => String::new(),
            times => format!(", and a request takes {times} times as long"),
        };
        format!("The next is {name} with {size}: {hits}{takes}.")
    })
}

/// The cost of a miss below which less room of the same target would do. It is searched, because the choice among sizes
/// depends on all of them.
fn other_cost(chosen: &Candidate, candidates: &[&Candidate], wishes: &Wishes) -> Option<String> {
    let own: Vec<&Candidate> =
        candidates.iter().copied().filter(|other| other.target == chosen.target).collect();
    let best = |cost: f64| {
        let priced: Vec<Candidate> = own.iter().map(|it| it.with_cost(Some(cost))).collect();
        let priced: Vec<&Candidate> = priced.iter().collect();
        match choose(&priced, &Wishes { cost_of_miss_ns: Some(cost), ..*wishes }) {
            Choice::Take(best) => Some(best.clone()),
            Choice::Nearest(_) | Choice::NoFigures => None,
        }
    };
    let is_smaller = |cost: f64| Some(best(cost)?.size_bytes < chosen.size_bytes);
    // Costs between which the choice changes, on a scale of powers of two.
    let (mut less, mut more) = (LEAST_COST.log2(), wishes.cost_of_miss_ns?.log2());
    if more <= less || !is_smaller(LEAST_COST)? {
        return None;
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(less, more);
        if is_smaller(f64::exp2(middle))? {
            less = middle;
        } else {
            more = middle;
        }
    }
    let (other, cost) = (size(&best(f64::exp2(less))?), nanoseconds(f64::exp2(less)));
    Some(format!("Were a miss to cost less than {cost}, {other} of {} would do.", chosen.name))
}
