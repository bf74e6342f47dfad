//! The further figures of an open loop, whose operations are due at planned instants, even if the target is not ready.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CurvePoint, Latency};

/// The figures of a round of an open loop besides its latencies, which count from the intended start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacedSample {
    /// Operations a second that were due, of all threads together.
    pub offered_per_s: f64,
    /// Latency from the instant at which an operation really began, as a closed loop measures it.
    pub service_ns: Option<Latency>,
    /// The delay of operations by the scheduler's own fault: their thread woke late for them, or for earlier
    /// operations that they had to wait for.
    #[serde(alias = "lag_ns")]
    pub schedule_lag_ns: Option<Latency>,
    /// Operations that an exact schedule would have begun late too: their thread was busy with earlier operations.
    pub queued: u64,
    /// Operations that were due, but had not begun, when time ended the round. The latencies count each with its
    /// waiting time until then, which is a lower bound.
    #[serde(default, alias = "unbegun")]
    pub not_started: u64,
}

/// The figures of a cell of an open loop besides its latencies, which count from the intended start; all rounds together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Paced {
    /// Operations a second that were due, of all threads together.
    pub offered_per_s: f64,
    /// Latency from the instant at which an operation really began.
    pub service_ns: Option<Latency>,
    /// The distribution of `service_ns`, in the form of `latency_curve`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_curve: Vec<CurvePoint>,
    /// The delay of operations by the scheduler's own fault.
    #[serde(alias = "lag_ns")]
    pub schedule_lag_ns: Option<Latency>,
    /// Operations that an exact schedule would have begun late too: their thread was busy with earlier operations.
    pub queued: u64,
    /// Operations that were due, but had not begun, when time ended the round. The latencies count each with its
    /// waiting time until then, which is a lower bound.
    #[serde(default, alias = "unbegun")]
    pub not_started: u64,
}
