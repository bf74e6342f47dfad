//! Charts as still pictures: SVG for files and for the page without a script, and PNG. Both are written from one list
//! of lines, marks and texts.
//!
//! The list is made here and not by a drawing library. A picture needs its legend beside the lines, whole dashed lines, ticks at
//! figures that it chooses, a description for readers who cannot see it, and colours that follow the page's choice of light and
//! dark. `plotters` can do none of these, and the one thing left for it would be an axis, which is `scale.rs`.

mod bars;
mod canvas;
mod font;
mod frame;
mod labels;
mod lines;
mod notes;
mod png;
mod scale;
mod svg;

pub use png::png;
pub use svg::svg;

use super::model::{Chart, Shape};
use canvas::{Canvas, Operation};

/// The surroundings of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// By itself, on white.
    White,
    /// In `report.html`: in the page's font, with the colours of its style sheet and the marks among its symbols. These
    /// exist only in that page.
    Page,
}

/// The width of every picture; the height follows from the content.
const WIDTH: f64 = 840.0;

/// The margin between the edge and the content.
const EDGE: f64 = 12.0;

/// A drawn chart.
struct Picture {
    height: f64,
    operations: Vec<Operation>,
}

/// Draws a chart, once for every format.
fn picture(chart: &Chart) -> Picture {
    let mut canvas = Canvas::default();
    let top = frame::head(&mut canvas, chart);
    let bottom = match chart.shape {
        Shape::Lines | Shape::Curves => lines::draw(&mut canvas, chart, top),
        Shape::Bars => bars::draw(&mut canvas, chart, top),
    };
    let height = notes::draw(&mut canvas, chart, bottom) + EDGE;
    Picture { height, operations: canvas.into_operations() }
}
