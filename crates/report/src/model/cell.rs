//! The figures of `run.json`: cells, their rounds, their floors.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Paced, PacedSample, Point};

/// What a cell measures.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Store a value.
    #[default]
    Set,
    /// Read a value.
    Get,
    /// Read many in one request; counted in keys.
    GetMany,
    /// Read all keys of a group one by one; counted in keys, the time is the group's.
    GetEach,
    /// Read a group by its tag, in one request; counted in keys.
    GetTag,
    /// Read, and on a miss store: the get and its fill are one operation.
    GetOrSet,
    /// Remove.
    Delete,
    /// Renew the TTL.
    Touch,
}

impl Operation {
    /// Every operation, in the order of reports.
    pub const ALL: [Self; 8] = [
        Self::Set,
        Self::Get,
        Self::GetMany,
        Self::GetEach,
        Self::GetTag,
        Self::GetOrSet,
        Self::Delete,
        Self::Touch,
    ];

    /// The name in `run.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Get => "get",
            Self::GetMany => "get_many",
            Self::GetEach => "get_each",
            Self::GetTag => "get_tag",
            Self::GetOrSet => "get_or_set",
            Self::Delete => "delete",
            Self::Touch => "touch",
        }
    }

    /// Whether it reads: its operations are hits or misses.
    pub fn reads(self) -> bool {
        matches!(self, Self::Get | Self::GetOrSet) || self.is_of_many_keys()
    }

    /// Whether it can find nothing under its key: such an operation was answered, and did not do what it is there for.
    pub fn can_miss(self) -> bool {
        self.reads() || matches!(self, Self::Delete | Self::Touch)
    }

    /// Whether one of its times is that of many keys; its counts and rates are of keys all the same.
    pub fn is_of_many_keys(self) -> bool {
        matches!(self, Self::GetMany | Self::GetEach | Self::GetTag)
    }

    /// What takes a time that is told of it.
    pub fn timed(self) -> &'static str {
        match self {
            Self::GetMany | Self::GetTag => "request",
            Self::GetEach => "group",
            _ => "operation",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Runs that were kept before it was told had one.
fn alone() -> u32 {
    1
}

/// The figures of one target at one point for one operation. Counts are totals over equal rounds.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The `url` of its target.
    pub target: String,
    /// Where in the sweep.
    pub point: Point,
    /// What was done.
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
    /// What happened, in all rounds together.
    #[serde(flatten)]
    pub counts: Counts,
    /// The hit ratio that the workload predicts, 0 to 1, where it can be told beforehand.
    pub predicted_hit_ratio: Option<f64>,
    /// Bytes of all keys and values of this point, without any store's own overhead.
    pub working_set_bytes: u64,
    /// What the target could hold at this point by its own account, in bytes, where a capacity was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
    /// Time of the measured loops, in seconds, all rounds together.
    pub wall_s: Option<f64>,
    /// Operations that succeeded per second of wall clock, the median of the rounds; of reads, those that hit.
    pub ops_per_s: Option<f64>,
    /// Its 95 % interval, by bootstrap over the rounds; `null` with fewer than six.
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// Of an operation that can miss: requests answered per second of wall clock, hits and misses, the median of the rounds. An
    /// error and a wrong value are no answer. `null` of other operations, whose `ops_per_s` says the same, and in runs of before
    /// it was told.
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
    /// CPU time of the servers behind the target, in seconds, all rounds together.
    pub server_cpu_s: Option<f64>,
    /// Memory at the end of the phase: resident memory of the servers, or for an embedded engine what its process had in use more
    /// than when the turn began, without what the floor takes. For a guest's cache that process is the guest's. `null` where the floor takes more than the engine. The most of all
    /// rounds; a store that gives no room back still holds what other points of a sweep took.
    pub rss_bytes: Option<u64>,
    /// Bytes that its files take at the end of the phase; the most of all rounds, as for `rss_bytes`.
    pub disk_bytes: Option<u64>,
    /// The most bytes that the store was seen to hold, by its own count: between the phases and, where it tells, at any moment of
    /// the turn. `null` where it does not count them, others store there too, and in runs of before it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_bytes_peak: Option<u64>,
    /// The most entries that the store was seen to hold between the phases; `null` as for `held_bytes_peak`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_items_peak: Option<u64>,
    /// Bytes of values moved, all rounds together.
    pub bytes: u64,
    /// What each tier of a stack did, the nearest first, all rounds together; none where the target is no stack. In a mix they
    /// stand with the operation that reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierCounts>,
    /// How many times the latencies are of, all rounds together: of a read the hits, of many keys at once the requests. `null` where
    /// there are no latencies, and in runs of before it was told.
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
    /// What an open loop found besides; `null` of a closed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paced: Option<Paced>,
    /// Of a closed loop in which something stalled: the latencies that callers would have seen who came at the loop's own mean
    /// rate whatever the target did, as the histogram's correction for coordinated omission makes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected_ns: Option<Latency>,
    /// The first wrong value of each kind, in words: `truncated`, `stale`, `other_key` and `damaged`, and `not_emptied` for a key
    /// that was still there after the emptying.
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

/// Whether the rates of a cell's rounds, or what stands for them in an open loop, rose or fell with time: the test of Mann (1945) and Kendall.
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

/// What happened to operations. `ops` = `hits` + `misses` + `wrong` + `errors` for an operation that reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Operations attempted; for `get_many`, `get_each` and `get_tag`, keys.
    pub ops: u64,
    /// Reads that returned the right value.
    pub hits: u64,
    /// Reads that found nothing; for `delete` and `touch`, keys that were not there.
    pub misses: u64,
    /// Reads that returned something else than what was stored.
    pub wrong: u64,
    /// Of `misses`: reads of keys whose delete was acknowledged and that were not set since. They are right, and count in
    /// rate and latency.
    #[serde(default)]
    pub planned_misses: u64,
    /// Of `wrong` and `read_back_wrong`: those with the right beginning, cut short.
    pub truncated: u64,
    /// Of `wrong` and `read_back_wrong`: whole values of the right key, older than the last that was acknowledged, or of a
    /// key whose delete was acknowledged since.
    #[serde(default)]
    pub stale: u64,
    /// Of `wrong` and `read_back_wrong`: values of another key of this run.
    #[serde(default)]
    pub other_key: u64,
    /// Of `wrong` and `read_back_wrong`: bytes that are no value of this run, as after a flipped bit.
    #[serde(default)]
    pub damaged: u64,
    /// Operations that took longer than a histogram can tell; they count as its longest.
    #[serde(default)]
    pub clipped: u64,
    /// Operations that failed; they enter neither rate nor latency.
    pub errors: u64,
    /// Fills after a miss that the store did not acknowledge.
    pub failed_fills: u64,
    /// Fills whose value another thread was making, or had stored, after the read that missed it had begun; 0 where making a
    /// value takes no time.
    #[serde(default)]
    pub repeated_loads: u64,
    /// Connections that were opened.
    pub connections: Option<u64>,
    /// Requests that the client sent, each of which waits for its answer: statements of a database, commands of a server.
    #[serde(default)]
    pub requests: Option<u64>,
    /// Entries that the store dropped to make room, by its own count.
    pub evictions: Option<u64>,
    /// Different keys that were touched, at most in one round.
    pub distinct_keys: u64,
    /// How often the most frequent key was touched, at most in one round.
    pub top_key_ops: u64,
    /// Keys whose set was acknowledged and that were read back afterwards.
    pub read_back: u64,
    /// Of `read_back`: keys that were absent.
    pub read_back_absent: u64,
    /// Of `read_back`, `overwritten` and `deletes_read_back`: values that were not what was stored, or that should have been gone.
    pub read_back_wrong: u64,
    /// Keys that the read-back set once more, to a newer version, and read again.
    #[serde(default)]
    pub overwritten: u64,
    /// Keys whose delete was acknowledged and that were looked for afterwards.
    #[serde(default)]
    pub deletes_read_back: u64,
    /// Keys that were looked for after the emptying at the end of a turn.
    #[serde(default)]
    pub emptied_checked: u64,
    /// Of `emptied_checked`: keys that were still there.
    #[serde(default)]
    pub emptied_left: u64,
}

