//! The figures of connections: those that a few threads drive, those that are idle, and those that come and go.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Latency;

/// The least, the median and the most of a figure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The least.
    pub least: f64,
    /// The median.
    pub median: f64,
    /// The most.
    pub most: f64,
}

/// The connections that the threads drove, in a round or over all rounds of a cell. In a mix the figures are of all
/// operations together. Over all rounds, a figure is the median of the rounds unless it says otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Driven {
    /// The connections of all threads together.
    pub connections: u32,
    /// The requests that each connection had outstanding at most.
    pub pipeline: u32,
    /// Requests that each connection got answered per second: the least, the median and the most of all connections. A
    /// request for many keys is one.
    pub answered_per_s: Spread,
    /// Connections that got less than a third of the median's answers. 0 where the median is below 30 or the round is
    /// shorter than 100 ms: there, chance or a time slice of a processor makes such differences. Over all rounds, the
    /// number of the median round, rounded down.
    pub starved: u32,
    /// The requests that were outstanding on average, of all connections together: the sum of all service times over
    /// the time (Little's law). `null` without time.
    pub outstanding_mean: Option<f64>,
    /// The most requests that were outstanding at once; over all rounds, the most of any round.
    pub outstanding_most: u64,
    /// Processors that the servers used on average; `null` where it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_processors: Option<f64>,
}

/// Connections that were open all the time and sent nothing. Over all rounds, a figure is the median of the rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Idle {
    /// The connections.
    pub connections: u32,
    /// The growth of the servers' resident memory by them, over their number, in bytes; `null` where it is unknown.
    pub server_bytes_per_connection: Option<f64>,
}

/// Connections that came and went during a round, or during all rounds of a cell, each for one read. Their times count from
/// the instant at which a connection was due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comers {
    /// Connections a second that were due.
    pub planned_per_s: f64,
    /// Connections a second that were begun; over all rounds, the median of the rounds.
    pub begun_per_s: f64,
    /// Connections that were begun.
    pub begun: u64,
    /// Of `begun`: connections that were refused, or had no right answer. `comers_failed` in `wrong_examples` has the
    /// first error.
    pub failed: u64,
    /// The time until a connection was there, in nanoseconds; `null` if no connection was.
    pub connect_ns: Option<Latency>,
    /// The time until the answer to its first request, in nanoseconds; `null` without an answer.
    pub first_answer_ns: Option<Latency>,
}
