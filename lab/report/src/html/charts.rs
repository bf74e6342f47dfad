//! The charts: a panel for each family, with its switches and the script's picture. Each panel has its full size before
//! the script runs, so that nothing moves afterwards; without a script there are still pictures.

use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};
use serde::Serialize;
use serde_json::{Value, json};

use super::data::packed;
use super::marks;
use super::switches;
use super::view::View;
use crate::chart::{Chart, Family, Ground, Manner, Shape, charts, palette, svg};
use crate::figures::{count, nanoseconds};
use crate::model::{Latency, Operation, Run, Target};
use crate::ranking::{Group, Row};
use crate::shown_percentiles::{WITHHELD, shown_percentile};
use crate::text::{ShortNames, clean};

/// Longer names beside lines are shortened.
const MAX_NAME: usize = 20;

/// The distance from one name beside a line to the next in the picture, and the room above and below the lines. As in
/// `names.js`.
const NAME_GAP: usize = 15;
const ABOVE_AND_BELOW: usize = 90;

/// The least height of a picture of lines. As in `charts.css`.
const LEAST_HEIGHT: usize = 340;

type Statistic = fn(&Latency) -> u64;

/// The figures in the table beside a curve.
const BESIDE_CURVE: [(&str, f64, Statistic); 6] = [
    ("min", 0.0, |latency| latency.min),
    ("p50", 0.5, |latency| latency.p50),
    ("p90", 0.9, |latency| latency.p90),
    ("p99", 0.99, |latency| latency.p99),
    ("p99.9", 0.999, |latency| latency.p999),
    ("max", 1.0, |latency| latency.max),
];

/// The data that the script draws from.
#[derive(Serialize)]
struct Drawn<'a> {
    targets: Vec<Look<'a>>,
    families: Vec<&'static Manner>,
    /// The dashes of models' lines.
    dashes: [&'static str; palette::MODEL_DASHES.len()],
    charts: Vec<Placed<'a>>,
    latencies: Vec<Beside<'a>>,
}

/// A chart, and the numbers of its points in the run.
#[derive(Serialize)]
struct Placed<'a> {
    #[serde(flatten)]
    chart: &'a Chart,
    points: Vec<usize>,
}

/// The look of a target in every chart.
#[derive(Serialize)]
struct Look<'a> {
    name: &'a str,
    /// The name beside a line; as different from others as the name.
    short: String,
    colour: usize,
    mark: String,
    dash: &'static str,
    rounds: String,
}

/// The figures in the table beside the curve of a target.
#[derive(Clone, Serialize)]
struct Beside<'a> {
    operation: Operation,
    point: String,
    target: usize,
    withheld: bool,
    /// `None` where too few operations tell.
    figures: [Option<u64>; BESIDE_CURVE.len()],
    #[serde(skip)]
    name: &'a str,
}

/// The charts of a run, ready for the page.
pub(super) struct Charts<'v, 'a> {
    view: &'v View<'a>,
    all: Vec<Chart>,
    latencies: Vec<Beside<'a>>,
    /// The family that answers the question of the run, and stands with the answer.
    main: Option<Family>,
}

impl<'v, 'a> Charts<'v, 'a> {
    pub(super) fn new(view: &'v View<'a>) -> Self {
        let all: Vec<Chart> = charts(view.run).into_iter().map(short).collect();
        let main = main_family(view, &all);
        Self { view, all, latencies: beside_curves(view), main }
    }

    /// Whether a chart stands with the answer.
    pub(super) fn has_main(&self) -> bool {
        self.main.is_some()
    }

    /// The switches of all charts; nothing where there is no chart.
    pub(super) fn switches(&self) -> Markup {
        html! { @if !self.all.is_empty() { (switches::of_all(self.view, &self.all)) } }
    }

    /// The chart that stands with the answer; empty where another picture is the answer.
    pub(super) fn main(&self) -> Markup {
        html! { @for family in self.families().filter(|family| Some(family[0].family) == self.main) { (self.panel(family, true)) } }
    }

