//! The `[article]` of a scenario: the published figures and conclusions, to be compared with a run.

use larder_report::{ArticleForm, ClaimKind, Clock, Measure, Operation};
use serde::Deserialize;

use super::form::name_of;
use super::{PointReference, Scenario};
use crate::error::{Result, usage};
use larder_analysis::check::is_known;
use larder_workload::WorkloadSpec;

/// An article, as described in a scenario's file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArticleSpec {
    /// Its short name, such as `A003`.
    pub id: String,
    /// Its title, in one line.
    pub title: String,
    /// The machine of its measurements, in one line.
    pub machine: String,
    /// The approximations of all forms of the scenario, in half-sentences. The report shows them behind those of a
    /// form.
    pub differs: Option<String>,
    /// The iterations that its totals count, where a figure gives no number of its own.
    pub iterations: Option<u64>,
    /// The article showed a matrix of each target against each other.
    #[serde(default)]
    pub matrix: bool,
    /// The article showed the least, the mean and the greatest time up to several percentiles.
    #[serde(default)]
    pub percentiles: bool,
    /// Every figure that the article published.
    #[serde(default, rename = "figure")]
    pub figures: Vec<FigureSpec>,
    /// Every conclusion that the article drew.
    #[serde(default, rename = "claim")]
    pub claims: Vec<ClaimSpec>,
}

/// A published figure, and the place of its counterpart in a run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// The name of the target.
    pub target: String,
    /// The name of the part; not needed where there is only one.
    pub part: Option<String>,
    /// The point in the sweep of the part, where the part sweeps.
    pub at: Option<PointReference>,
    /// The form of the scenario that has a counterpart, if only one form has.
    pub form: Option<ArticleForm>,
    /// The figure is the peak of the sweep.
    #[serde(default)]
    pub peak: bool,
    /// The work of an iteration: an operation, or several joined by `+`. Left out: all that the part measures.
    pub operation: Option<String>,
    /// The kind of the figure.
    pub measure: Measure,
    /// The figure, or the lower end of a span. Left out if the article only announced it.
    pub published: Option<f64>,
    /// The upper end, where a span was published.
    pub published_to: Option<f64>,
    /// The iterations that a total counts.
    pub iterations: Option<u64>,
}

/// A published conclusion, and the way to judge it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimSpec {
    /// The conclusion, in one sentence.
    pub says: String,
    /// The line of the article's text with the conclusion.
    pub line: Option<u32>,
    /// The author did not draw it: it is derived from the article's figures, or a question that the article raises.
    #[serde(default)]
    pub derived: bool,
    /// The name of a statement, where several conclusions each judge a part of the statement.
    pub statement: Option<String>,
    /// The form of the scenario that can judge it, where the other form lacks its subject.
    pub form: Option<ArticleForm>,
    /// The reason why no run of the scenario can judge it, in half a sentence. It then waits in the report.
    pub waits: Option<String>,
    /// The kind of the conclusion.
    pub kind: ClaimKind,
    /// The name of the target that the conclusion is about.
    pub a: String,
    /// The names of the targets that `a` is compared with.
    #[serde(default)]
    pub b: Vec<String>,
    /// The least factor of `faster`, 1 if left out; the largest factor of `near` and `sum`, 1.5 if left out.
    pub factor: Option<f64>,
    /// The clock of the conclusion, for `faster` and `near`.
    #[serde(default)]
    pub by: Clock,
    /// The name of the part; not needed where there is only one.
    pub part: Option<String>,
    /// The points of the part's sweep that the conclusion is about, each judged alone. Needed where the part sweeps.
    #[serde(default)]
    pub at: Vec<PointReference>,
    /// The points of `b`, where they are not those of `a`: each is compared with each point in `at`. Then `a` may stand
    /// in `b` too, and the conclusion is about the swept coordinate.
    #[serde(default)]
    pub b_at: Vec<PointReference>,
    /// An operation, or several joined by `+`. Left out: all that the part measures.
    pub operation: Option<String>,
    /// The operation of `b`, where it differs. Then `a` may stand in `b` too, to compare two ways of working.
    pub b_operation: Option<String>,
    /// The names of the checks that explain the conclusion.
    #[serde(default)]
    pub checks: Vec<String>,
}

