//! What a target was asked outside of all timed work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a target keeps what it promises of a TTL, tried on a few keys of the run's own before the rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TtlTrial {
    /// The TTL that was given, in seconds.
    pub ttl_s: f64,
    /// The finest step in which the target honours a TTL, in seconds.
    pub resolution_s: f64,
    /// Keys that were set and acknowledged.
    pub keys: u64,
    /// Of them: gone although their TTL had not passed, and no eviction explains it.
    pub early: u64,
    /// Of them: still answered when they were asked for the last time.
    pub late: u64,
    /// How long after the set that was, in seconds.
    pub asked_after_s: f64,
}
