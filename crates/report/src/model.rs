//! `run.json`: everything that one comparison found out.
//!
//! The names of the fields are published; a field is added, never renamed. An unknown figure is `null`, never 0.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of this model, as `schema` in `run.json`.
pub const SCHEMA_VERSION: u32 = 1;

/// One comparison: what was asked, on which machine, what was measured, what to make of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The version of this model.
    pub schema: u32,
    /// The version of Larder.
    pub larder: String,
    /// The command as typed, passwords masked.
    pub argv: Vec<String>,
    /// The scenario's name; `custom` when targets and workload were typed.
    pub scenario: String,
    /// From this every key, size and operation follows.
    pub seed: u64,
    /// When the run began, RFC 3339.
    pub started: String,
    /// How long it took, in seconds.
    pub duration_s: f64,
    /// Stopped before its end: what was measured until then is here.
    pub interrupted: bool,
    /// The workload as it was understood, by the names of its options.
    pub workload: BTreeMap<String, String>,
    /// What a reader must know about how the workload was carried out, in sentences.
    pub notes: Vec<String>,
    /// The machine.
    pub environment: Environment,
    /// The caches, in the order they were given.
    pub targets: Vec<Target>,
    /// The figures: one for each target, point of the sweep and operation.
    pub cells: Vec<Cell>,
    /// What the measuring itself costs at each point: the same work on a store that keeps nothing.
    pub floors: Vec<Floor>,
    /// Which of two targets is faster, where that can be told.
    pub comparisons: Vec<Comparison>,
    /// Ways in which a figure may mislead, worst first.
    pub checks: Vec<Check>,
}

/// The machine on which a comparison ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Operating system, as it names itself.
    pub os: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Processor model.
    pub cpu: Option<String>,
    /// Processors that this process may use.
    pub cores: u32,
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Swap space, in bytes.
    pub swap_bytes: Option<u64>,
    /// Frequency governor of the first processor.
    pub governor: Option<String>,
    /// Load of the last minute when the run began.
    pub load: Option<f64>,
    /// What one reading of the clock costs, in nanoseconds.
    pub clock_ns: f64,
    /// `release`, or `debug`: whose figures mean nothing.
    pub build: String,
}

/// One cache that was compared.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// The URL as typed, its password masked: what cells name their target by.
    pub url: String,
    /// The label that reports show.
    pub name: String,
    /// The scheme of its engine.
    pub engine: String,
    /// Version of the library or server.
    pub version: Option<String>,
    /// What an acknowledged set survives: `unacknowledged`, `volatile`, `os-cache`, `fsync-batch`, `fsync-each`.
    pub durability: Option<String>,
    /// Who reaches its entries: `process`, `host`, `network`.
    pub reach: Option<String>,
    /// Whose process holds the data: `embedded`, `managed`, `external`.
    pub ownership: Option<String>,
    /// The file system under its data, with its size where it has one.
    pub file_system: Option<String>,
    /// Whether it keeps what is set; `false` for the store that only measures the measuring.
    pub stores: Option<bool>,
    /// How much it may hold, in bytes.
    pub capacity_bytes: Option<u64>,
    /// Effective settings, as read back.
    pub settings: BTreeMap<String, String>,
    /// What it really stores, as probed.
    pub limits: Limits,
    /// Why it could not run at all.
    pub reason: Option<String>,
}

/// The largest key and value that a target was seen to store and return whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Longest key, in bytes; `null` where the probe found no limit.
    pub max_key_len: Option<u64>,
    /// Largest value, in bytes; `null` where the probe found no limit.
    pub max_value_len: Option<u64>,
    /// Up to which key length was probed, in bytes.
    pub probed_key_len: u64,
    /// Up to which value size was probed, in bytes.
    pub probed_value_len: u64,
}

/// A point of the sweep: `data_size`, `key_size`, `threads`.
pub type Point = BTreeMap<String, PointValue>;

/// A coordinate of a point: a number where there is one, else the text as typed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PointValue {
    /// Bytes or threads.
    Number(u64),
    /// A distribution.
    Text(String),
}

impl fmt::Display for PointValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => f.pad(&number.to_string()),
            Self::Text(text) => f.pad(text),
        }
    }
}

