//! The matrix of an article, by both clocks.
//!
//! It includes figures that a check keeps out of every ranking, because the article's matrix included such figures.

use super::{clock, place};
use crate::matrix::{Rated, difference};
use crate::model::{Article, ArticleRate, Clock};

/// The note below a matrix by CPU time.
pub(crate) const WAITING: &str =
    "The client's CPU time leaves out all waiting, for a server, a network or a disk.";

/// The operations per second by a clock.
type PerSecond = fn(&ArticleRate) -> Option<f64>;

/// The clocks that matrices are shown by.
const CLOCKS: [(Clock, PerSecond); 2] =
    [(Clock::Wall, |rate| Some(rate.ops_per_s)), (Clock::Cpu, |rate| rate.cpu_ops_per_s)];

/// The matrices of a place, shown side by side.
#[derive(Debug)]
pub(crate) struct Clocks<'a> {
    /// The place.
    pub(crate) place: String,
    /// The matrix by wall clock, and the matrix by the client's CPU, if that is known for at least two targets.
    pub(crate) matrices: Vec<Matrix<'a>>,
}

/// Each target against each other target by one clock, slowest first.
#[derive(Debug)]
pub(crate) struct Matrix<'a> {
    /// The clock, in words.
    pub(crate) caption: &'static str,
    pub(crate) rated: Vec<Rated<'a>>,
}

impl Matrix<'_> {
    /// The lead of each row's target over each column's, in percent of the column's.
    pub(crate) fn texts(&self) -> Vec<Vec<String>> {
        let rated = &self.rated;
        let text = |row: usize, column: usize| difference(rated, row, column, &|_, _| false);
        (0..rated.len())
            .map(|row| (0..rated.len()).map(|column| text(row, column)).collect())
            .collect()
    }
}

/// The matrices of an article that showed a matrix: one for each place with figures.
pub(crate) fn matrices(article: &Article) -> Vec<Clocks<'_>> {
    let mut places: Vec<(Option<&str>, &str)> = Vec::new();
    for rate in &article.rates {
        if !places.contains(&at(rate)) {
            places.push(at(rate));
        }
    }
    let clocks = |of: (Option<&str>, &str)| {
        let rates: Vec<&ArticleRate> = article.rates.iter().filter(|rate| at(rate) == of).collect();
        let matrices = CLOCKS.map(|(by, per_second)| matrix(&rates, by, per_second));
        let matrices = matrices.into_iter().filter(|matrix| matrix.rated.len() > 1).collect();
        Clocks { place: place(of.0, of.1), matrices }
    };
    places.into_iter().map(clocks).filter(|clocks| !clocks.matrices.is_empty()).collect()
}

fn at(rate: &ArticleRate) -> (Option<&str>, &str) {
    (rate.part.as_deref(), rate.operation.as_str())
}

fn matrix<'a>(rates: &[&'a ArticleRate], by: Clock, per_second: PerSecond) -> Matrix<'a> {
    let rated = |rate: &&'a ArticleRate| {
        let per_second = per_second(rate);
        Some(Rated { name: rate.target.as_str(), rate: per_second? })
    };
    let mut rated: Vec<Rated<'a>> = rates.iter().filter_map(rated).collect();
    rated.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    Matrix { caption: clock(by), rated }
}
