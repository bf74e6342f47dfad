//! Latency from the least over the mean to the greatest, of the fastest operations up to some percentiles and of all.
//!
//! The distance from a mean to the greatest shows how much a few stalls weigh, and at which percentile they begin. The
//! last span includes every operation.

use super::axis;
use super::family::Family;
use super::marks::{Figure, part};
use super::model::{Absent, Chart, Series, Shape, Unit};
use super::subject::{Picture, Subject, timed};
use super::sweep::point_label;
use crate::model::{Cell, Run};
use crate::percentiles::{PERCENTILES, up_to};
use crate::ranking::{Group, groups};

const READING: &str = "Less is better. For each target the fastest 90, 95 and 99 % of its operations, then all of them: \
                       from the fastest over the mean, where the mark stands, to the slowest.";

/// A chart for each operation at each point.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let chart = |group: &Group<'_>| {
        let point = point_label(run, group.point);
        let subject = Subject::new(Family::Spread, group.operation, &point);
        let reading = timed(group.operation, READING);
        subject.chart("latency up to percentiles", &reading, picture(run, group))
    };
    groups(run).iter().filter_map(chart).collect()
}

/// The parts of a bar are the percentiles; a target without the last, which spans all operations, has no bar.
fn picture(run: &Run, group: &Group<'_>) -> Picture {
    let of = |(name, quantile): &(&'static str, f64)| {
        part(run, group, name, &|row| span(row.cell, *quantile))
    };
    let (series, mut absent): (Vec<Vec<Series>>, Vec<Vec<Absent>>) =
        PERCENTILES.iter().map(of).unzip();
    let (series, absent) = (series.concat(), absent.pop().unwrap_or_default());
    let y = axis::of_spans("latency", Unit::Nanoseconds);
    Picture { shape: Shape::Bars, x: axis::of_targets(run), y, series, absent }
}

#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn span(cell: &Cell, quantile: f64) -> Option<Figure> {
    let least = cell.latency_ns.as_ref()?.min;
    let to = up_to(cell, quantile)?;
    Some(Figure { value: to.mean, ci95: Some([least as f64, to.max as f64]) })
}