/// What a cell measures.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Store a value.
    Set,
    /// Read a value.
    Get,
    /// Read many in one request; counted in keys.
    GetMany,
    /// Read, and on a miss store: the get and its fill are one operation.
    GetOrSet,
    /// Remove.
    Delete,
    /// Renew the TTL.
    Touch,
}

impl Operation {
    /// The name in `run.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Get => "get",
            Self::GetMany => "get_many",
            Self::GetOrSet => "get_or_set",
            Self::Delete => "delete",
            Self::Touch => "touch",
        }
    }

    /// Whether it reads: its operations are hits or misses.
    pub fn reads(self) -> bool {
        matches!(self, Self::Get | Self::GetMany | Self::GetOrSet)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The figures of one target at one point for one operation. Counts are totals over equal rounds.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The `url` of its target.
    pub target: String,
    /// Where in the sweep.
    pub point: Point,
    /// What was done.
    pub operation: Operation,
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
    /// Time of the measured loops, in seconds, all rounds together.
    pub wall_s: Option<f64>,
    /// Operations that succeeded per second of wall clock: the median of the rounds.
    pub ops_per_s: Option<f64>,
    /// Its 95 % interval, by bootstrap over the rounds.
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// CPU time of the client, in seconds, all rounds together.
    pub client_cpu_s: Option<f64>,
    /// CPU time of the servers behind the target, in seconds, all rounds together.
    pub server_cpu_s: Option<f64>,
    /// Memory resident at the end of the phase: of the servers, or for an embedded engine what this process grew by.
    pub rss_bytes: Option<u64>,
    /// Bytes that its files take at the end of the phase.
    pub disk_bytes: Option<u64>,
    /// Bytes of values moved, all rounds together.
    pub bytes: u64,
    /// Latency of the operations that succeeded, in nanoseconds.
    pub latency_ns: Option<Latency>,
    /// Each round by itself.
    pub samples: Vec<Sample>,
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
    /// The run ended before.
    Interrupted,
}

/// What happened to operations. `ops` = `hits` + `misses` + `wrong` + `errors` for an operation that reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Operations attempted; for `get_many`, keys.
    pub ops: u64,
    /// Reads that returned the right value.
    pub hits: u64,
    /// Reads that found nothing; for `delete` and `touch`, keys that were not there.
    pub misses: u64,
    /// Reads that returned something else than what was stored.
    pub wrong: u64,
    /// Of `wrong`: those with the right beginning, cut short.
    pub truncated: u64,
    /// Operations that failed; they enter neither rate nor latency.
    pub errors: u64,
    /// Fills after a miss that the store did not acknowledge.
    pub failed_fills: u64,
    /// Connections that were opened.
    pub connections: Option<u64>,
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
    /// Of `read_back`: values that were not what was stored.
    pub read_back_wrong: u64,
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

/// One round of a cell.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Which round, from 1.
    pub round: u32,
    /// The place of this target in the order of the round, from 1.
    pub position: u32,
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
    /// CPU time of the servers, in seconds.
    pub server_cpu_s: Option<f64>,
    /// Memory resident at the end.
    pub rss_bytes: Option<u64>,
    /// Bytes that its files take at the end.
    pub disk_bytes: Option<u64>,
    /// Major page faults of this process.
    pub major_faults: u64,
    /// Latency of the operations that succeeded.
    pub latency_ns: Option<Latency>,
    /// The errors, by kind.
    pub errors_by_kind: BTreeMap<String, u64>,
}

/// What the measuring costs: the workload on a store that keeps nothing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Floor {
    /// Where in the sweep.
    pub point: Point,
    /// What was done.
    pub operation: Operation,
    /// Nanoseconds of wall clock an operation.
    pub ns_per_op: f64,
    /// Nanoseconds of client CPU an operation.
    pub cpu_ns_per_op: f64,
}

/// Two targets at one point for one operation.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The `url` of the one.
    pub a: String,
    /// The `url` of the other.
    pub b: String,
    /// Where in the sweep.
    pub point: Point,
    /// What was done.
    pub operation: Operation,
    /// Rate of `a` over rate of `b`, of their medians.
    pub ratio: f64,
    /// Its 95 % interval, by bootstrap; `null` with fewer than two rounds.
    pub ci95: Option<[f64; 2]>,
    /// Probability of such a difference between equals, after Holm's correction over all comparisons of the run.
    pub p: f64,
    /// What can be said of `a` against `b`.
    pub verdict: Verdict,
}

