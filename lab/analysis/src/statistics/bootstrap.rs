//! Intervals by bootstrap (Efron 1979): how far the figure moves when the rounds are resampled.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::quantile::quantile_in_place;

/// The number of resamples. Another seed then moves the ends of the interval by about a fiftieth of its width. More
/// resamples would not help, because the rounds are few.
pub const RESAMPLES: usize = 2000;

/// The fewest values that have a 95 % interval.
pub const LEAST: usize = 6;

/// The 95 % percentile-bootstrap interval of the median. The same values and seed give the same interval.
///
/// Fewer than [`LEAST`] values have no interval. Even the range from the smallest to the largest contains the true
/// median only with probability 1 − 2^(1−n). That probability is 94 % for five values and 97 % for six.
pub fn median_ci95(values: &[f64], seed: u64) -> Option<[f64; 2]> {
    let mut resampled = Resampler::new(values, seed)?;
    interval(|| resampled.median())
}

/// The distance from the rate to the farther end of its interval, as a share of the rate; infinite without an interval.
pub fn half_width(rate: f64, ci95: Option<[f64; 2]>) -> f64 {
    ci95.map_or(f64::INFINITY, |[low, high]| (rate - low).max(high - rate) / rate)
}

/// The 95 % percentile-bootstrap interval of `median(a) / median(b)`, each side resampled by itself.
///
/// `None` where a side has fewer than [`LEAST`] values, or where a value of `b` is not above zero.
pub fn ratio_ci95(a: &[f64], b: &[f64], seed: u64) -> Option<[f64; 2]> {
    if b.iter().any(|&value| value.is_nan() || value <= 0.0) {
        return None;
    }
    let mut a = Resampler::new(a, seed)?;
    let mut b = Resampler::new(b, !seed)?;
    interval(|| Some(a.median()? / b.median()?))
}

pub(super) fn interval(statistic: impl FnMut() -> Option<f64>) -> Option<[f64; 2]> {
    let mut drawn: Vec<f64> =
        std::iter::repeat_with(statistic).take(RESAMPLES).collect::<Option<_>>()?;
    Some([quantile_in_place(&mut drawn, 0.025)?, quantile_in_place(&mut drawn, 0.975)?])
}

struct Resampler<'a> {
    values: &'a [f64],
    drawn: Vec<f64>,
    rng: Xoshiro256PlusPlus,
}

impl<'a> Resampler<'a> {
    fn new(values: &'a [f64], seed: u64) -> Option<Self> {
        (values.len() >= LEAST).then(|| Self {
            values,
            drawn: values.to_vec(),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        })
    }

    fn median(&mut self) -> Option<f64> {
        for slot in &mut self.drawn {
            *slot = self.values[self.rng.random_range(0..self.values.len())];
        }
        quantile_in_place(&mut self.drawn, 0.5)
    }
}
