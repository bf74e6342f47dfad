//! The published figures of an article, beside this run's figures at the same place.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Point;

/// An article that a scenario repeats: its figures and its conclusions, with the figures and verdicts of this run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Article {
    /// Its short name, such as `A003`.
    pub id: String,
    /// Its title, in one line.
    pub title: String,
    /// The machine of its measurements, in one line.
    pub machine: String,
    /// Whether this run repeats the article as published or with its mistakes corrected.
    #[serde(rename = "as")]
    pub form: ArticleForm,
    /// The options that change the workload of the scenario, such as `--keys`. With any of them, no figure here is set
    /// in a ratio to a published one, and no conclusion is judged.
    #[serde(default)]
    pub changed: Vec<String>,
    /// The work of the article that this form of the scenario leaves out or does in another way, in half-sentences;
    /// `null` if there is no such work.
    #[serde(default)]
    pub cut: Option<String>,
    /// The article showed a matrix of each target against each other, and so do the reports of this run.
    #[serde(default)]
    pub matrix: bool,
    /// The article showed the least, the mean and the greatest time up to several percentiles, and so do these reports.
    #[serde(default)]
    pub percentiles: bool,
    /// The cells of that matrix: every target of the run at each place that has a published figure.
    #[serde(default)]
    pub rates: Vec<ArticleRate>,
    /// Every figure that the article published.
    pub figures: Vec<ArticleFigure>,
    /// Every conclusion that the article drew.
    pub claims: Vec<Claim>,
    /// The number of conclusions that only the other form of the scenario can judge.
    #[serde(default, alias = "asked_elsewhere", skip_serializing_if = "is_zero")]
    pub claims_of_other_form: usize,
    /// The checks that fired, compared with those that the article's mistakes should set off. `null` in the corrected
    /// form, without a list in the scenario, and in a run that was changed or interrupted.
    #[serde(default)]
    pub checks: Option<ArticleChecks>,
}

/// The checks of a run that repeats an article as published, sorted by the scenario's list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArticleChecks {
    /// Checks on the list that fired.
    pub fired: Vec<String>,
    /// Checks on the list that did not fire.
    pub silent: Vec<String>,
    /// Checks that fired and are not on the list, although their finding follows from the plan.
    #[serde(alias = "besides")]
    pub unexpected: Vec<String>,
    /// Checks that fired and are not on the list. Their finding depends on speed, on other work of the machine, or on
    /// its installed programs.
    pub incidental: Vec<String>,
}

impl ArticleChecks {
    /// The list.
    pub fn expected(&self) -> Vec<String> {
        self.fired.iter().chain(&self.silent).cloned().collect()
    }

    /// Whether all checks on the list fired, and no other check whose finding follows from the plan.
    pub fn as_listed(&self) -> bool {
        self.silent.is_empty() && self.unexpected.is_empty()
    }
}

/// The form in which an article is repeated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArticleForm {
    /// With its mistakes: the loop that the author timed.
    Published,
    /// Without its mistakes: the work that the author meant to time.
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

/// A published figure, and the same figure here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArticleFigure {
    /// The `name` of the target that stands for the system of the article.
    pub target: String,
    /// The part of the scenario; `null` where it has only one.
    pub part: Option<String>,
    /// The point in the sweep of that part. For a peak, the point where this run found it. Empty without a sweep.
    #[serde(default, skip_serializing_if = "Point::is_empty")]
    pub at: Point,
    /// The figure is the peak of the sweep, here as in the article.
    #[serde(default)]
    pub peak: bool,
    /// The work of an iteration: an operation, or several joined by `+`, whose times are added up.
    pub operation: String,
    /// The kind of the figure.
    pub measure: Measure,
    /// The iterations that a total counts.
    pub iterations: Option<u64>,
    /// The published value; `null` if it was only announced.
    pub published: Option<f64>,
    /// The upper end of a published span.
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
    /// The reason why this run has no such figure.
    pub reason: Option<String>,
    /// The checks that disqualify the figure here. It is shown because the article published such figures.
    #[serde(default)]
    pub doubts: Vec<String>,
}

/// The rates of a target at a place of the article, by both clocks: the medians of the rounds.
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
    /// Seconds of the client's CPU in its own code, for all iterations.
    CpuUser,
    /// Seconds of the client's CPU in the system's kernel, for all iterations.
    CpuSystem,
    /// Microseconds of wall clock an iteration.
    UsPerOp,
    /// Iterations a second of wall clock.
    OpsPerS,
    /// Iterations a second of the client's CPU.
    CpuOpsPerS,
    /// Reads that found nothing: in the article of all iterations, here of a round.
    Misses,
    /// Microseconds of the client's CPU an iteration.
    ClientCpuUs,
    /// Microseconds of the CPU of the servers behind the target an iteration.
    ServerCpuUs,
    /// Resident memory at the end of an iteration's operations, in bytes: of the servers, or growth of the client.
    RssBytes,
}

impl Measure {
    /// Whether it is the time of all iterations together.
    pub fn is_total(self) -> bool {
        matches!(self, Self::Wall | Self::Cpu | Self::CpuUser | Self::CpuSystem)
    }

    /// Whether it is iterations per second, of which more are better.
    pub fn is_rate(self) -> bool {
        matches!(self, Self::OpsPerS | Self::CpuOpsPerS)
    }
}

