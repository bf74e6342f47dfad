//! Horizontal bars, one for each target, because names of targets are long.

use super::canvas::{Canvas, Paint, Stroke, Text, width};
use super::frame::{self, Plot, SMALL};
use super::labels::{figure, figure_with};
use super::notes::{WITHHELD, is_in_its_row};
use super::scale::Mapping;
use super::{EDGE, WIDTH};
use crate::chart::marks::index;
use crate::chart::model::{Absent, Chart, Scale, Series, Unit};
use crate::chart::palette::mark;
use crate::text::ShortNames;

/// The distance from one bar to the next.
const ROW: f64 = 25.0;

/// The thickness of a bar.
const THICK: f64 = 15.0;

/// Longer names are shortened.
const MAX_NAME: usize = 32;

/// A part of the bar of a target.
struct BarPiece<'a> {
    series: &'a Series,
    figure: f64,
    ci95: Option<[f64; 2]>,
}

/// The content of one row.
struct BarRow<'a> {
    target: usize,
    pieces: Vec<BarPiece<'a>>,
    /// Whether this is the first row of its target.
    is_first: bool,
}

/// Draws the bars from here down; returns where they end.
pub(super) fn draw(canvas: &mut Canvas, chart: &Chart, top: f64) -> f64 {
    let lines = lines(chart);
    let ends = lines.iter().filter(|line| !line.pieces.is_empty()).flat_map(|line| {
        let bounds = line.pieces.iter().filter_map(|piece| piece.ci95);
        // An interval that begins at 0 has no lower end.
        let from = usize::from(chart.y.scale != Scale::Log);
        std::iter::once(total(&line.pieces))
            .chain(bounds.flat_map(move |ci95| ci95.into_iter().skip(from)))
    });
    let along = Mapping::of_figures(&chart.y, ends);
    let wide = |texts: &mut dyn Iterator<Item = String>| {
        texts.map(|text| width(&text, SMALL)).fold(0.0, f64::max)
    };
    let short = ShortNames::new(chart.x.categories.iter().map(String::as_str), MAX_NAME);
    let name = |target: usize, pieces: &[BarPiece<'_>]| {
        format!("{}{}", sign(pieces), short.of(&chart.x.categories[target]))
    };
    let names = wide(&mut lines.iter().map(|line| name(line.target, &line.pieces)));
    let said = wide(&mut lines.iter().map(|line| said(chart, &line.pieces)));
    let left = EDGE + 18.0 + names + 10.0;
    let top = legend(canvas, chart, top);
    let plot = Plot {
        left,
        top: top + 12.0,
        width: WIDTH - EDGE - said - 12.0 - left,
        height: ROW * index(lines.len()) + 6.0,
    };
    let ticks = along.ticks();
    for tick in ticks.iter().filter(|tick| tick.label.is_some()) {
        let (x, _) = plot.at(tick.at, 0.0);
        canvas.line((x, plot.top), (x, plot.bottom()), Stroke::of(Paint::Line, 1.0));
    }
    for (number, BarRow { target, pieces, is_first }) in lines.iter().enumerate() {
        let (target, row) = (*target, pieces);
        let y = plot.top + ROW * (index(number) + 0.5) + 3.0;
        if *is_first {
            label(canvas, chart, target, (&name(target, row), row.is_empty()), y);
        }
        let place = |figure: f64| plot.at(along.place(figure), 0.0).0;
        if chart.y.scale == Scale::Log {
            dot(canvas, chart, target, row, y, &place);
        } else {
            bar(canvas, chart, target, row, y, &place);
        }
        write_said(canvas, chart, target, row, y, &plot, &place);
    }
    frame::across(canvas, &plot, &ticks, &chart.y.label)
}

/// The rows from top to bottom: one for each target, or one for each span and each of a pair.
fn lines(chart: &Chart) -> Vec<BarRow<'_>> {
    let of_target = |target: &usize| -> Vec<BarRow<'_>> {
        let (target, pieces) = (*target, pieces(chart, *target));
        if !chart.family.manner().has_rows() || pieces.is_empty() {
            return vec![BarRow { target, pieces, is_first: true }];
        }
        let each = pieces.into_iter().enumerate();
        each.map(|(n, piece)| BarRow { target, pieces: vec![piece], is_first: n == 0 }).collect()
    };
    chart.order.iter().flat_map(of_target).collect()
}

/// The figures of a target, in the order of the parts.
fn pieces(chart: &Chart, target: usize) -> Vec<BarPiece<'_>> {
    let piece = |series: &'_ Series| {
        let at = series.x.iter().position(|x| x.total_cmp(&index(target)).is_eq())?;
        let bound = |bounds: &[Option<f64>]| bounds.get(at).copied().flatten();
        let ci95 = bound(&series.low).zip(bound(&series.high)).map(|(low, high)| [low, high]);
        Some((series.y[at]?, ci95))
    };
    let known = chart.series.iter().filter_map(|series| Some((series, piece(series)?)));
    known.map(|(series, (figure, ci95))| BarPiece { series, figure, ci95 }).collect()
}

