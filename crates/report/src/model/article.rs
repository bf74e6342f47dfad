//! The published figures of an article, beside those of this run at the same place.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Point;

/// An article that a scenario repeats: its figures and its conclusions, each beside what this machine says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Article {
    /// Its short name, such as `A003`.
    pub id: String,
    /// Its title, in a line.
    pub title: String,
    /// The machine on which it was measured, in a line.
    pub machine: String,
    /// Whether this run repeats it as it was published or with its mistakes corrected.
    #[serde(rename = "as")]
    pub form: ArticleForm,
    /// The options by which this run does something else than the scenario, such as `--keys`. Where there are any, no
    /// figure here is set in a ratio to a published one, and no conclusion is judged.
    #[serde(default)]
    pub changed: Vec<String>,
    /// The work of the article that this form of the scenario leaves out, in a sentence; `null` where it does as much.
    #[serde(default)]
    pub cut: Option<String>,
    /// It showed a matrix of each target against each other, and so do the reports of this run.
    #[serde(default)]
    pub matrix: bool,
    /// It showed the least, the mean and the greatest time to several percentiles, and so do the reports of this run.
    #[serde(default)]
    pub percentiles: bool,
    /// The cells of that matrix: every target of the run at each place that has a published figure.
    #[serde(default)]
    pub rates: Vec<ArticleRate>,
    /// Every figure that it published.
    pub figures: Vec<ArticleFigure>,
    /// Every conclusion that it drew.
    pub claims: Vec<Claim>,
    /// How many conclusions only the other form of the scenario can ask.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub asked_elsewhere: usize,
    /// The checks that fired, beside those that its mistakes are to make fire. `null` as corrected, where the scenario says
    /// nothing of it, and in a run that was changed or interrupted.
    #[serde(default)]
    pub checks: Option<ArticleChecks>,
}

/// The checks of a run that repeats an article as published, by what the scenario's list says of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArticleChecks {
    /// On the list, and fired.
    pub fired: Vec<String>,
    /// On the list, and did not fire.
    pub silent: Vec<String>,
    /// Not on the list, and fired, although what they see follows from the plan.
    pub besides: Vec<String>,
    /// Not on the list, and fired: what they see hangs on how fast things were, on what else the machine did, or on what is
    /// installed there.
    pub incidental: Vec<String>,
}

impl ArticleChecks {
    /// The list.
    pub fn expected(&self) -> Vec<String> {
        self.fired.iter().chain(&self.silent).cloned().collect()
    }

    /// Whether those fired that the list names, and no other whose finding follows from the plan.
    pub fn as_listed(&self) -> bool {
        self.silent.is_empty() && self.besides.is_empty()
    }
}

/// How an article is repeated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArticleForm {
    /// With its mistakes: the loop that it timed.
    Published,
    /// Without them: what it meant to time.
    #[default]
    Corrected,
}

impl ArticleForm {
    /// The name in `run.json` and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Corrected => "corrected",
        }
    }
}

impl fmt::Display for ArticleForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ArticleForm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Published, Self::Corrected]
            .into_iter()
            .find(|form| form.as_str() == text)
            .ok_or_else(|| format!("`{text}` is not published or corrected"))
    }
}

/// A figure that was published, and the same one here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArticleFigure {
    /// The `name` of the target that stands for the system of the article.
    pub target: String,
    /// The part of the scenario; `null` where it has only one.
    pub part: Option<String>,
    /// Where in the sweep of that part; of a peak where it was found here. Empty where nothing is swept.
    #[serde(default, skip_serializing_if = "Point::is_empty")]
    pub at: Point,
    /// It is the most of the sweep, here as in the article.
    #[serde(default)]
    pub peak: bool,
    /// The work of an iteration: an operation, or several joined by `+`, whose times are added up.
    pub operation: String,
    /// The kind of the figure.
    pub measure: Measure,
    /// The iterations that it counts, where it is a total.
    pub iterations: Option<u64>,
    /// The published value; `null` where it was only announced.
    pub published: Option<f64>,
    /// Where a span was published, its upper end.
    #[serde(default)]
    pub published_to: Option<f64>,
    /// The same figure on this machine, the median of the rounds.
    pub here: Option<f64>,
    /// Its 95 % interval; `null` with fewer than six rounds.
    pub here_ci95: Option<[f64; 2]>,
    /// Iterations of a round here.
    pub here_iterations: Option<u64>,
    /// The figure here over the published one; of a span, over its nearer end, and 1 within it.
    pub ratio: Option<f64>,
    /// Why there is none here.
    pub reason: Option<String>,
    /// The checks that make the figure here no result: it stands here because the article's did.
    #[serde(default)]
    pub doubts: Vec<String>,
}

