//! The conclusions in `run.json`: comparisons and checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cell, Operation, Point};

/// Two targets at one point for one operation.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The `url` of the first target.
    pub a: String,
    /// The `url` of the second target.
    pub b: String,
    /// The point in the sweep.
    pub point: Point,
    /// The operation.
    pub operation: Operation,
    /// The rate of `a` over the rate of `b`; for an operation that can miss, the rate of answers. It is the ratio of
    /// the medians, or with at least twenty common rounds the median of the rounds' ratios. In an open loop all targets
    /// that keep up have the same rate. There it is the p99 response time of `b` over that of `a`.
    pub ratio: f64,
    /// Its 95 % interval, by bootstrap; `null` with fewer than six rounds.
    pub ci95: Option<[f64; 2]>,
    /// Probability of such a difference between equal targets, after Holm's correction over all comparisons of the run.
    pub p: f64,
    /// The verdict on `a` against `b`.
    pub verdict: Verdict,
}

/// Two targets at one point for one operation that are not compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unlike {
    /// The `url` of the first target.
    pub a: String,
    /// The `url` of the second target.
    pub b: String,
    /// The point in the sweep.
    pub point: Point,
    /// The operation.
    pub operation: Operation,
    /// The reason why their work differs: `hit ratios differ (8.9 % and 100 %)`.
    pub reason: String,
}

/// The verdict on one target against another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Faster, with p < 0.01 and by more than 2 %.
    Faster,
    /// Slower, with p < 0.01 and by more than 2 %.
    Slower,
    /// This run cannot tell them apart.
    Indistinguishable,
    /// Too few rounds for any verdict, however clear the difference. Older versions have `indistinguishable` instead.
    Undecided,
}

/// A way in which a figure may mislead, found in this run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Check")]
pub struct Finding {
    /// The stable name of the rule, such as `NEVER-HITS`.
    pub id: String,
    /// The severity of the finding.
    pub severity: Severity,
    /// The `url` of the target; `null` if the finding is about the whole run.
    pub target: Option<String>,
    /// The point in the sweep; `null` if the finding is about the whole sweep.
    pub point: Option<Point>,
    /// The operation; `null` if the finding is about all operations.
    pub operation: Option<Operation>,
    /// The finding is about the stored values. All reads at its place depend on them, so an error disqualifies them
    /// too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stored: bool,
    /// The evidence in figures.
    pub text: String,
    /// The advice, in one sentence.
    pub advice: String,
}

/// The severity of a finding, worst first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The figure is no result and stands outside the ranking.
    Error,
    /// The figure has another meaning than it seems to have.
    Warn,
    /// A remark that is worth knowing.
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
    /// The corrected p below which a difference counts. It is stricter than the customary 0.05, because readers look
    /// for verdicts, and one false verdict in twenty reports would be too many.
    pub const SIGNIFICANCE: f64 = 0.01;

    /// The difference in rate below which two targets do not count as different, however sure it is: 2 %. The layout of
    /// a binary, the order of links or the size of the environment alone shift rates by more. (Mytkowicz et al.,
    /// "Producing wrong data without doing anything obviously wrong", 2009.)
    pub const MIN_DIFFERENCE: f64 = 0.02;
}

impl Finding {
    /// Whether this finding disqualifies the figures of a cell. It must be an error with the cell's target, point and
    /// operation, or without them. An error about stored values also disqualifies cells that read.
    pub fn disqualifies(&self, cell: &Cell) -> bool {
        let reads_it = self.stored && cell.operation.reads();
        self.severity == Severity::Error
            && self.target.as_ref().is_none_or(|target| *target == cell.target)
            && self.point.as_ref().is_none_or(|point| *point == cell.point)
            && (reads_it || self.operation.is_none_or(|operation| operation == cell.operation))
    }
}