fn total(row: &[BarPiece<'_>]) -> f64 {
    row.iter().map(|piece| piece.figure).sum()
}

/// The key of the parts' colours, where there are several parts; returns where it ends.
fn legend(canvas: &mut Canvas, chart: &Chart, top: f64) -> f64 {
    let mut x = EDGE;
    let mut known: Vec<&str> = Vec::new();
    for series in &chart.series {
        let Some(colour) = series.colour.filter(|_| !known.contains(&series.name.as_str())) else {
            continue;
        };
        let y = top + 24.0;
        let none = Stroke::of(Paint::None, 0.0);
        canvas.rectangle((x, y - 10.0), (11.0, 11.0), Paint::Colour(colour), none);
        canvas.write(Text::at(x + 17.0, y, SMALL), &series.name);
        x += 17.0 + width(&series.name, SMALL) + 18.0;
        known.push(&series.name);
    }
    if known.is_empty() { top } else { top + 24.0 }
}

/// What stands before the name of a target whose figures are no result.
fn sign(row: &[BarPiece<'_>]) -> &'static str {
    let withheld = row.iter().any(|piece| piece.series.withheld.is_some() && !piece.series.unlike);
    if withheld { WITHHELD } else { "" }
}

/// The mark and the name of a target. Where the colours are of the two runs, its mark has that of the text.
fn label(
    canvas: &mut Canvas,
    chart: &Chart,
    target: usize,
    (name, is_empty): (&str, bool),
    y: f64,
) {
    let has_pairs = chart.family.manner().has_pairs;
    let paint = if has_pairs { Paint::Ink } else { Paint::Colour(target) };
    canvas.mark(mark(target), (EDGE + 5.0, y), paint, false);
    let look = Text::at(EDGE + 18.0, y + 4.0, SMALL);
    canvas.write(if is_empty { look.soft() } else { look }, name);
}

/// The parts one after another from 0, the last with its interval.
fn bar(
    canvas: &mut Canvas,
    chart: &Chart,
    target: usize,
    row: &[BarPiece<'_>],
    y: f64,
    place: &dyn Fn(f64) -> f64,
) {
    let mut from = 0.0;
    for piece in row {
        let colour = Paint::Colour(piece.series.colour.unwrap_or(target));
        let (left, right) = (place(from), place(from + piece.figure));
        let text = figure_with(chart.y.unit, piece.figure, piece.ci95);
        canvas.begin(&format!("{}, {}: {text}", chart.x.categories[target], piece.series.name));
        let at = (left, y - THICK / 2.0);
        if piece.series.withheld.is_some() {
            let rim = Stroke { dash: "3 2", ..Stroke::of(colour, 1.2) };
            canvas.rectangle(at, (right - left, THICK), Paint::Ground, rim);
        } else {
            // The gap separates neighbours of similar lightness.
            let gap = Stroke::of(Paint::Ground, if row.len() > 1 { 0.8 } else { 0.0 });
            canvas.rectangle(at, (right - left, THICK), colour, gap);
        }
        canvas.end();
        from += piece.figure;
    }
    if let [piece] = row {
        whisker(canvas, piece, y, Paint::Ink, place);
    }
}

/// A mark at the figure: on this scale a length has no meaning.
fn dot(
    canvas: &mut Canvas,
    chart: &Chart,
    target: usize,
    row: &[BarPiece<'_>],
    y: f64,
    place: &dyn Fn(f64) -> f64,
) {
    for piece in row {
        let text = if chart.family.manner().has_spans {
            said(chart, row)
        } else {
            figure_with(chart.y.unit, piece.figure, piece.ci95)
        };
        let side = if chart.family.manner().has_pairs {
            format!(", {}", piece.series.name)
        } else {
            String::new()
        };
        canvas.begin(&format!("{}{side}: {text}", chart.x.categories[target]));
        let colour = Paint::Colour(piece.series.colour.unwrap_or(target));
        whisker(canvas, piece, y, colour, place);
        let hollow = piece.series.withheld.is_some();
        canvas.mark(mark(target), (place(piece.figure), y), colour, hollow);
        canvas.end();
    }
}

fn whisker(
    canvas: &mut Canvas,
    piece: &BarPiece<'_>,
    y: f64,
    paint: Paint,
    place: &dyn Fn(f64) -> f64,
) {
    if let Some(ci95) = piece.ci95 {
        canvas.whisker(ci95.map(|bound| (place(bound), y)), paint);
    }
}

/// The figure of a row as text: of shares the first part, of sums the sum, of a span its three figures, of a pair its
/// run and the figure.
fn said(chart: &Chart, row: &[BarPiece<'_>]) -> String {
    match row {
        [] => String::new(),
        [BarPiece { series, figure: mean, ci95: Some([low, high]) }]
            if chart.family.manner().has_spans =>
        {
            let [low, mean, high] = [*low, *mean, *high].map(|ns| figure(chart.y.unit, ns));
            format!("{}: {low} – {mean} – {high}", series.name)
        }
        [BarPiece { series, figure: value, .. }] if chart.family.manner().has_pairs => {
            format!("{} {}", series.name, figure(chart.y.unit, *value))
        }
        [first, ..] if chart.y.unit == Unit::Share => {
            format!("{} {}", figure(chart.y.unit, first.figure), first.series.name)
        }
        row => figure(chart.y.unit, total(row)),
    }
}

fn write_said(
    canvas: &mut Canvas,
    chart: &Chart,
    target: usize,
    row: &[BarPiece<'_>],
    y: f64,
    plot: &Plot,
    place: &dyn Fn(f64) -> f64,
) {
    if row.is_empty() {
        let said = |absent: &&Absent| absent.target == target && is_in_its_row(chart, absent);
        let why = chart.absent.iter().find(said).map_or("see below", |absent| &absent.reason);
        return canvas.write(Text::at(plot.left + 6.0, y + 4.0, SMALL).soft().over(), why);
    }
    let high = row.last().and_then(|piece| piece.ci95).map_or(0.0, |[_, high]| high);
    let x = place(total(row).max(high)) + 8.0;
    canvas.write(Text::at(x, y + 4.0, SMALL).over(), &said(chart, row));
}
