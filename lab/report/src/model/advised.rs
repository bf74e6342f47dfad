//! The answer of an advice, in the run whose figures it was made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HitRatios;

/// What an advice answers, in one line, and what its picture shows. Its sentences are `advice` of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advised {
    /// The question: `Which cache for web12?`.
    pub question: String,
    /// The answer, without a full stop: `Take memory: 1.37 MiB: 96.8 % hits, p99 2.4 µs`.
    pub answer: String,
    /// The target to take and its capacity; `null` where no candidate fits.
    pub choice: Option<AdvisedChoice>,
    /// The hit ratios of all candidates at all measured capacities, also of those in a first look alone.
    pub points: Vec<AdvisedPoint>,
    /// The models at these capacities, by rising capacity.
    pub models: Vec<HitRatios>,
}

/// The target to take, and its capacity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdvisedChoice {
    /// The URL of the target.
    pub target: String,
    /// The capacity, in bytes.
    pub capacity_bytes: u64,
}

/// The hit ratio of a candidate at a capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdvisedPoint {
    /// The URL of the target.
    pub target: String,
    /// The capacity, in bytes.
    pub capacity_bytes: u64,
    /// The share of the reads that hit, 0 to 1.
    pub hit_ratio: f64,
}
