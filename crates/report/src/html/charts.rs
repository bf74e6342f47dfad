//! The charts: a panel for each family, its switches, and what the script draws in it. Each panel stands at its full
//! size before the script comes, so that nothing moves when it does; without a script there are still pictures.

use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use super::data::packed;
use super::marks;
use super::view::View;
use crate::chart::{Axis, Chart, Family, Ground, Manner, Scale, Shape, charts, palette, svg};
use crate::figures::nanoseconds;
use crate::model::{Latency, Operation, Run, Target};
use crate::ranking::Row;
use crate::told::{UNTOLD, told};

/// More values than this, or longer ones, are chosen from a list.
const BUTTONS: usize = 4;
const BUTTON_TEXT: usize = 48;

type Statistic = fn(&Latency) -> u64;

/// The figures that stand beside a curve.
const BESIDE_CURVE: [(&str, f64, Statistic); 6] = [
    ("min", 0.0, |latency| latency.min),
    ("p50", 0.5, |latency| latency.p50),
    ("p90", 0.9, |latency| latency.p90),
    ("p99", 0.99, |latency| latency.p99),
    ("p99.9", 0.999, |latency| latency.p999),
    ("max", 1.0, |latency| latency.max),
];

/// What the script draws from.
#[derive(Serialize)]
struct Drawn<'a> {
    targets: Vec<Look<'a>>,
    families: Vec<&'static Manner>,
    /// The dashes of lines that are no targets.
    dashes: [&'static str; palette::MODEL_DASHES.len()],
    charts: &'a [Chart],
    latencies: Vec<Beside<'a>>,
}

/// How a target looks in every chart.
#[derive(Serialize)]
struct Look<'a> {
    name: &'a str,
    colour: usize,
    mark: &'static str,
    dash: &'static str,
    rounds: String,
}

/// The figures that stand beside the curve of a target.
#[derive(Serialize)]
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

pub(super) fn section(view: &View<'_>) -> Markup {
    let charts: Vec<Chart> = charts(view.run).into_iter().map(short).collect();
    let latencies = beside_curves(view);
    let mut families: Vec<&Manner> = charts.iter().map(|chart| chart.family.manner()).collect();
    families.dedup();
    let (targets, dashes) = (looks(view.run), palette::MODEL_DASHES);
    let drawn = Drawn { targets, families, dashes, charts: &charts, latencies };
    let json = serde_json::to_string(&drawn).expect("numbers and texts, and memory takes them");
    html! {
        section #charts {
            h2 { "Charts" }
            @if charts.is_empty() { p { "There is no figure to draw." } }
            @else {
                (legend(view.run))
                @for family in charts.chunk_by(|a, b| a.family == b.family) { (panel(view, family, &drawn.latencies)) }
                data #drawn hidden value=(packed(&json)) {}
            }
        }
    }
}

/// The chart as short as it can be. Over time there are more places than anywhere, of which nobody reads more than three
/// figures; most are as far from the one before as that is from its own, so that the steps are written.
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

/// Buttons that show and hide a target in all charts at once. One that did not run has nothing to show.
fn legend(run: &Run) -> Markup {
    html! {
        div.legend.live role="group" aria-label="Targets in the charts" {
            @for (number, target) in run.targets.iter().enumerate() {
                @if let Some(reason) = nothing_drawn(run, target) { span.entry.out {
                    a href={ "#" (View::target_anchor(number)) } title=(reason) {
                        (marks::of_target(Some(number))) span.name { (target.name) }
                    }
                    small { "did not run" }
                } } @else { span.entry {
                    button.toggle type="button" aria-pressed="true" data-target=(number) {
                        (marks::of_target(Some(number))) span.name { (target.name) }
                    }
                    button.only type="button" data-only=(number) aria-label={ "only " (target.name) } { "only" }
                } }
            }
            button.everything type="button" aria-disabled="true" { "all" }
        }
    }
}

/// Why a target is in no chart: it did not run, and has no figure.
fn nothing_drawn<'a>(run: &Run, target: &'a Target) -> Option<&'a str> {
    let has_figure =
        run.cells.iter().any(|cell| cell.target == target.url && cell.ops_per_s.is_some());
    target.reason.as_deref().filter(|_| !has_figure)
}

fn panel(view: &View<'_>, charts: &[Chart], latencies: &[Beside<'_>]) -> Markup {
    let first = &charts[0];
    let Manner { name: family, heading, has_stills, has_table, .. } = *first.family.manner();
    html! {
        div.panel.live[!has_stills].has-stills[has_stills] id={ "charts-" (family) } data-family=(family) {
            h3 { (heading) }
            div.live {
                (switches(charts))
                figure {
                    figcaption { p.title { (first.title) } p.reading { (first.reading) } }
                    div.plot { (reserved(first, view.run)) }
                    ul.absent { @for absent in first.absent.iter().filter(|_| first.shape != Shape::Bars) {
                        li { (marks::of_target(Some(absent.target))) " " b { (absent.name) }
                            @if !absent.at.is_empty() { ", " (absent.at.join(", ")) ":" } @else if !absent.name.ends_with(':') { ":" }
                            " " (absent.reason) }
                    } }
                    @if first.shape == Shape::Curves {
                        p.hint { "Drag along a curve to look closer; double-click to see all of it again." }
                    }
                    p.readout.unseen role="status" aria-live="polite" {}
                }
                @if has_table { (table_beside(first, latencies)) }
            }
            (stills(charts))
        }
    }
}

