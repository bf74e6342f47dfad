//! A run beside its article: each published figure with its counterpart, each conclusion with a verdict.
//!
//! Figures that a check keeps out of the ranking count here, because the article drew its conclusions from such
//! figures. The check is shown beside them. A stand-in's figure is left out: it says nothing of the named server.

mod checks;
mod claim;
mod stored;
mod times;

use std::cmp::Ordering;

use larder_report::{
    Article, ArticleFigure, ArticleForm, ArticleRate, Measure, Point, PointValue, Run, points,
};

use crate::plan::Plan;
use crate::scenario::{ArticleSpec, ClaimSpec, FigureSpec, PointReference};
use checks::judge_checks;
use claim::judge_claims;
use larder_analysis::check::STAND_IN;
use larder_analysis::statistics::{median, median_ci95};
use times::{FigurePlace, IterationTimes, find};

/// The form and the workload in which an article is repeated.
pub(crate) struct Repeated<'a> {
    pub(crate) form: ArticleForm,
    /// The options that change the scenario's workload.
    pub(crate) changed: &'a [String],
    /// What differs from the article, in this form and in all forms.
    pub(crate) cut: Option<String>,
    /// The checks that the mistakes of this form set off, where the scenario lists them.
    pub(crate) checks: Option<Vec<String>>,
}

impl<'a> Repeated<'a> {
    fn by(plan: &'a Plan, spec: &ArticleSpec) -> Self {
        let cut: Vec<&str> = plan.cut.iter().chain(&spec.differs).map(String::as_str).collect();
        Self {
            form: plan.form,
            changed: &plan.changed,
            cut: (!cut.is_empty()).then(|| cut.join("; ")),
            checks: plan.checks.clone(),
        }
    }
}

/// The verdict of a run on the article that the plan repeats; `None` for a plan without an article. Reads only the
/// cells, the targets and the findings of the run.
pub fn judge(plan: &Plan, run: &Run) -> Option<Article> {
    let spec = plan.article.as_ref()?;
    Some(judge_as(spec, &Repeated::by(plan, spec), run))
}

/// Judges a run whose plan is not at hand.
pub(crate) fn judge_as(spec: &ArticleSpec, repeated: &Repeated<'_>, run: &Run) -> Article {
    let comparable = repeated.changed.is_empty();
    let figure = |figure: &FigureSpec| measured(figure, spec, run, comparable);
    let has_like = |figure: &&FigureSpec| figure.form.is_none_or(|form| form == repeated.form);
    let is_asked = |claim: &&ClaimSpec| claim.form.is_none_or(|form| form == repeated.form);
    let (asked, elsewhere): (Vec<_>, Vec<_>) = spec.claims.iter().partition(is_asked);
    Article {
        id: spec.id.clone(),
        title: spec.title.clone(),
        machine: spec.machine.clone(),
        form: repeated.form,
        changed: repeated.changed.to_vec(),
        cut: repeated.cut.clone(),
        matrix: spec.matrix,
        percentiles: spec.percentiles,
        rates: if spec.matrix { rates(spec, run) } else { Vec::new() },
        figures: spec.figures.iter().filter(has_like).map(figure).collect(),
        claims: judge_claims(&asked, run, repeated.changed),
        claims_of_other_form: elsewhere.len(),
        // Another workload sets off other checks, and an interrupted run does not set off all.
        checks: repeated
            .checks
            .as_ref()
            .filter(|_| comparable && !run.interrupted)
            .map(|expected| judge_checks(expected, run)),
    }
}

/// The cells of the matrices: all targets at each place that has a published figure.
fn rates(spec: &ArticleSpec, run: &Run) -> Vec<ArticleRate> {
    let mut places: Vec<(Option<&str>, String)> = Vec::new();
    for figure in &spec.figures {
        let place = place(figure, None);
        let named = (place.part, place.operation_in(run));
        if !places.contains(&named) {
            places.push(named);
        }
    }
    let of_place = |(part, operation): &(Option<&str>, String)| -> Vec<ArticleRate> {
        let rate = |target: &larder_report::Target| {
            let place = FigurePlace {
                target: &target.name,
                part: *part,
                at: None,
                operation: Some(operation),
            };
            let times = find(run, &place).ok()?;
            let rate = |measure| median(&rounds(&times, measure, None).ok()?);
            Some(ArticleRate {
                target: target.name.clone(),
                part: part.map(str::to_owned),
                operation: operation.clone(),
                ops_per_s: rate(Measure::OpsPerS)?,
                cpu_ops_per_s: rate(Measure::CpuOpsPerS),
            })
        };
        run.targets.iter().filter_map(rate).collect()
    };
    places.iter().flat_map(of_place).collect()
}

fn place<'a>(figure: &'a FigureSpec, at: Option<&'a Point>) -> FigurePlace<'a> {
    FigurePlace {
        target: &figure.target,
        part: figure.part.as_deref(),
        at,
        operation: figure.operation.as_deref(),
    }
}

