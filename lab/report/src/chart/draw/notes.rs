//! The notes below the marks: missing targets with the reason, and targets whose figures are no result.

use super::EDGE;
use super::canvas::{Canvas, Text};
use super::frame::{LEADING, LINE, SMALL};
use super::labels::place;
use crate::chart::model::{Absent, Chart, Series, Shape};
use crate::figures::{agreeing, list};
use crate::text::{width as characters, wrap};

/// Marks the name of a target whose figures are withheld, as in the other reports.
pub(super) const WITHHELD: &str = "✗ ";

/// A longer reason does not fit in the place of a bar.
const MAX_IN_ROW: usize = 64;

/// A sentence for each note, for readers who cannot see the picture.
pub(super) fn texts(chart: &Chart) -> Vec<String> {
    withheld(chart).into_iter().chain(chart.absent.iter().map(missing)).collect()
}

/// The targets that are not ranked, each with its places, unless it is everywhere.
fn withheld(chart: &Chart) -> Vec<String> {
    let text = |series: &Series| {
        let why = series.withheld.as_ref()?;
        let sign = if series.unlike { "" } else { WITHHELD };
        if series.target.is_none() {
            let places = series.x.iter().map(|x| place(&chart.x, *x)).collect::<Vec<_>>();
            let names: Vec<&str> = places.iter().map(String::as_str).collect();
            let are = agreeing(names.len(), "is", "are");
            return Some(format!("{sign}{} {are} not ranked ({why}).", list(&names)));
        }
        let drawn = series.x.iter().zip(&series.y).filter(|(_, y)| y.is_some());
        let places: Vec<String> = drawn.map(|(x, _)| place(&chart.x, *x)).collect();
        let alone = chart.series.iter().filter(|other| other.target == series.target).count() == 1;
        let at = if alone { String::new() } else { at(&places) };
        Some(format!("{sign}{} is not ranked{at} ({why}).", series.name))
    };
    let mut texts: Vec<String> = chart.series.iter().filter_map(text).collect();
    // The parts of a bar are withheld together.
    texts.dedup();
    texts
}

fn missing(absent: &Absent) -> String {
    format!("{} has no figure{} ({}).", absent.name, at(&absent.at), absent.reason)
}

fn at(places: &[String]) -> String {
    let places: Vec<&str> = places.iter().map(String::as_str).collect();
    if places.is_empty() { String::new() } else { format!(" at {}", list(&places)) }
}

/// Whether a bar chart writes this note in place of the missing bar.
pub(super) fn is_in_its_row(chart: &Chart, absent: &Absent) -> bool {
    chart.shape == Shape::Bars && absent.at.is_empty() && characters(&absent.reason) <= MAX_IN_ROW
}

/// Writes the notes from here down; returns where they end.
pub(super) fn draw(canvas: &mut Canvas, chart: &Chart, top: f64) -> f64 {
    let mut y = top;
    let beside = chart.absent.iter().filter(|absent| !is_in_its_row(chart, absent)).map(missing);
    for (number, text) in withheld(chart).into_iter().chain(beside).enumerate() {
        y += if number == 0 { 8.0 } else { 2.0 };
        for line in wrap(&text, LINE) {
            y += LEADING;
            canvas.write(Text::at(EDGE, y, SMALL).soft(), &line);
        }
    }
    y
}
