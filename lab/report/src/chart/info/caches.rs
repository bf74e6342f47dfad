//! The hit ratio of simulated caches against the capacity.

use super::Shown;
use crate::chart::axis;
use crate::chart::family::Family;
use crate::chart::marks::{Figure, series};
use crate::chart::model::{Chart, Series, Shape, Unit};
use crate::info::amounts::float;
use crate::model::{CacheCurve, CurvePolicy, HitRatioAt, MeasuredIn, TraceInfo};

const READING: &str = "Each line is a simulated cache on the reads of this trace. A capacity counts keys and values only.";

/// The name of the choice of a unit.
const UNIT: &str = "capacity in";

/// A chart for each unit; bytes come first.
pub(super) fn charts(info: &TraceInfo) -> Vec<Chart> {
    let measures = [MeasuredIn::Bytes, MeasuredIn::Entries];
    measures.into_iter().filter_map(|measure| chart(info.curve(measure)?)).collect()
}

fn chart(curve: &CacheCurve) -> Option<Chart> {
    let (name, unit, label) = match curve.measure {
        MeasuredIn::Bytes => ("bytes", Unit::Bytes, "capacity"),
        MeasuredIn::Entries => ("entries", Unit::Number, "capacity in entries"),
    };
    let all: Vec<Series> = CurvePolicy::ALL
        .iter()
        .enumerate()
        .map(|(i, policy)| of_policy(curve, i, *policy))
        .collect();
    let places: Vec<f64> = curve.capacities.iter().map(place).collect();
    let shown = Shown {
        family: Family::CacheHits,
        facet: Some((UNIT, name)),
        title: "Hit ratio by capacity",
        reading: READING,
        shape: Shape::Lines,
    };
    let y = axis::of_sums("share of the reads that hit", Unit::Share);
    shown.chart(axis::of_amounts(label, unit, &places), y, all)
}

fn place(at: &HitRatioAt) -> f64 {
    float(at.capacity)
}

/// The line of a policy; that of the optimal choice is a model's.
fn of_policy(curve: &CacheCurve, number: usize, policy: CurvePolicy) -> Series {
    let figure = |at: &HitRatioAt| {
        let ratio = at.of(policy)?;
        let bounds =
            |half: f64| [(ratio.hit_ratio - half).max(0.0), (ratio.hit_ratio + half).min(1.0)];
        Some(Figure { value: ratio.hit_ratio, ci95: ratio.half_width.map(bounds) })
    };
    let marks = curve.capacities.iter().map(|at| (place(at), figure(at)));
    let is_model = policy == CurvePolicy::Optimal;
    let line = series((!is_model).then_some(number), policy.name(), None, marks);
    Series { colour: is_model.then_some(0), ..line }
}
