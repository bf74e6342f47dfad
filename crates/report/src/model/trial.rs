//! What a target was asked outside of all timed work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a target keeps what it promises of a TTL, tried on a few keys of the run's own before the rounds. Some get a short
/// TTL and must be gone after it, others one that lasts and must be there when the first are gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TtlTrial {
    /// The short TTL that was given, in seconds.
    pub ttl_s: f64,
    /// The finest step in which the target honours a TTL, in seconds.
    pub resolution_s: f64,
    /// Keys that were set with the short one and acknowledged.
    pub keys: u64,
    /// Of them: still answered when they were asked for the last time.
    pub late: u64,
    /// The TTL that lasts, in seconds.
    pub lasting_ttl_s: f64,
    /// Keys that were set with that and acknowledged.
    pub lasting_keys: u64,
    /// Of them: gone although their TTL had not passed, and no eviction explains it.
    pub early: u64,
    /// How long after the set that was, in seconds.
    pub asked_after_s: f64,
}
