//! Two runs beside each other: the changes from one to the other.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Operation, Point};

/// The changes from one run to another, in the cells that both have.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Diff {
    /// The old run, the baseline.
    pub old: DiffSide,
    /// The run that is compared with it.
    pub new: DiffSide,
    /// The facts that both share: the machine, the workload, the point where there is only one.
    pub common: BTreeMap<String, String>,
    /// The differences of their environments or workloads: a change may come from any of them.
    pub mixed: Vec<Differing>,
    /// The changes: one for each common cell and measure.
    pub changes: Vec<Change>,
    /// Cells that both have but that are not compared, with the reason.
    pub not_compared: Vec<NotCompared>,
    /// Cells that only the old run has.
    pub only_old: Vec<DiffCell>,
    /// Cells that only the new run has.
    pub only_new: Vec<DiffCell>,
    /// Notes for the reader of the changes, in sentences.
    pub notes: Vec<String>,
}

/// One of the two runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DiffSide {
    /// The name by which the user gave it: its folder or its file.
    pub path: String,
    /// The version of Larder that measured it.
    pub larder: String,
    /// The scenario's name.
    pub scenario: String,
    /// The seed of its keys, sizes and operations.
    pub seed: u64,
    /// The time of its start, RFC 3339.
    pub started: String,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
}

/// A circumstance in which two runs differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Differing {
    /// Its name.
    pub name: String,
    /// Its value in the old run.
    pub old: String,
    /// Its value in the new run.
    pub new: String,
}

/// The place of a cell in a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DiffCell {
    /// The `url` of its target; where targets were matched by name, that of the new run.
    pub target: String,
    /// The label of the target.
    pub name: String,
    /// The point in the sweep.
    pub point: Point,
    /// The operation.
    pub operation: Operation,
}

/// A cell that both runs have, but that is not compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotCompared {
    /// The cell.
    #[serde(flatten)]
    pub cell: DiffCell,
    /// The reason.
    pub reason: String,
    /// The new run has no result there, where the old run has one, or hits less often: it may have become worse.
    pub may_be_worse: bool,
}

/// The change of one figure of a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The cell.
    #[serde(flatten)]
    pub cell: DiffCell,
    /// The figure.
    pub measure: DiffMeasure,
    /// The old value.
    pub old: DiffFigure,
    /// The new value.
    pub new: DiffFigure,
    /// The new figure over the old one; `null` where the old one is 0.
    pub ratio: Option<f64>,
    /// Its 95 % interval; `null` if there are too few rounds.
    pub ci95: Option<[f64; 2]>,
    /// Probability of such a change between equal runs, after Holm's correction over all changes of this measure.
    pub p: f64,
    /// The verdict.
    pub verdict: ChangeVerdict,
}

/// A figure of one of the two runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DiffFigure {
    /// Operations a second, nanoseconds, or a share from 0 to 1.
    pub value: f64,
    /// Its 95 % interval; `null` with fewer than six rounds.
    pub ci95: Option<[f64; 2]>,
    /// The number of rounds behind it.
    pub rounds: usize,
}

/// The compared figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffMeasure {
    /// Operations a second.
    OpsPerS,
    /// Requests answered a second, hits and misses, for an operation with misses.
    AnsweredPerS,
    /// The latency within which half of the operations stayed, in nanoseconds: the median of the rounds.
    P50Ns,
    /// The latency within which 99 % of the operations stayed, in nanoseconds: the median of the rounds.
    P99Ns,
    /// Hits over reads that were answered.
    HitRatio,
}

/// The verdict on a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeVerdict {
    /// A higher rate, a shorter latency, more hits.
    Better,
    /// A lower rate, a longer latency, fewer hits.
    Worse,
    /// The two runs do not decide.
    Indistinguishable,
}

impl DiffMeasure {
    /// Every measure, in the order of reports.
    pub const ALL: [Self; 5] =
        [Self::OpsPerS, Self::AnsweredPerS, Self::P50Ns, Self::P99Ns, Self::HitRatio];

    /// The name in the data.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpsPerS => "ops_per_s",
            Self::AnsweredPerS => "answered_per_s",
            Self::P50Ns => "p50_ns",
            Self::P99Ns => "p99_ns",
            Self::HitRatio => "hit_ratio",
        }
    }

    /// Whether it is a number per second.
    pub fn is_a_rate(self) -> bool {
        matches!(self, Self::OpsPerS | Self::AnsweredPerS)
    }

    /// Whether a larger figure is better.
    pub fn rises_for_the_better(self) -> bool {
        self.is_a_rate() || self == Self::HitRatio
    }
}

impl ChangeVerdict {
    /// The name in the data.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Indistinguishable => "indistinguishable",
        }
    }
}