impl ArticleSpec {
    /// Refuses entries that no form of the scenario could fill in, and entries that would have no effect.
    pub(super) fn check(&self, scenario: &Scenario) -> Result<()> {
        let known = Entries::of(scenario);
        for (number, figure) in (1..).zip(&self.figures) {
            let checked = self.check_figure(figure, &known);
            checked.map_err(|wrong| self.refused(scenario, "figure", number, &wrong))?;
        }
        for (number, claim) in (1..).zip(&self.claims) {
            let checked = check_claim(claim, &known);
            checked.map_err(|wrong| self.refused(scenario, "claim", number, &wrong))?;
        }
        Ok(())
    }

    fn refused(&self, scenario: &Scenario, what: &str, number: u32, wrong: &str) -> crate::Error {
        usage(format!(
            "scenario `{}`: {what} {number} of article {}: {wrong}",
            scenario.name, self.id
        ))
    }

    fn check_figure(&self, figure: &FigureSpec, known: &Entries) -> Result<(), String> {
        known.target(&figure.target, figure.part.as_deref())?;
        known.part(figure.part.as_deref())?;
        if !figure.peak {
            known.at(figure.part.as_deref(), &figure.at.clone().unwrap_or_default())?;
        }
        operations(figure.operation.as_deref())?;
        if let Some(wrong) = figure.published.filter(|of| !of.is_finite() || *of < 0.0) {
            return Err(format!("published = {wrong}: give the measured figure"));
        }
        let above = |to: f64| figure.published.is_some_and(|from| to.is_finite() && to > from);
        if let Some(to) = figure.published_to.filter(|to| !above(*to)) {
            return Err(format!("published_to = {to}: give the upper end of the measured span"));
        }
        let has_most = figure.measure.is_rate() || figure.measure == Measure::RssBytes;
        if figure.peak && (figure.at.is_some() || !has_most) {
            return Err("`peak` is the best rate of a sweep, or the most memory: leave out `at`, and take one of \
                        these measures"
                .into());
        }
        if figure.measure.is_total() && figure.iterations.or(self.iterations).is_none_or(|n| n == 0)
        {
            return Err("a total counts iterations: give their number with `iterations`".into());
        }
        Ok(())
    }
}

fn check_claim(claim: &ClaimSpec, known: &Entries) -> Result<(), String> {
    if let Some(line) = claim.line.filter(|_| claim.derived) {
        return Err(format!(
            "line = {line} and `derived`: a derived conclusion has no line; leave one of them out"
        ));
    }
    let part = claim.part.as_deref();
    [&claim.a].into_iter().chain(&claim.b).try_for_each(|target| known.target(target, part))?;
    known.part(part)?;
    let everywhere = [PointReference::default()];
    let at = if claim.at.is_empty() { &everywhere[..] } else { &claim.at };
    at.iter().chain(&claim.b_at).try_for_each(|at| known.at(part, at))?;
    operations(claim.operation.as_deref())?;
    operations(claim.b_operation.as_deref())?;
    if claim.b_operation.is_some() && claim.operation.is_none() {
        return Err(
            "`b_operation` is the operation of `b`: give that of `a` with `operation`".into()
        );
    }
    if let Some(id) = claim.checks.iter().find(|id| !is_known(id)) {
        return Err(format!("no check `{id}`; docs/checks.md lists them"));
    }
    if !claim.b_at.is_empty() && claim.at.is_empty() {
        return Err("`b_at` is the point of `b`: give that of `a` with `at`".into());
    }
    if let Some(at) = claim.b_at.iter().find(|at| claim.at.contains(at)) {
        return Err(format!("`b_at` has {at}, a point of `a`: name other points"));
    }
    let no_place = claim.at.is_empty() && claim.b_at.is_empty() && claim.b_operation.is_none();
    let is_elsewhere = !claim.b_at.is_empty() || claim.b_operation.is_some();
    match (claim.kind, &claim.b[..], claim.factor) {
        (ClaimKind::NeverHits, [], None) if no_place => {}
        (ClaimKind::NeverHits, ..) => {
            return Err(
                "`never_hits` is about `a` alone: leave out `b`, `factor`, `at` and `b_at`, and `b_operation`".into(),
            );
        }
        (kind, [], None) if kind.is_of_values() && !is_elsewhere => {
            let stores = |named: &String| matches!(named.as_str(), "set" | "get_or_set");
            if claim.operation.as_ref().is_some_and(|named| !stores(named)) {
                return Err("it is about values that are set: give `operation = 'set'`".into());
            }
        }
        (kind, ..) if kind.is_of_values() => {
            return Err(
                "the fate of values is judged for `a` alone: leave out `b`, `factor` and `b_at`, and `b_operation`"
                    .into(),
            );
        }
        (_, [], _) => return Err("it compares `a` with no target: name targets in `b`".into()),
        (_, _, Some(factor)) if !factor.is_finite() || factor < 1.0 => {
            return Err(format!("factor = {factor}: give 1 or more"));
        }
        (_, b, _) if b.contains(&claim.a) && !is_elsewhere => {
            return Err(format!("`{}` is `a` and in `b`", claim.a));
        }
        _ => {}
    }
    check_clock(claim)
}

