//! Whether one of two targets is faster within the rounds.
//!
//! Rounds are interleaved, so that both targets meet the same circumstances in each round. If the two are alike, the
//! rates of a round are exchangeable: the null hypothesis of a permutation test (Fisher 1935). It assumes nothing about
//! the distribution of rates or their change from round to round.
//!
//! The summed statistic may be chosen for its power, as long as an exchange within a round only turns the sign of that
//! round. Here it is the distance of each rate from the usual rate around its round. The distances are cut off where
//! most rates lie (the m-statistics of Maritz 1979, as Rosenbaum 2007 takes them for pairs). A rate that another
//! program has halved then weighs no more than a slightly low rate. It does not outweigh the other rate of its round.
//! With the ranks of the differences (Wilcoxon 1945) it would. Suppose two targets a tenth apart, each with one bad
//! round in seven. In single comparisons of 20 rounds, ranks detect half of the differences, and this test nineteen of
//! twenty.

use std::f64::consts::FRAC_1_SQRT_2;

use super::quantile::{median, quantile_in_place};
use libm::erfc;

/// Up to this many rounds all exchanges are counted, and the p is exact.
pub const EXCHANGES_EXACT_UP_TO: usize = 50;

/// The usual value around a round is the median over it and this many rounds on either side.
const AROUND: usize = 2;

/// The number of steps into which the largest score is divided for the exact count.
const STEPS: f64 = 1024.0;

/// The two-sided probability that exchangeable rates lean as far to one side as the rates of these rounds, given as
/// logarithms. 1 where no round leans.
pub fn within_rounds(pairs: &[(f64, f64)]) -> f64 {
    let scores = scores(pairs);
    let largest = scores.iter().fold(0.0, |most: f64, score| most.max(score.abs()));
    if largest == 0.0 {
        return 1.0;
    }
    if scores.len() <= EXCHANGES_EXACT_UP_TO {
        return exact(&scores, largest / STEPS);
    }
    // All scores have the same bound, so their sum is nearly normal.
    let squares: f64 = scores.iter().map(|score| score * score).sum();
    let z = scores.iter().sum::<f64>().abs() / squares.sqrt();
    erfc(z * FRAC_1_SQRT_2).min(1.0)
}

/// The difference between the two rates of each round, after both were cut off. An exchange within a round changes
/// neither the usual rate nor the cut, so it only turns the sign of that round's score.
fn scores(pairs: &[(f64, f64)]) -> Vec<f64> {
    let distances: Vec<(f64, f64)> = (0..pairs.len())
        .map(|round| {
            let ((a, b), usual) = (pairs[round], usual(pairs, round));
            (a - usual, b - usual)
        })
        .collect();
    let far: Vec<f64> = distances.iter().flat_map(|(a, b)| [a.abs(), b.abs()]).collect();
    let most = median(&far).unwrap_or(0.0);
    let cut = |distance: f64| distance.clamp(-most, most);
    distances.into_iter().map(|(a, b)| cut(a) - cut(b)).collect()
}

/// The median of both targets over the rounds around this round, with equally many rates of each target.
fn usual(pairs: &[(f64, f64)], round: usize) -> f64 {
    let width = (2 * AROUND + 1).min(pairs.len());
    let from = round.saturating_sub(AROUND).min(pairs.len() - width);
    let around = &pairs[from..from + width];
    let mut rates: Vec<f64> = around.iter().flat_map(|(a, b)| [*a, *b]).collect();
    quantile_in_place(&mut rates, 0.5).unwrap_or(0.0)
}

/// Twice the share of all sign assignments to these scores in which the scores of one sign sum to at most the smaller
/// sum found.
fn exact(scores: &[f64], step: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number, at most STEPS"
    )]
    let steps = |score: &f64| (score.abs() / step).round() as usize;
    let of = |above: bool| scores.iter().filter(|s| (**s > 0.0) == above).map(steps).sum::<usize>();
    let least = of(true).min(of(false));
    let mut chances = vec![0.0; least + 1];
    chances[0] = 1.0;
    for score in scores.iter().map(steps) {
        for at in (0..=least).rev() {
            let with = at.checked_sub(score).map_or(0.0, |rest| chances[rest]);
            chances[at] = f64::midpoint(chances[at], with);
        }
    }
    (2.0 * chances.iter().sum::<f64>()).min(1.0)
}
