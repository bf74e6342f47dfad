//! The hit ratio that a cache of each capacity could have reached, on the same reads that were measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Operation, Point};

/// The hit ratios of two models on the same operations, by capacity: exact LRU, and the optimal choice, which knows the
/// future (Belady 1966).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct HitCurve {
    /// The point in the sweep, without the capacity.
    pub point: Point,
    /// The operation that reads.
    pub operation: Operation,
    /// Bytes of all keys and values.
    pub working_set_bytes: u64,
    /// The number of rounds that were followed. A few long rounds stand for all, and a trace is the same in each. 0 in
    /// runs of older versions.
    #[serde(default)]
    pub rounds: u32,
    /// By rising capacity.
    pub capacities: Vec<HitRatios>,
}

/// The hit ratios at one capacity, 0 to 1, the mean of the rounds that were followed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HitRatios {
    /// Bytes of keys and values that fit.
    pub capacity_bytes: u64,
    /// The hit ratio of an exact LRU.
    pub lru: f64,
    /// The hit ratio of the optimal choice; exact where all entries have the same size.
    pub optimal: f64,
}
