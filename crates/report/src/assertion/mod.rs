//! Conditions on a run, as text: `p99(get, memcached:) < 1ms`.
//!
//! An assertion is read before anything runs, and judged of the finished run: of every cell that it names, by the figure that
//! reports show. The interval of that figure is told beside it and decides nothing: an assertion is a limit, not a test of a
//! hypothesis, and who needs room for what varies from run to run puts it into the limit.

mod judge;
mod limit;
mod metric;
mod parse;

use crate::model::Operation;
use limit::{Comparator, Limit};
use metric::Metric;

pub use judge::{Failure, Unmatched};
pub use parse::EXPECTED as ASSERTION_EXPECTED;

/// The condition that every cell must meet which it names.
#[derive(Debug, Clone, PartialEq)]
pub struct Assertion {
    /// As it was typed, without spaces around it.
    text: String,
    metric: Metric,
    /// Of which cells.
    selector: Selector,
    comparator: Comparator,
    limit: Limit,
}

/// Which cells are meant: those that have all that is named.
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
