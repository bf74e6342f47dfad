//! Whether the one of two targets is faster within the rounds: the test of Wilcoxon (1945).
//!
//! Rounds are interleaved, so that in each of them both targets met the same circumstances. Where these change, rates of
//! different rounds lie far apart, and ranks over all of them see little else; the differences within the rounds do not
//! have that in them.

use std::f64::consts::FRAC_1_SQRT_2;

use super::normal::erfc;

/// Up to so many differences their signs are counted out, where no two are equally large.
pub const SIGNS_EXACT_UP_TO: usize = 50;

/// The two-sided probability that differences which are as likely to be above zero as below lean as far to one side as
/// these. Those of zero say nothing and are left out; 1 where none is left.
pub fn signed_ranks(differences: &[f64]) -> f64 {
    let mut differences: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    differences.sort_by(|x, y| x.abs().total_cmp(&y.abs()));
    let n = differences.len();
    if n == 0 {
        return 1.0;
    }
    let (mut above, mut ties, mut seen) = (0.0, 0.0, 0.0);
    for group in differences.chunk_by(|x, y| x.abs().total_cmp(&y.abs()).is_eq()) {
        let size = real(group.len());
        let positive = real(group.iter().filter(|d| **d > 0.0).count());
        above += positive * (seen + f64::midpoint(1.0, size));
        ties += size.powi(3) - size;
        seen += size;
    }
    let all = seen * (seen + 1.0) / 2.0;
    let least = above.min(all - above);
    if ties == 0.0 && n <= SIGNS_EXACT_UP_TO {
        return exact(n, least);
    }
    // By the normal distribution, with the corrections for continuity and for ties.
    let variance = seen * (seen + 1.0) * (2.0 * seen + 1.0) / 24.0 - ties / 48.0;
    let z = (all / 2.0 - least - 0.5) / variance.sqrt();
    erfc(z * FRAC_1_SQRT_2).min(1.0)
}

/// Twice the share of all ways to give the ranks 1 to n a sign in which those of one sign sum to at most so much.
fn exact(n: usize, least: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "without ties a whole number, at most n (n + 1) / 4"
    )]
    let least = least as usize;
    let mut chances = vec![0.0; least + 1];
    chances[0] = 1.0;
    for rank in 1..=n {
        for at in (0..=least).rev() {
            let with = at.checked_sub(rank).map_or(0.0, |rest| chances[rest]);
            chances[at] = f64::midpoint(chances[at], with);
        }
    }
    (2.0 * chances.iter().sum::<f64>()).min(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "numbers of rounds")]
fn real(count: usize) -> f64 {
    count as f64
}