    /// The other charts, and the data of all charts.
    pub(super) fn section(&self) -> Markup {
        html! {
            section #charts {
                h2 { "Charts" }
                @if self.all.is_empty() { p { "There is no figure to draw." } }
                @else {
                    @if !self.has_main() { (self.switches()) }
                    @for family in self.families().filter(|family| Some(family[0].family) != self.main) { (self.panel(family, false)) }
                    data #drawn hidden value=(packed(&self.drawn())) {}
                }
            }
        }
    }

    fn families(&self) -> impl Iterator<Item = &[Chart]> {
        self.all.chunk_by(|a, b| a.family == b.family)
    }

    fn drawn(&self) -> String {
        let drawn = Drawn {
            targets: looks(self.view.run),
            families: self.families().map(|family| family[0].family.manner()).collect(),
            dashes: palette::MODEL_DASHES,
            charts: self
                .all
                .iter()
                .map(|chart| Placed { chart, points: switches::points_of(self.view, chart) })
                .collect(),
            latencies: self.latencies.clone(),
        };
        serde_json::to_string(&drawn).expect("numbers and texts, and memory takes them")
    }

    fn panel(&self, charts: &[Chart], is_main: bool) -> Markup {
        let first = &charts[0];
        let has_table = first.family.manner().has_table;
        let beside = has_table.then(|| table_beside(first, &self.latencies));
        let names = self.view.run.targets.iter().map(|target| &*target.name);
        panel(charts, is_main, &key(charts), &reserved(first, names), beside, None)
    }
}

/// The data that the script draws from, where figures are of no run: each target by its name and its rounds, the
/// charts, and the labels of the points among which a reader chooses.
pub(crate) fn drawn_of<'a>(
    targets: impl Iterator<Item = (&'a str, &'a str)>,
    charts: &[Chart],
    points: &[&str],
) -> String {
    let has_colours = !has_pairs(charts);
    let look = |(number, (name, rounds)): (usize, (&str, &str))| {
        json!({
            "name": name,
            "colour": has_colours.then_some(number % palette::COLOURS),
            "mark": palette::mark(number).path(),
            "dash": palette::dash(number),
            "rounds": rounds,
        })
    };
    let mut families: Vec<Family> = charts.iter().map(|chart| chart.family).collect();
    families.dedup();
    let placed = charts.iter().map(|chart| {
        let named = chart.facets.iter().find(|facet| facet.name == "point");
        let at = named.and_then(|named| points.iter().position(|point| *point == named.value));
        let all = 0..points.len().max(1);
        let mut placed = json!(chart);
        placed["points"] = at.map_or_else(|| json!(all.collect::<Vec<_>>()), |at| json!([at]));
        placed
    });
    let all = json!({
        "targets": targets.enumerate().map(look).collect::<Vec<_>>(),
        "families": families.iter().map(|family| family.manner()).collect::<Vec<_>>(),
        "dashes": palette::MODEL_DASHES,
        "charts": placed.collect::<Vec<_>>(),
        "latencies": [],
    });
    cleaned(all).to_string()
}

