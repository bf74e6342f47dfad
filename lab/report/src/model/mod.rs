//! `run.json`: all results of one comparison.
//!
//! The names of the fields are published: a field is added, and a renamed one keeps its older name as an alias. An unknown
//! figure is `null`, never 0. A later field has a default, so that runs of older versions can still be read.

mod advised;
mod article;
mod cell;
mod counts;
mod diff;
mod driven;
mod hit_curve;
mod index;
mod info;
mod latency;
mod paced;
mod sample;
mod search;
mod slice;
mod trial;
mod usage;
mod verdict;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use larder_store::Operation;

pub use advised::{Advised, AdvisedChoice, AdvisedPoint};
pub use article::{
    Article, ArticleChecks, ArticleFigure, ArticleForm, ArticleRate, Claim, ClaimCheck, ClaimKind,
    ClaimVerdict, Clock, Evidence, Measure, Stored,
};
pub use cell::{Cell, Floor, LIKE_HITS, Outlier, ReasonKind, Trend};
pub use counts::{Counts, TierCounts};
pub use diff::{
    Change, ChangeVerdict, Diff, DiffCell, DiffFigure, DiffMeasure, DiffSide, Differing,
    NotCompared,
};
pub use driven::{Comers, Driven, Idle, Spread};
pub use hit_curve::{HitCurve, HitRatios};
pub use index::{Entry, Index};
pub use info::{
    CacheCurve, Course, CurvePolicy, CurveRatio, Distribution, DistributionOf, Estimate, HitLimit,
    HitRatioAt, HotKey, Hottest, Largest, MeasuredIn, OperationCount, Popularity, ResultCount,
    Reuse, Sampling, TimesBack, TraceFile, TraceInfo, Traffic, WorkingSet, Zipf,
};
pub use latency::{CurvePoint, Latency, LatencyIntervals, LatencyTo, Stalls};
pub use paced::{Paced, PacedSample};
pub use sample::{
    COMERS_FAILED, Collector, NOT_EMPTIED, NOT_LOOKED_FOR, OVERWRITES_FAILED, Sample, Timeline,
    Wire,
};
pub use search::{Search, SearchStep};
pub use slice::{MergedSlice, Slice};
pub use trial::TtlTrial;
pub use usage::{MachineUsage, Usage, UsageOf};
pub use verdict::{Comparison, Finding, Severity, Unlike, Verdict};

/// The version of this model, as `schema` in `run.json`.
pub const SCHEMA_VERSION: u32 = 1;

/// One comparison: the workload, the machine, the figures, and the findings about them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The version of this model.
    pub schema: u32,
    /// The version of Larder.
    pub larder: String,
    /// The command as typed, with passwords masked.
    pub argv: Vec<String>,
    /// The scenario's name; `custom` when targets and workload were typed.
    pub scenario: String,
    /// The subject of the scenario, in one line; `null` if targets and workload were typed.
    #[serde(default)]
    pub summary: Option<String>,
    /// The seed of every key, size and operation.
    pub seed: u64,
    /// When the run began, RFC 3339.
    pub started: String,
    /// The time that it took, in seconds.
    pub duration_s: f64,
    /// Whether it was stopped before its end. The figures until then are here.
    pub interrupted: bool,
    /// The workload as Larder understood it, under the names of its options.
    pub workload: BTreeMap<String, String>,
    /// Notes on how the workload was carried out, in sentences.
    pub notes: Vec<String>,
    /// The sentences of an advice that was made of the figures; empty for a comparison without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<String>,
    /// The question and the answer of that advice in one line each, and its picture; `null` for a comparison without one,
    /// and in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advised: Option<Advised>,
    /// The event that ended the rounds, where their number was not fixed beforehand, and the figures that are less
    /// precise than was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_ended: Option<String>,
    /// The machine.
    pub environment: Environment,
    /// The caches, in the order in which they were given.
    pub targets: Vec<Target>,
    /// The figures: one for each target, point of the sweep and operation.
    pub cells: Vec<Cell>,
    /// The cost of measuring itself at each point: the same work on a store that keeps nothing.
    pub floors: Vec<Floor>,
    /// The faster of two targets, where the run can tell.
    pub comparisons: Vec<Comparison>,
    /// Pairs of targets that are not ranked, because their figures are of different work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<Unlike>,
    /// Ways in which a figure may mislead, worst first.
    pub checks: Vec<Finding>,
    /// The article that the scenario repeats; `null` if it repeats no article.
    #[serde(default)]
    pub article: Option<Article>,
    /// The results of `--search`, for each target and point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<Search>,
    /// The hit ratios that caches of each capacity could have reached, where capacities were swept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hit_curves: Vec<HitCurve>,
    /// The use of the machine by client, servers and guests over the run, a sample a second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usage: Vec<Usage>,
    /// What was asked for, as a short text: a run with the same one may take the place of this in its folder. `null` in
    /// runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The part of a plan that this run carried out; `null` for a whole plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Slice>,
    /// The runs that this run was merged from; empty for a single run.
    #[serde(default, alias = "parts", skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<MergedSlice>,
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
    /// The memory that this process and all its children could take together, in bytes; `null` without a limit.
    #[serde(default)]
    pub memory_limit_bytes: Option<u64>,
    /// Swap space, in bytes.
    pub swap_bytes: Option<u64>,
    /// Frequency governor of the first processor.
    pub governor: Option<String>,
    /// Load of the last minute when the run began.
    pub load: Option<f64>,
    /// The cost of one reading of the clock, in nanoseconds.
    pub clock_ns: f64,
    /// `release` or `debug`. The figures of a debug build mean nothing.
    pub build: String,
}