/// The pictures that stand there without a script, and on paper.
fn stills(charts: &[Chart]) -> Markup {
    let percentiles = ["p50", "p99"];
    let is_main = |chart: &&Chart| {
        let mut facets = chart.facets.iter().filter(|facet| facet.name == "percentile");
        chart.family.manner().has_stills
            && facets.all(|facet| percentiles.contains(&facet.value.as_str()))
    };
    html! {
        @for chart in charts.iter().filter(is_main) { div.still { (PreEscaped(svg(chart, Ground::Page))) } }
    }
}

/// What has the size of the picture until the script draws it.
fn reserved(chart: &Chart, run: &Run) -> Markup {
    html! {
        @if chart.shape == Shape::Bars {
            @let names: BTreeSet<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
            @let has_spans = chart.family.manner().has_spans;
            div.bars aria-hidden="true" {
                @if names.len() > 1 && !has_spans { p.part-names { "…" } }
                @for target in &run.targets { @for row in 0..if has_spans { names.len() } else { 1 } {
                    div.bar-row.span[has_spans].first[has_spans && row == 0] {
                        span.bar-name { @if row == 0 { (target.name) } }
                        svg.bar width="100%" height="22" {} span.bar-text { "…" }
                    }
                } }
                div.bar-row.scale { span {} svg.bar-ticks width="100%" height="20" {} }
            }
        } @else if chart.family.manner().has_strips {
            @for _ in &chart.series { p.strip-name aria-hidden="true" {} div.strip-plot {} }
        } @else {
            div.lines-plot {}
        }
    }
}

/// The facets among which the reader chooses, then what may be seen otherwise.
fn switches(charts: &[Chart]) -> Markup {
    let family = charts[0].family;
    html! {
        div.switches {
            @for facet in &charts[0].facets {
                @let values = values(charts, facet.name);
                @if values.len() > 1 { (choice(family, facet.name, &values)) }
            }
            @if family.manner().is_relative {
                (buttons(family, "figures", &[("absolute", "absolute"), ("relative", "relative to best")]))
            }
            @for (name, axis) in [("x", (|chart| &chart.x) as fn(&Chart) -> &Axis), ("y", |chart| &chart.y)] {
                @let scales = scales(charts, axis);
                @if scales.len() > 1 { (buttons(family, &format!("{name} axis"), &scales)) }
            }
        }
    }
}

/// The values of a facet in a family, as they come.
fn values<'a>(charts: &'a [Chart], name: &str) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    let facets = charts.iter().flat_map(|chart| &chart.facets).filter(|facet| facet.name == name);
    facets.map(|facet| facet.value.as_str()).filter(|value| seen.insert(*value)).collect()
}

fn scales(charts: &[Chart], axis: fn(&Chart) -> &Axis) -> Vec<(&'static str, &'static str)> {
    let mut scales: Vec<Scale> = Vec::new();
    for scale in charts.iter().flat_map(|chart| &axis(chart).scales) {
        if !scales.contains(scale) {
            scales.push(*scale);
        }
    }
    let named = |scale| match scale {
        Scale::Linear => ("linear", "linear"),
        Scale::Log => ("log", "log"),
        Scale::Tail => ("tail", "tail"),
        Scale::Categories => ("categories", "names"),
    };
    scales.into_iter().map(named).collect()
}

fn choice(family: Family, name: &str, values: &[&str]) -> Markup {
    if values.len() <= BUTTONS
        && values.iter().map(|value| value.len()).sum::<usize>() <= BUTTON_TEXT
    {
        let values: Vec<(&str, &str)> = values.iter().map(|value| (*value, *value)).collect();
        return buttons(family, name, &values);
    }
    html! {
        label.choice { span { (name) } select data-switch=(name) { @for value in values { option value=(value) { (value) } } } }
    }
}

fn buttons(family: Family, name: &str, values: &[(&str, &str)]) -> Markup {
    let group = format!("{}-{name}", family.as_str());
    html! {
        fieldset.choice {
            legend { (name) }
            @for (at, (value, text)) in values.iter().enumerate() {
                label { input type="radio" name=(group) data-switch=(name) value=(value) checked[at == 0]; span { (text) } }
            }
        }
    }
}

fn looks(run: &Run) -> Vec<Look<'_>> {
    let targets = run.targets.iter().enumerate();
    let looks = targets.map(|(number, target)| Look {
        name: &target.name,
        colour: number % palette::COLOURS,
        mark: palette::mark(number).path(),
        dash: palette::dash(number),
        rounds: rounds(run, target),
    });
    looks.collect()
}

/// How many rounds stand behind the figures of a target; empty where none does.
fn rounds(run: &Run, target: &Target) -> String {
    let mine = || run.cells.iter().filter(|cell| cell.target == target.url && cell.rounds > 0);
    let least = mine().map(|cell| cell.rounds).min();
    let most = mine().map(|cell| cell.rounds).max();
    match (least, most) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most} rounds"),
        (Some(1), _) => "1 round".to_owned(),
        (Some(rounds), _) => format!("{rounds} rounds"),
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
            figures: BESIDE_CURVE.map(|(_, quantile, figure)| told(row.cell, quantile, figure)),
            name: row.name,
        })
    };
    let mut latencies: Vec<Beside<'_>> =
        view.groups.iter().flat_map(|group| &group.rows).filter_map(beside).collect();
    latencies.sort_by_key(|beside| beside.target);
    latencies
}

/// The figures that most readers look for on a curve; the script fills in those of another.
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
                    @for figure in beside.figures { td.number { (figure.map_or_else(|| UNTOLD.to_owned(), |figure| nanoseconds(figure as f64))) } }
                } } }
            }
        }
    }
}
