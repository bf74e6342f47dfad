//! The frame around the marks: title, axes, grid.

use super::canvas::{Anchor, Canvas, Paint, Stroke, Text, width};
use super::scale::Tick;
use super::{EDGE, WIDTH};
use crate::chart::model::Chart;
use crate::text::wrap;

/// The size of text beside the marks.
pub(super) const SMALL: f64 = 12.0;

/// The approximate number of characters of [`SMALL`] text in a line.
pub(super) const LINE: usize = 126;

/// The distance from one line of [`SMALL`] text to the next.
pub(super) const LEADING: f64 = 17.0;

/// The least distance between two written labels.
const APART: f64 = 10.0;

/// The rectangle of the marks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plot {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Plot {
    pub(super) fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// The place of two shares, of the width from the left and of the height from the bottom.
    pub(super) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.left + x * self.width, self.bottom() - y * self.height)
    }
}

/// Draws the title and the explanation; returns where they end.
pub(super) fn head(canvas: &mut Canvas, chart: &Chart) -> f64 {
    canvas.write(Text { bold: true, ..Text::at(EDGE, 28.0, 16.0) }, &chart.title);
    let mut y = 28.0 + 6.0;
    for line in wrap(&chart.reading, LINE) {
        y += LEADING;
        canvas.write(Text::at(EDGE, y, SMALL).soft(), &line);
    }
    y
}

/// The vertical axis, with its lines across the plot and its label above it.
pub(super) fn upright(canvas: &mut Canvas, plot: &Plot, ticks: &[Tick], label: &str) {
    canvas.write(Text::at(EDGE, plot.top - 14.0, SMALL).soft(), label);
    let mut last = f64::INFINITY;
    for tick in ticks {
        let (_, y) = plot.at(0.0, tick.at);
        let Some(label) = &tick.label else {
            let minor = Stroke::of(Paint::Soft, 0.6);
            canvas.line((plot.left - 4.0, y), (plot.left, y), minor);
            continue;
        };
        canvas.line((plot.left, y), (plot.right(), y), Stroke::of(Paint::Line, 1.0));
        if last - y >= LEADING {
            let text = Text::at(plot.left - 8.0, y + 4.0, SMALL).anchored(Anchor::End);
            canvas.write(text, label);
            last = y;
        }
    }
}

/// The horizontal axis with its label below it; returns where it ends.
pub(super) fn across(canvas: &mut Canvas, plot: &Plot, ticks: &[Tick], label: &str) -> f64 {
    let bottom = plot.bottom();
    canvas.line((plot.left, bottom), (plot.right(), bottom), Stroke::of(Paint::Soft, 1.0));
    let mut free_from = f64::NEG_INFINITY;
    for (number, tick) in ticks.iter().enumerate() {
        let (x, _) = plot.at(tick.at, 0.0);
        let length = if tick.label.is_some() { 5.0 } else { 3.0 };
        canvas.line((x, bottom), (x, bottom + length), Stroke::of(Paint::Soft, 1.0));
        let Some(text) = &tick.label else { continue };
        let half = width(text, SMALL) / 2.0;
        // The last label matters more than the label before it.
        let last =
            ticks[number + 1..].iter().rev().find_map(|tick| Some((tick.at, tick.label.as_ref()?)));
        let before_last = last.map_or(f64::INFINITY, |(at, label)| {
            plot.at(at, 0.0).0 - width(label, SMALL) / 2.0 - APART
        });
        if x - half >= free_from && x + half <= before_last {
            let look = Text::at(x, bottom + 19.0, SMALL).anchored(Anchor::Middle);
            canvas.write(look, text);
            free_from = x + half + APART;
        }
    }
    let middle = Text::at(plot.left + plot.width / 2.0, bottom + 38.0, SMALL);
    canvas.write(middle.soft().anchored(Anchor::Middle), label);
    bottom + 40.0
}

/// The width of the labels of a vertical axis.
pub(super) fn labels_width(ticks: &[Tick]) -> f64 {
    let widths = ticks.iter().filter_map(|tick| Some(width(tick.label.as_ref()?, SMALL)));
    widths.fold(0.0, f64::max).min(WIDTH / 4.0)
}
