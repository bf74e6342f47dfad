//! Latency against the reached rate: how much load a target bears before its callers wait.

use super::axis;
use super::family::Family;
use super::marks::{Figure, UNLIKE, distinct, series, why_not};
use super::model::{Absent, Axis, Chart, Scale, Series, Shape, Unit};
use super::subject::{Picture, Subject, timed};
use crate::model::{Operation, PointValue, Run};
use crate::points::distinct_label;
use crate::ranking::{Group, Row, Standing, groups};

const READING: &str = "Further right is more, lower is better. Each mark is one of the tried rates: to the right \
                       the operations a second that the target did, upwards the p99 of the response time. \
                       Where a line turns upwards, the rate is more than the target bears.";

/// The coordinate of the offered rate.
const RATE: &str = "rate";

/// A chart for each operation where several rates were tried, and for each combination of the other swept coordinates.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let mut others = run.swept();
    if !others.contains(&RATE) {
        return Vec::new();
    }
    others.retain(|name| *name != RATE);
    let all = groups(run);
    let paced = all.iter().filter(|group| group.rows.iter().any(|row| row.cell.is_paced()));
    let mut slices: Vec<(Operation, String, Vec<&Group<'_>>)> = Vec::new();
    for group in paced {
        let label = distinct_label(run, group.point, &others);
        let mine =
            |slice: &&mut (Operation, String, _)| slice.0 == group.operation && slice.1 == label;
        match slices.iter_mut().find(mine) {
            Some((_, _, groups)) => groups.push(group),
            None => slices.push((group.operation, label, vec![group])),
        }
    }
    let chart = |(operation, label, groups): &(Operation, String, Vec<&Group<'_>>)| {
        let subject = Subject::new(Family::Throughput, *operation, label);
        let reading = timed(*operation, READING);
        subject.chart("throughput against latency", &reading, picture(run, groups))
    };
    slices.iter().filter_map(chart).collect()
}

fn picture(run: &Run, groups: &[&Group<'_>]) -> Picture {
    let (mut lines, mut absent) = (Vec::new(), Vec::new());
    for target in 0..run.targets.len() {
        let (line, lacking) = line(run, target, groups);
        lines.extend(line);
        absent.extend(lacking);
    }
    let x = Axis {
        label: "operations per second".to_owned(),
        unit: Unit::Rate,
        scale: Scale::Linear,
        scales: vec![Scale::Linear, Scale::Log],
        categories: Vec::new(),
    };
    let y = Axis {
        scale: Scale::Log,
        ..axis::of_figures("p99 of the response time", Unit::Nanoseconds, &lines)
    };
    Picture { shape: Shape::Lines, x, y, series: lines, absent }
}

/// The marks of a target, in the order of its reached rates: a series for each standing.
fn line(run: &Run, target: usize, groups: &[&Group<'_>]) -> (Vec<Series>, Vec<Absent>) {
    let known = &run.targets[target];
    let mut marks: Vec<(Option<String>, f64, f64)> = Vec::new();
    let mut absent: Vec<Absent> = Vec::new();
    for group in groups {
        let row = group.rows.iter().find(|row| row.cell.target == known.url);
        if let Some(((rate, p99), row)) = row.and_then(|row| Some((mark(row)?, row))) {
            let withheld = match &row.standing {
                Standing::Withheld(why) => Some(why.clone()),
                Standing::Unlike { .. } => Some(UNLIKE.to_owned()),
                Standing::Ranked { .. } | Standing::Empty(_) => None,
            };
            marks.push((withheld, rate, p99));
            continue;
        }
        let reason = why_not(run, target, group);
        let at = group.point.get(RATE).map(PointValue::to_string);
        match absent.iter_mut().find(|one| one.reason == reason) {
            Some(one) => one.at.extend(at),
            None => absent.push(Absent {
                target,
                name: known.name.clone(),
                at: at.into_iter().collect(),
                reason,
            }),
        }
    }
    if marks.is_empty() {
        for one in &mut absent {
            one.at.clear();
        }
    }
    marks.sort_by(|a, b| a.1.total_cmp(&b.1));
    marks.dedup_by(|a, b| a.1.total_cmp(&b.1).is_eq());
    let standings = distinct(marks.iter().map(|(withheld, ..)| withheld));
    let of_standing = |standing: &Option<String>| {
        let mine = marks.iter().filter(|(withheld, ..)| withheld == standing);
        let mine = mine.map(|(_, rate, p99)| (*rate, Some(Figure::plain(*p99))));
        series(Some(target), &known.name, standing.clone(), mine)
    };
    (standings.into_iter().map(of_standing).collect(), absent)
}

/// The reached rate, and the p99 of the latency.
fn mark(row: &Row<'_>) -> Option<(f64, f64)> {
    let speed = row.cell.speed().filter(|speed| row.cell.is_paced() && *speed > 0.0)?;
    Some((row.rate()?, 1e9 / speed))
}
