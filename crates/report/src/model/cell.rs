//! The cells of `run.json`, and the floors that they stand on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Counts, CurvePoint, Latency, LatencyIntervals, LatencyTo, Operation, Paced, Point, Sample,
    TierCounts,
};

/// The figures of one target at one point for one operation. Counts are totals over equal rounds.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The `url` of its target.
    pub target: String,
    /// Where in the sweep.
    pub point: Point,
    /// The operation.
    pub operation: Operation,
    /// How many worked at once: threads of Larder, or processes of a guest.
    #[serde(default = "alone")]
    pub workers: u32,
    /// How many rounds stand behind the figures.
    pub rounds: u32,
    /// Why there are no figures, or why they are not to be trusted.
    pub reason: Option<String>,
    /// Of which kind that reason is; `null` where there is none.
    pub reason_kind: Option<ReasonKind>,
    /// The counts of all rounds together.
    #[serde(flatten)]
    pub counts: Counts,
    /// The hit ratio that the workload predicts, 0 to 1, where it can be told beforehand.
    pub predicted_hit_ratio: Option<f64>,
    /// Bytes of all keys and values of this point, without any store's own overhead.
    pub working_set_bytes: u64,
    /// The capacity of the target at this point by its own account, in bytes, where a capacity was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
    /// Time of the measured loops, in seconds, all rounds together.
    pub wall_s: Option<f64>,
    /// Operations that succeeded per second of wall clock, the median of the rounds; of reads, those that hit.
    pub ops_per_s: Option<f64>,
    /// Its 95 % interval, by bootstrap over the rounds; `null` with fewer than six.
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// Of an operation that can miss: requests answered per second of wall clock, hits and misses, the median of the rounds. An
    /// error and a wrong value are no answer. `null` of other operations, whose `ops_per_s` says the same, and in runs of
    /// before it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_per_s: Option<f64>,
    /// Its 95 % interval, by bootstrap over the rounds; `null` with fewer than six.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_per_s_ci95: Option<[f64; 2]>,
    /// Of an operation that reads: right values per second of wall clock, the median of the rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits_per_s: Option<f64>,
    /// CPU time of the client, in seconds, all rounds together.
    pub client_cpu_s: Option<f64>,
    /// Of `client_cpu_s`, the time in the system's kernel; the rest is the client's own. `null` where it is not known, and in
    /// runs of before it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_system_s: Option<f64>,
    /// CPU time of the servers behind the target, in seconds, all rounds together.
    pub server_cpu_s: Option<f64>,
    /// Memory at the end of the phase: resident memory of the servers, or for an embedded engine what its process had in
    /// use more than when the turn began, without what the floor takes. For a guest's cache that process is the guest's.
    /// `null` where the floor takes more than the engine. The most of all rounds; a store that gives no room back still
    /// holds what other points of a sweep took.
    pub rss_bytes: Option<u64>,
    /// Bytes that its files take at the end of the phase; the most of all rounds, as for `rss_bytes`.
    pub disk_bytes: Option<u64>,
    /// The most bytes that the store was seen to hold, by its own count: between the phases and, where it tells, at any
    /// moment of the turn. `null` where it does not count them, others store there too, and in runs of before it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_bytes_peak: Option<u64>,
    /// The most entries that the store was seen to hold between the phases; `null` as for `held_bytes_peak`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_items_peak: Option<u64>,
    /// Bytes of values moved, all rounds together.
    pub bytes: u64,
    /// The counters of each tier of a stack, the nearest first, all rounds together; empty where the target is no stack. In
    /// a mix they stand with the operation that reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierCounts>,
    /// How many times the latencies are of, all rounds together: of a read the hits, of many keys at once the requests.
    /// `null` where there are no latencies, and in runs of before it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed: Option<u64>,
    /// Latency of the operations that succeeded, in nanoseconds.
    pub latency_ns: Option<Latency>,
    /// The 95 % intervals of its percentiles, by bootstrap over the rounds; `null` with fewer than six.
    #[serde(default)]
    pub latency_ns_ci95: Option<LatencyIntervals>,
    /// The whole distribution of the latencies, by rising quantile: from the fastest (0) to the slowest (1), all rounds
    /// together. Between the two stand only quantiles with at least ten operations beyond them.
    #[serde(default)]
    pub latency_curve: Vec<CurvePoint>,
    /// The fastest shares of the operations, to 90, 95, 99 and 100 %, all rounds together; only those with at least ten
    /// operations beyond them, and all.
    #[serde(default)]
    pub latency_to: Vec<LatencyTo>,
    /// The further figures of an open loop; `null` of a closed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paced: Option<Paced>,
    /// Of a closed loop in which something stalled: the latencies that callers would have seen who came at the loop's own mean
    /// rate whatever the target did, as the histogram's correction for coordinated omission makes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected_ns: Option<Latency>,
    /// The first wrong value of each kind, in words: `truncated`, `stale`, `other_key` and `damaged`, and `not_emptied` for
    /// a key that was still there after the emptying.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub wrong_examples: BTreeMap<String, String>,
    /// Rounds that lie far from all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<Outlier>,
    /// Whether the rounds grew faster or slower as the run went on; `null` with too few to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend: Option<Trend>,
    /// Each round by itself.
    pub samples: Vec<Sample>,
}