/// What one tier of a stack did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TierCounts {
    /// Its place and what it is: `L1 moka:`. L1 is the nearest.
    pub name: String,
    /// Keys that it answered.
    pub hits: u64,
    /// Keys that came to it and that it did not have.
    pub misses: u64,
    /// Keys that came to it and for which it failed; in runs of before this was counted apart they are in `misses`.
    #[serde(default)]
    pub errors: u64,
    /// Keys that it was not asked for, because it could not drop a key before and might have answered what should have gone.
    #[serde(default)]
    pub not_asked: u64,
    /// Values that it took because a tier below answered.
    pub fills: u64,
    /// Values that it took because they were written; 0 in runs of before they were counted.
    #[serde(default)]
    pub puts: u64,
    /// Values that it did not take, of either kind.
    pub refused: u64,
}

/// Latency in nanoseconds; each figure is a value below which that share of operations lies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// The fastest.
    pub min: u64,
    /// The mean.
    pub mean: f64,
    /// Half.
    pub p50: u64,
    /// 90 %.
    pub p90: u64,
    /// 99 %.
    pub p99: u64,
    /// 99.9 %.
    pub p999: u64,
    /// The slowest.
    pub max: u64,
}

/// How sure each percentile of a [`Latency`] is: 95 % intervals, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyIntervals {
    /// Of half.
    pub p50: [f64; 2],
    /// Of 90 %.
    pub p90: [f64; 2],
    /// Of 99 %.
    pub p99: [f64; 2],
    /// Of 99.9 %.
    pub p999: [f64; 2],
}

