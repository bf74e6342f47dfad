//! The time that operations took.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Latency in nanoseconds. Each percentile is a value that this share of the operations did not exceed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// The fastest operation.
    pub min: u64,
    /// The mean.
    pub mean: f64,
    /// The percentile 50 %, the median.
    pub p50: u64,
    /// The percentile 90 %.
    pub p90: u64,
    /// The percentile 99 %.
    pub p99: u64,
    /// The percentile 99.9 %.
    pub p999: u64,
    /// The slowest operation.
    pub max: u64,
}

/// The 95 % intervals of the percentiles of a [`Latency`], in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyIntervals {
    /// The interval of the median.
    pub p50: [f64; 2],
    /// The interval of the percentile 90 %.
    pub p90: [f64; 2],
    /// The interval of the percentile 99 %.
    pub p99: [f64; 2],
    /// The interval of the percentile 99.9 %.
    pub p999: [f64; 2],
}

/// A point of a distribution, as `[quantile, nanoseconds]`: this share of the operations took at most this time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint(pub f64, pub u64);

/// The fastest operations up to a percentile: their mean and the slowest of them. The fastest of all is `min` of
/// [`Latency`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyTo {
    /// The share of the operations, above 0 and up to 1.
    pub quantile: f64,
    /// Their mean, in nanoseconds.
    pub mean: f64,
    /// The slowest of them, in nanoseconds.
    pub max: u64,
}

/// Operations that took longer than 100 ms, with any outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stalls {
    /// The number of these operations.
    pub count: u64,
    /// Their time together, in nanoseconds.
    pub ns: u64,
}
