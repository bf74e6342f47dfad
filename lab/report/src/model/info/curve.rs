//! The hit ratios of simulated caches by their capacity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The unit of capacities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeasuredIn {
    /// Entries, whatever their sizes.
    Entries,
    /// Bytes of keys and values.
    Bytes,
}

/// A simulated policy.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CurvePolicy {
    /// Least recently used.
    Lru,
    /// First in, first out.
    Fifo,
    /// SIEVE.
    Sieve,
    /// S3-FIFO.
    S3Fifo,
    /// W-TinyLFU.
    WTinyLfu,
    /// The choice that knows the future.
    Optimal,
}

impl CurvePolicy {
    /// All, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::Lru, Self::Fifo, Self::Sieve, Self::S3Fifo, Self::WTinyLfu, Self::Optimal];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lru => "LRU",
            Self::Fifo => "FIFO",
            Self::Sieve => "SIEVE",
            Self::S3Fifo => "S3-FIFO",
            Self::WTinyLfu => "W-TinyLFU",
            Self::Optimal => "optimal",
        }
    }
}

/// The hit ratios by rising capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheCurve {
    /// The unit of the capacities.
    pub measure: MeasuredIn,
    /// The hit ratios at each capacity.
    pub capacities: Vec<HitRatioAt>,
}

/// The hit ratios at one capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HitRatioAt {
    /// The capacity.
    pub capacity: u64,
    /// A ratio for each policy.
    pub ratios: Vec<CurveRatio>,
    /// The share of the keys that was followed for them.
    pub keys: f64,
    /// The share of the time that was followed.
    pub time: f64,
}

/// The hit ratio of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveRatio {
    /// The policy.
    pub policy: CurvePolicy,
    /// The share of the reads that hit, 0 to 1.
    pub hit_ratio: f64,
    /// Half of its 95 % interval; `null` for an exact ratio.
    pub half_width: Option<f64>,
}

impl HitRatioAt {
    /// The ratio of a policy.
    pub fn of(&self, policy: CurvePolicy) -> Option<&CurveRatio> {
        self.ratios.iter().find(|ratio| ratio.policy == policy)
    }
}