/// The same with all texts as [`clean`] makes them.
fn cleaned(value: Value) -> Value {
    match value {
        Value::String(text) => clean(&text).into(),
        Value::Array(values) => values.into_iter().map(cleaned).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, cleaned(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// Whether the colours of these charts are of the two runs, and not of the targets.
pub(crate) fn has_pairs(charts: &[Chart]) -> bool {
    charts.iter().any(|chart| chart.family.manner().has_pairs)
}

/// The charts of a family: the first as a placeholder until the script draws it, with what stands beside it; the still
/// pictures below.
pub(crate) fn panel(
    charts: &[Chart],
    is_main: bool,
    key: &str,
    placeholder: &Markup,
    beside: Option<Markup>,
    pictured: Option<&BTreeSet<String>>,
) -> Markup {
    let first = &charts[0];
    let Manner { name: family, heading, has_stills, .. } = *first.family.manner();
    html! {
        div.panel.main[is_main].live[!has_stills].has-stills[has_stills] id={ "charts-" (family) } data-family=(family) {
            h3.unseen[is_main] { (heading) }
            div.live {
                figure {
                    figcaption { p.title { (first.title) } (switches::of_family(charts)) }
                    div.plot { (placeholder) }
                    div.below { p.reading { (first.reading) } p.key { (key) } }
                    ul.absent { @for absent in first.absent.iter().filter(|_| first.shape != Shape::Bars) {
                        li { (marks::of_target(Some(absent.target))) " " b { (absent.name) }
                            @if !absent.at.is_empty() { ", " (absent.at.join(", ")) ":" } @else if !absent.name.ends_with(':') { ":" }
                            " " (absent.reason) }
                    } }
                    p.readout.unseen role="status" aria-live="polite" {}
                }
                @if let Some(beside) = beside { (beside) }
            }
            (stills(charts, pictured))
            @if has_stills { p.key.still { (key) } }
        }
    }
}

/// The family that answers the question of a sweep; at one point, bars do that.
fn main_family(view: &View<'_>, charts: &[Chart]) -> Option<Family> {
    // An advice has a curve of its candidates even where few of them were measured for longer, at one size.
    if view.run.advised.is_some() {
        return charts.iter().map(|chart| chart.family).find(|family| *family == Family::HitRatio);
    }
    let is_paced = view.groups.iter().any(Group::is_paced);
    let wanted: &[Family] = if is_paced {
        &[Family::HitRatio, Family::Throughput, Family::Latency]
    } else {
        &[Family::HitRatio, Family::Rate]
    };
    let there = |family: &&Family| charts.iter().any(|chart| chart.family == **family);
    wanted.iter().filter(|_| view.is_sweep()).find(there).copied()
}

/// The meaning of the colours, lengths and signs that occur in the charts of a family.
pub(crate) fn key(charts: &[Chart]) -> String {
    let manner = charts[0].family.manner();
    let series = || charts.iter().flat_map(|chart| &chart.series);
    let has_intervals = series().any(|series| !series.low.is_empty());
    let mut told = vec![match charts[0].shape {
        _ if manner.has_spans => {
            "Colour: the target. Each line goes from the least to the greatest, with a mark at the mean."
        }
        _ if manner.has_strips => {
            "A strip for each target, all with one scale of figures. The line breaks between rounds."
        }
        Shape::Curves => {
            "Colour and dash: the target. Drag along a curve to look closer; double-click to see the whole curve again."
        }
        Shape::Lines => "Colour and mark: the target.",
        Shape::Bars if manner.has_pairs => {
            "Length of a bar, or place of a mark: the figure on the scale below. Colour: the run that is named above."
        }
        Shape::Bars if series().any(|series| series.colour.is_some()) => {
            "Length: the figure on the scale below. Colour: the part that is named above."
        }
        Shape::Bars => {
            "Length of a bar, or place of a mark: the figure on the scale below. Colour: the target."
        }
    }];
    if has_intervals && !manner.has_spans {
        told.push("Thin stroke: the 95 % interval.");
    }
    if series().any(|series| series.withheld.is_some() && !series.unlike) {
        told.push("Hollow, dotted or dashed and empty: no result.");
    }
    if series().any(|series| series.unlike) {
        told.push("Hollow or dashed and empty: hits less often than other targets, so its speed is not compared.");
    }
    if charts.iter().any(|chart| chart.chosen.is_some()) {
        told.push("Ring: the advice.");
    }
    if charts[0].shape == Shape::Lines && series().any(|series| series.target.is_none()) {
        told.push("Dashed and without marks: a model.");
    }
    told.join(" ")
}

/// Shortens the numbers of a chart for the page. A chart over time has the most places, of which readers use at most
/// three figures. Most places are at equal distances, so the steps are written.
fn short(mut chart: Chart) -> Chart {
    let short =
        |value: f64, decimals: usize| format!("{value:.decimals$e}").parse().unwrap_or(value);
    for bounds in [&mut chart.ratios.low, &mut chart.ratios.high] {
        for bound in bounds {
            *bound = short(*bound, 3);
        }
    }
    if chart.family.manner().has_strips {
        for series in &mut chart.series {
            let mut at = 0.0;
            for place in &mut series.x {
                let step = short(*place - at, 2);
                at += step;
                *place = step;
            }
            series.y.iter_mut().flatten().for_each(|figure| *figure = short(*figure, 2));
        }
    }
    chart
}

/// The pictures for pages without a script, and for paper: those of all charts, or of some by their ids.
fn stills(charts: &[Chart], pictured: Option<&BTreeSet<String>>) -> Markup {
    let percentiles = ["p50", "p99"];
    let is_main = |chart: &&Chart| {
        let mut facets = chart.facets.iter().filter(|facet| facet.name == "percentile");
        chart.family.manner().has_stills
            && facets.all(|facet| percentiles.contains(&facet.value.as_str()))
    };
    let (shown, others): (Vec<&Chart>, Vec<&Chart>) = charts
        .iter()
        .filter(is_main)
        .partition(|chart| pictured.is_none_or(|ids| ids.contains(&chart.id)));
    html! {
        @for chart in shown { div.still { (PreEscaped(svg(chart, Ground::Page))) } }
        @if !others.is_empty() {
            p.key.still { "The script of this page draws " (count(others.len(), "more chart")) "." }
        }
    }
}

/// The placeholder in the size of the picture of these targets, until the script draws it.
pub(crate) fn reserved<'a>(chart: &Chart, targets: impl Iterator<Item = &'a str>) -> Markup {
    let manner = chart.family.manner();
    let has_rows = manner.has_rows();
    html! {
        @if chart.shape == Shape::Bars {
            @let names: BTreeSet<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
            div.bars aria-hidden="true" {
                @if names.len() > 1 && !manner.has_spans { p.part-names { "…" } }
                @for (number, target) in targets.enumerate() { @for row in 0..rows(chart, number, names.len()) {
                    div.bar-row.span[has_rows].first[has_rows && row == 0] {
                        span.bar-name { @if row == 0 { (target) } }
                        svg.bar width="100%" height="22" {} span.bar-text { "…" }
                    }
                } }
                div.bar-row.scale { span {} svg.bar-ticks width="100%" height="20" {} }
            }
        } @else if manner.has_strips {
            @for _ in &chart.series { p.strip-name aria-hidden="true" {} div.strip-plot {} }
        } @else {
            (lines_placeholder(chart))
        }
    }
}

/// The rows of a target in a picture of bars.
fn rows(chart: &Chart, target: usize, parts: usize) -> usize {
    let Manner { has_spans, has_pairs, .. } = *chart.family.manner();
    let is_absent = chart.absent.iter().any(|absent| absent.target == target);
    if has_spans || has_pairs && !is_absent { parts } else { 1 }
}

/// The room of a picture of lines, which is higher where the names beside many lines need it.
fn lines_placeholder(chart: &Chart) -> Markup {
    let named: BTreeSet<(Option<usize>, Option<&str>)> = chart
        .series
        .iter()
        .map(|series| (series.target, series.target.is_none().then_some(&*series.name)))
        .collect();
    let height = NAME_GAP * named.len() + ABOVE_AND_BELOW;
    html! {
        div.lines-plot {
            @if height > LEAST_HEIGHT { svg.names-room width="1" height=(height) aria-hidden="true" {} }
        }
    }
}

fn looks(run: &Run) -> Vec<Look<'_>> {
    let short = ShortNames::new(run.targets.iter().map(|target| &*target.name), MAX_NAME);
    let targets = run.targets.iter().enumerate();
    let looks = targets.map(|(number, target)| Look {
        name: &target.name,
        short: short.of(&target.name).to_owned(),
        colour: number % palette::COLOURS,
        mark: palette::mark(number).path(),
        dash: palette::dash(number),
        rounds: rounds(run, target),
    });
    looks.collect()
}

/// The number of rounds behind the figures of a target; empty without rounds.
fn rounds(run: &Run, target: &Target) -> String {
    let mine = run.cells.iter().filter(|cell| cell.target == target.url);
    rounds_of(mine.map(|cell| cell.rounds as usize))
}

/// The least and the greatest of these numbers of rounds; empty without rounds.
pub(crate) fn rounds_of(numbers: impl Iterator<Item = usize>) -> String {
    let numbers: BTreeSet<usize> = numbers.filter(|rounds| *rounds > 0).collect();
    match (numbers.first(), numbers.last()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most} rounds"),
        (Some(rounds), _) => count(*rounds, "round"),
        (None, _) => String::new(),
    }
}

