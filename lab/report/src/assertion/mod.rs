//! Conditions on a run, as text: `p99(get, memcached:) < 1ms`.
//!
//! An assertion is read before anything runs. It judges the finished run: every cell that it names, by the figure that
//! reports show. The interval of the figure is shown beside it and decides nothing, because an assertion is a limit,
//! not a test of a hypothesis. Room for variation between runs belongs into the limit.

mod failures;
mod limit;
mod metric;
mod parse;

use crate::model::Operation;
use limit::{Comparator, Limit};
use metric::Metric;

pub use failures::{Failure, Unmatched};
pub use parse::EXPECTED as ASSERTION_EXPECTED;

/// A condition that every named cell must meet.
#[derive(Debug, Clone, PartialEq)]
pub struct Assertion {
    /// The text as typed, without surrounding spaces.
    text: String,
    metric: Metric,
    /// The named cells.
    selector: Selector,
    comparator: Comparator,
    limit: Limit,
}

/// A selection of cells: those that match every given part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Selector {
    operation: Option<Operation>,
    /// The URL or the name of a target.
    target: Option<String>,
    /// Coordinates of the sweep with their values.
    at: Vec<(String, String)>,
}

impl std::fmt::Display for Assertion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.text)
    }
}

/// The names of the figures that can be asserted.
pub fn assertion_metrics() -> impl Iterator<Item = &'static str> {
    metric::METRICS.iter().map(|metric| metric.name)
}
