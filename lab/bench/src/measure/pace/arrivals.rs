//! When operations are due: instants from the start of a phase, known before it begins.
//!
//! The instants follow from the rate, the seed and the round alone, so that every target of a round meets the same
//! arrivals. Nothing is drawn while the clock runs: exponential gaps come from a cycle that is long enough for its
//! repetition not to matter. The mean of a cycle is exactly that of the rate.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The number of gaps in a cycle.
const CYCLE: usize = 1 << 16;

/// When the operations of a phase are due, counted from 0 in nanoseconds from its start.
#[derive(Debug, Clone)]
pub(crate) struct Arrivals {
    times: ArrivalTimes,
    /// The length of a cycle.
    cycle_ns: f64,
}

#[derive(Debug, Clone)]
enum ArrivalTimes {
    /// All operations at the same distance: a cycle of one operation.
    Even,
    /// The beginning of each gap of a cycle.
    Drawn(Vec<u64>),
    /// When each operation of a trace was recorded, in nanoseconds, times a factor.
    Recorded { at: Arc<[u64]>, factor: f64 },
}

impl Arrivals {
    /// This number of operations a second, at the same distance.
    pub(crate) fn fixed(per_s: f64) -> Self {
        Self { times: ArrivalTimes::Even, cycle_ns: 1e9 / per_s }
    }

    /// This number of operations a second, independent of each other: the gaps are exponential.
    pub(crate) fn exponential(per_s: f64, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        // 1 − u is above 0, as the logarithm needs.
        let gaps: Vec<f64> = (0..CYCLE).map(|_| -(1.0 - rng.random::<f64>()).ln()).collect();
        let sum: f64 = gaps.iter().sum();
        #[expect(clippy::cast_precision_loss, reason = "a few ten thousand")]
        let cycle_ns = CYCLE as f64 * 1e9 / per_s;
        let scale = cycle_ns / sum;
        let begins = gaps.iter().scan(0.0, |end, gap| {
            let begin = *end;
            *end += gap * scale;
            Some(whole(begin))
        });
        Self { times: ArrivalTimes::Drawn(begins.collect()), cycle_ns }
    }

    /// As recorded: `at` in nanoseconds from the first operation, rising. The recording takes `lasts_ns`, and is then
    /// repeated. With a rate, it runs faster or slower, so that the rate is kept on the whole.
    pub(crate) fn recorded(at: Arc<[u64]>, lasts_ns: u64, per_s: Option<f64>) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "years of nanoseconds fit well enough")]
        let (count, lasts_ns) = (at.len() as f64, lasts_ns.max(1) as f64);
        let cycle_ns = per_s.map_or(lasts_ns, |per_s| count * 1e9 / per_s);
        Self { times: ArrivalTimes::Recorded { at, factor: cycle_ns / lasts_ns }, cycle_ns }
    }

    /// When operation `n` is due.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "exact up to 104 days in nanoseconds")]
    pub(crate) fn due(&self, n: u64) -> u64 {
        match &self.times {
            ArrivalTimes::Even => whole(n as f64 * self.cycle_ns),
            ArrivalTimes::Drawn(begins) => {
                let cycles = n / CYCLE as u64;
                whole(cycles as f64 * self.cycle_ns) + begins[place(n, CYCLE)]
            }
            ArrivalTimes::Recorded { at, factor } => {
                let cycles = n / at.len() as u64;
                let within = at[place(n, at.len())];
                whole(cycles as f64 * self.cycle_ns + within as f64 * factor)
            }
        }
    }

    /// The number of operations that are due before this instant.
    pub(crate) fn due_before(&self, ns: u64) -> u64 {
        let (mut low, mut high) = (0, 1);
        while self.due(high) < ns {
            (low, high) = (high, high * 2);
        }
        if self.due(low) >= ns {
            return low;
        }
        // The last operation that is due before lies from `low` on, below `high`.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.due(middle) < ns { low = middle } else { high = middle }
        }
        high
    }

    /// Whether each operation has its own instant, whichever thread carries it out.
    pub(crate) fn are_recorded(&self) -> bool {
        matches!(self.times, ArrivalTimes::Recorded { .. })
    }
}

