//! Hit ratio against capacity, beside an exact LRU and the optimal choice.

use super::family::Family;
use super::marks::{Figure, line, series};
use super::model::{Chart, Series, Shape, Unit};
use super::subject::{Picture, Subject};
use super::sweep::Place;
use super::{advised, axis};
use crate::hit_ratio::{LRU, OPTIMAL, READING, capacity};
use crate::model::{HitCurve, HitRatios, PointValue, Run};
use crate::points::{CAPACITY, label};
use crate::ranking::{Group, groups};

/// A chart for each curve of several capacities; of an advice the chart of all its candidates.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    if let Some(advised) = &run.advised {
        return advised::chart(run, advised).into_iter().collect();
    }
    let groups = groups(run);
    run.hit_curves.iter().filter_map(|curve| chart(run, curve, &groups)).collect()
}

fn chart(run: &Run, curve: &HitCurve, groups: &[Group<'_>]) -> Option<Chart> {
    let places: Vec<Place<'_>> =
        curve.capacities.iter().filter_map(|at| place(curve, at, groups)).collect();
    if places.len() < 2 {
        return None;
    }
    let (mut all, mut absent) = (Vec::new(), Vec::new());
    for (target, known) in run.targets.iter().enumerate() {
        // A store that keeps nothing has no hits of its own: it replays its last values.
        if known.stores != Some(false) {
            let read = |row: &crate::ranking::Row<'_>| row.cell.hit_ratio().map(Figure::plain);
            let (its_series, its_absent) = line(run, target, &places, &read);
            all.extend(joined(its_series));
            absent.extend(its_absent);
        }
    }
    all.push(model(curve, 0, LRU, |at| at.lru));
    all.push(model(curve, 1, OPTIMAL, |at| at.optimal));
    let numbers: Vec<f64> = curve.capacities.iter().map(bytes).collect();
    let picture = Picture {
        shape: Shape::Lines,
        x: axis::of_coordinate(CAPACITY, &numbers),
        y: axis::of_sums("share of the reads that hit", Unit::Share),
        series: all,
        absent,
    };
    let others: Vec<&str> = run.swept().into_iter().filter(|name| *name != CAPACITY).collect();
    let subject = Subject::new(Family::HitRatio, curve.operation, &label(&curve.point, &others));
    subject.chart("hit ratio by capacity", READING, picture)
}

/// Joins the series of a target that hits less often with its ranked series, because this chart compares hits.
fn joined(its_series: Vec<Series>) -> Vec<Series> {
    let (plain, withheld): (Vec<Series>, Vec<Series>) =
        its_series.into_iter().partition(|series| series.unlike || series.withheld.is_none());
    let one = plain.into_iter().reduce(|mut one, other| {
        for (figure, others) in one.y.iter_mut().zip(&other.y) {
            *figure = figure.or(*others);
        }
        one
    });
    one.map(|series| Series { unlike: false, withheld: None, ..series })
        .into_iter()
        .chain(withheld)
        .collect()
}

/// The measurement at a capacity.
fn place<'a>(curve: &HitCurve, at: &HitRatios, groups: &'a [Group<'a>]) -> Option<Place<'a>> {
    let mut point = curve.point.clone();
    point.insert(CAPACITY.to_owned(), PointValue::Number(at.capacity_bytes));
    let group =
        groups.iter().find(|group| group.operation == curve.operation && *group.point == point)?;
    Some(Place { x: bytes(at), label: capacity(curve, at), group })
}

/// The line of a model, which is not a target.
fn model(curve: &HitCurve, number: usize, name: &str, of: fn(&HitRatios) -> f64) -> Series {
    let marks = curve.capacities.iter().map(|at| (bytes(at), Some(Figure::plain(of(at)))));
    Series { colour: Some(number), ..series(None, name, None, marks) }
}

#[expect(clippy::cast_precision_loss, reason = "a place on an axis")]
fn bytes(at: &HitRatios) -> f64 {
    at.capacity_bytes as f64
}
