//! The answer in short: one sentence for each operation, over all points of a run.

use larder_store::ByteSize;

use super::{by_how_much, leads, no_verdict, rounds_needed};
use crate::content::keeps_to_capacity;
use crate::figures::list;
use crate::hit_ratio::{Reached, ratio, reached};
use crate::model::{HitCurve, HitRatios, Operation, Run, Verdict};
use crate::ranking::{Group, Row, groups, pair};

/// The verdict on the lead at one point.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LeadVerdict<'a> {
    /// The target is told apart from all others; several are told apart from all but each other.
    Leads(Vec<&'a str>),
    /// All targets are tied.
    Tied(Vec<&'a str>),
    /// The first of targets without a possible verdict.
    Seems(&'a str),
    /// The only target with a comparable result.
    Alone(&'a str),
    /// No target has a result.
    Nobody,
}

/// A sentence without a full stop for each measured operation.
pub(crate) fn in_short(run: &Run) -> Vec<(Operation, String)> {
    let (groups, swept) = (groups(run), run.swept());
    let of_operation = groups.chunk_by(|a, b| a.operation == b.operation);
    of_operation
        .map(|of| {
            let operation = of[0].operation;
            let curves: Vec<&HitCurve> =
                run.hit_curves.iter().filter(|curve| curve.operation == operation).collect();
            let hits = match curves.as_slice() {
                [curve] => most_hits(run, curve, &groups),
                _ => None,
            };
            let along = || match no_verdict(run) {
                Some(_) => None,
                None => leads::over_the_sweep(run, &swept, of).map(|sentence| sentence.text),
            };
            (operation, hits.or_else(along).unwrap_or_else(|| fastest(run, of)))
        })
        .collect()
}

/// The target with the highest hit ratio at each capacity, among those that kept to it; `None` without hit ratios.
fn most_hits(run: &Run, curve: &HitCurve, groups: &[Group<'_>]) -> Option<String> {
    let (reached, beyond): (Vec<Reached<'_>>, Vec<Reached<'_>>) =
        reached(run, curve, groups).into_iter().partition(|one| keeps_to_capacity(run, one.cell));
    let at_capacity = |at: &&HitRatios| {
        let here: Vec<_> = reached.iter().filter(|one| std::ptr::eq(one.at, *at)).collect();
        let best = here.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
        let measured = here.len();
        Some((best.target.name.as_str(), at.capacity_bytes, best.ratio, measured))
    };
    let best: Vec<_> = curve.capacities.iter().filter_map(|at| at_capacity(&at)).collect();
    let parts = best.chunk_by(|a, b| a.0 == b.0).map(|stretch| {
        let at: Vec<String> = stretch
            .iter()
            .map(|(_, bytes, best, n)| format!("{} ({}, of {n})", ByteSize(*bytes), ratio(*best)))
            .collect();
        format!("{} at {}", stretch[0].0, list(&at.iter().map(String::as_str).collect::<Vec<_>>()))
    });
    let parts: Vec<String> = parts.collect();
    match (parts.is_empty(), not_counted(&beyond)) {
        (true, None) => None,
        (true, Some(beyond)) => Some(format!("no target kept to its capacity: {beyond}")),
        (false, None) => Some(format!("most hits: {}", parts.join("; "))),
        (false, Some(beyond)) => {
            Some(format!("most hits: {}; not counting {beyond}", parts.join("; ")))
        }
    }
}

/// The targets that held more than a capacity, each with the capacities; `None` where all kept to them.
fn not_counted(beyond: &[Reached<'_>]) -> Option<String> {
    let of_targets = beyond.chunk_by(|a, b| a.target.url == b.target.url).map(|of_target| {
        let at: Vec<String> =
            of_target.iter().map(|one| ByteSize(one.at.capacity_bytes).to_string()).collect();
        let at: Vec<&str> = at.iter().map(String::as_str).collect();
        format!("{} at {}", of_target[0].target.name, list(&at))
    });
    let of_targets: Vec<String> = of_targets.collect();
    let of_targets: Vec<&str> = of_targets.iter().map(String::as_str).collect();
    (!of_targets.is_empty()).then(|| format!("{}, where more was held", list(&of_targets)))
}

/// The fastest targets, and the number of points of each.
fn fastest(run: &Run, groups: &[Group<'_>]) -> String {
    let mut leads: Vec<(LeadVerdict<'_>, usize)> = Vec::new();
    for group in groups {
        let lead = lead(run, group);
        match leads.iter_mut().find(|(known, _)| *known == lead) {
            Some((_, points)) => *points += 1,
            None => leads.push((lead, 1)),
        }
    }
    leads.sort_by_key(|(_, points)| std::cmp::Reverse(*points));
    let by = match (leads.as_slice(), groups) {
        ([(LeadVerdict::Leads(names), _)], [group]) if names.len() == 1 => margin(run, group),
        _ => String::new(),
    };
    let best = if groups.iter().any(Group::is_paced) { "lowest p99" } else { "highest rate" };
    let all = groups.len();
    let parts = leads.iter().map(|(lead, points)| {
        let at = match *points {
            _ if all == 1 => String::new(),
            points if points == all => format!(" at all {all} points"),
            points => format!(" at {points} of {all} points"),
        };
        match lead {
            LeadVerdict::Leads(names) if names.len() == 1 => format!("{} leads{at}{by}", names[0]),
            LeadVerdict::Leads(names) => format!("{} share the lead{at}", list(names)),
            LeadVerdict::Tied(names) => format!("{} cannot be told apart{at}", list(names)),
            LeadVerdict::Seems(name) => format!("{name} has the {best}{at}"),
            LeadVerdict::Alone(name) => format!("{name} has the only result to compare{at}"),
            LeadVerdict::Nobody => format!("no target has a result{at}"),
        }
    });
    let parts = parts.collect::<Vec<_>>().join("; ");
    match no_verdict(run) {
        Some(few) => format!("{parts}; {}", rounds_needed(few.rounds, few.needed)),
        None if leads.iter().any(|(lead, _)| matches!(lead, LeadVerdict::Seems(_))) => {
            format!("{parts}; without a verdict there")
        }
        None => parts,
    }
}

fn lead<'a>(run: &Run, group: &Group<'a>) -> LeadVerdict<'a> {
    let ranked: Vec<&Row<'a>> = group.ranked().collect();
    match ranked.as_slice() {
        [] => LeadVerdict::Nobody,
        [only] => LeadVerdict::Alone(only.name),
        [best, second, ..] => {
            let verdict = between(run, group, best, second);
            if no_verdict(run).is_some() || matches!(verdict, None | Some(Verdict::Undecided)) {
                return LeadVerdict::Seems(best.name);
            }
            let leaders = ranked.iter().filter(|row| row.leads).map(|row| row.name);
            let mut leaders: Vec<&str> = leaders.collect();
            // Sorted, so that equal sets compare equal.
            leaders.sort_unstable();
            if leaders.len() == ranked.len() {
                LeadVerdict::Tied(leaders)
            } else {
                LeadVerdict::Leads(leaders)
            }
        }
    }
}

fn between(run: &Run, group: &Group<'_>, one: &Row<'_>, other: &Row<'_>) -> Option<Verdict> {
    let (a, b) = (&one.cell.target, &other.cell.target);
    pair(run, group.operation, group.point, a, b).map(|pair| pair.verdict)
}

/// The lead of the first of a group over the second.
fn margin(run: &Run, group: &Group<'_>) -> String {
    let ranked: Vec<&Row<'_>> = group.ranked().take(2).collect();
    let [best, second] = ranked.as_slice() else { return String::new() };
    let (a, b) = (&best.cell.target, &second.cell.target);
    pair(run, group.operation, group.point, a, b).map_or_else(String::new, |pair| {
        format!(", by {} over {}", by_how_much(&pair), second.name)
    })
}