/// The place of operation `n` in a cycle of this many.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "below a length")]
fn place(n: u64, length: usize) -> usize {
    (n % length as u64) as usize
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an instant in nanoseconds, which is never negative"
)]
#[inline]
fn whole(ns: f64) -> u64 {
    ns as u64
}

#[cfg(test)]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few ten thousand gaps"
)]
mod tests {
    use super::*;

    #[test]
    fn fixed_arrivals_lie_at_the_same_distance_and_never_drift() {
        let arrivals = Arrivals::fixed(3.0);
        assert_eq!(
            [0, 1, 2, 3].map(|n| arrivals.due(n)),
            [0, 333_333_333, 666_666_666, 1_000_000_000]
        );
        assert_eq!(arrivals.due(3_000_000), 1_000_000_000_000_000);
        assert_eq!(
            [0, 1, 1_000_000_000, 1_000_000_001].map(|ns| arrivals.due_before(ns)),
            [0, 1, 3, 4]
        );
    }

    #[test]
    fn exponential_gaps_have_the_mean_and_the_shape_of_independent_arrivals() {
        for (rate, seed) in [(1_000.0, 1), (50_000.0, 2), (2.5, 3)] {
            let arrivals = Arrivals::exponential(rate, seed);
            let mean = 1e9 / rate;
            let mut gaps: Vec<f64> = (0..CYCLE as u64)
                .map(|n| (arrivals.due(n + 1) - arrivals.due(n)) as f64 / mean)
                .collect();
            // A whole cycle takes as long as the rate says, to the nanosecond.
            assert_eq!(arrivals.due(3 * CYCLE as u64), (3.0 * CYCLE as f64 * mean) as u64);
            let variance = gaps.iter().map(|gap| (gap - 1.0).powi(2)).sum::<f64>() / CYCLE as f64;
            assert!((variance - 1.0).abs() < 0.05, "{variance}");
            // Kolmogorov and Smirnov against 1 − exp(−x): beyond 1.63/√n in one of a hundred draws.
            gaps.sort_by(f64::total_cmp);
            let distance = gaps.iter().enumerate().map(|(i, gap)| {
                let expected = 1.0 - (-gap).exp();
                let steps = [i as f64, i as f64 + 1.0].map(|i| (i / CYCLE as f64 - expected).abs());
                steps[0].max(steps[1])
            });
            let distance = distance.fold(0.0, f64::max);
            assert!(distance < 1.63 / (CYCLE as f64).sqrt(), "{distance}");
        }
    }

    #[test]
    fn neighbouring_exponential_gaps_have_nothing_to_do_with_each_other() {
        let arrivals = Arrivals::exponential(1e6, 7);
        let gap = |n| (arrivals.due(n + 1) - arrivals.due(n)) as f64 / 1e3 - 1.0;
        let products = (0..CYCLE as u64 - 1).map(|n| gap(n) * gap(n + 1)).sum::<f64>();
        assert!((products / CYCLE as f64).abs() < 0.02, "{products}");
    }

    #[test]
    fn the_same_seed_draws_the_same_arrivals_and_another_one_others() {
        let due = |seed| Arrivals::exponential(1000.0, seed).due(1000);
        assert_eq!(due(1), due(1));
        assert_ne!(due(1), due(2));
    }

    #[test]
    fn recorded_arrivals_keep_their_shape_at_another_rate_and_come_round() {
        let at: Arc<[u64]> = [0, 10, 500, 900].into();
        let as_recorded = Arrivals::recorded(Arc::clone(&at), 1000, None);
        assert_eq!([1, 3, 4, 6].map(|n| as_recorded.due(n)), [10, 900, 1000, 1500]);
        // Four in 1000 ns are 4 million a second: at 2 million all takes twice as long.
        let slower = Arrivals::recorded(at, 1000, Some(2e6));
        assert_eq!([1, 3, 4].map(|n| slower.due(n)), [20, 1800, 2000]);
        assert_eq!(slower.due_before(1801), 4);
    }
}
