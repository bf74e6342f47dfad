//! What slices tell besides their cells.

use larder_report::{Check, Floor, HitCurve, HitRatios, Search, Slice, Target};

use super::{Sliced, same};
use crate::check::NOISE;
use crate::statistics::{median, median_ci95};

/// The notes of all slices, each once, and what is to be known of the merging.
pub(super) fn notes(parts: &[(Slice, Sliced)]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in parts.iter().flat_map(|(_, sliced)| &sliced.run.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes.extend(same::notes(parts));
    if parts.iter().any(|(_, sliced)| !sliced.run.usage.is_empty()) {
        let note = "what client and servers used from second to second is told by the slices only: each had a clock of its own";
        notes.push(note.into());
    }
    notes
}

/// What checks find in the whole, and what else the machines did in each slice: that was judged with the use of the machine
/// from second to second, which stays with the slices.
pub(super) fn checks(parts: &[(Slice, Sliced)], of_whole: Vec<Check>) -> Vec<Check> {
    let of_slices = parts.iter().flat_map(|(Slice { number, of, .. }, sliced)| {
        let noise = sliced.run.checks.iter().filter(|check| check.id == NOISE);
        noise.map(move |check| Check {
            text: format!("in slice {number} of {of}: {}", check.text),
            ..check.clone()
        })
    });
    let of_whole = of_whole.into_iter().filter(|check| check.id != NOISE);
    let mut checks: Vec<Check> = of_slices.chain(of_whole).collect();
    checks.sort_by_key(|check| check.severity);
    checks
}

/// The targets, each as the first slice tells it in which it could run.
pub(super) fn targets(parts: &[(Slice, Sliced)]) -> Vec<Target> {
    let as_told = |first: &Target| {
        let all = parts.iter().filter_map(|(_, sliced)| sliced.run.target(&first.url));
        let mut ran = all.filter(|target| target.reason.is_none());
        ran.next().unwrap_or(first).clone()
    };
    parts[0].1.run.targets.iter().map(as_told).collect()
}

/// The floors: the least of all slices, because whatever else a machine did came on top.
pub(super) fn floors(parts: &[(Slice, Sliced)]) -> Vec<Floor> {
    let mut floors: Vec<Floor> = Vec::new();
    let least = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    for floor in parts.iter().flat_map(|(_, sliced)| &sliced.run.floors) {
        let is_same = |other: &&mut Floor| {
            other.point == floor.point
                && other.operation == floor.operation
                && other.language == floor.language
        };
        match floors.iter_mut().find(is_same) {
            None => floors.push(floor.clone()),
            Some(known) => {
                known.ns_per_op = known.ns_per_op.min(floor.ns_per_op);
                known.cpu_ns_per_op = least(known.cpu_ns_per_op, floor.cpu_ns_per_op);
            }
        }
    }
    floors
}

/// What was searched, with the rates that the rounds of all slices found.
pub(super) fn searches(parts: &[(Slice, Sliced)]) -> Vec<Search> {
    let first = &parts[0].1.run;
    let merged = |search: &Search| {
        let is_same = |other: &&Search| {
            other.target == search.target
                && other.point == search.point
                && other.operations == search.operations
        };
        let runs = parts.iter().map(|(_, sliced)| &sliced.run);
        let all: Vec<&Search> = runs.filter_map(|run| run.searches.iter().find(is_same)).collect();
        let lacks = all.iter().find(|search| search.rates.is_empty());
        let rates: Vec<f64> = all.iter().flat_map(|search| &search.rates).copied().collect();
        let mut steps: Vec<_> = all.iter().flat_map(|search| &search.steps).copied().collect();
        steps.sort_by_key(|step| step.round);
        Search {
            rate: median(&rates),
            rate_ci95: median_ci95(&rates, first.seed),
            reason: lacks.and_then(|search| search.reason.clone()).filter(|_| rates.is_empty()),
            reason_kind: lacks.and_then(|search| search.reason_kind).filter(|_| rates.is_empty()),
            rates,
            steps,
            ..search.clone()
        }
    };
    first.searches.iter().map(merged).collect()
}

/// How often caches could have hit: the mean over the rounds of all slices.
pub(super) fn hit_curves(parts: &[(Slice, Sliced)]) -> Vec<HitCurve> {
    let rounds = |(slice, _): &(Slice, Sliced)| {
        f64::from(u32::try_from(slice.own_rounds().count()).unwrap_or(u32::MAX))
    };
    let merged = |curve: &HitCurve| {
        let all: Vec<(f64, &HitCurve)> = parts
            .iter()
            .filter_map(|part| {
                let of_part = &part.1.run.hit_curves;
                let is_same = |other: &&HitCurve| {
                    other.point == curve.point && other.operation == curve.operation
                };
                Some((rounds(part), of_part.iter().find(is_same)?))
            })
            .collect();
        let mean = |at: usize, of: fn(&HitRatios) -> f64| {
            let told = all
                .iter()
                .filter_map(|(rounds, curve)| Some((*rounds, of(curve.capacities.get(at)?))));
            let (weight, sum) =
                told.fold((0.0, 0.0), |(w, s), (rounds, ratio)| (w + rounds, s + rounds * ratio));
            sum / weight
        };
        let capacities = curve.capacities.iter().enumerate().map(|(at, ratios)| HitRatios {
            lru: mean(at, |ratios| ratios.lru),
            optimal: mean(at, |ratios| ratios.optimal),
            ..*ratios
        });
        HitCurve { capacities: capacities.collect(), ..curve.clone() }
    };
    parts[0].1.run.hit_curves.iter().map(merged).collect()
}

/// The command of the whole: that of a slice without what made it one, and without where that one left its results.
pub(super) fn argv(of_slice: &[String]) -> Vec<String> {
    let own = ["--slice", "--output", "-o"];
    let mut whole = Vec::new();
    let mut words = of_slice.iter();
    while let Some(word) = words.next() {
        if own.contains(&word.as_str()) {
            words.next();
        } else if !own.iter().any(|flag| {
            word.strip_prefix(flag).is_some_and(|value| value.starts_with('=') || *flag == "-o")
        }) {
            whole.push(word.clone());
        }
    }
    whole
}