/// Runs that were kept before it was told had one.
fn alone() -> u32 {
    1
}

/// Two cells whose hit ratios differ by more than this hit differently: a point of percent.
pub const LIKE_HITS: f64 = 0.01;

impl Cell {
    /// Hits over reads that were answered, with whatever value; `None` where nothing was read.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    pub fn hit_ratio(&self) -> Option<f64> {
        let answered = self.counts.hits + self.counts.misses + self.counts.wrong;
        (self.operation.reads() && answered > 0).then(|| self.counts.hits as f64 / answered as f64)
    }

    /// The share of the answered operations that found their key, 0 to 1: of reads the hit ratio. `None` of an operation that
    /// cannot miss, and where nothing was answered.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    pub fn found_ratio(&self) -> Option<f64> {
        if self.operation.reads() {
            return self.hit_ratio();
        }
        let answered = self.counts.answered(self.operation).filter(|answered| *answered > 0)?;
        Some(1.0 - self.counts.misses as f64 / answered as f64)
    }

    /// Whether two cells of one operation found their keys equally often, within [`LIKE_HITS`]. A miss is other work than a
    /// hit, so that the rates of cells that are not alike in this say nothing of their speed.
    pub fn finds_as_often_as(&self, other: &Self) -> bool {
        match (self.found_ratio(), other.found_ratio()) {
            // Shares of counts are no exact hundredths.
            (Some(own), Some(others)) => (own - others).abs() <= LIKE_HITS + 1e-9,
            _ => true,
        }
    }
}

/// A round whose rate lies far from those of all others of its cell. In an open loop, here and in [`Trend`], how many times its
/// p99 fits into a second stands for the rate, which is the one that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// Which round, from 1.
    pub round: u32,
    /// Its rate over the median of all.
    pub ratio: f64,
    /// How far it lies from the median, in units in which a normal distribution has a standard deviation of 1: 0.6745 times
    /// its distance over the median distance (Iglewicz and Hoaglin 1993).
    pub score: f64,
}

/// Whether the rates of a cell's rounds, or what stands for them in an open loop, rose or fell with time: the test of Mann
/// (1945) and Kendall.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trend {
    /// Kendall's tau: 1 where each round was faster than the one before, −1 where each was slower.
    pub tau: f64,
    /// Probability of such a trend where there is none, after Holm's correction over all cells of the run.
    pub p: f64,
    /// Rate of the last round over that of the first, by the median of all slopes (Sen 1968).
    pub change: f64,
}

/// Why a cell has no figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// The target could not be opened.
    Unavailable,
    /// A key or a value is larger than the target takes.
    Oversize,
    /// The target has no such operation.
    Unsupported,
    /// The target failed for good in mid-run.
    Lost,
    /// It had no room for what is stored at this point.
    Full,
    /// The run ended before.
    Interrupted,
    /// Every operation was a miss, wrong, or failed.
    NothingSucceeded,
}

/// The cost of measuring: the workload on a store that keeps nothing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Floor {
    /// Where in the sweep.
    pub point: Point,
    /// The operation.
    pub operation: Operation,
    /// The language whose cost it is, of targets in that language; `null` for those that work in this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Nanoseconds of wall clock an operation.
    pub ns_per_op: f64,
    /// Nanoseconds of client CPU an operation; `null` in a mix, where each operation's is not known.
    pub cpu_ns_per_op: Option<f64>,
    /// Memory that the harness takes by itself, with its threads or as the program of a guest, in bytes: left out of
    /// `rss_bytes` of embedded engines and of guests' caches. `null` where it did not grow, and in runs of before it was
    /// told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
}
