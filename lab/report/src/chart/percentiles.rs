//! The whole distribution of latencies, from the usual times to the tail.

use super::axis;
use super::family::Family;
use super::marks::{Figure, seen, series};
use super::model::{Absent, Axis, Chart, Scale, Shape, Unit};
use super::subject::{Picture, Subject, timed};
use super::sweep::point_label;
use crate::model::{Cell, CurvePoint, Run};
use crate::ranking::{Group, groups};
use crate::shown_percentiles::is_shown;

const READING: &str = "Lower is better. Left of a place lies the share of the operations that took at most that time; \
                       to the right follow ever rarer operations, up to the slowest.";

/// A chart for each operation at each point.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let chart = |group: &Group<'_>| {
        let point = point_label(run, group.point);
        let subject = Subject::new(Family::Percentiles, group.operation, &point);
        let reading = timed(group.operation, READING);
        subject.chart("the whole distribution of latency", &reading, picture(run, group))
    };
    groups(run).iter().filter_map(chart).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a mark in a picture")]
fn picture(run: &Run, group: &Group<'_>) -> Picture {
    let (mut curves, mut absent) = (Vec::new(), Vec::new());
    for (target, known) in run.targets.iter().enumerate() {
        match seen(run, target, group, |row| curve(row.cell)) {
            Ok((withheld, curve)) => {
                let marks = curve.iter().map(|CurvePoint(quantile, nanoseconds)| {
                    (*quantile, Some(Figure::plain(*nanoseconds as f64)))
                });
                curves.push(series(Some(target), &known.name, withheld, marks));
            }
            Err(reason) => {
                absent.push(Absent { target, name: known.name.clone(), at: Vec::new(), reason });
            }
        }
    }
    let x = Axis {
        label: timed(group.operation, "share of the operations"),
        unit: Unit::Quantile,
        scale: Scale::Tail,
        scales: vec![Scale::Tail, Scale::Linear],
        categories: Vec::new(),
    };
    let y = axis::of_figures("latency", Unit::Nanoseconds, &curves);
    Picture { shape: Shape::Curves, x, y, series: curves, absent }
}

/// The recorded curve, or the known percentiles of older runs.
fn curve(cell: &Cell) -> Option<Vec<CurvePoint>> {
    if !cell.latency_curve.is_empty() {
        return Some(cell.latency_curve.clone());
    }
    let latency = cell.latency_ns.as_ref()?;
    let known = [
        (0.0, latency.min),
        (0.5, latency.p50),
        (0.9, latency.p90),
        (0.99, latency.p99),
        (0.999, latency.p999),
        (1.0, latency.max),
    ];
    let told = known.into_iter().filter(|(quantile, _)| is_shown(cell, *quantile));
    Some(told.map(|(quantile, nanoseconds)| CurvePoint(quantile, nanoseconds)).collect())
}
