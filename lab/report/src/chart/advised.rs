//! The picture of an advice: the hit ratios of its candidates at all sizes, with the chosen one marked.
//!
//! A first look measures all sizes, and few of them are measured for longer. So the figures of the run alone would be no
//! curve.

use super::axis;
use super::family::Family;
use super::marks::{Figure, series};
use super::model::{Chart, Chosen, Series, Shape, Unit};
use super::subject::{Picture, Subject};
use crate::hit_ratio::{LRU, OPTIMAL, READING};
use crate::model::{Advised, AdvisedPoint, HitRatios, Operation, Run};
use crate::points::CAPACITY;

/// The text beside the chosen point.
const CHOSEN: &str = "the advice";

/// The chart of an advice; `None` where it has one size only.
pub(super) fn chart(run: &Run, advised: &Advised) -> Option<Chart> {
    let mut capacities: Vec<u64> = advised.points.iter().map(|at| at.capacity_bytes).collect();
    capacities.sort_unstable();
    capacities.dedup();
    if capacities.len() < 2 {
        return None;
    }
    let mut all: Vec<Series> = run
        .targets
        .iter()
        .enumerate()
        .map(|(number, target)| {
            let ratio = |capacity: &u64| point(advised, &target.url, *capacity);
            let marks = capacities.iter().map(|capacity| {
                (place(*capacity), ratio(capacity).map(|at| Figure::plain(at.hit_ratio)))
            });
            series(Some(number), &target.name, None, marks)
        })
        .filter(|series| series.y.iter().any(Option::is_some))
        .collect();
    if !advised.models.is_empty() {
        all.push(model(advised, 0, LRU, |at| at.lru));
        all.push(model(advised, 1, OPTIMAL, |at| at.optimal));
    }
    let numbers: Vec<f64> = capacities.iter().map(|capacity| place(*capacity)).collect();
    let picture = Picture {
        shape: Shape::Lines,
        x: axis::of_coordinate(CAPACITY, &numbers),
        y: axis::of_sums("share of the reads that hit", Unit::Share),
        series: all,
        absent: Vec::new(),
    };
    let subject = Subject::new(Family::HitRatio, Operation::GetOrSet, "");
    let chart = subject.chart("hit ratio by capacity", READING, picture)?;
    Some(Chart { chosen: chosen(run, advised), ..chart })
}

/// The place of the choice in the picture.
fn chosen(run: &Run, advised: &Advised) -> Option<Chosen> {
    let choice = advised.choice.as_ref()?;
    let target = run.targets.iter().position(|target| target.url == choice.target)?;
    let at = point(advised, &choice.target, choice.capacity_bytes)?;
    let (x, y) = (place(at.capacity_bytes), at.hit_ratio);
    Some(Chosen { target, x, y, text: CHOSEN.to_owned() })
}

fn point<'a>(advised: &'a Advised, target: &str, capacity_bytes: u64) -> Option<&'a AdvisedPoint> {
    let mut points = advised.points.iter();
    points.find(|at| at.target == target && at.capacity_bytes == capacity_bytes)
}

fn model(advised: &Advised, number: usize, name: &str, of: fn(&HitRatios) -> f64) -> Series {
    let at = advised.models.iter();
    let marks = at.map(|at| (place(at.capacity_bytes), Some(Figure::plain(of(at)))));
    Series { colour: Some(number), ..series(None, name, None, marks) }
}

#[expect(clippy::cast_precision_loss, reason = "a place on an axis")]
fn place(capacity_bytes: u64) -> f64 {
    capacity_bytes as f64
}
