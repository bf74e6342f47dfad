//! Trials of a target outside the timed work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a target keeps its TTLs, tried on a few keys of the run's own before the rounds. Some keys get a short TTL
/// and must be gone after it. Other keys get a lasting TTL and must still be there then. So must keys whose TTL has
/// mostly passed, which a fast clock ends. A touch, or a second set, gives some keys of either kind the TTL of the
/// other. Some are read repeatedly, which must not renew their TTL.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TtlTrial {
    /// The short TTL that was given, in seconds.
    pub ttl_s: f64,
    /// The finest step in which the target honours a TTL, in seconds.
    pub resolution_s: f64,
    /// Keys that were set with the short TTL and acknowledged.
    pub keys: u64,
    /// Of these: keys that were still there at the last request.
    pub late: u64,
    /// The lasting TTL, in seconds.
    pub lasting_ttl_s: f64,
    /// Keys that were set with the lasting TTL and acknowledged.
    pub lasting_keys: u64,
    /// Of these: keys that were gone before their TTL had passed, without an eviction to explain it.
    pub early: u64,
    /// The time from the set of the keys to the last request for them, in seconds.
    #[serde(alias = "asked_after_s")]
    pub last_request_after_s: f64,
    /// The TTL that had mostly passed by then, in seconds; 0 in runs of older versions.
    #[serde(default)]
    pub middle_ttl_s: f64,
    /// Keys that were set with that TTL and acknowledged.
    #[serde(default)]
    pub middle_keys: u64,
    /// Of these: keys that were gone before their TTL had passed, without an eviction to explain it.
    #[serde(default)]
    pub middle_early: u64,
    /// Keys with the short TTL that got the lasting TTL by an acknowledged touch.
    #[serde(default, alias = "renewed_keys")]
    pub touch_lengthened_keys: u64,
    /// Of these: keys that were gone all the same, without an eviction to explain it.
    #[serde(default, alias = "renewed_early")]
    pub touch_lengthened_early: u64,
    /// Keys with the lasting TTL that got the short TTL by an acknowledged touch.
    #[serde(default, alias = "shortened_keys")]
    pub touch_shortened_keys: u64,
    /// Of these: keys that were still there at the last request.
    #[serde(default, alias = "shortened_late")]
    pub touch_shortened_late: u64,
    /// Keys with the short TTL that got the lasting TTL by an acknowledged set.
    #[serde(default, alias = "prolonged_keys")]
    pub set_lengthened_keys: u64,
    /// Of these: keys that were gone all the same, without an eviction to explain it.
    #[serde(default, alias = "prolonged_early")]
    pub set_lengthened_early: u64,
    /// Keys with the lasting TTL that got the short TTL by an acknowledged set.
    #[serde(default, alias = "curtailed_keys")]
    pub set_shortened_keys: u64,
    /// Of these: keys that were still there at the last request.
    #[serde(default, alias = "curtailed_late")]
    pub set_shortened_late: u64,
    /// Keys that were set with the short TTL and read repeatedly.
    #[serde(default)]
    pub read_keys: u64,
    /// Of these: keys that were still there at the last request.
    #[serde(default)]
    pub read_late: u64,
    /// Whether the evictions during the trial are known: the store tells them, or evicts nothing.
    #[serde(default = "assume_reported", alias = "evictions_told")]
    pub evictions_reported: bool,
    /// The first error of a touch. The trials that depend on a touch were then left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touch_error: Option<String>,
}

/// In runs of older versions, the evictions count as known.
fn assume_reported() -> bool {
    true
}
