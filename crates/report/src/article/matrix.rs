//! The matrix that an article showed, by both clocks.
//!
//! It holds figures that a check withholds from every ranking, because the article's matrix was made of such.

use super::place;
use crate::matrix::{Rated, difference};
use crate::model::{Article, Cell, Clock, PointValue, Run};
use crate::points::PART;

/// Each target against each other by one clock, slowest first.
#[derive(Debug)]
pub(crate) struct Matrix<'a> {
    /// Where it is, and by which clock.
    pub(crate) caption: String,
    pub(crate) rated: Vec<Rated<'a>>,
}

impl Matrix<'_> {
    /// How much faster each row is than each column, in percent of the column.
    pub(crate) fn texts(&self) -> Vec<Vec<String>> {
        let rated = &self.rated;
        let text = |row: usize, column: usize| difference(rated, row, column, &|_, _| false);
        (0..rated.len())
            .map(|row| (0..rated.len()).map(|column| text(row, column)).collect())
            .collect()
    }
}

/// The matrices of an article that showed one: at each place that it has figures of, by wall clock, and by the client's
/// CPU where that is known.
pub(crate) fn matrices<'a>(run: &'a Run, article: &'a Article) -> Vec<Matrix<'a>> {
    if !article.matrix {
        return Vec::new();
    }
    let mut places: Vec<(Option<&str>, &str)> = Vec::new();
    for figure in &article.figures {
        let place = (figure.part.as_deref(), figure.operation.as_str());
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let both = |at| [Clock::Wall, Clock::Cpu].map(|clock| matrix(run, article, at, clock));
    places.into_iter().flat_map(both).filter(|matrix| matrix.rated.len() > 1).collect()
}

fn matrix<'a>(
    run: &Run,
    article: &'a Article,
    (part, operation): (Option<&str>, &str),
    clock: Clock,
) -> Matrix<'a> {
    let mut rated: Vec<Rated<'a>> = Vec::new();
    for figure in &article.figures {
        let name = figure.target.as_str();
        let known = rated.iter().any(|rated| rated.name == name);
        if let Some(seconds) = seconds(run, name, part, operation, clock).filter(|_| !known) {
            rated.push(Rated { name, rate: seconds.recip() });
        }
    }
    rated.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    let caption = format!("{}, {}", place(part, operation), super::clock(clock));
    Matrix { caption, rated }
}

/// Seconds of an iteration, which may be of several operations.
fn seconds(
    run: &Run,
    target: &str,
    part: Option<&str>,
    operation: &str,
    clock: Clock,
) -> Option<f64> {
    let target = run.targets.iter().find(|known| known.name == target)?;
    let here = |cell: &&Cell| {
        let of_part = match (part, cell.point.get(PART)) {
            (Some(part), Some(PointValue::Text(name))) => part == name,
            _ => true,
        };
        cell.target == target.url && of_part
    };
    let of = |operation: &str| {
        let mut cells =
            run.cells.iter().filter(here).filter(|cell| cell.operation.as_str() == operation);
        let cell = cells.next().filter(|_| cells.next().is_none())?;
        an_operation(cell, clock)
    };
    operation.split('+').map(of).sum::<Option<f64>>().filter(|seconds| *seconds > 0.0)
}

/// Seconds of an operation, of the rounds together.
#[expect(clippy::cast_precision_loss, reason = "a rate of three figures")]
fn an_operation(cell: &Cell, clock: Clock) -> Option<f64> {
    let whole = || cell.samples.iter().filter(|sample| sample.complete);
    let ops: u64 = whole().map(|sample| sample.counts.ops).sum();
    let seconds: Option<f64> = match clock {
        Clock::Wall => Some(whole().map(|sample| sample.wall_s).sum()),
        Clock::Cpu => whole().map(|sample| sample.client_cpu_s).sum(),
    };
    seconds.filter(|_| ops > 0).map(|seconds| seconds / ops as f64)
}
