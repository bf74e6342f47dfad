//! What two samples of rates say about each other.

use larder_report::Verdict;

use super::bootstrap::ratio_ci95;
use super::quantile::median;
use super::ranks::mann_whitney;

/// Two samples of rates: by how much they differ, and how sure that is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The median of the one over the median of the other.
    pub ratio: f64,
    /// Its 95 % interval; `None` where a side has fewer than two values.
    pub ci95: Option<[f64; 2]>,
    /// The two-sided p of the test by ranks, not corrected.
    pub p: f64,
}

impl Difference {
    /// Compares rates, of which greater is better. `None` where a side is empty or a rate of `b` is not above
    /// zero: then there is no ratio.
    pub fn between(a: &[f64], b: &[f64], seed: u64) -> Option<Self> {
        let ratio = median(a)? / median(b)?;
        let possible = b.iter().all(|&rate| rate > 0.0);
        possible.then(|| Self { ratio, ci95: ratio_ci95(a, b, seed), p: mann_whitney(a, b) })
    }

    /// What can be said of the one against the other, given the p that a correction over all comparisons left.
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
