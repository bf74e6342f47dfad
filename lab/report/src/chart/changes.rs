//! A figure of two runs beside each other: for each target a bar of the old run and a bar of the new one.

use super::axis;
use super::family::Family;
use super::marks::{Figure, distinct, index, series};
use super::model::{Absent, Chart, Series, Shape, Unit};
use super::subject::{Picture, Subject, timed};
use crate::diff::caption;
use crate::model::{
    Change, ChangeVerdict, Diff, DiffCell, DiffFigure, DiffMeasure, Operation, Point,
};
use crate::points::Labels;

/// The colours of the old and the new figure.
const OLD: usize = 4;
const NEW: usize = 0;

/// A chart for each operation, each place and each measure that are compared.
pub fn diff_charts(diff: &Diff) -> Vec<Chart> {
    judged_charts(diff).into_iter().map(|(chart, _)| chart).collect()
}

/// The same charts, and whether a change is told in each.
pub(crate) fn judged_charts(diff: &Diff) -> Vec<(Chart, bool)> {
    let points = || diff.changes.iter().map(|change| &change.cell.point);
    let compared = Compared {
        diff,
        targets: diff.targets(),
        swept: diff.swept(),
        labels: Labels::of(points()),
    };
    let (mut charts, mut judged) = (Vec::new(), Vec::new());
    for operation in Operation::ALL {
        for measure in DiffMeasure::ALL {
            let changes = diff.changes_of(operation, measure);
            for point in distinct(changes.iter().map(|change| &change.cell.point)) {
                let here = changes.iter().copied().filter(|change| change.cell.point == *point);
                let here: Vec<&Change> = here.collect();
                let Some(chart) = compared.chart(point, &here) else { continue };
                charts.push(chart);
                let is_told = |one: &&Change| one.verdict != ChangeVerdict::Indistinguishable;
                judged.push(here.iter().any(is_told));
            }
        }
    }
    super::distinguish(&mut charts);
    charts.into_iter().zip(judged).collect()
}

/// What all charts of a difference share.
struct Compared<'a> {
    diff: &'a Diff,
    targets: Vec<(&'a str, &'a str)>,
    swept: Vec<&'a str>,
    labels: Labels,
}

impl Compared<'_> {
    /// The chart of the changes of one measure at one place.
    fn chart(&self, point: &Point, changes: &[&Change]) -> Option<Chart> {
        let (cell, measure) = (&changes.first()?.cell, changes.first()?.measure);
        let point = self.labels.short(point, &self.swept);
        let subject = Subject::new(Family::Changes, cell.operation, &point);
        let what = match measure {
            DiffMeasure::OpsPerS => "operations per second",
            DiffMeasure::AnsweredPerS => "requests answered per second",
            DiffMeasure::P50Ns => "p50 of the latency",
            DiffMeasure::P99Ns => "p99 of the latency",
            DiffMeasure::HitRatio => "hit ratio",
        };
        let better = if measure.rises_for_the_better() { "More" } else { "Less" };
        let reading = format!(
            "{better} is better. The figure of the old run, and below it that of the new run, with their 95 % intervals \
             where there are enough rounds."
        );
        let reading = timed(cell.operation, &reading);
        let picture = self.picture(measure, changes, what);
        subject.at("figure", caption(measure)).chart(
            &format!("{what}, old and new"),
            &reading,
            picture,
        )
    }

    fn picture(&self, measure: DiffMeasure, changes: &[&Change], what: &str) -> Picture {
        let number = |url: &str| self.targets.iter().position(|(known, _)| *known == url);
        let part = |name: &str, colour: usize, figure: fn(&Change) -> DiffFigure| {
            let marks = changes.iter().filter_map(|change| {
                let DiffFigure { value, ci95, .. } = figure(change);
                Some((index(number(&change.cell.target)?), Some(Figure { value, ci95 })))
            });
            Series { colour: Some(colour), ..series(None, name, None, marks) }
        };
        let series =
            vec![part("old", OLD, |change| change.old), part("new", NEW, |change| change.new)];
        let y = match measure {
            DiffMeasure::HitRatio => axis::of_sums(what, Unit::Share),
            DiffMeasure::P50Ns | DiffMeasure::P99Ns => {
                axis::of_figures(what, Unit::Nanoseconds, &series)
            }
            DiffMeasure::OpsPerS | DiffMeasure::AnsweredPerS => {
                axis::of_figures(what, Unit::Rate, &series)
            }
        };
        let names = self.targets.iter().map(|(_, name)| (*name).to_owned()).collect();
        let absent = self.absent(changes);
        Picture { shape: Shape::Bars, x: axis::of_categories("target", names), y, series, absent }
    }

    /// The targets without this figure here, each with the reason.
    fn absent(&self, changes: &[&Change]) -> Vec<Absent> {
        let Some(here) = changes.first().map(|change| &change.cell) else { return Vec::new() };
        let is_here = |cell: &DiffCell, url: &str| {
            cell.target == url && cell.operation == here.operation && cell.point == here.point
        };
        let reason = |url: &str| {
            let left = self.diff.not_compared.iter().find(|left| is_here(&left.cell, url));
            let has_other = self.diff.changes.iter().any(|change| is_here(&change.cell, url));
            let why = if has_other { "it has no such figure here" } else { "not in both runs" };
            left.map_or_else(|| why.to_owned(), |left| left.reason.clone())
        };
        let targets = self.targets.iter().enumerate();
        let lacking =
            targets.filter(|(_, (url, _))| !changes.iter().any(|one| one.cell.target == *url));
        let absent = lacking.map(|(target, (url, name))| Absent {
            target,
            name: (*name).to_owned(),
            at: Vec::new(),
            reason: reason(url),
        });
        absent.collect()
    }
}
