//! Trials of a target outside of all timed work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a target keeps what it promises of a TTL, tried on a few keys of the run's own before the rounds. Some get a short
/// TTL and must be gone after it, others one that lasts and must be there when the first are gone; so must those whose TTL has
/// most of its time behind it, which a clock that runs fast ends. A touch, or a second set, gives some of either kind the
/// TTL of the other. Some are read again and again, which gives no TTL.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The TTL of which most had passed by then, in seconds; 0 in runs of before it was tried.
    #[serde(default)]
    pub middle_ttl_s: f64,
    /// Keys that were set with that and acknowledged.
    #[serde(default)]
    pub middle_keys: u64,
    /// Of them: gone before their TTL had passed, and no eviction explains it.
    #[serde(default)]
    pub middle_early: u64,
    /// Keys with the short TTL that an acknowledged touch gave the one that lasts.
    #[serde(default)]
    pub renewed_keys: u64,
    /// Of them: gone all the same, and no eviction explains it.
    #[serde(default)]
    pub renewed_early: u64,
    /// Keys with the TTL that lasts that an acknowledged touch gave the short one.
    #[serde(default)]
    pub shortened_keys: u64,
    /// Of them: still answered when they were asked for the last time.
    #[serde(default)]
    pub shortened_late: u64,
    /// Keys with the short TTL that an acknowledged set gave the one that lasts.
    #[serde(default)]
    pub prolonged_keys: u64,
    /// Of them: gone all the same, and no eviction explains it.
    #[serde(default)]
    pub prolonged_early: u64,
    /// Keys with the TTL that lasts that an acknowledged set gave the short one.
    #[serde(default)]
    pub curtailed_keys: u64,
    /// Of them: still answered when they were asked for the last time.
    #[serde(default)]
    pub curtailed_late: u64,
    /// Keys that were set with the short TTL and read again and again.
    #[serde(default)]
    pub read_keys: u64,
    /// Of them: still answered when they were asked for the last time.
    #[serde(default)]
    pub read_late: u64,
    /// Whether it is known what the store evicted meanwhile: it tells, or evicts nothing.
    #[serde(default = "told")]
    pub evictions_told: bool,
    /// The first error of a touch; what depends on one was not tried then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touch_error: Option<String>,
}

/// Runs of before it was asked take it for granted.
fn told() -> bool {
    true
}