/// How many iterations a target does at a place of the article, by both clocks: the medians of the rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArticleRate {
    /// The `name` of the target.
    pub target: String,
    /// The part of the scenario; `null` where it has only one.
    pub part: Option<String>,
    /// The work of an iteration: an operation, or several joined by `+`, whose times are added up.
    pub operation: String,
    /// Iterations a second of wall clock.
    pub ops_per_s: f64,
    /// Iterations a second of the client's CPU; `null` where that time is not known.
    pub cpu_ops_per_s: Option<f64>,
}

/// The kind of a published figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Seconds of wall clock for all iterations.
    Wall,
    /// Seconds of the client's CPU for all iterations.
    Cpu,
    /// Of the client's CPU for all iterations, the seconds in its own code.
    CpuUser,
    /// Of the client's CPU for all iterations, the seconds in the system's kernel.
    CpuSystem,
    /// Microseconds of wall clock an iteration.
    UsPerOp,
    /// Iterations a second of wall clock.
    OpsPerS,
    /// Iterations a second of the client's CPU.
    CpuOpsPerS,
    /// Reads that found nothing, of all iterations; here of those of a round.
    Misses,
    /// Microseconds of the client's CPU an iteration.
    ClientCpuUs,
    /// Microseconds of the CPU of the servers behind the target an iteration.
    ServerCpuUs,
    /// Resident memory at the end of an iteration's operations, in bytes: of the servers, or what the client grew by.
    RssBytes,
}

impl Measure {
    /// Whether it is a time that all iterations take together.
    pub fn is_total(self) -> bool {
        matches!(self, Self::Wall | Self::Cpu | Self::CpuUser | Self::CpuSystem)
    }
}

/// A conclusion that was published, and what this run says to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// The conclusion, in one sentence.
    pub says: String,
    /// The line of the article's text that draws it; `null` where it is derived, and in runs of before it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The author did not draw it: Larder derived it from the article's figures, or asks it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub derived: bool,
    /// The statement that it judges a part of; `null` where it is a statement of its own. All that share one count once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// Of which kind it is.
    pub kind: ClaimKind,
    /// The part of the scenario that it is about; `null` where there is only one.
    pub part: Option<String>,
    /// Its subject: an operation, or several joined by `+`, whose times are added up.
    pub operation: String,
    /// The operation of those that `a` is compared with, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b_operation: Option<String>,
    /// By which clock; for `near` not the CPU's, and for what is neither `faster` nor `near` always the wall clock.
    #[serde(default)]
    pub by: Clock,
    /// The `name` of the target that it is about.
    pub a: String,
    /// The `name`s of those that it is compared with: each by itself, for `sum` all together.
    pub b: Vec<String>,
    /// For `faster`, how many times at least; for `near` and `sum`, within which factor.
    pub factor: f64,
    /// The verdict of this run.
    pub verdict: ClaimVerdict,
    /// The figures behind the verdict: one for each of `b`, for `sum` one; at each of the points that it is about.
    pub evidence: Vec<Evidence>,
    /// For `never_hits`: hits and reads of all rounds.
    pub hits: Option<[u64; 2]>,
    /// For `never_hits`: the reads of all rounds that found nothing. What is neither failed, or returned something wrong.
    #[serde(default)]
    pub misses: Option<u64>,
    /// For `stores_all`, `refuses` and `drops`: what became of the values, at each of the points that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stored: Vec<Stored>,
    /// Why nothing can be told, where that does not follow from the evidence.
    pub reason: Option<String>,
    /// The checks that make a figure behind it no result, and that it does not name itself.
    #[serde(default)]
    pub doubts: Vec<String>,
    /// The checks that explain it.
    pub checks: Vec<ClaimCheck>,
}

