//! The hit ratios that caches could have had in the rounds of all slices.

use std::collections::BTreeMap;

use larder_report::{HitCurve, HitRatios, Slice};

use super::Sliced;

/// The curves of all slices: at each capacity, the mean over the rounds that the models followed there. A target that
/// bounds itself may have had another capacity in each slice.
pub(super) fn hit_curves(parts: &[(Slice, Sliced)]) -> Vec<HitCurve> {
    let mut curves: Vec<HitCurve> = Vec::new();
    for curve in parts.iter().flat_map(|(_, sliced)| &sliced.run.hit_curves) {
        if !curves.iter().any(|known| is_same(known, curve)) {
            let same = parts.iter().flat_map(|(slice, sliced)| {
                let same = sliced.run.hit_curves.iter().filter(|other| is_same(other, curve));
                same.map(move |curve| (followed(slice, curve), curve))
            });
            curves.push(mean(curve, &same.collect::<Vec<_>>()));
        }
    }
    curves
}

fn is_same(a: &HitCurve, b: &HitCurve) -> bool {
    (&a.point, a.operation) == (&b.point, b.operation)
}

/// The number of rounds behind the curve of a slice; where the curve does not tell, all rounds of the slice.
fn followed(slice: &Slice, curve: &HitCurve) -> u32 {
    match curve.rounds {
        0 => u32::try_from(slice.own_rounds().count()).unwrap_or(u32::MAX),
        rounds => rounds,
    }
}

/// The mean of the curves of several slices, weighted by their rounds.
fn mean(first: &HitCurve, of_slices: &[(u32, &HitCurve)]) -> HitCurve {
    let mut sums: BTreeMap<u64, (f64, f64, f64)> = BTreeMap::new();
    for (rounds, curve) in of_slices {
        let weight = f64::from(*rounds);
        for HitRatios { capacity_bytes, lru, optimal } in &curve.capacities {
            let sum = sums.entry(*capacity_bytes).or_default();
            *sum = (sum.0 + weight, sum.1 + weight * lru, sum.2 + weight * optimal);
        }
    }
    let capacities = sums.into_iter().map(|(capacity_bytes, (weight, lru, optimal))| HitRatios {
        capacity_bytes,
        lru: lru / weight,
        optimal: optimal / weight,
    });
    HitCurve {
        capacities: capacities.collect(),
        rounds: of_slices.iter().map(|(rounds, _)| rounds).sum(),
        ..first.clone()
    }
}