fn beside_curves<'a>(view: &View<'a>) -> Vec<Beside<'a>> {
    let beside = |row: &Row<'a>| {
        row.cell.latency_ns.as_ref().filter(|_| row.rate().is_some())?;
        Some(Beside {
            operation: row.cell.operation,
            point: view.short_label(&row.cell.point),
            target: view.number(&row.cell.target)?,
            withheld: row.is_withheld(),
            figures: BESIDE_CURVE
                .map(|(_, quantile, figure)| shown_percentile(row.cell, quantile, figure)),
            name: row.name,
        })
    };
    let mut latencies: Vec<Beside<'_>> =
        view.groups.iter().flat_map(|group| &group.rows).filter_map(beside).collect();
    latencies.sort_by_key(|beside| beside.target);
    latencies
}

/// The figures of most interest on a curve; the script fills in the figures of another curve.
#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn table_beside(chart: &Chart, latencies: &[Beside<'_>]) -> Markup {
    let facet = |name: &str| {
        chart
            .facets
            .iter()
            .find(|facet| facet.name == name)
            .map_or("", |facet| facet.value.as_str())
    };
    let mine = |beside: &&Beside<'_>| {
        beside.operation.as_str() == facet("operation") && beside.point == facet("point")
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label="Percentiles of latency" {
            table.plain.beside {
                thead { tr { th scope="col" { "target" } @for (name, ..) in BESIDE_CURVE { th.number scope="col" { (name) } } } }
                tbody { @for beside in latencies.iter().filter(mine) { tr data-target=(beside.target) {
                    th scope="row" { (marks::of_target(Some(beside.target))) " " (beside.name) }
                    @for figure in beside.figures { td.number { (figure.map_or_else(|| WITHHELD.to_owned(), |figure| nanoseconds(figure as f64))) } }
                } } }
            }
        }
    }
}
