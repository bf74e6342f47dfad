//! The switches of the charts: one row for all charts at once, and in each panel its own choices.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::marks;
use super::view::View;
use crate::chart::{Axis, Chart, Scale};
use crate::model::{Point, Run, Target};
use crate::points::distinct_label;

/// A list offers more values than this, and longer values.
const BUTTONS: usize = 4;
const BUTTON_TEXT: usize = 48;

/// The facets that are chosen for all charts at once.
const OF_ALL: [&str; 2] = ["operation", "point"];

/// The row for all charts: the targets, the operation, the point, the scale.
pub(super) fn of_all(view: &View<'_>, charts: &[Chart]) -> Markup {
    let points: Vec<(String, String)> = view
        .points
        .iter()
        .enumerate()
        .map(|(number, point)| (number.to_string(), view.short_label(point)))
        .collect();
    row(&legend(view.run), &points, charts)
}

/// The row: a legend, the operations of the charts, the points by number and label, and the scales.
pub(crate) fn row(legend: &Markup, points: &[(String, String)], charts: &[Chart]) -> Markup {
    let points: Vec<(&str, &str)> =
        points.iter().map(|(number, label)| (number.as_str(), label.as_str())).collect();
    let operations: Vec<(&str, &str)> =
        values(charts, "operation").into_iter().map(|value| (value, value)).collect();
    let has_scales = charts.iter().any(|chart| chart.y.scales.len() > 1);
    html! {
        div.controls.live role="group" aria-label="All charts" {
            (legend)
            div.switches {
                @if operations.len() > 1 { (choice("all", "operation", &operations)) }
                @if points.len() > 1 { (choice("all", "point", &points)) }
                @if has_scales {
                    (buttons("all", "scale", &[("", "automatic"), ("linear", "linear"), ("log", "log")]))
                }
            }
        }
    }
}

/// The numbers of a chart's points. They are the point that it names, the points that share its part of a sweep, or all
/// points of the run.
pub(super) fn points_of(view: &View<'_>, chart: &Chart) -> Vec<usize> {
    let named = chart.facets.iter().find(|facet| facet.name == "point");
    let numbered = || view.points.iter().enumerate();
    let Some(named) = named else { return numbered().map(|(number, _)| number).collect() };
    let with = |label: &dyn Fn(&Point) -> String| -> Vec<usize> {
        let here = numbered().filter(|(_, point)| label(point) == named.value);
        here.map(|(number, _)| number).collect()
    };
    let own = with(&|point| view.short_label(point));
    let without = |along: &&str| {
        let others: Vec<&str> = view.swept.iter().copied().filter(|name| name != along).collect();
        with(&|point| distinct_label(view.run, point, &others))
    };
    let shared = || view.swept.iter().map(without).find(|points| !points.is_empty());
    if own.is_empty() { shared().unwrap_or_default() } else { own }
}

/// Buttons that show and hide a target in all charts at once. A target that did not run has no button.
fn legend(run: &Run) -> Markup {
    html! {
        div.legend role="group" aria-label="Targets in the charts" {
            @for (number, target) in run.targets.iter().enumerate() {
                @if let Some(reason) = nothing_drawn(run, target) { span.entry.out {
                    a href={ "#" (View::target_anchor(number)) } title=(reason) {
                        (marks::of_target(Some(number))) span.name { (target.name) }
                    }
                    small { "did not run" }
                } } @else { (toggle(number, &target.name, &marks::of_target(Some(number)))) }
            }
            button.everything type="button" aria-disabled="true" { "all" }
        }
    }
}

/// Buttons that show and hide each of these targets, with their marks in their colours or in that of the text.
pub(crate) fn toggles<'a>(
    label: &str,
    names: impl Iterator<Item = &'a str>,
    has_colours: bool,
) -> Markup {
    let mark = |number| {
        if has_colours { marks::of_target(Some(number)) } else { marks::neutral(number) }
    };
    html! {
        div.legend role="group" aria-label=(label) {
            @for (number, name) in names.enumerate() { (toggle(number, name, &mark(number))) }
            button.everything type="button" aria-disabled="true" { "all" }
        }
    }
}

fn toggle(number: usize, name: &str, mark: &Markup) -> Markup {
    html! {
        span.entry {
            button.toggle type="button" aria-pressed="true" data-target=(number) {
                (mark) span.name { (name) }
            }
            button.only type="button" data-only=(number) aria-label={ "only " (name) } { "only" }
        }
    }
}

/// The reason why a target is in no chart: it did not run, and has no figure.
fn nothing_drawn<'a>(run: &Run, target: &'a Target) -> Option<&'a str> {
    let has_figure =
        run.cells.iter().any(|cell| cell.target == target.url && cell.ops_per_s.is_some());
    target.reason.as_deref().filter(|_| !has_figure)
}

/// The choices of one panel only: its own facets, then its other views.
pub(super) fn of_family(charts: &[Chart]) -> Markup {
    let manner = charts[0].family.manner();
    let family = manner.name;
    html! {
        div.switches {
            @for facet in charts[0].facets.iter().filter(|facet| !OF_ALL.contains(&facet.name)) {
                @let values: Vec<(&str, &str)> = values(charts, facet.name).into_iter().map(|value| (value, value)).collect();
                @if values.len() > 1 { (choice(family, facet.name, &values)) }
            }
            @if manner.is_relative {
                (buttons(family, "figures", &[("absolute", "absolute"), ("relative", "relative to best")]))
            }
            @for (name, axis) in [("x", (|chart| &chart.x) as fn(&Chart) -> &Axis), ("y", |chart| &chart.y)] {
                @let scales = scales(charts, axis);
                @if scales.len() > 1 { (buttons(family, &format!("{name} axis"), &scales)) }
            }
        }
    }
}

/// The values of a facet in a family, in their original order.
pub(crate) fn values<'a>(charts: &'a [Chart], name: &str) -> Vec<&'a str> {
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

fn choice(family: &str, name: &str, values: &[(&str, &str)]) -> Markup {
    let length: usize = values.iter().map(|(_, text)| text.len()).sum();
    if values.len() <= BUTTONS && length <= BUTTON_TEXT {
        return buttons(family, name, values);
    }
    html! {
        label.choice { span { (name) } select data-switch=(name) { @for (value, text) in values { option value=(value) { (text) } } } }
    }
}

fn buttons(family: &str, name: &str, values: &[(&str, &str)]) -> Markup {
    let group = format!("{family}-{name}");
    html! {
        fieldset.choice {
            legend { (name) }
            @for (at, (value, text)) in values.iter().enumerate() {
                label { input type="radio" name=(group) data-switch=(name) value=(value) checked[at == 0]; span { (text) } }
            }
        }
    }
}
