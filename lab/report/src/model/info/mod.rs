//! What a trace tells: its rate, mix, sizes, popularity, and the hit ratios that caches would have on it.
//!
//! As in `run.json`, the names of the fields are published, and an unknown figure is `null`, never 0.

mod actions;
mod course;
mod curve;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use actions::{HitLimit, HotKey, Hottest, Largest};
pub use course::{Course, Reuse, WorkingSet};
pub use curve::{CacheCurve, CurvePolicy, CurveRatio, HitRatioAt, MeasuredIn};

use super::SCHEMA_VERSION;

/// What is known of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceInfo {
    /// The version of this model.
    pub schema: u32,
    /// The version of Larder that wrote it.
    pub larder: String,
    /// The file, and what it tells of itself.
    pub trace: TraceFile,
    /// All operations; a request for several keys counts as one for each.
    pub rows: u64,
    /// All requests.
    pub requests: u64,
    /// Clients' connections.
    pub connections: u64,
    /// Reads.
    pub reads: u64,
    /// Different keys.
    pub keys: Estimate,
    /// Bytes of all keys and their values together; `null` where no sizes were recorded.
    pub bytes: Option<Estimate>,
    /// The greatest time less the least, in seconds; `null` where no times were recorded.
    pub lasts_s: Option<f64>,
    /// The least time, in microseconds of the recording's clock.
    pub began_us: Option<u64>,
    /// How the times go back; `null` where each follows the one before, as far as it matters.
    #[serde(default)]
    pub times_back: Option<TimesBack>,
    /// The share of the recorded reads that hit; `null` where no answers were recorded.
    pub recorded_hit_ratio: Option<f64>,
    /// The traffic on all keys, where the recording has some of them only; `null` where it has all, or does not tell.
    pub traffic: Option<Traffic>,
    /// The operations by kind, the most frequent first.
    pub operations: Vec<OperationCount>,
    /// The rate over time; `null` where no times were recorded, or where they go back to before the first.
    pub course: Option<Course>,
    /// Distributions: the sizes of keys and of values, TTLs, latencies. Those that were not recorded are missing.
    pub distributions: Vec<Distribution>,
    /// The share of the stored entries that have a TTL; `null` where nothing was stored, or no TTL was recorded.
    pub with_ttl: Option<f64>,
    /// How the reads are spread over the keys; `null` without reads.
    pub popularity: Option<Popularity>,
    /// The keys in use over time; `null` where times go back to before the first, or only a part of the time was followed.
    pub working_set: Option<WorkingSet>,
    /// How much is used between two uses of a key; `null` where no key is read again.
    pub reuse: Option<Reuse>,
    /// The hit ratio against the capacity, in entries and in bytes.
    pub curves: Vec<CacheCurve>,
    /// The share of the reads that miss in every cache that begins empty; all but those of [`HitLimit::hit_ratio`].
    pub unavoidable: Option<Estimate>,
    /// The most reads that any cache can hit, and why the others miss; `null` without reads.
    pub limit: Option<HitLimit>,
    /// The most read keys; `null` without reads.
    pub hottest: Option<Hottest>,
    /// The largest entries; `null` where no sizes were recorded, or there are few entries.
    pub largest: Option<Largest>,
    /// How the figures were taken.
    pub sampling: Sampling,
}

/// The file of a trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceFile {
    /// Its path as typed.
    pub path: String,
    /// The size and a hash of its files; `null` for one that is built in, or was read from a pipe.
    #[serde(default)]
    pub content: Option<String>,
    /// The format in which it was read, and the reason; `null` where an earlier version wrote this.
    pub format: Option<String>,
    /// The kind of server that was recorded.
    pub upstream: Option<String>,
    /// The share of the keys that was recorded; `null` where all were.
    pub sample: Option<f64>,
    /// Operations that were not recorded because writing fell behind.
    pub dropped_rows: u64,
    /// Bytes of an unfinished record at its end.
    pub torn_bytes: u64,
    /// Whether only its beginning was read, as was asked.
    pub is_beginning: bool,
    /// What was taken for granted in reading it, each in a sentence with its reason.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Times that go back: a clock was set back, or the rows are not in the order of their times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimesBack {
    /// The times that are before the one ahead of them.
    pub steps: u64,
    /// The most seconds that a time is before an earlier one.
    pub most_s: f64,
}

/// The traffic on all keys, recorded or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// Operations.
    pub operations: u64,
    /// Reads that found their key.
    pub hits: u64,
    /// Reads that found nothing.
    pub misses: u64,
}

impl Traffic {
    /// The share of the answered reads that hit; `None` without such reads.
    #[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
    pub fn hit_ratio(&self) -> Option<f64> {
        let reads = self.hits + self.misses;
        (reads > 0).then(|| self.hits as f64 / reads as f64)
    }
}

/// A figure that may come from a sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Its 95 % interval; `null` for an exact figure.
    pub ci95: Option<[f64; 2]>,
}

impl Estimate {
    /// A figure without error.
    pub fn exact(value: f64) -> Self {
        Self { value, ci95: None }
    }

    /// A figure with half of its 95 % interval; an interval of no width is none.
    pub fn within(value: f64, half_width: f64) -> Self {
        let ci95 = (half_width > 0.0).then(|| [(value - half_width).max(0.0), value + half_width]);
        Self { value, ci95 }
    }
}

