//! The highest rates within a bound, as the rounds of all slices found them.

use std::time::Duration;

use larder_report::{ReasonKind, Search, Slice};

use super::super::samples::Searched;
use super::super::search::concluded;
use super::Sliced;
use larder_workload::Bound;

/// The results of the searches, concluded from the rounds of all slices as from the rounds of one run.
pub(super) fn searches(parts: &[(Slice, Sliced)]) -> Vec<Search> {
    let first = &parts[0].1.run;
    let merged = |search: &Search| {
        let of_part = |(slice, sliced): &'_ (Slice, Sliced)| {
            let same = sliced.run.searches.iter().find(|other| is_same(other, search))?;
            Some((slice.clone(), same.clone()))
        };
        let all: Vec<(Slice, Search)> = parts.iter().filter_map(of_part).collect();
        let mut steps: Vec<_> = all.iter().flat_map(|(_, search)| &search.steps).copied().collect();
        steps.sort_by_key(|step| step.round);
        let rounds = steps.chunk_by(|a, b| a.round == b.round);
        let found: Vec<Searched> = rounds.map(|steps| Searched { steps: steps.to_vec() }).collect();
        let bound =
            Bound { quantile: search.quantile, within: Duration::from_nanos(search.bound_ns) };
        let lack = lack(&all).or_else(|| ended(&all).filter(|_| found.is_empty()));
        concluded(search, bound, &found, lack, first.seed)
    };
    first.searches.iter().map(merged).collect()
}

fn is_same(a: &Search, b: &Search) -> bool {
    (&a.target, &a.point, &a.operations) == (&b.target, &b.point, &b.operations)
}

/// The reason why the target could not be searched in one of the slices.
fn lack(all: &[(Slice, Search)]) -> Option<(ReasonKind, String)> {
    let of_rounds = [ReasonKind::Interrupted, ReasonKind::Lost, ReasonKind::NothingSucceeded];
    let lacks = |(_, search): &&(Slice, Search)| {
        search.reason_kind.is_some_and(|kind| !of_rounds.contains(&kind))
    };
    let (slice, search) = all.iter().find(lacks)?;
    let (kind, reason) = (search.reason_kind?, search.reason.clone()?);
    let is_everywhere = all.iter().all(|(_, other)| other.reason == search.reason);
    let Slice { number, of, .. } = slice;
    Some((
        kind,
        if is_everywhere { reason } else { format!("in slice {number} of {of}: {reason}") },
    ))
}

/// The reason why no slice has searched.
fn ended(all: &[(Slice, Search)]) -> Option<(ReasonKind, String)> {
    let mut reasons =
        all.iter().filter_map(|(_, search)| Some((search.reason_kind?, search.reason.clone()?)));
    reasons.next()
}