/// A published figure and its counterpart in this run.
fn measured(
    spec: &FigureSpec,
    article: &ArticleSpec,
    run: &Run,
    comparable: bool,
) -> ArticleFigure {
    let at = spec.at.as_ref().map(PointReference::point);
    let iterations = spec.iterations.or(article.iterations);
    let found = if spec.peak {
        peak(spec, run)
    } else {
        let found = found(spec, at.as_ref(), iterations, run);
        found.map(|found| (at.clone().unwrap_or_default(), found))
    };
    let mut figure = ArticleFigure {
        target: spec.target.clone(),
        part: spec.part.clone(),
        at: at.clone().unwrap_or_default(),
        peak: spec.peak,
        operation: place(spec, at.as_ref()).operation_in(run),
        measure: spec.measure,
        iterations,
        published: spec.published,
        published_to: spec.published_to,
        here: None,
        here_ci95: None,
        here_iterations: None,
        ratio: None,
        reason: None,
        doubts: Vec::new(),
    };
    match found {
        Ok((at, FoundFigure { times, .. })) if times.doubts.iter().any(|id| id == STAND_IN) => {
            figure.at = at;
            figure.reason = Some(format!(
                "{STAND_IN}: another server answered in place of the article's server"
            ));
        }
        Ok((at, FoundFigure { times, rounds })) => {
            figure.at = at;
            figure.doubts = times.doubts;
            figure.here_iterations = Some(times.iterations);
            figure.here = median(&rounds);
            figure.here_ci95 = median_ci95(&rounds, run.seed);
            let published = spec.published.filter(|published| comparable && *published > 0.0);
            let nearest =
                |here: f64, from: f64| here.clamp(from, spec.published_to.unwrap_or(from));
            let pair = figure.here.zip(published);
            figure.ratio = pair.map(|(here, from)| here / nearest(here, from));
        }
        Err(reason) => figure.reason = Some(reason),
    }
    figure
}

/// The times of a target at a place, and a figure for each round.
struct FoundFigure {
    times: IterationTimes,
    rounds: Vec<f64>,
}

fn found(
    spec: &FigureSpec,
    at: Option<&Point>,
    iterations: Option<u64>,
    run: &Run,
) -> Result<FoundFigure, String> {
    let times = find(run, &place(spec, at))?;
    let rounds = rounds(&times, spec.measure, iterations)?;
    Ok(FoundFigure { times, rounds })
}

/// The peak of a sweep: the point with the highest median, by its swept coordinates.
fn peak(spec: &FigureSpec, run: &Run) -> Result<(Point, FoundFigure), String> {
    let mut here = points(run);
    here.retain(|point| place(spec, None).holds(point));
    let swept = |point: &Point| {
        let varies = |(name, value): &(&String, &PointValue)| {
            here.iter().any(|other| other.get(*name) != Some(*value))
        };
        let coordinates = point.iter().filter(varies);
        coordinates.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let all =
        here.iter().map(|point| found(spec, Some(point), None, run).map(|of| (swept(point), of)));
    let height = |found: &Result<(Point, FoundFigure), String>| {
        found.as_ref().ok().and_then(|(_, found)| median(&found.rounds))
    };
    all.max_by(|a, b| height(a).partial_cmp(&height(b)).unwrap_or(Ordering::Equal))
        .unwrap_or_else(|| Err("this run has no such part".to_owned()))
}

/// The figure of each round.
#[expect(clippy::cast_precision_loss, reason = "iterations are thousands")]
fn rounds(
    times: &IterationTimes,
    measure: Measure,
    iterations: Option<u64>,
) -> Result<Vec<f64>, String> {
    let iterations = || {
        iterations.map(|iterations| iterations as f64).ok_or_else(|| {
            "the article does not say how many iterations the figure counts".to_owned()
        })
    };
    let each = |of: &[f64], to: &dyn Fn(f64) -> f64| of.iter().map(|value| to(*value)).collect();
    Ok(match measure {
        Measure::Wall => {
            let n = iterations()?;
            each(&times.wall_s, &|seconds| seconds * n)
        }
        Measure::Cpu => {
            let n = iterations()?;
            each(times.cpu_s()?, &|seconds| seconds * n)
        }
        Measure::CpuUser => {
            let n = iterations()?;
            each(&times.user_s()?, &|seconds| seconds * n)
        }
        Measure::CpuSystem => {
            let n = iterations()?;
            each(times.system_s()?, &|seconds| seconds * n)
        }
        Measure::UsPerOp => each(&times.wall_s, &|seconds| seconds * 1e6),
        Measure::OpsPerS => each(&times.wall_s, &|seconds| 1.0 / seconds),
        Measure::CpuOpsPerS => each(times.cpu_s()?, &|seconds| 1.0 / seconds),
        Measure::Misses => times.misses.clone(),
        Measure::ClientCpuUs => each(times.cpu_s()?, &|seconds| seconds * 1e6),
        Measure::ServerCpuUs => each(times.server_cpu_s()?, &|seconds| seconds * 1e6),
        Measure::RssBytes => times.rss_bytes()?.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_of_a_stand_in_is_not_shown_and_says_why() {
        let mut run =
            Run::from_json(include_str!("../../../report/tests/fixture/run.json")).unwrap();
        let spec = FigureSpec {
            target: "memcached:".into(),
            part: None,
            at: Some(PointReference {
                data_size: Some("4k".parse().unwrap()),
                ..PointReference::default()
            }),
            peak: false,
            operation: Some("set".into()),
            measure: Measure::UsPerOp,
            published: None,
            published_to: None,
            iterations: None,
            form: None,
        };
        let article = ArticleSpec {
            id: "A999".into(),
            title: String::new(),
            machine: String::new(),
            differs: None,
            iterations: None,
            matrix: false,
            percentiles: false,
            figures: Vec::new(),
            claims: Vec::new(),
        };
        let shown = measured(&spec, &article, &run, true);
        assert!(shown.here.is_some() && shown.reason.is_none(), "{shown:#?}");
        let memcached = run.targets.iter_mut().find(|target| target.name == "memcached:").unwrap();
        memcached.settings.insert("stand_in".into(), "says nothing of its speed".into());
        let found = larder_analysis::check::run_all(&run);
        run.checks.extend(found);
        let left_out = measured(&spec, &article, &run, true);
        assert_eq!((left_out.here, left_out.here_ci95, left_out.ratio), (None, None, None));
        assert!(left_out.reason.is_some_and(|reason| reason.starts_with(STAND_IN)));
    }
}
