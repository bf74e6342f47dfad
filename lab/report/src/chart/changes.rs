//! A figure of two runs beside each other: for each target a bar of the old run and a bar of the new one.

use super::axis;
use super::family::Family;
use super::marks::{Figure, distinct, index, series};
use super::model::{Absent, Chart, Series, Shape, Unit};
use super::subject::{Picture, Subject, timed};
use crate::diff::caption;
use crate::model::{Change, Diff, DiffCell, DiffFigure, DiffMeasure, Operation};
use crate::points::short_label;

/// The colours of the old and the new figure.
const OLD: usize = 4;
const NEW: usize = 0;

/// A chart for each operation, each place and each measure that are compared.
pub fn diff_charts(diff: &Diff) -> Vec<Chart> {
    let mut charts: Vec<Chart> = Vec::new();
    for operation in Operation::ALL {
        for measure in DiffMeasure::ALL {
            let changes = diff.changes_of(operation, measure);
            for point in distinct(changes.iter().map(|change| &change.cell.point)) {
                let here = changes.iter().copied().filter(|change| change.cell.point == *point);
                charts.extend(chart(diff, &here.collect::<Vec<_>>()));
            }
        }
    }
    super::distinguish(&mut charts);
    charts
}

/// The chart of the changes of one measure at one place.
fn chart(diff: &Diff, changes: &[&Change]) -> Option<Chart> {
    let (cell, measure) = (&changes.first()?.cell, changes.first()?.measure);
    let swept = diff.swept();
    let subject = Subject::new(Family::Changes, cell.operation, &short_label(&cell.point, &swept));
    let what = match measure {
        DiffMeasure::OpsPerS => "operations per second",
        DiffMeasure::AnsweredPerS => "requests answered per second",
        DiffMeasure::P50Ns => "p50 of the latency",
        DiffMeasure::P99Ns => "p99 of the latency",
        DiffMeasure::HitRatio => "hit ratio",
    };
    let better = if measure.rises_for_the_better() { "More" } else { "Less" };
    let reading = format!(
        "{better} is better. The figure of the old run, and below it that of the new run, with their 95 % intervals where \
         there are enough rounds."
    );
    let reading = timed(cell.operation, &reading);
    let picture = picture(diff, changes, what);
    subject.at("figure", caption(measure)).chart(&format!("{what}, old and new"), &reading, picture)
}

fn picture(diff: &Diff, changes: &[&Change], what: &str) -> Picture {
    let targets = diff.targets();
    let number = |url: &str| targets.iter().position(|(known, _)| *known == url);
    let part = |name: &str, colour: usize, figure: fn(&Change) -> DiffFigure| {
        let marks = changes.iter().filter_map(|change| {
            let DiffFigure { value, ci95, .. } = figure(change);
            Some((index(number(&change.cell.target)?), Some(Figure { value, ci95 })))
        });
        Series { colour: Some(colour), ..series(None, name, None, marks) }
    };
    let series = vec![part("old", OLD, |change| change.old), part("new", NEW, |change| change.new)];
    let (unit, is_share) = match changes.first().map(|change| change.measure) {
        Some(DiffMeasure::HitRatio) => (Unit::Share, true),
        Some(DiffMeasure::P50Ns | DiffMeasure::P99Ns) => (Unit::Nanoseconds, false),
        _ => (Unit::Rate, false),
    };
    let y =
        if is_share { axis::of_sums(what, unit) } else { axis::of_figures(what, unit, &series) };
    let names = targets.iter().map(|(_, name)| (*name).to_owned()).collect();
    let absent = absent(diff, changes);
    Picture { shape: Shape::Bars, x: axis::of_categories("target", names), y, series, absent }
}

/// The targets without this figure here, each with the reason.
fn absent(diff: &Diff, changes: &[&Change]) -> Vec<Absent> {
    let Some(here) = changes.first().map(|change| &change.cell) else { return Vec::new() };
    let is_here = |cell: &DiffCell, url: &str| {
        cell.target == url && cell.operation == here.operation && cell.point == here.point
    };
    let reason = |url: &str| {
        let left = diff.not_compared.iter().find(|left| is_here(&left.cell, url));
        let has_other = diff.changes.iter().any(|change| is_here(&change.cell, url));
        let why = if has_other { "it has no such figure here" } else { "not in both runs" };
        left.map_or_else(|| why.to_owned(), |left| left.reason.clone())
    };
    let targets = diff.targets().into_iter().enumerate();
    let lacking =
        targets.filter(|(_, (url, _))| !changes.iter().any(|one| one.cell.target == *url));
    let absent = lacking.map(|(target, (url, name))| Absent {
        target,
        name: name.to_owned(),
        at: Vec::new(),
        reason: reason(url),
    });
    absent.collect()
}
