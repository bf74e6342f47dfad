//! Draws keys in blocks.

use rand::Rng;
use rand_distr::{Distribution as _, StandardNormal};
use std::f64::consts::FRAC_1_SQRT_2;

use super::scatter::Scatter;
use super::zipf::{Zipf, unit};
use super::{COMMON_THETA, Distribution, Popularity};

/// Draws the indices of keys, from 0. The draws follow from the given generator, so threads may share the picker.
#[derive(Debug, Clone)]
pub struct Picker {
    n: u32,
    law: Law,
    scatter: Scatter,
}

/// A distribution over `n` keys, ready to draw.
#[derive(Debug, Clone)]
enum Law {
    Sequential,
    First,
    Uniform,
    Zipf(Zipf),
    Gauss { mean: f64, deviation: f64 },
    Hotspot { hot: u32, operations: f64 },
    Latest(Zipf),
    Popularity(Popularity),
}

impl Picker {
    /// A picker of `n_keys` keys; 0 counts as 1. The seed chooses the frequent keys.
    pub fn new(distribution: Distribution, n_keys: u32, seed: u64) -> Self {
        let n = n_keys.max(1);
        let law = match distribution {
            Distribution::Sequential => Law::Sequential,
            Distribution::First => Law::First,
            Distribution::Uniform => Law::Uniform,
            Distribution::Zipf { theta } => Law::Zipf(Zipf::new(n, theta)),
            // As in memtier.
            Distribution::Gauss => {
                Law::Gauss { mean: f64::from(n) / 2.0, deviation: f64::from(n) / 6.0 }
            }
            Distribution::Hotspot { keys, operations } => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a share of n"
                )]
                let hot = ((f64::from(n) * keys).round() as u32).clamp(1, n);
                Law::Hotspot { hot, operations: if hot == n { 1.0 } else { operations } }
            }
            Distribution::Latest => Law::Latest(Zipf::new(n, COMMON_THETA)),
            Distribution::Popularity(measured) => Law::Popularity(measured),
        };
        Self { n, law, scatter: Scatter::new(n, seed) }
    }

    /// The number of keys.
    pub fn n_keys(&self) -> u32 {
        self.n
    }

    /// Draws one key for each place in `out`. `first_op` is the number of the first of these operations; only
    /// `seq` depends on it.
    pub fn fill(&self, rng: &mut impl Rng, first_op: u64, out: &mut [u32]) {
        let n = self.n;
        match self.law {
            Law::Sequential => {
                let mut next = first_op % u64::from(n);
                out.fill_with(|| {
                    #[expect(clippy::cast_possible_truncation, reason = "below n")]
                    let key = next as u32;
                    next = if key == n - 1 { 0 } else { next + 1 };
                    key
                });
            }
            Law::First => out.fill(0),
            Law::Uniform => out.fill_with(|| below(n, rng)),
            Law::Zipf(zipf) => {
                out.fill_with(|| zipf.draw(rng));
                self.scatter.apply(out);
            }
            Law::Gauss { mean, deviation } => {
                out.fill_with(|| bell(mean, deviation, n, rng));
                self.scatter.apply(out);
            }
            Law::Hotspot { hot, operations } => {
                out.fill_with(|| {
                    let is_hot = unit(rng) < operations;
                    if is_hot { below(hot, rng) } else { hot + below(n - hot, rng) }
                });
                self.scatter.apply(out);
            }
            Law::Latest(zipf) => out.fill_with(|| n - 1 - zipf.draw(rng)),
            Law::Popularity(ref measured) => {
                out.fill_with(|| place(measured.key_at(unit(rng)), n));
                self.scatter.apply(out);
            }
        }
    }

    /// The average number of different keys that `n_ops` operations touch. So a cache that starts empty and keeps
    /// everything answers `n_ops` get-or-sets with `n_ops` minus this many hits.
    #[expect(clippy::cast_precision_loss, reason = "an average")]
    pub fn expected_distinct(&self, n_ops: u64) -> f64 {
        let ops = n_ops as f64;
        if n_ops == 0 {
            return 0.0;
        }
        // A key that comes with probability p stays untouched with probability (1 − p)^ops.
        let touched = |keys: f64, p: f64| -keys * (ops * (-p).ln_1p()).exp_m1();
        let n = f64::from(self.n);
        match self.law {
            Law::Sequential => ops.min(n),
            Law::First => 1.0,
            Law::Uniform => touched(n, 1.0 / n),
            Law::Zipf(zipf) | Law::Latest(zipf) => {
                let all: f64 = runs(self.n).map(|(middle, keys)| keys * zipf.weight(middle)).sum();
                runs(self.n).map(|(middle, keys)| touched(keys, zipf.weight(middle) / all)).sum()
            }
            Law::Gauss { mean, deviation } => {
                // The probability that the normal law stays below a place.
                let upto =
                    |place: f64| 0.5 * libm::erfc((mean - place) / deviation * FRAC_1_SQRT_2);
                let all = upto(n) - upto(0.0);
                let share = |(middle, keys)| {
                    let p = (upto(middle) - upto(middle - 1.0)) / all;
                    touched(keys, p)
                };
                runs(self.n).map(share).sum()
            }
            Law::Popularity(ref measured) => {
                let share = |(middle, keys): (f64, f64)| {
                    let (first, end) = (middle - keys / 2.0 - 0.5, middle + keys / 2.0 - 0.5);
                    let requests =
                        measured.requests_upto(end / n) - measured.requests_upto(first / n);
                    touched(keys, requests / keys)
                };
                runs(self.n).map(share).sum()
            }
            Law::Hotspot { hot, operations } => {
                let (hot, cold) = (f64::from(hot), n - f64::from(hot));
                let cold_p = if cold > 0.0 { (1.0 - operations) / cold } else { 0.0 };
                touched(hot, operations / hot) + touched(cold, cold_p)
            }
        }
    }
}

/// The numbers from 1 to `n` as runs of about equal weight in a smooth distribution: the middle and the length of each
/// run. A run is at most a thousandth of its start, so a sum over all takes thousands of steps, not millions.
fn runs(n: u32) -> impl Iterator<Item = (f64, f64)> {
    let n = u64::from(n);
    let mut start = 1_u64;
    std::iter::from_fn(move || {
        let end = (start + start.div_ceil(1024)).min(n + 1);
        let run = (start < end).then(|| {
            #[expect(clippy::cast_precision_loss, reason = "at most 2^32")]
            let (first, last) = (start as f64, (end - 1) as f64);
            (f64::midpoint(first, last), last - first + 1.0)
        });
        start = end;
        run
    })
}

/// A number below `n`, each equally often except for a share of n / 2^64.
#[inline]
fn below(n: u32, rng: &mut impl Rng) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "below n")]
    let number = ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u32;
    number
}

/// The key at a place from 0 to 1 among `n`.
#[inline]
fn place(among_all: f64, n: u32) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to n")]
    let key = (among_all * f64::from(n)) as u32;
    key.min(n - 1)
}

/// A place from 0 to below `n` under a bell; a place outside is drawn again.
fn bell(mean: f64, deviation: f64, n: u32, rng: &mut impl Rng) -> u32 {
    loop {
        let draw: f64 = StandardNormal.sample(rng);
        let place = mean + deviation * draw;
        if (0.0..f64::from(n)).contains(&place) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "from 0 to below n"
            )]
            return place as u32;
        }
    }
}