/// What can be said of one target against another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Faster, with p < 0.01 and by more than 2 %.
    Faster,
    /// Slower, with p < 0.01 and by more than 2 %.
    Slower,
    /// They cannot be told apart by this run.
    Indistinguishable,
}

/// A way in which a figure may mislead, found in this run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The stable name of the rule, such as `NEVER-HITS`.
    pub id: String,
    /// How bad it is.
    pub severity: Severity,
    /// The `url` of the target; `null` where it concerns the run.
    pub target: Option<String>,
    /// Where in the sweep; `null` where it concerns all of it.
    pub point: Option<Point>,
    /// For which operation; `null` where it concerns all.
    pub operation: Option<Operation>,
    /// The evidence in figures.
    pub text: String,
    /// What to do about it, in one sentence.
    pub advice: String,
}

/// How bad a finding is. The order is worst first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The figure is no result and stands outside the ranking.
    Error,
    /// The figure does not mean what it seems to.
    Warn,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// The word that reports show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Note => "note",
        }
    }
}

impl Verdict {
    /// The corrected p below which a difference is believed. Stricter than the customary 0.05, because a report is read
    /// for its verdicts and one false verdict in twenty reports would be too many.
    pub const SIGNIFICANCE: f64 = 0.01;

    /// The difference in rate below which two targets are not called different, however sure it is: 2 %. The layout of
    /// a binary, the order of links or the size of the environment alone shift rates by more than that (Mytkowicz et
    /// al., "Producing wrong data without doing anything obviously wrong", 2009).
    pub const MIN_DIFFERENCE: f64 = 0.02;
}

impl Check {
    /// Whether the figures of a cell are no result because of this: an error that names the cell's target, point and
    /// operation, or leaves them open.
    pub fn disqualifies(&self, cell: &Cell) -> bool {
        self.severity == Severity::Error
            && self.target.as_ref().is_none_or(|target| *target == cell.target)
            && self.point.as_ref().is_none_or(|point| *point == cell.point)
            && self.operation.is_none_or(|operation| operation == cell.operation)
    }
}

impl Run {
    /// The target with this URL.
    pub fn target(&self, url: &str) -> Option<&Target> {
        self.targets.iter().find(|target| target.url == url)
    }

    /// The names of the coordinates that take more than one value: what was swept.
    pub fn swept(&self) -> Vec<&str> {
        let mut seen: BTreeMap<&str, (&PointValue, bool)> = BTreeMap::new();
        for (name, value) in self.cells.iter().flat_map(|cell| &cell.point) {
            let (first, varies) = seen.entry(name).or_insert((value, false));
            *varies |= *first != value;
        }
        seen.into_iter().filter(|(_, (_, varies))| *varies).map(|(name, _)| name).collect()
    }
}

impl Cell {
    /// Hits over reads that were answered; `None` where nothing was read.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    pub fn hit_ratio(&self) -> Option<f64> {
        let answered = self.counts.hits + self.counts.misses;
        (self.operation.reads() && answered > 0).then(|| self.counts.hits as f64 / answered as f64)
    }
}

impl Counts {
    /// Adds another round: totals grow, and what is "at most in one round" keeps the greater.
    pub fn add(&mut self, other: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        *self = Self {
            ops: self.ops + other.ops,
            hits: self.hits + other.hits,
            misses: self.misses + other.misses,
            wrong: self.wrong + other.wrong,
            truncated: self.truncated + other.truncated,
            errors: self.errors + other.errors,
            failed_fills: self.failed_fills + other.failed_fills,
            connections: sum(self.connections, other.connections),
            evictions: sum(self.evictions, other.evictions),
            distinct_keys: self.distinct_keys.max(other.distinct_keys),
            top_key_ops: self.top_key_ops.max(other.top_key_ops),
            read_back: self.read_back + other.read_back,
            read_back_absent: self.read_back_absent + other.read_back_absent,
            read_back_wrong: self.read_back_wrong + other.read_back_wrong,
        };
    }
}