impl Article {
    /// The verdict on each statement, which may have several conclusions: those of the author, or the derived ones. It does not
    /// hold where a part of it does not. It cannot be told where a part cannot be told and every other part holds.
    pub fn statements(&self, derived: bool) -> Vec<ClaimVerdict> {
        let mut statements: Vec<(Option<&str>, ClaimVerdict)> = Vec::new();
        for claim in self.claims.iter().filter(|claim| claim.derived == derived) {
            let name = claim.statement.as_deref();
            match statements.iter_mut().find(|(known, _)| name.is_some() && *known == name) {
                Some((_, verdict)) => *verdict = verdict.and(claim.verdict),
                None => statements.push((name, claim.verdict)),
            }
        }
        statements.into_iter().map(|(_, verdict)| verdict).collect()
    }
}

/// Whether there is none, so that a run leaves it out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Kinds of conclusions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    /// `a` takes less time than each of `b`, by the factor at least.
    Faster,
    /// `a` takes as much time as each of `b`, within the factor.
    Near,
    /// `a` takes as much time as all of `b` together, within the factor: the sign of a tier that never answers.
    Sum,
    /// No read of `a` hits.
    NeverHits,
    /// `a` stores every value that it is given.
    StoresAll,
    /// `a` refuses values, and says so.
    Refuses,
    /// `a` acknowledges values that are not there afterwards.
    Drops,
}

impl ClaimKind {
    /// Whether it is about what becomes of the values that are set.
    pub fn is_of_values(self) -> bool {
        matches!(self, Self::StoresAll | Self::Refuses | Self::Drops)
    }
}

/// The clock that takes the time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The clock on the wall.
    #[default]
    Wall,
    /// The CPU time of the client, which leaves out all waiting.
    Cpu,
    /// The mean time of an operation for its caller, however many run at once.
    Latency,
    /// The 99th percentile of the operations of a round.
    P99,
    /// The time of the slowest operation of a round.
    Max,
}

/// The verdict of a run on a conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// It is so here, too.
    Holds,
    /// It is the other way round here.
    TurnsRound,
    /// It is not so here, without being the other way round.
    DoesNotHold,
    /// This run does not say.
    CannotBeTold,
}

impl ClaimVerdict {
    /// Whether it is not so here.
    pub fn fails(self) -> bool {
        matches!(self, Self::TurnsRound | Self::DoesNotHold)
    }

    /// The verdict on a statement of two parts.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (one, other) if one.fails() || other.fails() => Self::DoesNotHold,
            _ => Self::CannotBeTold,
        }
    }
}

/// Two times, the one over the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Where in the sweep `a` was taken from; empty where nothing is swept.
    #[serde(default, skip_serializing_if = "Point::is_empty")]
    pub at: Point,
    /// Where the other was, if that is another point: what the sweep itself changes.
    #[serde(default, skip_serializing_if = "Point::is_empty")]
    pub b_at: Point,
    /// The time of `a`, in microseconds an iteration.
    pub a_us: f64,
    /// The time of the other, or of all others together.
    pub b_us: f64,
    /// The first over the second.
    pub ratio: f64,
    /// Its 95 % interval, of this one ratio and uncorrected; `null` with fewer than six rounds.
    pub ci95: Option<[f64; 2]>,
    /// For `faster`: probability of such a difference between equals, corrected over all tests of the article.
    pub p: Option<f64>,
    /// Probability that the times lie so far on their side of the factor where they lie just at it, corrected likewise.
    /// For `faster` one, and none where its factor is 1; for `near` and `sum` one for the lower bound and one for the upper.
    #[serde(default)]
    pub p_factor: Vec<f64>,
}

/// The fate of the values that a target was given, all rounds together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stored {
    /// Where in the sweep; empty where nothing is swept.
    #[serde(default, skip_serializing_if = "Point::is_empty")]
    pub at: Point,
    /// Values that it was given.
    pub given: u64,
    /// Of them: refused with an error.
    pub refused: u64,
    /// Its error for the first of these, or the reason why it was given none.
    pub refusal: Option<String>,
    /// Acknowledged values that were read back at the end of a turn: all, or an even sample.
    pub read_back: u64,
    /// Of them: not there, or not what was stored.
    pub gone: u64,
}

/// A check that explains a conclusion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimCheck {
    /// Its stable name.
    pub id: String,
    /// Whether it fired in this run, for what the conclusion is about.
    pub fired: bool,
}
