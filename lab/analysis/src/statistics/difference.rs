//! The comparison of two samples of rates.

use larder_report::{PAIRED_FROM, Verdict};

use super::bootstrap::{median_ci95, ratio_ci95};
use super::quantile::median;
use super::ranks::mann_whitney;
use super::rounds::within_rounds;

/// The difference between two samples of rates, and its certainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The median of the first sample over the median of the second; round by round, the median of the rounds' ratios.
    pub ratio: f64,
    /// Its 95 % interval; `None` where a side has fewer than [`LEAST`](super::LEAST) values.
    pub ci95: Option<[f64; 2]>,
    /// The two-sided p of the test, not corrected.
    pub p: f64,
}

impl Difference {
    /// Compares rates, of which greater is better. `None` where a side is empty or a rate of `b` is not above zero,
    /// because there is no ratio.
    pub fn between(a: &[f64], b: &[f64], seed: u64) -> Option<Self> {
        let ratio = median(a)? / median(b)?;
        let possible = b.iter().all(|&rate| rate > 0.0);
        possible.then(|| Self { ratio, ci95: ratio_ci95(a, b, seed), p: mann_whitney(a, b) })
    }

    /// Compares the rates of interleaved rounds, each with its number. From [`PAIRED_FROM`] common rounds on, the
    /// comparison is round by round, so that changes that affect both sides cancel out. With fewer rounds the signs of
    /// the differences could be chance too easily: then the rates are compared as in [`between`](Self::between).
    ///
    /// The number of rounds alone chooses the test, never the measured rates: taking the smaller p of two tests doubles
    /// the chance of error.
    pub fn by_rounds(a: &[(u32, f64)], b: &[(u32, f64)], seed: u64) -> Option<Self> {
        let same = |round: u32| b.iter().find(|(other, _)| *other == round).map(|(_, rate)| *rate);
        let mut pairs: Vec<(u32, f64, f64)> =
            a.iter().filter_map(|(round, rate)| Some((*round, *rate, same(*round)?))).collect();
        pairs.sort_by_key(|(round, ..)| *round);
        let positive = pairs.iter().all(|(_, a, b)| *a > 0.0 && *b > 0.0);
        if pairs.len() < PAIRED_FROM || !positive {
            let rates = |rounds: &[(u32, f64)]| rounds.iter().map(|(_, rate)| *rate).collect();
            let (a, b): (Vec<f64>, Vec<f64>) = (rates(a), rates(b));
            return Self::between(&a, &b, seed);
        }
        // Logarithms make the ratio of `a` to `b` the reciprocal of the ratio of `b` to `a`.
        let pairs: Vec<(f64, f64)> = pairs.iter().map(|(_, a, b)| (a.ln(), b.ln())).collect();
        let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
        let ci95 = median_ci95(&differences, seed).map(|ends| ends.map(f64::exp));
        Some(Self { ratio: median(&differences)?.exp(), ci95, p: within_rounds(&pairs) })
    }

    /// The verdict on the first sample against the second, given the p after the correction over all comparisons.
    ///
    /// The two directions mirror each other: where `a` is faster than `b`, `b` is slower than `a`.
    pub fn verdict(&self, corrected_p: f64) -> Verdict {
        let sure = corrected_p < Verdict::SIGNIFICANCE;
        if sure && self.ratio > 1.0 + Verdict::MIN_DIFFERENCE {
            Verdict::Faster
        } else if sure && self.ratio.recip() > 1.0 + Verdict::MIN_DIFFERENCE {
            Verdict::Slower
        } else {
            Verdict::Indistinguishable
        }
    }
}
