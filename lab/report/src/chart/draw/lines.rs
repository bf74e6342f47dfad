//! Lines over two axes: with marks and intervals at their places, or without.

use super::canvas::{Canvas, Paint, Stroke, Text, width};
use super::frame::{self, Plot, SMALL};
use super::labels::{figure_with, place, tick};
use super::notes::WITHHELD;
use super::scale::{Mapping, Tick};
use super::{EDGE, WIDTH};
use crate::chart::marks::index;
use crate::chart::model::{Axis, Chart, Chosen, Scale, Series, Shape, Unit};
use crate::chart::outline::Step;
use crate::chart::palette::{MODEL_DASHES, dash, mark};
use crate::text::ShortNames;

/// The least height of the plot.
const HEIGHT: f64 = 320.0;

/// The distance from one name at the right to the next.
const NAME_STEP: f64 = 16.0;

/// Longer names are shortened.
const MAX_NAME: usize = 28;

/// The radius of the ring around a chosen mark.
const RING: f64 = 9.0;

/// Room for the mark before a name.
const MARK_ROOM: f64 = 26.0;

/// A name at the right end, with the line that leads to it.
struct Name<'a> {
    series: &'a Series,
    text: String,
    /// Its last mark.
    from: (f64, f64),
    /// The height of the text.
    y: f64,
}

/// Draws the chart from here down; returns where it ends.
pub(super) fn draw(canvas: &mut Canvas, chart: &Chart, top: f64) -> f64 {
    let upright = Mapping::of_figures(&chart.y, figures(chart));
    let marked = chart.shape == Shape::Lines;
    let along =
        Mapping::of_places(&chart.x, places(chart).into_iter(), if marked { 0.04 } else { 0.0 });
    let ticks = upright.ticks();
    let named = named(chart);
    let short = ShortNames::new(chart.series.iter().map(|series| &*series.name), MAX_NAME);
    let texts = named.iter().map(|series| width(&name(series, &short), SMALL));
    let names = texts.fold(0.0, f64::max);
    let left = EDGE + frame::labels_width(&ticks) + 10.0;
    let plot = Plot {
        left,
        top: top + 40.0,
        width: WIDTH - EDGE - names - MARK_ROOM - 14.0 - left,
        height: HEIGHT.max(NAME_STEP * (index(named.len()) + 1.0)),
    };
    frame::upright(canvas, &plot, &ticks, &chart.y.label);
    let across = across(&along, &chart.x, chart);
    let bottom = frame::across(canvas, &plot, &across, &chart.x.label);
    for series in &chart.series {
        line(canvas, chart, series, &|x, y| plot.at(along.place(x), upright.place(y)));
    }
    if let Some(chosen) = &chart.chosen {
        let place = plot.at(along.place(chosen.x), upright.place(chosen.y));
        mark_chosen(canvas, chosen, place);
    }
    let at = |series: &Series| {
        let (x, y) = last(series)?;
        Some(plot.at(along.place(x), upright.place(y)))
    };
    let names = named.into_iter().filter_map(|series| {
        let from = at(series)?;
        Some(Name { series, text: name(series, &short), from, y: from.1 })
    });
    write_names(canvas, &plot, names.collect());
    bottom
}

/// A ring around the chosen mark, and its text below, where the line of a hit ratio does not run.
fn mark_chosen(canvas: &mut Canvas, chosen: &Chosen, (x, y): (f64, f64)) {
    let ring =
        vec![Step::From(x, y - RING), Step::Half(2.0 * RING), Step::Half(-2.0 * RING), Step::Close];
    canvas.path(ring, Paint::None, Stroke::of(Paint::Ink, 1.6));
    let look = Text::at(x + RING, y + RING + 10.0, SMALL).over();
    canvas.write(Text { bold: true, ..look }, &chosen.text);
}

fn figures(chart: &Chart) -> impl Iterator<Item = f64> {
    let all = |series: &'_ Series| [&series.y, &series.low, &series.high].map(Vec::clone).concat();
    chart.series.iter().flat_map(all).flatten()
}