/// A point of a distribution, as `[quantile, nanoseconds]`: that share of the operations took at most so long.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint(pub f64, pub u64);

/// The fastest operations up to a percentile: how long they took on average, and the slowest of them. The fastest of all
/// is the same for each of them: `min` of [`Latency`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyTo {
    /// Which share of the operations, above 0 and up to 1.
    pub quantile: f64,
    /// Their mean, in nanoseconds.
    pub mean: f64,
    /// The slowest of them, in nanoseconds.
    pub max: u64,
}

/// How a round went, in slots of equal length from its start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// The length of a slot, in nanoseconds; the last may be cut short by the end of the round.
    pub slot_ns: u64,
    /// Operations that ended in each slot, whatever became of them; of several threads together.
    pub ops: Vec<u64>,
    /// The slowest operation that ended in each slot, in nanoseconds; 0 where none did.
    pub max_ns: Vec<u64>,
}

impl Timeline {
    /// The same in slots that are so many times as long.
    pub(crate) fn coarsened(&self, times: usize) -> Self {
        let times = times.max(1);
        Self {
            slot_ns: self.slot_ns.saturating_mul(times as u64),
            ops: self.ops.chunks(times).map(|ops| ops.iter().sum()).collect(),
            max_ns: self.max_ns.chunks(times).filter_map(|max| max.iter().copied().max()).collect(),
        }
    }
}

/// One round of a cell.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Which round, from 1.
    pub round: u32,
    /// The place of this target in the order of the round, from 1.
    pub position: u32,
    /// It was carried out to its end; otherwise it is no round and stands in no rate.
    pub complete: bool,
    /// Seconds from the start of the run to the start of this measurement.
    pub at_s: f64,
    /// What happened.
    #[serde(flatten)]
    pub counts: Counts,
    /// Time of the measured loop, in seconds.
    pub wall_s: f64,
    /// Operations that succeeded per second of wall clock.
    pub ops_per_s: f64,
    /// CPU time of the client, in seconds.
    pub client_cpu_s: Option<f64>,
    /// For which part of its time, 0 to 1, the busiest of the client's threads had a processor in the phase; of a mix the
    /// same for all its operations. `null` of a guest, and in runs of before it was told.
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
    /// Major page faults of this process.
    pub major_faults: u64,
    /// Time that the client's threads could have run and did not, because others had the processor, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_wait_s: Option<f64>,
    /// Time that the servers, and a relay before them, could have run and did not, of all their threads together, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_wait_s: Option<f64>,
    /// Bytes that went between client and servers; `null` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
    /// Operations that took longer than 100 ms; `null` in runs of before they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<Stalls>,
    /// What it took at the end of the phase, as a part of its time, until everything that was sent had been answered, in
    /// seconds; `null` where each operation waits for its own answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier_s: Option<f64>,
    /// What an open loop found besides; `null` of a closed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paced: Option<PacedSample>,
    /// What each tier of a stack did, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierCounts>,
    /// Latency of the operations that succeeded.
    pub latency_ns: Option<Latency>,
    /// How the round went; `null` in runs of before it was recorded.
    #[serde(default)]
    pub timeline: Option<Timeline>,
    /// The errors, by kind.
    pub errors_by_kind: BTreeMap<String, u64>,
    /// The first of them, in the store's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_error: Option<String>,
    /// The first wrong value of each kind, as in [`Cell::wrong_examples`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub wrong_examples: BTreeMap<String, String>,
}

/// Operations that took longer than 100 ms, whatever became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stalls {
    /// How many.
    pub count: u64,
    /// How long they took together, in nanoseconds.
    pub ns: u64,
}

/// Bytes that went over the network between client and servers, loopback included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wire {
    /// From the client.
    pub sent_bytes: u64,
    /// To the client.
    pub received_bytes: u64,
}

/// What the measuring costs: the workload on a store that keeps nothing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Floor {
    /// Where in the sweep.
    pub point: Point,
    /// What was done.
    pub operation: Operation,
    /// The language whose cost it is, of targets in that language; `null` for those that work in this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Nanoseconds of wall clock an operation.
    pub ns_per_op: f64,
    /// Nanoseconds of client CPU an operation; `null` in a mix, where each operation's is not known.
    pub cpu_ns_per_op: Option<f64>,
    /// Memory that the harness takes by itself, with its threads or as the program of a guest, in bytes: left out of `rss_bytes` of
    /// embedded engines and of guests' caches. `null` where it did not grow, and in runs of before it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
}

