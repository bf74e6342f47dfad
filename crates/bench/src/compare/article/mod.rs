//! A run laid beside the article that it repeats: each published figure with its like, each conclusion with a verdict.
//!
//! The figures of a cell that a check withholds from the ranking count here all the same: the article concluded from such
//! figures, and what it concluded is judged. The check stands beside them.

mod claim;
mod times;

use larder_report::{Article, ArticleFigure, ArticleForm, Measure, Run};

use crate::scenario::{ArticleSpec, FigureSpec};
use crate::statistics::{median, median_ci95};
use claim::judge_claims;
use times::{Place, Times, find};

/// Fills in what this run has to say.
pub(super) fn judge(spec: &ArticleSpec, form: ArticleForm, run: &Run) -> Article {
    Article {
        id: spec.id.clone(),
        title: spec.title.clone(),
        machine: spec.machine.clone(),
        form,
        matrix: spec.matrix,
        figures: spec.figures.iter().map(|figure| measured(figure, spec, run)).collect(),
        claims: judge_claims(&spec.claims, run),
    }
}

/// A published figure beside the one of this run.
fn measured(spec: &FigureSpec, article: &ArticleSpec, run: &Run) -> ArticleFigure {
    let place = Place {
        target: &spec.target,
        part: spec.part.as_deref(),
        operation: spec.operation.as_deref(),
    };
    let iterations = spec.iterations.or(article.iterations);
    let found = find(run, &place);
    let mut figure = ArticleFigure {
        target: spec.target.clone(),
        part: spec.part.clone(),
        operation: place.operation_in(run),
        measure: spec.measure,
        iterations,
        published: spec.published,
        here: None,
        here_ci95: None,
        here_iterations: None,
        ratio: None,
        reason: None,
        doubts: Vec::new(),
    };
    match found.and_then(|times| {
        figure.doubts.clone_from(&times.doubts);
        figure.here_iterations = Some(times.iterations);
        rounds(&times, spec.measure, iterations)
    }) {
        Ok(rounds) => {
            figure.here = median(&rounds);
            figure.here_ci95 = median_ci95(&rounds, run.seed);
            let comparable = figure.here.filter(|_| spec.published > 0.0);
            figure.ratio = comparable.map(|here| here / spec.published);
        }
        Err(reason) => figure.reason = Some(reason),
    }
    figure
}

/// The figure of each round.
#[expect(clippy::cast_precision_loss, reason = "iterations are thousands")]
fn rounds(times: &Times, measure: Measure, iterations: Option<u64>) -> Result<Vec<f64>, String> {
    let iterations = || {
        iterations
            .map(|iterations| iterations as f64)
            .ok_or_else(|| "how many iterations the published figure counts is not said".to_owned())
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
        Measure::UsPerOp => each(&times.wall_s, &|seconds| seconds * 1e6),
        Measure::OpsPerS => each(&times.wall_s, &|seconds| 1.0 / seconds),
        Measure::CpuOpsPerS => each(times.cpu_s()?, &|seconds| 1.0 / seconds),
        Measure::Misses => times.misses.clone(),
    })
}
