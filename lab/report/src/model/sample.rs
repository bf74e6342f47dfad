//! The rounds of a cell.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Comers, Counts, Driven, Idle, Latency, Operation, PacedSample, Stalls, TierCounts};

/// One round of a cell.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// The number of the round, from 1.
    pub round: u32,
    /// The place of this target in the order of the round, from 1.
    pub position: u32,
    /// Whether the round was carried out to its end. Otherwise it is in no rate.
    pub complete: bool,
    /// Seconds from the start of the run to the start of this measurement.
    pub at_s: f64,
    /// The counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// Time of the measured loop, in seconds.
    pub wall_s: f64,
    /// Operations that succeeded per second of wall clock.
    pub ops_per_s: f64,
    /// CPU time of the client, in seconds.
    pub client_cpu_s: Option<f64>,
    /// The part of `client_cpu_s` in the system's kernel; the rest is the client's own. `null` where it is unknown, and
    /// in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_system_s: Option<f64>,
    /// The share of its time, 0 to 1, for which the busiest of the client's threads had a processor in the phase. In a
    /// mix it is the same for all operations. `null` for a guest, and in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_busy: Option<f64>,
    /// CPU time of the servers, in seconds.
    pub server_cpu_s: Option<f64>,
    /// Memory at the end, as in the cell.
    pub rss_bytes: Option<u64>,
    /// Bytes that its files take at the end.
    pub disk_bytes: Option<u64>,
    /// The most bytes that the store was seen to hold; `null` as in the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_bytes_peak: Option<u64>,
    /// The most entries that the store was seen to hold; `null` as in the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_items_peak: Option<u64>,
    /// The most memory that the store had taken for entries; `null` as in the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated_bytes_peak: Option<u64>,
    /// Major page faults of this process.
    pub major_faults: u64,
    /// Time in which the client's threads were ready to run but had no processor, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_wait_s: Option<f64>,
    /// Time in which the threads of the servers, and of a relay before them, were ready without a processor, in
    /// seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_wait_s: Option<f64>,
    /// Bytes between client and servers; `null` where they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
    /// The work of the garbage collector of a guest's language; `null` where the guest does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collector: Option<Collector>,
    /// Operations that took longer than 100 ms; `null` in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<Stalls>,
    /// The part of the phase at its end in which the client waited for unanswered requests, in seconds; `null` where
    /// each operation waits for its own answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier_s: Option<f64>,
    /// The further figures of an open loop; `null` for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paced: Option<PacedSample>,
    /// The connections that the threads drove; `null` where each thread had one and waited for its answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driven: Option<Driven>,
    /// Connections that were open and sent nothing; `null` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// Connections that came and went; `null` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comers: Option<Comers>,
    /// The counters of each tier of a stack, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierCounts>,
    /// Latency of the operations that succeeded.
    pub latency_ns: Option<Latency>,
    /// The course of the round; `null` in runs of older versions.
    #[serde(default)]
    pub timeline: Option<Timeline>,
    /// The errors, by kind.
    pub errors_by_kind: BTreeMap<String, u64>,
    /// The first error, in the store's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_error: Option<String>,
    /// The first wrong value of each kind, as `wrong_examples` of a cell.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub wrong_examples: BTreeMap<String, String>,
}

/// The name in `wrong_examples` of a key that was still there after the removal of all keys.
pub const NOT_EMPTIED: &str = "not_emptied";
/// The name in `wrong_examples` of the error that prevented the search for removed keys.
pub const NOT_LOOKED_FOR: &str = "not_looked_for";
/// The name in `wrong_examples` of the first error of a connection that came and went.
pub const COMERS_FAILED: &str = "comers_failed";
/// The name in `wrong_examples` of the first error of a set of the read-back.
pub const OVERWRITES_FAILED: &str = "overwrites_failed";

impl Sample {
    /// Requests answered per second, hits and misses; `None` for an operation that cannot miss, or without time.
    pub fn answered_per_s(&self, operation: Operation) -> Option<f64> {
        let answered = self.counts.answered(operation)?;
        self.per_second(answered)
    }

    /// Right values per second; `None` for an operation that does not read, or without time.
    pub fn hits_per_s(&self, operation: Operation) -> Option<f64> {
        operation.reads().then(|| self.per_second(self.counts.hits)).flatten()
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    fn per_second(&self, number: u64) -> Option<f64> {
        (self.wall_s > 0.0).then(|| number as f64 / self.wall_s)
    }
}

/// The course of a round, in bins of equal length from its start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// The length of a bin, in nanoseconds; the last may be cut short by the end of the round.
    #[serde(alias = "slot_ns")]
    pub bin_ns: u64,
    /// Operations that ended in each bin, with any outcome; of all threads together.
    pub ops: Vec<u64>,
    /// The slowest operation that ended in each bin, in nanoseconds; 0 for a bin without operations.
    pub max_ns: Vec<u64>,
}

impl Timeline {
    /// The same course in bins that are this many times as long.
    pub(crate) fn coarsened(&self, times: usize) -> Self {
        let times = times.max(1);
        Self {
            bin_ns: self.bin_ns.saturating_mul(times as u64),
            ops: self.ops.chunks(times).map(|ops| ops.iter().sum()).collect(),
            max_ns: self.max_ns.chunks(times).filter_map(|max| max.iter().copied().max()).collect(),
        }
    }
}

/// The work of a garbage collector while the clock ran. Its CPU time is a part of the client's, and its pauses are in the
/// latencies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Collector {
    /// Cycles that ended meanwhile.
    pub cycles: u64,
    /// The time for which all of the client's threads stood still, in nanoseconds.
    pub pause_ns: u64,
    /// The longest of these pauses, in nanoseconds.
    pub longest_pause_ns: u64,
    /// The collector's CPU time by its own estimate, in seconds.
    pub cpu_s: f64,
}

impl Collector {
    /// Adds the work of another time.
    pub fn add(&mut self, other: &Self) {
        self.cycles += other.cycles;
        self.pause_ns += other.pause_ns;
        self.longest_pause_ns = self.longest_pause_ns.max(other.longest_pause_ns);
        self.cpu_s += other.cpu_s;
    }
}

/// Bytes on the network between client and servers, loopback included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wire {
    /// From the client.
    pub sent_bytes: u64,
    /// To the client.
    pub received_bytes: u64,
}