/// Two cells whose hit ratios differ by more than this hit differently: a point of percent.
pub const LIKE_HITS: f64 = 0.01;

impl Cell {
    /// Hits over reads that were answered; `None` where nothing was read.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    pub fn hit_ratio(&self) -> Option<f64> {
        let answered = self.counts.hits + self.counts.misses;
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

impl Sample {
    /// Requests answered per second, hits and misses; `None` of an operation that cannot miss, or in no time.
    pub fn answered_per_s(&self, operation: Operation) -> Option<f64> {
        let answered = self.counts.answered(operation)?;
        self.per_second(answered)
    }

    /// Right values per second; `None` of an operation that does not read, or in no time.
    pub fn hits_per_s(&self, operation: Operation) -> Option<f64> {
        operation.reads().then(|| self.per_second(self.counts.hits)).flatten()
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    fn per_second(&self, number: u64) -> Option<f64> {
        (self.wall_s > 0.0).then(|| number as f64 / self.wall_s)
    }
}

impl Counts {
    /// Wrong values of which is not known how they are wrong: those of before it was told, and of guests that do not tell.
    pub fn wrong_unnamed(&self) -> u64 {
        let named = self.truncated + self.stale + self.other_key + self.damaged;
        (self.wrong + self.read_back_wrong).saturating_sub(named)
    }

    /// Values that were read and compared, in the measured phase and in the read-back.
    pub fn compared(&self) -> u64 {
        let found = self.read_back.saturating_sub(self.read_back_absent);
        self.hits + self.wrong + found + self.overwritten + self.deletes_read_back
    }

    /// Operations that were answered, and rightly: hits and misses. `None` of an operation that cannot miss.
    pub fn answered(&self, operation: Operation) -> Option<u64> {
        let failed = self.wrong + self.errors + self.failed_fills;
        operation.can_miss().then(|| self.ops.saturating_sub(failed))
    }

    /// Adds another round: totals grow, and what is "at most in one round" keeps the greater.
    pub fn add(&mut self, other: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        *self = Self {
            ops: self.ops + other.ops,
            hits: self.hits + other.hits,
            misses: self.misses + other.misses,
            planned_misses: self.planned_misses + other.planned_misses,
            wrong: self.wrong + other.wrong,
            truncated: self.truncated + other.truncated,
            stale: self.stale + other.stale,
            other_key: self.other_key + other.other_key,
            damaged: self.damaged + other.damaged,
            clipped: self.clipped + other.clipped,
            errors: self.errors + other.errors,
            failed_fills: self.failed_fills + other.failed_fills,
            repeated_loads: self.repeated_loads + other.repeated_loads,
            connections: sum(self.connections, other.connections),
            requests: sum(self.requests, other.requests),
            evictions: sum(self.evictions, other.evictions),
            distinct_keys: self.distinct_keys.max(other.distinct_keys),
            top_key_ops: self.top_key_ops.max(other.top_key_ops),
            read_back: self.read_back + other.read_back,
            read_back_absent: self.read_back_absent + other.read_back_absent,
            read_back_wrong: self.read_back_wrong + other.read_back_wrong,
            overwritten: self.overwritten + other.overwritten,
            deletes_read_back: self.deletes_read_back + other.deletes_read_back,
            emptied_checked: self.emptied_checked + other.emptied_checked,
            emptied_left: self.emptied_left + other.emptied_left,
        };
    }
}

impl TierCounts {
    /// Adds what the tiers of another round did to what the same tiers did before.
    pub fn add_all(tiers: &mut Vec<Self>, others: &[Self]) {
        for (i, other) in others.iter().enumerate() {
            match tiers.get_mut(i) {
                None => tiers.push(other.clone()),
                Some(tier) => {
                    tier.hits += other.hits;
                    tier.misses += other.misses;
                    tier.errors += other.errors;
                    tier.not_asked += other.not_asked;
                    tier.fills += other.fills;
                    tier.puts += other.puts;
                    tier.refused += other.refused;
                }
            }
        }
    }

    /// Keys that came to it, whether it was asked for them or not.
    pub fn lookups(&self) -> u64 {
        self.hits + self.misses + self.errors + self.not_asked
    }

    /// Values that it was to take: those that a tier below answered, and those that were written.
    pub fn values(&self) -> u64 {
        self.fills + self.puts + self.refused
    }
}
