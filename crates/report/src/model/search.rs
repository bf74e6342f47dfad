//! The results of `--search`: the highest rate at which a latency stays within a bound.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Operation, Point, ReasonKind};

/// The highest rate of one target at one point at which a quantile of its latency stays within a bound.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Search {
    /// The `url` of the target.
    pub target: String,
    /// Where in the sweep.
    pub point: Point,
    /// The operations that were paced together.
    pub operations: Vec<Operation>,
    /// Which quantile is bounded, 0 to 1.
    pub quantile: f64,
    /// Its bound, in nanoseconds from the intended start.
    pub bound_ns: u64,
    /// The highest rate within the bound that each round found, in operations a second.
    pub rates: Vec<f64>,
    /// Their median.
    pub rate: Option<f64>,
    /// Its 95 % interval, by bootstrap over the rounds; `null` with fewer than six.
    pub rate_ci95: Option<[f64; 2]>,
    /// Every rate that was tried.
    pub steps: Vec<SearchStep>,
    /// Why there is no rate.
    pub reason: Option<String>,
    /// Of which kind that reason is.
    pub reason_kind: Option<ReasonKind>,
}

/// A rate that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchStep {
    /// In which round, from 1.
    pub round: u32,
    /// Operations a second that were due.
    pub offered_per_s: f64,
    /// Operations a second that succeeded.
    pub achieved_per_s: f64,
    /// The bounded quantile of the latency, in nanoseconds.
    pub latency_ns: u64,
    /// It was within the bound, and the target kept up.
    pub within: bool,
}
