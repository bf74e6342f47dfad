//! What happens over the time of a trace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations over time, in steps of equal length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Course {
    /// The length of a step in seconds.
    pub step_s: f64,
    /// The operations of each step.
    pub rows: Vec<u64>,
    /// The reads among them.
    pub reads: Vec<u64>,
    /// The reads that hit; empty where no answers were recorded.
    pub hits: Vec<u64>,
}

/// The keys in use, in steps of equal length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkingSet {
    /// The length of a step in seconds; `null` without times.
    pub step_s: Option<f64>,
    /// The operations of a step, where there are no times.
    pub step_rows: Option<u64>,
    /// Different keys that were used in each step.
    pub keys: Vec<f64>,
    /// Bytes of these entries; empty where no sizes were recorded.
    pub bytes: Vec<f64>,
    /// Different keys that were used until the end of each step.
    pub keys_so_far: Vec<f64>,
    /// Bytes of these entries.
    pub bytes_so_far: Vec<f64>,
}

/// How much is used between two uses of a key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reuse {
    /// The share of the reads whose key was used before.
    pub again: f64,
    /// Of these reads, quantiles of the different keys used since then; the key itself counts.
    pub keys: Vec<(f64, f64)>,
    /// The same in bytes of these entries; empty where no sizes were recorded.
    pub bytes: Vec<(f64, f64)>,
    /// Distances below this many keys are not told apart.
    pub finest_keys: f64,
}
