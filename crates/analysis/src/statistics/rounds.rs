//! Whether the one of two targets is faster within the rounds.
//!
//! Rounds are interleaved, so that in each of them both targets met the same circumstances. If the two are alike, either
//! rate of a round could as well have been the other's: the null hypothesis of a permutation test (Fisher 1935), which
//! asks nothing of how rates are distributed or change from round to round.
//!
//! The summed statistic may be chosen for its power, as long as an exchange within a round does no more than turn the sign
//! of that round. Here it is how far each rate lies from what is usual around its round, cut off where most rates lie (the
//! m-statistics of Maritz 1979, as Rosenbaum 2007 takes them for pairs). A rate that another program has halved then weighs
//! no more than one that lies a little low, and one such rate of a round does not outweigh the other. The ranks of the
//! differences (Wilcoxon 1945) let it: of two targets a tenth apart, of which each met one bad round in seven, they tell
//! half of all single comparisons of 20 rounds, and this test nineteen of twenty.

use std::f64::consts::FRAC_1_SQRT_2;

use super::quantile::{median, quantile_in_place};
use libm::erfc;

/// Up to so many rounds all exchanges are counted out.
pub const EXCHANGES_EXACT_UP_TO: usize = 50;

/// The usual value around a round is the median over it and so many rounds on either side.
const AROUND: usize = 2;

/// Into so many steps the largest score is divided where exchanges are counted out.
const STEPS: f64 = 1024.0;

/// The two-sided probability that rates of which either could as well be the other's lean as far to one side as those of
/// these rounds, given by their logarithms. 1 where none leans.
pub fn within_rounds(pairs: &[(f64, f64)]) -> f64 {
    let scores = scores(pairs);
    let largest = scores.iter().fold(0.0, |most: f64, score| most.max(score.abs()));
    if largest == 0.0 {
        return 1.0;
    }
    if scores.len() <= EXCHANGES_EXACT_UP_TO {
        return exact(&scores, largest / STEPS);
    }
    // Each is bounded by the same, so that their sum is nearly normal.
    let squares: f64 = scores.iter().map(|score| score * score).sum();
    let z = scores.iter().sum::<f64>().abs() / squares.sqrt();
    erfc(z * FRAC_1_SQRT_2).min(1.0)
}

/// By how much the one of each round lies above the other, after both were cut off. An exchange within a round changes
/// neither what is usual nor where rates are cut off, so that it turns the sign of that round's score and nothing else.
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

/// The median of both targets over the rounds around this one, of which there are equally many for each.
fn usual(pairs: &[(f64, f64)], round: usize) -> f64 {
    let width = (2 * AROUND + 1).min(pairs.len());
    let from = round.saturating_sub(AROUND).min(pairs.len() - width);
    let around = &pairs[from..from + width];
    let mut rates: Vec<f64> = around.iter().flat_map(|(a, b)| [*a, *b]).collect();
    quantile_in_place(&mut rates, 0.5).unwrap_or(0.0)
}

/// Twice the share of all ways to give these scores signs in which those of one sign sum to at most so much.
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
