//! Latency, against the swept parameter: the times of most operations, and of the slow ones.

use super::family::Family;
use super::marks::{Figure, swept};
use super::model::{Chart, Unit};
use super::subject::{Subject, timed};
use super::sweep::Sweep;
use crate::model::{Cell, Latency, LatencyIntervals, Run};
use crate::ranking::groups;
use crate::shown_percentiles::shown_percentile;

/// A figure of a distribution.
struct Statistic {
    name: &'static str,
    quantile: f64,
    meaning: &'static str,
    value: fn(&Latency) -> u64,
    ci95: fn(&LatencyIntervals) -> Option<[f64; 2]>,
}

/// The figure of most interest comes first.
const STATISTICS: [Statistic; 6] = [
    Statistic {
        name: "p50",
        quantile: 0.5,
        meaning: "Half of the operations took at most this time",
        value: |latency| latency.p50,
        ci95: |intervals| Some(intervals.p50),
    },
    Statistic {
        name: "p90",
        quantile: 0.9,
        meaning: "90 % of the operations took at most this time",
        value: |latency| latency.p90,
        ci95: |intervals| Some(intervals.p90),
    },
    Statistic {
        name: "p99",
        quantile: 0.99,
        meaning: "99 % of the operations took at most this time",
        value: |latency| latency.p99,
        ci95: |intervals| Some(intervals.p99),
    },
    Statistic {
        name: "p99.9",
        quantile: 0.999,
        meaning: "99.9 % of the operations took at most this time",
        value: |latency| latency.p999,
        ci95: |intervals| Some(intervals.p999),
    },
    Statistic {
        name: "max",
        quantile: 1.0,
        meaning: "The time of the slowest operation",
        value: |latency| latency.max,
        ci95: |_| None,
    },
    Statistic {
        name: "min",
        quantile: 0.0,
        meaning: "The time of the fastest operation",
        value: |latency| latency.min,
        ci95: |_| None,
    },
];

/// A chart for each operation and figure.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let (sweep, groups) = (Sweep::of(run), groups(run));
    let mut charts = Vec::new();
    for slice in sweep.slices(&groups) {
        let subject = Subject::new(Family::Latency, slice.operation, &slice.label);
        for statistic in &STATISTICS {
            let picture = swept(run, &sweep, &slice, "latency", Unit::Nanoseconds, &|row| {
                statistic.of(row.cell)
            });
            let Statistic { name, meaning, .. } = statistic;
            let is_paced = slice.places.iter().any(|place| place.group.is_paced());
            let from = if is_paced { " from the intended start" } else { "" };
            let reading = format!("Less is better. {meaning}{from}, all rounds together.");
            let subject = subject.at("percentile", name);
            let reading = timed(slice.operation, &reading);
            charts.extend(subject.chart(&format!("latency, {name}"), &reading, picture));
        }
    }
    charts
}

impl Statistic {
    #[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
    fn of(&self, cell: &Cell) -> Option<Figure> {
        let value = shown_percentile(cell, self.quantile, self.value)? as f64;
        Some(Figure { value, ci95: cell.latency_ns_ci95.as_ref().and_then(self.ci95) })
    }
}
