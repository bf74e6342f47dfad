//! From the tallies of windows and of parts of a sample to a hit ratio with its interval.

use super::model::Tally;

/// A hit ratio, and how far it may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) hits: f64,
    /// Half of its 95 % interval; 0 for an exact ratio.
    pub(crate) half_width: f64,
}

/// What the misses of a sample stand for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// The share of the recorded keys in each part: reads are counted of the recording, whatever it left out.
    pub(crate) rate: f64,
    /// The share of all keys in all parts together.
    pub(crate) keys: f64,
    /// The share of the reads that lies in the first window.
    pub(crate) first: f64,
}

/// The miss ratio that disjoint parts of a sample tell, with all that tells its error.
///
/// The parts are equal samples of the keys, so their spread tells the error that the choice of keys causes. The spread of
/// the windows tells that of the choice of times.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MissEstimate {
    /// As each part tells it.
    parts: Vec<f64>,
    /// As each window behind the first tells it.
    windows: Vec<f64>,
    /// The share of the reads behind the first window.
    later: f64,
    /// The share of the keys that is not in the sample.
    unseen: f64,
}

impl MissEstimate {
    /// What the tallies tell, by part and window.
    ///
    /// A sample of keys may have too many or too few of the most used ones, and with them too many or too few reads.
    /// Nearly all of these reads hit. So the misses are counted, and divided by the reads that the sample should have:
    /// the correction of SHARDS-adj (FAST 2015).
    pub(crate) fn by(parts: &[Vec<Tally>], scale: Scale) -> Self {
        Self {
            parts: parts.iter().map(|tallies| miss_ratio(tallies, scale)).collect(),
            windows: windows(parts, scale.rate),
            later: 1.0 - scale.first,
            unseen: (1.0 - scale.keys).max(0.0),
        }
    }

    /// The difference from another model on the same sample.
    fn minus(&self, other: &Self) -> Self {
        let minus = |one: &[f64], other: &[f64]| {
            one.iter().zip(other).map(|(one, other)| one - other).collect()
        };
        Self {
            parts: minus(&self.parts, &other.parts),
            windows: minus(&self.windows, &other.windows),
            ..*self
        }
    }

    /// The mean, and half of its 95 % interval by Student's t.
    fn mean(&self) -> (f64, f64) {
        let (mean, of_keys) = mean_and_error(&self.parts);
        let (_, of_time) = mean_and_error(&self.windows);
        // A sample of all keys has no error by keys.
        let by_keys = of_keys * self.unseen.sqrt() * student(self.parts.len());
        let by_time = of_time * self.later * student(self.windows.len());
        (mean, by_keys.hypot(by_time))
    }

    /// The hit ratio.
    pub(crate) fn ratio(&self) -> Ratio {
        let (misses, half_width) = self.mean();
        Ratio { hits: (1.0 - misses).clamp(0.0, 1.0), half_width }
    }

    /// The hit ratio, corrected by what is known better of another model: by how much that one is wrong on the same
    /// sample.
    ///
    /// Whether a sample has too many keys that miss often shows in all policies alike. So the difference between two of
    /// them is surer than either: the difference estimator of sampling theory (Cochran, "Sampling Techniques", 1977,
    /// section 7.3). The surer of both ratios is taken.
    pub(crate) fn corrected(&self, same: &Self, better: Ratio) -> Ratio {
        let plain = self.ratio();
        let (more_misses, of_difference) = self.minus(same).mean();
        let half_width = of_difference.hypot(better.half_width);
        let hits = (better.hits - more_misses).clamp(0.0, 1.0);
        if half_width < plain.half_width { Ratio { hits, half_width } } else { plain }
    }
}

/// The share of the reads that miss, as one part tells it. The first window stands for itself, the others for all of the
/// time behind it.
fn miss_ratio(tallies: &[Tally], scale: Scale) -> f64 {
    let Some((first, later)) = tallies.split_first() else { return 0.0 };
    let begin = first.ratio(scale.rate);
    let later = Tally::sum(later);
    if later.reads > 0.0 {
        begin * scale.first + later.ratio(scale.rate) * (1.0 - scale.first)
    } else {
        begin
    }
}

/// The miss ratio of each window but the first, over all parts.
fn windows(parts: &[Vec<Tally>], rate: f64) -> Vec<f64> {
    let n_windows = parts.iter().map(Vec::len).min().unwrap_or(0);
    let of_window = |window: usize| {
        let tallies: Vec<Tally> = parts.iter().map(|tallies| tallies[window]).collect();
        let sum = Tally::sum(&tallies);
        (sum.reads > 0.0).then(|| sum.ratio(rate))
    };
    (1..n_windows).filter_map(of_window).collect()
}

impl Tally {
    fn sum(tallies: &[Self]) -> Self {
        let add = |sum: Self, tally: &Self| Self {
            misses: sum.misses + tally.misses,
            reads: sum.reads + tally.reads,
            unused: sum.unused + tally.unused,
        };
        tallies.iter().fold(Self::default(), add)
    }

    /// The share of the reads that miss, where the sample has this share of the keys.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    fn ratio(&self, rate: f64) -> f64 {
        if self.reads > 0.0 { self.misses as f64 / rate / self.reads } else { 0.0 }
    }
}

/// The mean of values and its standard error; no error of a single value.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = count(values.len());
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    if values.len() < 2 {
        return (mean, 0.0);
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0) / n).sqrt())
}

/// The factor of a 95 % interval of a mean of `n` values, by Student's t.
fn student(n: usize) -> f64 {
    const FACTORS: [f64; 15] =
        [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13];
    FACTORS[n.saturating_sub(2).min(FACTORS.len() - 1)]
}

#[expect(clippy::cast_precision_loss, reason = "a handful of values")]
fn count(number: usize) -> f64 {
    number as f64
}
