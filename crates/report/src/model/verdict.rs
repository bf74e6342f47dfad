//! The conclusions in `run.json`: comparisons and checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cell, Operation, Point};

/// Two targets at one point for one operation.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The `url` of the one.
    pub a: String,
    /// The `url` of the other.
    pub b: String,
    /// Where in the sweep.
    pub point: Point,
    /// The operation.
    pub operation: Operation,
    /// Rate of `a` over rate of `b`, of an operation that can miss the rate of answers: of their medians; from twenty
    /// rounds on that both have, the median of the ratios in each. In an open loop, where all that keep up have the same
    /// rate: the p99 of the response time of `b` over that of `a`.
    pub ratio: f64,
    /// Its 95 % interval, by bootstrap; `null` with fewer than six rounds.
    pub ci95: Option<[f64; 2]>,
    /// Probability of such a difference between equals, after Holm's correction over all comparisons of the run.
    pub p: f64,
    /// The verdict on `a` against `b`.
    pub verdict: Verdict,
}

/// Two targets at one point for one operation that are not compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unlike {
    /// The `url` of the one.
    pub a: String,
    /// The `url` of the other.
    pub b: String,
    /// Where in the sweep.
    pub point: Point,
    /// The operation.
    pub operation: Operation,
    /// Why their figures are not of like work: `hit ratios differ (8.9 % and 100 %)`.
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
    /// They cannot be told apart by this run.
    Indistinguishable,
    /// Their rounds were too few for any verdict, however clear the difference. In runs of before it was told they stand as
    /// `indistinguishable`.
    Undecided,
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
    /// It is about what is stored: whatever reads at its place stands on that, and is no result either where it is an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stored: bool,
    /// The evidence in figures.
    pub text: String,
    /// The advice, in one sentence.
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
    /// operation, or leaves them open; one about what is stored, also where the cell reads it.
    pub fn disqualifies(&self, cell: &Cell) -> bool {
        let reads_it = self.stored && cell.operation.reads();
        self.severity == Severity::Error
            && self.target.as_ref().is_none_or(|target| *target == cell.target)
            && self.point.as_ref().is_none_or(|point| *point == cell.point)
            && (reads_it || self.operation.is_none_or(|operation| operation == cell.operation))
    }
}
