//! The results of `--search`: the highest rate at which a latency stays within a bound.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Operation, Point, ReasonKind};

/// The highest rate of one target at one point at which a quantile of its latency stays within a bound.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Search {
    /// The `url` of the target.
    pub target: String,
    /// The point in the sweep.
    pub point: Point,
    /// The operations that share the rate.
    pub operations: Vec<Operation>,
    /// The bounded quantile, 0 to 1.
    pub quantile: f64,
    /// The bound, in nanoseconds from the intended start.
    pub bound_ns: u64,
    /// The highest rate within the bound that each round found, in operations a second.
    pub rates: Vec<f64>,
    /// The median of these rates.
    pub rate: Option<f64>,
    /// Its 95 % interval, by bootstrap over the rounds; `null` with fewer than six.
    pub rate_ci95: Option<[f64; 2]>,
    /// Every rate that was tried.
    pub steps: Vec<SearchStep>,
    /// The reason why there is no rate.
    pub reason: Option<String>,
    /// The kind of that reason.
    pub reason_kind: Option<ReasonKind>,
}

/// A rate that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchStep {
    /// The number of the round, from 1.
    pub round: u32,
    /// Operations a second that were due.
    pub offered_per_s: f64,
    /// Operations a second that succeeded.
    pub achieved_per_s: f64,
    /// The bounded quantile of the latency, in nanoseconds.
    pub latency_ns: u64,
    /// Whether the quantile was within the bound, and the target kept up.
    pub within: bool,
}
