//! The cells of `run.json`, and the floors below them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Collector, Comers, Counts, CurvePoint, Driven, Idle, Latency, LatencyIntervals, LatencyTo,
    Operation, Paced, Point, Sample, TierCounts,
};

/// The figures of one target at one point for one operation. Counts are totals over equal rounds.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The `url` of its target.
    pub target: String,
    /// The point in the sweep.
    pub point: Point,
    /// The operation.
    pub operation: Operation,
    /// The number of concurrent workers: threads of Larder, or processes of a guest.
    #[serde(default = "alone")]
    pub workers: u32,
    /// The number of rounds behind the figures.
    pub rounds: u32,
    /// The reason why figures are missing or doubtful.
    pub reason: Option<String>,
    /// The kind of that reason; `null` without a reason.
    pub reason_kind: Option<ReasonKind>,
    /// The counts of all rounds together.
    #[serde(flatten)]
    pub counts: Counts,
    /// The hit ratio that the workload predicts, 0 to 1, where it is known beforehand.
    pub predicted_hit_ratio: Option<f64>,
    /// The greatest hit ratio that any cache can have on these requests, 0 to 1, where they are those of a trace: of all reads of
    /// the point together, of one key and of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_limit: Option<f64>,
    /// Bytes of all keys and values of this point, without any store's own overhead.
    pub working_set_bytes: u64,
    /// The capacity of the target at this point by its own account, in bytes, where the workload asks for a capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
    /// Time of the measured loops, in seconds, all rounds together.
    pub wall_s: Option<f64>,
    /// Operations that succeeded per second of wall clock, the median of the rounds. For reads, only hits succeed.
    pub ops_per_s: Option<f64>,
    /// Its 95 % interval, by bootstrap over the rounds; `null` with fewer than six.
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// For an operation that can miss: requests answered per second of wall clock, hits and misses, the median of the
    /// rounds. Errors and wrong values are not answers. `null` for other operations, whose `ops_per_s` is the same, and
    /// in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_per_s: Option<f64>,
    /// Its 95 % interval, by bootstrap over the rounds; `null` with fewer than six.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_per_s_ci95: Option<[f64; 2]>,
    /// For an operation that reads: right values per second of wall clock, the median of the rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits_per_s: Option<f64>,
    /// CPU time of the client, in seconds, all rounds together.
    pub client_cpu_s: Option<f64>,
    /// The part of `client_cpu_s` in the system's kernel; the rest is the client's own. `null` where it is unknown, and
    /// in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_system_s: Option<f64>,
    /// The work of the garbage collector of a guest's language, all rounds together; `null` where the guest does not
    /// tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collector: Option<Collector>,
    /// CPU time of the servers behind the target, in seconds, all rounds together.
    pub server_cpu_s: Option<f64>,
    /// Memory at the end of the phase, the most of all rounds: resident memory of the servers, or for an embedded
    /// engine the growth of its process since the turn began, less the floor's. For a guest's cache that process is the
    /// guest's. `null` where the floor takes more than the engine. A store that gives no memory back still holds the
    /// memory of other points of a sweep.
    pub rss_bytes: Option<u64>,
    /// Bytes that its files take at the end of the phase; the most of all rounds, as for `rss_bytes`.
    pub disk_bytes: Option<u64>,
    /// The most bytes that the store held by its own count, between the phases and, where it tells, within a turn.
    /// `null` where it does not count them, where other programs store there too, and in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_bytes_peak: Option<u64>,
    /// The most entries that the store held between the phases; `null` as for `held_bytes_peak`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_items_peak: Option<u64>,
    /// The most memory that the store had taken for entries between the phases, with its room that no entry uses. `null`
    /// for a store that takes as much as its entries need, as for `held_bytes_peak`, and in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated_bytes_peak: Option<u64>,
    /// Bytes of values moved, all rounds together.
    pub bytes: u64,
    /// The counters of each tier of a stack, the nearest first, all rounds together; empty unless the target is a
    /// stack. In a mix they are in the cell of the operation that reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierCounts>,
    /// The number of measured latencies, all rounds together: of a read the hits, of many keys at once the requests.
    /// `null` without latencies, and in runs of older versions.
    #[serde(default, alias = "timed", skip_serializing_if = "Option::is_none")]
    pub latency_count: Option<u64>,
    /// Latency of the operations that succeeded, in nanoseconds.
    pub latency_ns: Option<Latency>,
    /// The 95 % intervals of its percentiles, by bootstrap over the rounds; `null` with fewer than six.
    #[serde(default)]
    pub latency_ns_ci95: Option<LatencyIntervals>,
    /// The distribution of the latencies, by rising quantile: from the fastest (0) to the slowest (1), all rounds
    /// together. Other quantiles are there only with at least ten operations beyond them.
    #[serde(default)]
    pub latency_curve: Vec<CurvePoint>,
    /// The fastest shares of the operations, to 90, 95, 99 and 100 %, all rounds together. A share below 100 % is there
    /// only with at least ten operations beyond it.
    #[serde(default)]
    pub latency_to: Vec<LatencyTo>,
    /// The further figures of an open loop; `null` for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paced: Option<Paced>,
    /// The connections that the threads drove; `null` where each thread had one and waited for its answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driven: Option<Driven>,
    /// Connections that were open and sent nothing; `null` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// Connections that came and went; `null` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comers: Option<Comers>,
    /// For a closed loop with a stall: the latencies of callers that come at the loop's own mean rate, whether the
    /// target is ready or not. They are an estimate by the histogram's correction for coordinated omission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected_ns: Option<Latency>,
    /// The first wrong value of each kind, in words: `truncated`, `stale`, `other_key` and `damaged`, and `not_emptied` for
    /// a key that was still there after the emptying.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub wrong_examples: BTreeMap<String, String>,
    /// Rounds whose rate lies far from all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<Outlier>,
    /// Whether the rounds became faster or slower in the course of the run; `null` with too few rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend: Option<Trend>,
    /// Each round.
    pub samples: Vec<Sample>,
}

