//! Latency against throughput: how much load a target bears before its callers wait.

use super::axis;
use super::family::Family;
use super::marks::{Figure, UNLIKE, distinct, series, why_not};
use super::model::{Absent, Axis, Chart, Scale, Series, Shape, Unit};
use super::subject::{Picture, Subject, timed};
use crate::model::{Cell, Latency, Operation, PointValue, Run};
use crate::points::distinct_label;
use crate::ranking::{Group, Row, Standing, groups};
use crate::shown_percentiles::shown_percentile;

const RATES: &str = "Further right is more, lower is better. Each mark is one of the tried rates: to the right the \
                     operations a second that the target did, upwards the p99 of the response time. Where a line turns \
                     upwards, the rate is more than the target bears.";

/// The coordinate of the offered rate, and those of a closed loop that set its load.
const RATE: &str = "rate";
const CONNECTIONS: &str = "connections";
const PIPELINE: &str = "pipeline";

/// A percentile: its name, its quantile, and its figure.
type Percentile = (&'static str, f64, fn(&Latency) -> u64);

/// The percentiles of a closed loop.
const PERCENTILES: [Percentile; 2] =
    [("p99", 0.99, |latency| latency.p99), ("p50", 0.5, |latency| latency.p50)];

/// The load along a line, and the figures of a mark.
struct Load<'a> {
    /// The coordinate that sets the load.
    along: &'a str,
    /// Whether each mark has its coordinate beside it. Where the rate was given, the axis shows it.
    has_labels: bool,
    /// The label of the axis of the latency.
    label: String,
    /// The rate that was reached, and the latency.
    mark: &'a dyn Fn(&Row<'_>) -> Option<(f64, f64)>,
}

/// A chart for each operation where several rates were tried, and for each combination of the other swept coordinates.
/// Where rates were not given, charts over the number of connections, or over the length of the pipeline.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let swept = run.swept();
    let mut all = groups(run);
    let Some(along) = [RATE, CONNECTIONS, PIPELINE].into_iter().find(|it| swept.contains(it))
    else {
        return Vec::new();
    };
    let is_paced = along == RATE;
    all.retain(|group| {
        let is_loaded =
            |cell: &Cell| if is_paced { cell.is_paced() } else { cell.driven.is_some() };
        group.rows.iter().any(|row| is_loaded(row.cell))
    });
    let mut slices: Vec<(Operation, String, Vec<&Group<'_>>)> = Vec::new();
    for group in &all {
        let others: Vec<&str> = swept.iter().copied().filter(|name| *name != along).collect();
        let label = distinct_label(run, group.point, &others);
        let mine =
            |slice: &&mut (Operation, String, _)| slice.0 == group.operation && slice.1 == label;
        match slices.iter_mut().find(mine) {
            Some((_, _, groups)) => groups.push(group),
            None => slices.push((group.operation, label, vec![group])),
        }
    }
    for (_, _, groups) in &mut slices {
        groups.sort_by_key(|group| group.point.get(along));
    }
    let charts = slices.iter().flat_map(|(operation, label, groups)| {
        let subject = Subject::new(Family::Throughput, *operation, label);
        if is_paced {
            vec![over_rates(run, &subject, *operation, groups)]
        } else {
            over_connections(run, &subject, *operation, along, groups)
        }
    });
    charts.flatten().collect()
}

/// The chart of the rates that were tried: the latency counts from the intended start.
fn over_rates(
    run: &Run,
    subject: &Subject,
    operation: Operation,
    groups: &[&Group<'_>],
) -> Option<Chart> {
    let mark = |row: &Row<'_>| {
        let speed = row.cell.speed().filter(|speed| row.cell.is_paced() && *speed > 0.0)?;
        Some((row.rate()?, 1e9 / speed))
    };
    let label = "p99 of the response time".to_owned();
    let load = Load { along: RATE, has_labels: false, label, mark: &mark };
    subject.chart(
        "throughput against latency",
        &timed(operation, RATES),
        picture(run, groups, &load),
    )
}

