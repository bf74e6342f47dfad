//! Charts as still pictures: SVG for files and for the page without a script, PNG made of the same SVG.
//!
//! The SVG is written here and not by a drawing library. `plotters` was tried: it puts its legend over the lines, cuts
//! a dashed line into pieces, and knows ticks only at its own figures. It can neither describe a picture for readers
//! who cannot see it, nor leave a colour to the page's choice of light and dark. The only library function that charts
//! need is an axis, which is `scale.rs`.

mod bars;
mod canvas;
mod frame;
mod labels;
mod lines;
mod notes;
mod png;
mod scale;

pub use png::png;

use std::fmt::Write;

use super::model::{Chart, Shape};
use canvas::{Canvas, escaped, number};

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

/// A chart as SVG, with a title and a description for readers who cannot see it.
pub fn svg(chart: &Chart, ground: Ground) -> String {
    let mut canvas = Canvas::new(ground);
    let top = frame::head(&mut canvas, chart);
    let bottom = match chart.shape {
        Shape::Lines | Shape::Curves => lines::draw(&mut canvas, chart, top),
        Shape::Bars => bars::draw(&mut canvas, chart, top),
    };
    let height = notes::draw(&mut canvas, chart, bottom) + EDGE;
    let mut svg = opening(chart, ground, height);
    svg.push_str(&canvas.into_text());
    svg.push_str("</svg>\n");
    svg
}

fn opening(chart: &Chart, ground: Ground, height: f64) -> String {
    let (id, height) = (&chart.id, number(height));
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{id}-title {id}-desc""#
    );
    if ground == Ground::White {
        let _ = write!(
            svg,
            r#" width="{WIDTH}" height="{height}" font-family="DejaVu Sans, Verdana, sans-serif""#
        );
    }
    let description = [chart.reading.clone()].into_iter().chain(notes::texts(chart));
    let _ = writeln!(
        svg,
        ">\n<title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-desc\">{}</desc>",
        escaped(&chart.title),
        escaped(&description.collect::<Vec<_>>().join(" "))
    );
    if ground == Ground::White {
        let ground = super::palette::LIGHT;
        let _ = writeln!(svg, r#"<path d="M0 0h{WIDTH}v{height}H0z" fill="{ground}"/>"#);
    }
    svg
}
