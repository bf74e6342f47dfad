//! Whether two samples come from the same distribution: the test of Mann and Whitney (1947).
//!
//! The test uses ranks only: in how many pairs the value of one sample is above that of the other. So an outlier counts
//! as one value, however far out it lies.

use std::f64::consts::FRAC_1_SQRT_2;

use libm::erfc;

/// Up to this size of both samples, and without ties, the distribution of the pairs is exact. Beyond, or with ties, the
/// normal approximation is used. It errs on the side of caution: from here on a p near 0.01 comes out a tenth too large
/// at most.
pub const EXACT_UP_TO: usize = 20;

/// The two-sided probability that samples from one distribution differ in rank as much as `a` and `b` do.
///
/// 1 where a sample is empty: there is no evidence of a difference.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let ranking = Ranking::of(a, b);
    if ranking.ties == 0.0 && a.len().max(b.len()) <= EXACT_UP_TO {
        exact(&ranking, a.len(), b.len())
    } else {
        approximate(&ranking, a.len(), b.len())
    }
}

/// The evidence in the values' places in the common order.
struct Ranking {
    /// The number of pairs won by the sample that wins more often; a tie is half a pair.
    wins: f64,
    /// The sum of t³ − t over all groups of t equal values.
    ties: f64,
}

impl Ranking {
    fn of(a: &[f64], b: &[f64]) -> Self {
        let mut all: Vec<(f64, bool)> =
            a.iter().map(|&v| (v, true)).chain(b.iter().map(|&v| (v, false))).collect();
        all.sort_by(|x, y| x.0.total_cmp(&y.0));
        let (mut rank_sum, mut ties, mut seen) = (0.0, 0.0, 0.0);
        for group in all.chunk_by(|x, y| x.0.total_cmp(&y.0).is_eq()) {
            let size = real(group.len());
            let of_a = real(group.iter().filter(|(_, of_a)| *of_a).count());
            rank_sum += of_a * (seen + f64::midpoint(1.0, size));
            ties += size.powi(3) - size;
            seen += size;
        }
        let (n, m) = (real(a.len()), real(b.len()));
        let wins = rank_sum - n * (n + 1.0) / 2.0;
        Self { wins: wins.max(n * m - wins), ties }
    }
}

fn exact(ranking: &Ranking, n: usize, m: usize) -> f64 {
    let orders = orders_by_wins(n, m);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "without ties a whole number, at most n times m"
    )]
    let wins = ranking.wins as usize;
    let as_clear: f64 = orders[wins..].iter().sum();
    (2.0 * as_clear / orders.iter().sum::<f64>()).min(1.0)
}

/// For each number of pairs won, from 0 to `n * m`, the number of orders of all values that give it. These numbers are
/// the coefficients of the Gaussian binomial, computed as the product over i of (1 − x^(m+i)) / (1 − x^i). They are
/// whole numbers far below 2^53, so floats hold them exactly.
fn orders_by_wins(n: usize, m: usize) -> Vec<f64> {
    let mut orders = vec![0.0; n * m + 1];
    orders[0] = 1.0;
    for i in 1..=n {
        for at in (m + i..orders.len()).rev() {
            orders[at] -= orders[at - m - i];
        }
        for at in i..orders.len() {
            orders[at] += orders[at - i];
        }
    }
    orders
}

/// The p by the normal distribution, with the corrections for continuity and for ties.
fn approximate(ranking: &Ranking, n: usize, m: usize) -> f64 {
    let (n, m) = (real(n), real(m));
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - ranking.ties / (all * (all - 1.0)));
    // All values are equal and do not vary at all; the limit allows for rounding errors.
    if variance < 1e-9 {
        return 1.0;
    }
    let z = (ranking.wins - n * m / 2.0 - 0.5) / variance.sqrt();
    erfc(z * FRAC_1_SQRT_2).min(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "sizes of samples")]
fn real(count: usize) -> f64 {
    count as f64
}