/// Runs of older versions had one worker.
fn alone() -> u32 {
    1
}

/// The largest difference of two hit ratios that count as alike: one percentage point.
pub const LIKE_HITS: f64 = 0.01;

impl Cell {
    /// Hits over answered reads, wrong values included; `None` without an answered read.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    pub fn hit_ratio(&self) -> Option<f64> {
        let answered = self.counts.hits + self.counts.misses + self.counts.wrong;
        (self.operation.reads() && answered > 0).then(|| self.counts.hits as f64 / answered as f64)
    }

    /// The share of the answered operations that found their key, 0 to 1. For reads it is the hit ratio. `None` for an
    /// operation that cannot miss, and without an answer.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    pub fn found_ratio(&self) -> Option<f64> {
        if self.operation.reads() {
            return self.hit_ratio();
        }
        let answered = self.counts.answered(self.operation).filter(|answered| *answered > 0)?;
        Some(1.0 - self.counts.misses as f64 / answered as f64)
    }

    /// The sessions that worked at once, each with a connection to a server where there is one.
    pub fn sessions(&self) -> u64 {
        self.driven.map_or(self.workers, |driven| driven.connections).max(1).into()
    }

    /// The most operations that were under way at once: one a worker, or as many as all connections had outstanding.
    pub fn under_way(&self) -> u64 {
        let pipeline = self.driven.map_or(1, |driven| driven.pipeline.max(1));
        self.sessions() * u64::from(pipeline)
    }

    /// Whether two cells of one operation found their keys equally often, within [`LIKE_HITS`]. A miss is other work
    /// than a hit, so otherwise their rates cannot be compared.
    pub fn finds_as_often_as(&self, other: &Self) -> bool {
        match (self.found_ratio(), other.found_ratio()) {
            // Ratios of counts are not exact hundredths.
            (Some(own), Some(others)) => (own - others).abs() <= LIKE_HITS + 1e-9,
            _ => true,
        }
    }
}

/// A round whose rate lies far from the other rates of its cell. In an open loop the rate is given, so here and in
/// [`Trend`] the inverse of the p99 takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// The number of the round, from 1.
    pub round: u32,
    /// Its rate over the median of all rounds.
    pub ratio: f64,
    /// The distance from the median, scaled so that a normal distribution has a standard deviation of 1: 0.6745 times
    /// the distance over the median distance (Iglewicz and Hoaglin 1993).
    pub score: f64,
}

/// Whether the rates of a cell's rounds, or the figures in their place in an open loop, rose or fell with time: the
/// test of Mann (1945) and Kendall.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trend {
    /// Kendall's tau: 1 where each round was faster than the one before, −1 where each was slower.
    pub tau: f64,
    /// Probability of such a trend in rounds without a trend, after Holm's correction over all cells of the run.
    pub p: f64,
    /// Rate of the last round over that of the first, by the median of all slopes (Sen 1968).
    pub change: f64,
}

/// The reason why a cell has no figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// The target could not be opened.
    Unavailable,
    /// A key or a value is larger than the target takes.
    Oversize,
    /// The target has no such operation.
    Unsupported,
    /// The target failed for good during the run.
    Lost,
    /// The target had no room for the values of this point.
    Full,
    /// The run ended earlier.
    Interrupted,
    /// Every operation was a miss, wrong, or failed.
    NothingSucceeded,
}

/// The cost of measuring: the workload on a store that keeps nothing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Floor {
    /// The point in the sweep.
    pub point: Point,
    /// The operation.
    pub operation: Operation,
    /// The language whose cost it is; `null` for targets in this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Nanoseconds of wall clock an operation.
    pub ns_per_op: f64,
    /// Nanoseconds of client CPU an operation; `null` in a mix, where the share of each operation is unknown.
    pub cpu_ns_per_op: Option<f64>,
    /// Memory of the harness itself, with its threads or as the program of a guest, in bytes. It is left out of
    /// `rss_bytes` of embedded engines and of guests' caches. `null` where it did not grow, and in runs of older
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
}
