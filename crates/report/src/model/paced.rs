//! The further figures of a cell of an open loop: operations were due at planned instants, whether the target was ready or not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CurvePoint, Latency};

/// The figures of a round of an open loop besides its latencies, which count from the intended start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacedSample {
    /// Operations a second that were due, of all threads together.
    pub offered_per_s: f64,
    /// Latency from the instant at which an operation really began: what a closed loop would have told.
    pub service_ns: Option<Latency>,
    /// How late operations began by the schedule's own fault: their thread woke late, for them or for others for which
    /// they then had to wait.
    pub lag_ns: Option<Latency>,
    /// Operations that would have begun late had the schedule been in time: their thread was still busy with those before.
    pub queued: u64,
    /// Operations that were due before time ended the round and had not begun by then. Each counts in the latencies with
    /// the time that it had waited until then, which is the least that it can have taken.
    #[serde(default)]
    pub unbegun: u64,
}

/// The figures of a cell of an open loop besides its latencies, which count from the intended start; all rounds together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Paced {
    /// Operations a second that were due, of all threads together.
    pub offered_per_s: f64,
    /// Latency from the instant at which an operation really began.
    pub service_ns: Option<Latency>,
    /// The distribution of `service_ns`, as `latency_curve` has that of `latency_ns`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_curve: Vec<CurvePoint>,
    /// How late operations began by the schedule's own fault.
    pub lag_ns: Option<Latency>,
    /// Operations that would have begun late had the schedule been in time: their thread was still busy with those before.
    pub queued: u64,
    /// Operations that were due before time ended the round and had not begun by then. Each counts in the latencies with
    /// the time that it had waited until then, which is the least that it can have taken.
    #[serde(default)]
    pub unbegun: u64,
}
