//! Intervals of the percentiles of latencies.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use larder_report::LatencyIntervals;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::bootstrap::{LEAST, interval};

/// The 95 % percentile-bootstrap intervals of the percentiles of all rounds merged, in the unit of the histograms. The
/// same rounds and seed give the same intervals.
///
/// Rounds are resampled, not operations: the operations of a round share its circumstances, and resampling them would
/// make the intervals far too narrow. Each draw is merged and read as the figure is, so that the interval is the
/// figure's own. The median of the rounds' percentiles would be another figure. Where a few rounds have all the slow
/// operations, its interval does not even contain the merged p99.
///
/// `None` for fewer than [`LEAST`] rounds, for the reason that [`median_ci95`](super::median_ci95) gives, or where so
/// many rounds are empty that a draw can be empty.
pub fn percentiles_ci95(rounds: &[Histogram<u64>], seed: u64) -> Option<LatencyIntervals> {
    if rounds.len() < LEAST {
        return None;
    }
    let merged = Merged::new(rounds);
    let of = |q| {
        // The same draws for every percentile.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut times = vec![0; rounds.len()];
        interval(|| {
            times.fill(0);
            for _ in rounds {
                times[rng.random_range(0..rounds.len())] += 1;
            }
            merged.percentile(&times, q)
        })
    };
    Some(LatencyIntervals { p50: of(0.5)?, p90: of(0.9)?, p99: of(0.99)?, p999: of(0.999)? })
}

/// Histograms side by side, to be merged again and again, each any number of times. A merged histogram would have tens
/// of thousands of counters; these histograms use a few hundred.
struct Merged {
    /// Every value of any histogram, rising, with the number of values of each histogram that are at most this large.
    rows: Vec<(u64, Vec<u64>)>,
}

impl Merged {
    fn new(histograms: &[Histogram<u64>]) -> Self {
        let mut counts: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (n, histogram) in histograms.iter().enumerate() {
            for bin in histogram.iter_recorded() {
                let row = counts.entry(bin.value_iterated_to());
                row.or_insert_with(|| vec![0; histograms.len()])[n] = bin.count_at_value();
            }
        }
        let mut below = vec![0; histograms.len()];
        let rows = counts.into_iter().map(|(value, row)| {
            for (below, count) in below.iter_mut().zip(row) {
                *below += count;
            }
            (value, below.clone())
        });
        Self { rows: rows.collect() }
    }

    /// The percentile of the histograms, each taken `times` times, as a merged histogram has it; `None` for no values.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "as the histogram itself rounds"
    )]
    fn percentile(&self, times: &[u64], q: f64) -> Option<f64> {
        let taken = |row: &[u64]| row.iter().zip(times).map(|(count, times)| count * times).sum();
        let all: u64 = taken(&self.rows.last()?.1);
        let wanted = ((q * all as f64).ceil() as u64).max(1);
        let at = self.rows.partition_point(|(_, row)| taken(row) < wanted);
        self.rows.get(at).map(|(value, _)| *value as f64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn empty() -> Histogram<u64> {
        Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap()
    }

    fn histogram(latencies: &[u64]) -> Histogram<u64> {
        let mut histogram = empty();
        for ns in latencies {
            histogram.record(*ns).unwrap();
        }
        histogram
    }

    fn merged(rounds: &[Histogram<u64>]) -> Histogram<u64> {
        let mut merged = empty();
        for round in rounds {
            merged.add(round).unwrap();
        }
        merged
    }

    #[test]
    fn five_rounds_have_no_interval_and_six_have_one() {
        let rounds = vec![histogram(&[100, 200]); 6];
        assert_eq!(percentiles_ci95(&rounds[..5], 1), None);
        let found = percentiles_ci95(&rounds, 1).unwrap();
        assert_eq!((found.p50, found.p999), ([100.0; 2], [200.0; 2]));
    }

    #[test]
    fn empty_rounds_are_no_reason_for_a_figure() {
        assert_eq!(percentiles_ci95(&vec![histogram(&[]); 8], 1), None);
    }

    #[test]
    fn one_slow_round_of_eight_makes_the_tail_unsure_and_not_the_median() {
        let quick: Vec<u64> = (0..1000).map(|n| 100 + n % 10).collect();
        let slow: Vec<u64> =
            (0..1000).map(|n| if n < 900 { 100 + n % 10 } else { 90_000 }).collect();
        let mut rounds = vec![histogram(&quick); 7];
        rounds.push(histogram(&slow));
        let found = percentiles_ci95(&rounds, 1).unwrap();
        assert!(found.p50[0] >= 103.0 && found.p50[1] <= 106.0, "{found:?}");
        assert!(found.p99[0] < 110.0 && found.p99[1] > 80_000.0, "{found:?}");
        assert!(merged(&rounds).value_at_quantile(0.99) > 80_000);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn all_rounds_once_are_the_merged_histogram(
            rounds in prop::collection::vec(prop::collection::vec(1_u64..10_000_000, 0..50), 1..5),
            q in 0.001_f64..=1.0,
        ) {
            let rounds: Vec<_> = rounds.iter().map(|round| histogram(round)).collect();
            let whole = merged(&rounds);
            prop_assume!(!whole.is_empty());
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let expected = whole.value_at_quantile(q) as f64;
            let found = Merged::new(&rounds).percentile(&vec![1; rounds.len()], q);
            prop_assert_eq!(found, Some(expected));
        }

        #[test]
        fn a_figure_lies_within_its_interval(
            rounds in prop::collection::vec((prop::collection::vec(1_u64..3000, 1..60), 0_u32..12), 6..12),
            seed: u64,
        ) {
            // Rounds of different speed, some far slower.
            let rounds: Vec<_> = rounds
                .iter()
                .map(|(round, slower)| {
                    histogram(&round.iter().map(|ns| ns << slower).collect::<Vec<_>>())
                })
                .collect();
            let found = percentiles_ci95(&rounds, seed).unwrap();
            let whole = merged(&rounds);
            for (q, [low, high]) in
                [(0.5, found.p50), (0.9, found.p90), (0.99, found.p99), (0.999, found.p999)]
            {
                #[expect(clippy::cast_precision_loss, reason = "small")]
                let figure = whole.value_at_quantile(q) as f64;
                prop_assert!(low <= figure && figure <= high, "{figure} is not in {low}-{high}");
            }
        }
    }
}