/// Refuses a clock that does not fit the kind of the conclusion.
fn check_clock(claim: &ClaimSpec) -> Result<(), String> {
    let one = claim.operation.as_ref().is_some_and(|named| !named.contains('+'));
    match (claim.by, claim.kind) {
        (Clock::P99 | Clock::Max, ClaimKind::Faster | ClaimKind::Near) if !one => {
            Err("the slowest times are those of one operation: name it with `operation`".into())
        }
        (Clock::Cpu, ClaimKind::Near) => Err("`by = 'cpu'` belongs to `faster`".into()),
        (Clock::Wall, _) | (_, ClaimKind::Faster | ClaimKind::Near) => Ok(()),
        _ => Err("`by` belongs to `faster` and `near`: leave it out".into()),
    }
}

/// Refuses unknown operations.
fn operations(named: Option<&str>) -> Result<(), String> {
    let known = |name: &&str| Operation::ALL.iter().any(|operation| operation.as_str() == *name);
    match named.and_then(|named| named.split('+').find(|name| !known(name))) {
        Some(name) => {
            let all = Operation::ALL.map(Operation::as_str).join(", ");
            Err(format!("no operation `{name}`; there are {all}"))
        }
        None => Ok(()),
    }
}

/// The entries of all forms of a scenario together.
#[derive(Debug, Default)]
struct Entries {
    targets: Vec<String>,
    /// Each part of each form, with the names of its targets where it names some.
    parts: Vec<(String, Vec<String>)>,
    /// Each workload with the name of its part, where there are several.
    workloads: Vec<(Option<String>, WorkloadSpec)>,
    /// At least one form has several parts.
    several: bool,
}

impl Entries {
    fn of(scenario: &Scenario) -> Self {
        let mut known = Self::default();
        for form in [ArticleForm::Corrected, ArticleForm::Published] {
            for full in [false, true] {
                // A missing form has no entries.
                let Ok(of) = scenario.clone().resolve(form, full) else { continue };
                known.targets.extend(of.targets.iter().filter_map(|url| name_of(url)));
                let workloads = of.workloads().into_iter();
                known.workloads.extend(workloads.map(|(part, own)| (part.map(str::to_owned), own)));
                known.several |= of.parts.len() > 1;
                known.parts.extend(of.parts.into_iter().map(|part| (part.name, part.targets)));
            }
        }
        known
    }

    /// Refuses an unknown target, and a target that no form measures in this part.
    fn target(&self, name: &String, part: Option<&str>) -> Result<(), String> {
        if !self.targets.contains(name) {
            return Err(format!("no target is called `{name}`; give a target this `name=`"));
        }
        let Some(part) = part else { return Ok(()) };
        let mut own = self.parts.iter().filter(|(own, _)| own == part).peekable();
        let is_there = own.peek().is_some();
        if is_there && !own.any(|(_, targets)| targets.is_empty() || targets.contains(name)) {
            return Err(format!(
                "part `{part}` is not measured on `{name}`; add it to its `targets`"
            ));
        }
        Ok(())
    }

    fn part(&self, name: Option<&str>) -> Result<(), String> {
        match name {
            Some(name) if !self.parts.iter().any(|(part, _)| part == name) => {
                Err(format!("no part is called `{name}`"))
            }
            None if self.several => {
                Err("the scenario has several parts: name one with `part`".into())
            }
            _ => Ok(()),
        }
    }

    /// Refuses a point that no form measures, and one that leaves out a swept coordinate.
    fn at(&self, part: Option<&str>, at: &PointReference) -> Result<(), String> {
        let here = |name: &Option<String>| name.as_deref().is_none_or(|name| part == Some(name));
        let workloads = self.workloads.iter().filter(|(name, _)| here(name));
        let mut by = workloads.filter(|(_, workload)| at.is_in(workload)).peekable();
        if by.peek().is_none() {
            return Err(format!("no form measures {at} there"));
        }
        let left_out = by.map(|(_, workload)| at.leaves_out(workload)).find(|out| !out.is_empty());
        match left_out {
            Some(out) => Err(format!("{} is swept there: name it in `at`", out.join(" and "))),
            None => Ok(()),
        }
    }
}