/// Operations of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationCount {
    /// The kind, in memcached's words.
    pub operation: String,
    /// All of them.
    pub count: u64,
    /// Their answers, the most frequent first. Operations without a recorded answer are in none.
    pub results: Vec<ResultCount>,
}

/// Operations with one answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResultCount {
    /// The answer.
    pub result: String,
    /// The operations.
    pub count: u64,
}

/// What a distribution is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DistributionOf {
    /// Lengths of keys in bytes, by operation.
    KeySizes,
    /// Lengths of values in bytes, by operation with a value.
    ValueSizes,
    /// TTLs in seconds, of stored entries that have one.
    Ttls,
    /// Nanoseconds that the application waited for an answer.
    Latencies,
}

/// Figures by rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// What was counted.
    pub of: DistributionOf,
    /// How many figures.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Quantiles, 0 to 1, each with its figure, rising.
    pub quantiles: Vec<(f64, u64)>,
}

impl Distribution {
    /// The figure at a quantile that was taken.
    pub fn at(&self, quantile: f64) -> Option<u64> {
        let same = |(known, _): &&(f64, u64)| (known - quantile).abs() < 1e-9;
        self.quantiles.iter().find(same).map(|(_, figure)| *figure)
    }
}

/// How the reads are spread over the keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Popularity {
    /// For ranks 1, 2, 5, 10 … the share of the reads that the key of this rank has.
    pub ranks: Vec<(u64, f64)>,
    /// The law of Zipf that fits best; `null` where the counts tell none.
    pub zipf: Option<Zipf>,
    /// The share of the reads that the most read keys have, by their share of all keys.
    pub top: Vec<(f64, f64)>,
    /// The share of the keys that were read once only.
    pub read_once: Estimate,
    /// The share of the reads that these keys have.
    pub reads_of_once: f64,
    /// The share of the bytes of all entries that these keys have; `null` where no sizes were recorded.
    pub bytes_of_once: Option<f64>,
    /// The share of the keys that were written but never read.
    pub never_read: Estimate,
}

/// A law of Zipf: the key of rank r has a share of the reads that is proportional to r^−exponent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Zipf {
    /// The exponent.
    pub exponent: Estimate,
    /// The fit is of keys with this many reads and more.
    pub least_reads: u32,
    /// The share of the keys that have this many.
    pub keys: f64,
    /// The largest difference between the law and the counts, as a share of these keys (Kolmogorov-Smirnov).
    pub distance: f64,
    /// How much of the drawn line of these keys a straight line explains (R² of the logarithms); nearly every falling line
    /// has a high one.
    pub r_squared: Option<f64>,
}

/// How the figures were taken.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sampling {
    /// The share of the keys that was followed over all of the time; 1 where all were.
    pub keys: f64,
    /// The share of the time, in reads, over which these keys were followed, where few keys have too many operations; `null`
    /// where it was all of the time.
    pub time: Option<f64>,
    /// The operations on these keys.
    pub uses: u64,
    /// The most operations that were kept for each level of the sample.
    pub most_uses: u64,
    /// Capacities that are left out because the sample is too small for them.
    pub left_out: u64,
    /// The share of the reads that nobody filled in the recording after they missed; the simulated caches do not fill
    /// them either.
    pub not_filled: f64,
    /// Whether TTLs end entries in the simulated caches: only with recorded times.
    pub expires: bool,
    /// The share of the sizes that were not recorded and are taken from other operations on the key, or are the mean.
    pub sizes_filled: f64,
}

impl TraceInfo {
    /// Nothing known yet of a trace.
    pub fn of(trace: TraceFile) -> Self {
        Self {
            schema: SCHEMA_VERSION,
            larder: env!("CARGO_PKG_VERSION").to_owned(),
            trace,
            rows: 0,
            requests: 0,
            connections: 0,
            reads: 0,
            keys: Estimate::exact(0.0),
            bytes: None,
            lasts_s: None,
            began_us: None,
            times_back: None,
            recorded_hit_ratio: None,
            traffic: None,
            operations: Vec::new(),
            course: None,
            distributions: Vec::new(),
            with_ttl: None,
            popularity: None,
            working_set: None,
            reuse: None,
            curves: Vec::new(),
            unavoidable: None,
            limit: None,
            hottest: None,
            largest: None,
            sampling: Sampling::default(),
        }
    }

    /// The reads with a recorded answer.
    pub fn recorded_reads(&self) -> u64 {
        let reads = self.operations.iter().filter(|it| matches!(&*it.operation, "get" | "gat"));
        let results = reads.flat_map(|operation| &operation.results);
        let answers = results.filter(|result| matches!(&*result.result, "hit" | "miss"));
        answers.map(|answer| answer.count).sum()
    }

    /// Whether every figure is of all operations.
    pub fn is_exact(&self) -> bool {
        self.sampling.keys >= 1.0 && self.sampling.time.is_none() && self.trace.sample.is_none()
    }

    /// The distribution of this, where it was recorded.
    pub fn distribution(&self, of: DistributionOf) -> Option<&Distribution> {
        self.distributions.iter().find(|distribution| distribution.of == of)
    }

    /// The curve in this unit.
    pub fn curve(&self, measure: MeasuredIn) -> Option<&CacheCurve> {
        self.curves.iter().find(|curve| curve.measure == measure)
    }
}
