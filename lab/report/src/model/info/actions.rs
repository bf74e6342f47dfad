//! What a team can act on: reads that no cache serves, keys that are read most, entries that take most room.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Estimate;

/// The most reads that any cache can hit, and why the others miss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HitLimit {
    /// The share of the reads that hit in the best of all caches that begin empty, whatever their capacity and policy.
    pub hit_ratio: Estimate,
    /// The share of the reads that come before anything was stored under their keys.
    pub first: f64,
    /// Negative look-ups: the share of the reads that missed in the recording, and nobody stored a value afterwards; `null`
    /// where answers or stores were not recorded.
    pub absent: Option<f64>,
    /// The share of the reads that miss because the TTL of their entry was over; `null` where no entry expires.
    pub expired: Option<f64>,
    /// The share of the reads that miss because their entry was deleted; `null` where nothing is deleted.
    pub deleted: Option<f64>,
    /// The share of the reads that hit in the recording though nothing in it stored their keys before: the recorded cache was
    /// not empty when the recording began. `null` where no answers were recorded.
    pub before: Option<f64>,
}

impl HitLimit {
    /// The greatest share of the reads that any cache hits which begins empty; of a sample, the upper end of the interval.
    pub fn at_most(&self) -> f64 {
        self.hit_ratio.ci95.map_or(self.hit_ratio.value, |[_, high]| high.min(1.0))
    }

    /// The share of the reads that miss in every cache.
    pub fn unavoidable(&self) -> Estimate {
        let Estimate { value, ci95 } = self.hit_ratio;
        let ci95 = ci95.map(|[low, high]| [(1.0 - high).max(0.0), 1.0 - low]);
        Estimate { value: 1.0 - value, ci95 }
    }
}

/// The most read keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hottest {
    /// The most read first.
    pub keys: Vec<HotKey>,
    /// Upper bound on how much each share is overstated; 0 where they are exact.
    pub error: f64,
}

/// A key and its reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotKey {
    /// The key in clear; `null` where the trace has a number for it.
    pub key: Option<String>,
    /// The number that stands for the key, in decimal digits: its hash, or the number of an object or a block.
    pub hash: String,
    /// Its share of the reads.
    pub reads: f64,
}

impl HotKey {
    /// The key, or else the number that stands for it.
    pub fn name(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.hash)
    }
}

/// The largest entries.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Largest {
    /// Their share of all entries.
    pub entries: f64,
    /// The share of all bytes that they have.
    pub bytes: f64,
    /// The bytes of the smallest of them, key and value together.
    pub least_bytes: u64,
}
