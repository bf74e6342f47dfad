//! Pictures of a run's figures, as data.
//!
//! A [`Chart`] says what is drawn, never how: the page of `report.html` draws it for a reader who points and switches,
//! and `svg` draws it still. Both show the same marks because both read the same chart. A new chart is a file here and
//! a line in [`CHARTS`].

mod model;

pub use model::{Absent, Axis, Chart, Facet, Family, Scale, Series, Shape, Unit};

use crate::model::Run;

/// Every kind of chart, in the order in which a report shows them. Each makes as many as the run has facets for, and
/// none where the run lacks what it shows.
const CHARTS: &[fn(&Run) -> Vec<Chart>] = &[];

/// Every chart of a run, in the order in which a report shows them.
pub fn charts(run: &Run) -> Vec<Chart> {
    CHARTS.iter().flat_map(|charts| charts(run)).collect()
}
