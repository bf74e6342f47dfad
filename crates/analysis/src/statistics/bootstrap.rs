//! Intervals by bootstrap (Efron 1979): how far the figure moves when the rounds are drawn again from
//! themselves.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::quantile::quantile_in_place;

/// How often the sample is drawn again. Another seed then moves the ends of the interval by about a
/// fiftieth of its width; more would say no more, because the rounds are few.
pub const RESAMPLES: usize = 2000;

/// The fewest values that have a 95 % interval.
pub const LEAST: usize = 6;

/// The 95 % percentile-bootstrap interval of the median. The same values and seed give the same interval.
///
/// Of fewer than [`LEAST`] values there is none: even the range from the smallest to the largest contains the true median
/// only with probability 1 − 2^(1−n), which is 94 % of five and 97 % of six.
pub fn median_ci95(values: &[f64], seed: u64) -> Option<[f64; 2]> {
    let mut resampled = Resampler::new(values, seed)?;
    interval(|| resampled.median())
}

/// How far the farther end of an interval lies from its rate, as a share of it: infinitely far where there is none.
pub fn half_width(rate: f64, ci95: Option<[f64; 2]>) -> f64 {
    ci95.map_or(f64::INFINITY, |[low, high]| (rate - low).max(high - rate) / rate)
}

/// The 95 % percentile-bootstrap interval of `median(a) / median(b)`, each side drawn again by itself.
///
/// `None` where one side has fewer than [`LEAST`] values, or where `b` has one that is not above zero.
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
