//! How long operations took.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Latency in nanoseconds; each figure is a value below which that share of operations lies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// The fastest.
    pub min: u64,
    /// The mean.
    pub mean: f64,
    /// Half.
    pub p50: u64,
    /// 90 %.
    pub p90: u64,
    /// 99 %.
    pub p99: u64,
    /// 99.9 %.
    pub p999: u64,
    /// The slowest.
    pub max: u64,
}

/// How sure each percentile of a [`Latency`] is: 95 % intervals, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyIntervals {
    /// Of half.
    pub p50: [f64; 2],
    /// Of 90 %.
    pub p90: [f64; 2],
    /// Of 99 %.
    pub p99: [f64; 2],
    /// Of 99.9 %.
    pub p999: [f64; 2],
}

/// A point of a distribution, as `[quantile, nanoseconds]`: that share of the operations took at most so long.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint(pub f64, pub u64);

/// The fastest operations up to a percentile: how long they took on average, and the slowest of them. The fastest of all
/// is the same for each of them: `min` of [`Latency`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyTo {
    /// Which share of the operations, above 0 and up to 1.
    pub quantile: f64,
    /// Their mean, in nanoseconds.
    pub mean: f64,
    /// The slowest of them, in nanoseconds.
    pub max: u64,
}

/// Operations that took longer than 100 ms, whatever became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stalls {
    /// How many.
    pub count: u64,
    /// How long they took together, in nanoseconds.
    pub ns: u64,
}
