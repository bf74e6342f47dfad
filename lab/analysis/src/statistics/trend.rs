//! Whether figures in the order of time rose or fell (test of Mann, 1945, and Kendall), and by how much (Sen, 1968).

use std::f64::consts::FRAC_1_SQRT_2;

use super::bootstrap::LEAST;
use super::quantile::quantile_in_place;
use libm::erfc;

/// Up to this many figures, and without ties, the distribution of the pairs is exact.
pub const TREND_EXACT_UP_TO: usize = 30;

/// A trend of figures over time, or its absence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Kendall's tau: rising pairs minus falling ones, over all pairs.
    pub tau: f64,
    /// The two-sided p of the test, not corrected.
    pub p: f64,
    /// The last figure over the first, along the median of all slopes between logarithms.
    pub change: f64,
}

impl Drift {
    /// The trend of figures in the order of time. `None` for fewer than [`LEAST`] figures, of which no order is
    /// improbable, or where a figure is not above zero.
    pub fn of(values: &[f64]) -> Option<Self> {
        let usable = values.len() >= LEAST && values.iter().all(|value| *value > 0.0);
        usable.then_some(())?;
        let (tau, p) = mann_kendall(values);
        let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let change = (sen_slope(&logarithms)? * real(values.len() - 1)).exp();
        Some(Self { tau, p, change })
    }
}

/// Kendall's tau of figures against time, and the two-sided probability of a tau so far from zero without a trend.
pub fn mann_kendall(values: &[f64]) -> (f64, f64) {
    let n = values.len();
    if n < 2 {
        return (0.0, 1.0);
    }
    let (mut rising, mut falling) = (0, 0);
    for (at, value) in values.iter().enumerate() {
        for later in &values[at + 1..] {
            rising += usize::from(later > value);
            falling += usize::from(later < value);
        }
    }
    let pairs = n * (n - 1) / 2;
    let score = real(rising) - real(falling);
    let p = if rising + falling == pairs && n <= TREND_EXACT_UP_TO {
        exact(n, rising.min(falling))
    } else {
        approximate(values, score)
    };
    (score / real(pairs), p)
}

/// The median of the slopes between all pairs, for each step of time; `None` for fewer than two figures.
pub fn sen_slope(values: &[f64]) -> Option<f64> {
    let pairs = values.iter().enumerate().flat_map(|(at, value)| {
        let later = values[at + 1..].iter().enumerate();
        later.map(move |(steps, later)| (later - value) / real(steps + 1))
    });
    quantile_in_place(&mut pairs.collect::<Vec<_>>(), 0.5)
}

/// Twice the share of all orders of `n` figures with at most `wrong` pairs in the wrong order. Inserting the i-th
/// figure into an order of those before adds 0 to i − 1 such pairs, each number as likely.
fn exact(n: usize, wrong: usize) -> f64 {
    let mut chances = vec![0.0; wrong + 1];
    chances[0] = 1.0;
    for i in 2..=n {
        let before = chances.clone();
        for (at, chance) in chances.iter_mut().enumerate() {
            *chance = before[at.saturating_sub(i - 1)..=at].iter().sum::<f64>() / real(i);
        }
    }
    (2.0 * chances.iter().sum::<f64>()).min(1.0)
}

/// The p by the normal distribution, with the corrections for continuity and for ties.
fn approximate(values: &[f64], score: f64) -> f64 {
    let spread = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 =
        sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(|group| spread(real(group.len()))).sum();
    let variance = (spread(real(values.len())) - ties) / 18.0;
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (score.abs() - 1.0).max(0.0) / variance.sqrt();
    erfc(z * FRAC_1_SQRT_2).min(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "numbers of rounds and pairs")]
fn real(count: usize) -> f64 {
    count as f64
}
