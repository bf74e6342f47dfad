//! Pictures of what a trace tells, as data: the same charts as those of a run.

mod caches;
mod keys;
mod over_time;
mod sizes;

use super::family::Family;
use super::marks::{Figure, series};
use super::model::{Axis, Chart, Facet, Ratios, Series, Shape};
use crate::model::TraceInfo;

/// Every kind of chart, in the order of reports.
const CHARTS: &[fn(&TraceInfo) -> Vec<Chart>] = &[
    caches::charts,
    over_time::rates,
    over_time::working_sets,
    keys::popularity,
    keys::reuse,
    sizes::sizes,
    sizes::ttls,
];

/// Every chart of a trace, in the order of reports.
pub fn info_charts(info: &TraceInfo) -> Vec<Chart> {
    CHARTS.iter().flat_map(|charts| charts(info)).collect()
}

/// The families of these charts.
const FAMILIES: [Family; 7] = [
    Family::CacheHits,
    Family::Course,
    Family::WorkingSet,
    Family::Popularity,
    Family::Reuse,
    Family::Sizes,
    Family::Ttls,
];

/// The facets of these charts, as their ids have them.
const FACETS: [&str; 3] = ["bytes", "entries", "keys"];

/// Whether a chart of some trace can have this id: `course`, `cache_hits-bytes`.
pub fn is_info_chart_id(text: &str) -> bool {
    let (family, facet) = text.split_once('-').map_or((text, None), |(name, of)| (name, Some(of)));
    let is_known = FAMILIES.iter().any(|known| known.as_str() == family);
    is_known && facet.is_none_or(|facet| FACETS.contains(&facet))
}

/// What a chart shows.
struct Shown<'a> {
    family: Family,
    /// The choice that leads to it, where its family has several charts.
    facet: Option<(&'static str, &'a str)>,
    title: &'a str,
    reading: &'a str,
    shape: Shape,
}

impl Shown<'_> {
    /// The chart; `None` without any figure.
    fn chart(self, x: Axis, y: Axis, series: Vec<Series>) -> Option<Chart> {
        let name = self.family.as_str();
        let drawn = series.iter().any(|series| series.y.iter().any(Option::is_some));
        let facets =
            self.facet.iter().map(|(name, value)| Facet { name, value: (*value).to_owned() });
        let id = self.facet.map_or_else(
            || name.to_owned(),
            |(_, value)| format!("{name}-{}", value.replace(' ', "-")),
        );
        drawn.then(|| Chart {
            id,
            family: self.family,
            facets: facets.collect(),
            title: self.title.to_owned(),
            reading: self.reading.to_owned(),
            shape: self.shape,
            x,
            y,
            series,
            labels: String::new(),
            absent: Vec::new(),
            order: Vec::new(),
            ratios: Ratios::default(),
            chosen: None,
        })
    }
}

/// A line in a colour of its own.
fn line(number: usize, name: &str, marks: impl Iterator<Item = (f64, f64)>) -> Series {
    let marks = marks.map(|(x, y)| (x, Some(Figure::plain(y))));
    Series { hue: Some(number), ..series(None, name, None, marks) }
}

/// All figures of some lines.
fn figures(series: &[Series]) -> Vec<f64> {
    series.iter().flat_map(|series| &series.y).copied().flatten().collect()
}
