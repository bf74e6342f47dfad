//! The rate, and the keys in use, over the time of a trace.

use super::{Shown, figures, line};
use crate::chart::axis;
use crate::chart::family::Family;
use crate::chart::model::{Axis, Chart, Series, Shape, Unit};
use crate::info::amounts::float;
use crate::model::{TraceInfo, WorkingSet};

/// The rates of all operations, of reads and of misses.
pub(super) fn rates(info: &TraceInfo) -> Vec<Chart> {
    let Some(course) = &info.course else { return Vec::new() };
    let step_s = course.step_s;
    let of = |number, name, counts: &[u64]| {
        line(number, name, rising(step_s).zip(counts.iter().map(|count| float(*count) / step_s)))
    };
    let mut all = vec![of(0, "all operations", &course.rows), of(1, "reads", &course.reads)];
    if !course.hits.is_empty() {
        let missed = course.reads.iter().zip(&course.hits);
        let missed: Vec<u64> = missed.map(|(reads, hits)| reads.saturating_sub(*hits)).collect();
        all.push(of(2, "reads that missed", &missed));
    }
    let shown = Shown {
        family: Family::Course,
        facet: None,
        title: "Operations a second",
        reading: "How many operations came, in steps of equal length. A dip to nothing at the end may be an incomplete step.",
        shape: Shape::Curves,
    };
    let y = axis::of_sums("operations per second", Unit::Rate);
    shown.chart(axis::of_time(), y, all).into_iter().collect()
}

/// The places of steps on the axis of time: their middles.
fn rising(step: f64) -> impl Iterator<Item = f64> {
    (0_u32..).map(move |number| (f64::from(number) + 0.5) * step)
}

/// The keys in use, and their bytes.
pub(super) fn working_sets(info: &TraceInfo) -> Vec<Chart> {
    let Some(set) = &info.working_set else { return Vec::new() };
    let keys = chart(set, "keys", &set.keys, &set.keys_so_far);
    let bytes = (!set.bytes.is_empty()).then(|| chart(set, "bytes", &set.bytes, &set.bytes_so_far));
    [keys, bytes.flatten()].into_iter().flatten().collect()
}

fn chart(set: &WorkingSet, of: &str, each: &[f64], so_far: &[f64]) -> Option<Chart> {
    let (step, x) = match (set.step_s, set.step_rows) {
        (Some(step_s), _) => (step_s, axis::of_time()),
        (None, rows) => (float(rows.unwrap_or(1)), of_operations()),
    };
    let all: Vec<Series> = [("in this step", each), ("since the beginning", so_far)]
        .into_iter()
        .enumerate()
        .map(|(number, (name, figures))| {
            line(number, name, rising(step).zip(figures.iter().copied()))
        })
        .collect();
    let (unit, label, title) = match of {
        "keys" => (Unit::Number, "different keys", "Different keys in use"),
        _ => (Unit::Bytes, "keys and values", "Bytes of the keys in use, with their values"),
    };
    let shown = Shown {
        family: Family::WorkingSet,
        facet: Some(("in", of)),
        title,
        reading: "What was used in each step of time, and what was used until then. A cache as large as a step's figure could \
                  keep all that the step uses.",
        shape: Shape::Curves,
    };
    let y = axis::of_amounts(label, unit, &figures(&all));
    shown.chart(x, Axis { scale: crate::chart::Scale::Linear, ..y }, all)
}

/// The axis of a trace without times.
fn of_operations() -> Axis {
    axis::of_sums("operations since the beginning", Unit::Number)
}
