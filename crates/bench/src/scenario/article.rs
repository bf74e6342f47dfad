//! The `[article]` of a scenario: what was published, so that a run can be laid beside it.

use larder_report::{ClaimKind, Clock, Measure};
use serde::Deserialize;

/// An article, as a scenario's file has it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArticleSpec {
    /// Its short name, such as `A003`.
    pub id: String,
    /// What it is, in a line.
    pub title: String,
    /// The machine on which it was measured, in a line.
    pub machine: String,
    /// The iterations that its totals count, where a figure does not say otherwise.
    pub iterations: Option<u64>,
    /// It showed a matrix of each target against each other.
    #[serde(default)]
    pub matrix: bool,
    /// Every figure that it published.
    #[serde(default, rename = "figure")]
    pub figures: Vec<FigureSpec>,
    /// Every conclusion that it drew.
    #[serde(default, rename = "claim")]
    pub claims: Vec<ClaimSpec>,
}

/// A published figure and where its like is found.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// The name of the target.
    pub target: String,
    /// The name of the part; not needed where there is only one.
    pub part: Option<String>,
    /// What an iteration does: an operation, or several joined by `+`; all that the part measures, where it is left out.
    pub operation: Option<String>,
    /// What the figure is.
    pub measure: Measure,
    /// The figure.
    pub published: f64,
    /// The iterations that it counts, where it is a total.
    pub iterations: Option<u64>,
}

/// A published conclusion and how it is judged.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimSpec {
    /// The conclusion, in one sentence.
    pub says: String,
    /// Of which kind it is.
    pub kind: ClaimKind,
    /// The name of the target that it is about.
    pub a: String,
    /// The names of those that it is compared with.
    #[serde(default)]
    pub b: Vec<String>,
    /// For `faster` how many times at least, 1 if left out; for `near` and `sum` within which factor, 1.5 if left out.
    pub factor: Option<f64>,
    /// By which clock `faster` is meant.
    #[serde(default)]
    pub by: Clock,
    /// The name of the part; not needed where there is only one.
    pub part: Option<String>,
    /// An operation, or several joined by `+`; all that the part measures, where it is left out.
    pub operation: Option<String>,
    /// The checks that explain it, by their names.
    #[serde(default)]
    pub checks: Vec<String>,
}
