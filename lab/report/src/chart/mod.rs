//! Pictures of a run's figures, as data.
//!
//! A [`Chart`] says what is drawn, never how: the page of `report.html` draws it interactively, and `svg` draws it
//! still. Both show the same marks because both read the same chart. A new chart is a file here and a line in
//! [`CHARTS`]. A chart of a new family is also a variant of [`Family`] and its presentation.

mod advised;
mod axis;
mod changes;
mod draw;
mod family;
mod hit_ratio;
mod info;
mod latency;
mod marks;
mod model;
mod outcomes;
mod outline;
pub mod palette;
mod percentiles;
mod rate;
mod resources;
mod spread;
mod subject;
mod sweep;
mod throughput;
mod timeline;
mod usage;

use std::collections::BTreeSet;

pub use changes::diff_charts;
pub(crate) use changes::judged_charts;
pub use draw::{Ground, png, svg};
pub use family::{Better, Family, Manner};
pub use info::{info_charts, is_info_chart_id};
pub use model::{Absent, Axis, Chart, Chosen, Facet, Ratios, Scale, Series, Shape, Unit};
pub use subject::is_chart_id;

use crate::model::Run;

/// Every kind of chart, in the order of reports. Each function makes a chart for each facet of the run, and no chart
/// where the run lacks its figures.
const CHARTS: &[fn(&Run) -> Vec<Chart>] = &[
    hit_ratio::charts,
    rate::charts,
    latency::charts,
    throughput::charts,
    spread::charts,
    percentiles::charts,
    timeline::charts,
    resources::charts,
    usage::charts,
    outcomes::charts,
];

/// Every chart of a run, in the order of reports.
pub fn charts(run: &Run) -> Vec<Chart> {
    let mut charts: Vec<Chart> = CHARTS.iter().flat_map(|charts| charts(run)).collect();
    distinguish(&mut charts);
    charts
}

/// Gives a number to a repeated id: two points may differ only in characters that ids leave out. Ids that differ only
/// in case count as repeated, because some file systems ignore case.
fn distinguish(charts: &mut [Chart]) {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for chart in charts {
        let first = chart.id.clone();
        let mut number = 1;
        while !taken.insert(chart.id.to_ascii_lowercase()) {
            number += 1;
            chart.id = format!("{first}-{number}");
        }
    }
}