/// A published conclusion, with the verdict of this run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// The conclusion, in one sentence.
    pub says: String,
    /// The line of the article's text with the conclusion; `null` if it is derived, and in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The author did not draw it: Larder derived it from the article's figures, or raised the question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub derived: bool,
    /// The statement that it judges a part of; `null` for a whole statement. Conclusions of one statement count once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// The kind of the conclusion.
    pub kind: ClaimKind,
    /// The part of the scenario that the conclusion is about; `null` where there is only one.
    pub part: Option<String>,
    /// The operation that it is about, or several joined by `+`, whose times are added up.
    pub operation: String,
    /// The operation of `b`, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b_operation: Option<String>,
    /// The clock. It is never the CPU's for `near`, and always the wall clock for kinds other than `faster` and `near`.
    #[serde(default)]
    pub by: Clock,
    /// The `name` of the target that the conclusion is about.
    pub a: String,
    /// The `name`s of the targets that `a` is compared with: each alone, or for `sum` all together.
    pub b: Vec<String>,
    /// The least factor of `faster`; the largest factor of `near` and `sum`.
    pub factor: f64,
    /// The verdict of this run.
    pub verdict: ClaimVerdict,
    /// The figures behind the verdict, at each point: one for each of `b`, or one for `sum`.
    pub evidence: Vec<Evidence>,
    /// For `never_hits`: hits and reads of all rounds.
    pub hits: Option<[u64; 2]>,
    /// For `never_hits`: the reads of all rounds that found nothing. Other reads failed, or returned a wrong value.
    #[serde(default)]
    pub misses: Option<u64>,
    /// For `stores_all`, `refuses` and `drops`: the fate of the values, at each point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stored: Vec<Stored>,
    /// The reason why the run cannot decide, unless the evidence shows it.
    pub reason: Option<String>,
    /// The checks that disqualify a figure behind it, unless the conclusion lists them.
    #[serde(default)]
    pub doubts: Vec<String>,
    /// The checks that explain the conclusion.
    pub checks: Vec<ClaimCheck>,
}

impl Article {
    /// The verdict on each statement of the author, or on each derived one. A statement may have several conclusions.
    /// It does not hold where one of them does not. It cannot be told where one of them cannot be told and all others
    /// hold.
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

/// Whether a number is 0, so that a run leaves it out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Kinds of conclusions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    /// `a` takes less time than each of `b`, at least by the factor.
    Faster,
    /// `a` takes as much time as each of `b`, within the factor.
    Near,
    /// `a` takes as much time as all of `b` together, within the factor: the sign of a tier that never answers.
    Sum,
    /// No read of `a` hits.
    NeverHits,
    /// `a` stores every value that it is given.
    StoresAll,
    /// `a` refuses values with an error.
    Refuses,
    /// `a` acknowledges values that are absent afterwards.
    Drops,
}

impl ClaimKind {
    /// Whether it is about the fate of the values that are set.
    pub fn is_of_values(self) -> bool {
        matches!(self, Self::StoresAll | Self::Refuses | Self::Drops)
    }
}

/// The clock behind a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The wall clock.
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
    /// The conclusion holds here too.
    Holds,
    /// The opposite holds here.
    TurnsRound,
    /// Neither the conclusion nor its opposite holds here.
    DoesNotHold,
    /// This run does not decide.
    CannotBeTold,
}

impl ClaimVerdict {
    /// Whether the conclusion does not hold here.
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

/// Two times and their ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The point of `a` in the sweep; empty without a sweep.
    #[serde(default, skip_serializing_if = "Point::is_empty")]
    pub at: Point,
    /// The point of `b`, where it differs. Then the conclusion is about the swept coordinate.
    #[serde(default, skip_serializing_if = "Point::is_empty")]
    pub b_at: Point,
    /// The time of `a`, in microseconds an iteration.
    pub a_us: f64,
    /// The time of `b`, or of all of `b` together, in microseconds an iteration.
    pub b_us: f64,
    /// `a_us` over `b_us`.
    pub ratio: f64,
    /// The 95 % interval of this one ratio, uncorrected; `null` with fewer than six rounds.
    pub ci95: Option<[f64; 2]>,
    /// For `faster`: the probability of such a difference between equals, corrected over all tests of the article.
    pub p: Option<f64>,
    /// The probability of times so far on one side of the factor if the true ratio were the factor, corrected likewise.
    /// For `faster` one value, and no value with a factor of 1. For `near` and `sum` one for the lower bound and one
    /// for the upper.
    #[serde(default)]
    pub p_factor: Vec<f64>,
}

/// The fate of the values that a target was given, all rounds together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stored {
    /// The point in the sweep; empty without a sweep.
    #[serde(default, skip_serializing_if = "Point::is_empty")]
    pub at: Point,
    /// Values that the target was given.
    pub given: u64,
    /// Of these: values refused with an error.
    pub refused: u64,
    /// The target's error for the first refused value, or the reason why it was given no value.
    pub refusal: Option<String>,
    /// Acknowledged values that were read back at the end of a turn: all, or an even sample.
    pub read_back: u64,
    /// Of these: values that were absent or wrong.
    pub gone: u64,
}

/// A check that explains a conclusion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimCheck {
    /// Its stable name.
    pub id: String,
    /// Whether it fired in this run, for the figures of the conclusion.
    pub fired: bool,
}