/// Every place on the axis from left to right, each once.
fn places(chart: &Chart) -> Vec<f64> {
    let mut places: Vec<f64> = chart.series.iter().flat_map(|series| series.x.clone()).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// Where a sweep has few values the ticks are these values, named as typed.
fn across(along: &Mapping, axis: &Axis, chart: &Chart) -> Vec<Tick> {
    match (axis.scale, chart.shape) {
        (Scale::Categories, _) => {
            let short = ShortNames::new(axis.categories.iter().map(String::as_str), MAX_NAME);
            let named = axis.categories.iter().enumerate();
            named
                .map(|(number, name)| Tick {
                    at: along.place(index(number)),
                    label: Some(short.of(name).to_owned()),
                })
                .collect()
        }
        // Reached rates are not typed values.
        (_, Shape::Lines) if axis.unit != Unit::Rate => {
            along.ticks_at(&places(chart), |place| tick(axis.unit, place))
        }
        _ => along.ticks(),
    }
}

fn line(canvas: &mut Canvas, chart: &Chart, series: &Series, at: &dyn Fn(f64, f64) -> (f64, f64)) {
    let paint = series.target.or(series.hue).map_or(Paint::Soft, Paint::Colour);
    let hollow = series.withheld.is_some();
    canvas.begin(&format!("{}{}", sign(series), series.name));
    let own = || series.target.map_or_else(|| model_dash(series), dash);
    let stroke = Stroke {
        dash: if hollow { "2 3" } else { own() },
        ..Stroke::of(paint, if hollow { 1.2 } else { 1.8 })
    };
    canvas.path(path(series, at), Paint::None, stroke);
    if chart.shape == Shape::Lines {
        for (number, (x, y)) in series.x.iter().zip(&series.y).enumerate() {
            let Some(y) = *y else { continue };
            let bound = |bounds: &[Option<f64>]| bounds.get(number).copied().flatten();
            let ci95 = bound(&series.low).zip(bound(&series.high)).map(|(low, high)| [low, high]);
            let text = figure_with(chart.y.unit, y, ci95);
            canvas.begin(&format!("{}, {}: {text}", series.name, place(&chart.x, *x)));
            if let Some(bounds) = ci95 {
                canvas.whisker(bounds.map(|bound| at(*x, bound)), paint);
            }
            if let Some(target) = series.target {
                canvas.mark(mark(target), at(*x, y), Paint::Colour(target), hollow);
            }
            if let Some(label) = series.labels.get(number) {
                let (left, top) = at(*x, y);
                canvas.write(Text::at(left + 7.0, top - 6.0, SMALL).soft().over(), label);
            }
            canvas.end();
        }
    }
    canvas.end();
}

/// The dash of a line that is no target's: models have dashes.
fn model_dash(series: &Series) -> &'static str {
    if series.hue.is_some() {
        return "";
    }
    MODEL_DASHES[series.colour.unwrap_or(0) % MODEL_DASHES.len()]
}

/// Strokes from figure to figure. A missing figure breaks the line, and a single figure is a dot.
fn path(series: &Series, at: &dyn Fn(f64, f64) -> (f64, f64)) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut before = false;
    for (number, (x, y)) in series.x.iter().zip(&series.y).enumerate() {
        if let Some(y) = y {
            let (x, y) = at(*x, *y);
            steps.push(if before { Step::To(x, y) } else { Step::From(x, y) });
            let alone = !before && series.y.get(number + 1).is_none_or(Option::is_none);
            if alone {
                steps.push(Step::Right(1.0));
            }
        }
        before = y.is_some();
    }
    steps
}

/// One series of each target: its ranked figures, where it has any.
fn named(chart: &Chart) -> Vec<&Series> {
    let mut named: Vec<&Series> = Vec::new();
    for series in chart.series.iter().filter(|series| last(series).is_some()) {
        let is_known = |known: &&Series| {
            known.target == series.target && (known.target.is_some() || known.name == series.name)
        };
        if !named.iter().any(is_known) {
            named.push(series);
        }
    }
    named
}

fn name(series: &Series, short: &ShortNames) -> String {
    format!("{}{}", sign(series), short.of(&series.name))
}

/// What stands before the name of figures that are no result.
fn sign(series: &Series) -> &'static str {
    let is_result = series.withheld.is_none() || series.unlike;
    if is_result { "" } else { WITHHELD }
}

fn last(series: &Series) -> Option<(f64, f64)> {
    let mut both = series.x.iter().zip(&series.y).rev();
    both.find_map(|(x, y)| Some((*x, (*y)?)))
}

/// Writes the names at the heights of their lines' ends, moved apart where they would overlap.
fn write_names(canvas: &mut Canvas, plot: &Plot, mut names: Vec<Name<'_>>) {
    names.sort_by(|a, b| a.y.total_cmp(&b.y));
    let mut floor = plot.top;
    for name in &mut names {
        name.y = name.y.max(floor);
        floor = name.y + NAME_STEP;
    }
    let mut ceiling = plot.bottom();
    for name in names.iter_mut().rev() {
        name.y = name.y.min(ceiling);
        ceiling = name.y - NAME_STEP;
    }
    let x = plot.right() + MARK_ROOM;
    for Name { series, text, from, y } in names {
        // Only lines that end near the right edge are joined to their names: a longer stroke would look like figures.
        if plot.right() - from.0 < plot.width * 0.05 {
            let stroke = Stroke { dash: "1 2", ..Stroke::of(Paint::Soft, 1.0) };
            canvas.line((from.0 + 6.0, from.1), (x - 12.0, y), stroke);
        }
        if let Some(target) = series.target {
            let hollow = series.withheld.is_some();
            canvas.mark(mark(target), (x - 4.0, y), Paint::Colour(target), hollow);
        }
        canvas.write(Text::at(x + 6.0, y + 4.0, SMALL), &text);
    }
}