/// The charts of the numbers of connections, or of the lengths of the pipeline: one for each percentile.
#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn over_connections(
    run: &Run,
    subject: &Subject,
    operation: Operation,
    along: &str,
    groups: &[&Group<'_>],
) -> Vec<Option<Chart>> {
    let what =
        if along == CONNECTIONS { "number of connections" } else { "length of the pipeline" };
    let chart = |(name, quantile, figure): &Percentile| {
        let mark = |row: &Row<'_>| {
            Some((row.rate()?, shown_percentile(row.cell, *quantile, *figure)? as f64))
        };
        let label = format!("{name} of the latency");
        let load = Load { along, has_labels: true, label, mark: &mark };
        let reading = format!(
            "Further right is more, lower is better. Each mark is one {what}, which stands beside it: to the right the \
             operations a second of all connections, upwards the {name} of the latency. Where a line rises or turns \
             back, more requests at once only wait longer."
        );
        let reading = timed(operation, &reading);
        let picture = picture(run, groups, &load);
        let what = format!("throughput against latency, {name}");
        let chart = subject.at("percentile", name).chart(&what, &reading, picture)?;
        Some(Chart { labels: along.to_owned(), ..chart })
    };
    PERCENTILES.iter().map(chart).collect()
}

fn picture(run: &Run, groups: &[&Group<'_>], load: &Load<'_>) -> Picture {
    let (mut lines, mut absent) = (Vec::new(), Vec::new());
    for target in 0..run.targets.len() {
        let (line, lacking) = line(run, target, groups, load);
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
    let y = Axis { scale: Scale::Log, ..axis::of_figures(&load.label, Unit::Nanoseconds, &lines) };
    Picture { shape: Shape::Lines, x, y, series: lines, absent }
}

/// A mark of a target: the reason why it is no result, its rate, its latency, and its place in the sweep.
struct Mark {
    withheld: Option<String>,
    rate: f64,
    latency: f64,
    label: String,
}

/// The marks of a target, a series for each standing: in the order of the load, or of its reached rates where the axis
/// alone shows the load.
fn line(
    run: &Run,
    target: usize,
    groups: &[&Group<'_>],
    load: &Load<'_>,
) -> (Vec<Series>, Vec<Absent>) {
    let known = &run.targets[target];
    let mut marks: Vec<Mark> = Vec::new();
    let mut absent: Vec<Absent> = Vec::new();
    for group in groups {
        let row = group.rows.iter().find(|row| row.cell.target == known.url);
        let at = group.point.get(load.along).map(PointValue::to_string);
        if let Some(((rate, latency), row)) = row.and_then(|row| Some(((load.mark)(row)?, row))) {
            let withheld = match &row.standing {
                Standing::Withheld(why) => Some(why.clone()),
                Standing::Unlike { .. } => Some(UNLIKE.to_owned()),
                Standing::Ranked { .. } | Standing::Empty(_) => None,
            };
            marks.push(Mark { withheld, rate, latency, label: at.unwrap_or_default() });
            continue;
        }
        let reason = why_not(run, target, group);
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
    if !load.has_labels {
        marks.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    }
    marks.dedup_by(|a, b| a.rate.total_cmp(&b.rate).is_eq());
    let standings = distinct(marks.iter().map(|mark| &mark.withheld));
    let of_standing = |standing: &Option<String>| {
        let mine = || marks.iter().filter(|mark| mark.withheld == *standing);
        let figures = mine().map(|mark| (mark.rate, Some(Figure::plain(mark.latency))));
        let labels = mine().filter(|_| load.has_labels).map(|mark| mark.label.clone()).collect();
        Series { labels, ..series(Some(target), &known.name, standing.clone(), figures) }
    };
    (standings.into_iter().map(of_standing).collect(), absent)
}