/// One cache that was compared.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// The URL as typed, with its password masked. Cells name their target by it.
    pub url: String,
    /// The label that reports show.
    pub name: String,
    /// The scheme of its engine.
    pub engine: String,
    /// Version of the library or server.
    pub version: Option<String>,
    /// The language whose client and clock measured it; `null` if this process did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The durability of an acknowledged set: `unacknowledged`, `volatile`, `os-cache`, `fsync-batch`, `fsync-each`.
    pub durability: Option<String>,
    /// The places from which its entries can be reached: `process`, `host`, `network`.
    pub reach: Option<String>,
    /// The owner of the process that holds the data: `embedded`, `managed`, `external`.
    pub ownership: Option<String>,
    /// The file system under its data, with its size where it has one.
    pub file_system: Option<String>,
    /// The kind of that file system, as the kernel names it; `null` in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system_kind: Option<String>,
    /// Whether it keeps the values that are set; `false` for the store that only measures the cost of measuring.
    pub stores: Option<bool>,
    /// The most bytes that it may hold.
    pub capacity_bytes: Option<u64>,
    /// Entries that servers which Larder did not start evicted during the run, by their own count. `null` without such
    /// servers, if they do not tell, and in runs of older versions.
    #[serde(default, alias = "somebodys_evictions", skip_serializing_if = "Option::is_none")]
    pub external_evictions: Option<u64>,
    /// CPU time of its servers in the turns of other targets, in seconds; `null` if unknown, or without such turns.
    #[serde(default, alias = "beside_cpu_s", skip_serializing_if = "Option::is_none")]
    pub other_turns_server_cpu_s: Option<f64>,
    /// The time of these turns together, in seconds.
    #[serde(default, alias = "beside_s", skip_serializing_if = "Option::is_none")]
    pub other_turns_wall_s: Option<f64>,
    /// The time of its own turns together, in seconds; `null` in runs of older versions.
    #[serde(default, alias = "own_turns_s", skip_serializing_if = "Option::is_none")]
    pub own_turns_wall_s: Option<f64>,
    /// Whether `--yes` allowed those servers to evict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub eviction_allowed: bool,
    /// Effective settings, as read back.
    pub settings: BTreeMap<String, String>,
    /// The limits of the keys and values that it really stores, as probed.
    pub limits: Limits,
    /// Whether it keeps TTLs, as tried; `null` if it has no TTLs, or was not tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<TtlTrial>,
    /// The reason why it could not run at all.
    pub reason: Option<String>,
}

impl Target {
    /// The note on a server that answered in the place of the one that the target, or a tier of it, is named after. Its
    /// figures are shown, and say nothing of the named server.
    pub fn stand_in(&self) -> Option<&str> {
        let is_told = |name: &str| name.rsplit('.').next() == Some("stand_in");
        self.settings.iter().find(|(name, _)| is_told(name)).map(|(_, what)| &**what)
    }
}

/// The largest key and value that a target stored and returned whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Longest key, in bytes; `null` where the probe found no limit.
    pub max_key_len: Option<u64>,
    /// Largest value, in bytes; `null` where the probe found no limit.
    pub max_value_len: Option<u64>,
    /// The longest key that was probed, in bytes.
    pub probed_key_len: u64,
    /// The largest value that was probed, in bytes.
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

impl Run {
    /// The target with this URL.
    pub fn target(&self, url: &str) -> Option<&Target> {
        self.targets.iter().find(|target| target.url == url)
    }

    /// The names of the coordinates with more than one value: those that were swept.
    pub fn swept(&self) -> Vec<&str> {
        let mut seen: BTreeMap<&str, (&PointValue, bool)> = BTreeMap::new();
        for (name, value) in self.cells.iter().flat_map(|cell| &cell.point) {
            let (first, varies) = seen.entry(name).or_insert((value, false));
            *varies |= *first != value;
        }
        seen.into_iter().filter(|(_, (_, varies))| *varies).map(|(name, _)| name).collect()
    }
}
