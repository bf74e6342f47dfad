//! A histogram of durations, which one session writes and any thread may read.

use std::time::Duration;

use larder_store::counters::Count;

/// Buckets of each power of two. So a duration is known to an eighth.
const PARTS: usize = 8;
/// The power of two of the shortest durations that are distinguished, in nanoseconds: 32 ns.
const LEAST: u32 = 5;
/// The power of two from which durations are not distinguished: 69 s.
const MOST: u32 = 36;
/// The number of buckets. The first has what is shorter, the last what is longer.
pub(super) const BUCKETS: usize = (MOST - LEAST) as usize * PARTS + 2;

/// Counts of one session.
#[derive(Debug)]
pub(super) struct Histogram {
    buckets: [Count; BUCKETS],
    nanos: Count,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: std::array::from_fn(|_| Count::default()), nanos: Count::default() }
    }
}

impl Histogram {
    /// Counts a duration. Only the session that owns the histogram may call this.
    #[inline]
    pub(super) fn add(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[bucket(nanos)].add_one();
        self.nanos.add(nanos);
    }

    /// Adds these counts to sums.
    pub(super) fn add_to(&self, sums: &mut Sums) {
        for (sum, count) in sums.buckets.iter_mut().zip(&self.buckets) {
            *sum += count.get();
        }
        sums.nanos = sums.nanos.saturating_add(self.nanos.get());
    }
}

/// The sums of several histograms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) buckets: Vec<u64>,
    pub(super) nanos: u64,
}

impl Default for Sums {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS], nanos: 0 }
    }
}

impl Sums {
    pub(super) fn total(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Durations that are surely not longer than this.
    pub(super) fn within(&self, time: Duration) -> u64 {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[..bucket(nanos)].iter().sum()
    }

    /// The duration that this share of all, from 0 to 1, does not exceed, to an eighth.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank among counts, for people"
    )]
    pub(super) fn quantile(&self, share: f64) -> Option<Duration> {
        let total = self.total();
        let rank = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        let place = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(Duration::from_nanos(end(place)))
    }
}

/// The bucket of a duration.
#[inline]
fn bucket(nanos: u64) -> usize {
    if nanos < 1 << LEAST {
        return 0;
    }
    let power = nanos.ilog2();
    if power >= MOST {
        return BUCKETS - 1;
    }
    // The highest bit and those of the part: `PARTS` and more.
    let part = (nanos >> (power - PARTS.ilog2())) & (PARTS as u64 - 1);
    (power - LEAST) as usize * PARTS + usize::try_from(part).unwrap_or_default() + 1
}

/// The shortest duration beyond a bucket; for the last, its own shortest.
fn end(place: usize) -> u64 {
    let (power, part) = (place.min(BUCKETS - 2) / PARTS, place.min(BUCKETS - 2) % PARTS);
    ((PARTS + part) as u64 * ((1 << LEAST) / PARTS as u64)) << power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_where_the_next_begins() {
        for place in 0..BUCKETS - 1 {
            let end = end(place);
            assert_eq!((bucket(end - 1), bucket(end)), (place, place + 1), "{end} ns");
        }
        assert_eq!((bucket(0), bucket(u64::MAX)), (0, BUCKETS - 1));
    }

    #[test]
    fn quantiles_are_right_to_an_eighth() {
        let histogram = Histogram::default();
        for micros in 1..=1000 {
            histogram.add(Duration::from_micros(micros));
        }
        let mut sums = Sums::default();
        histogram.add_to(&mut sums);
        assert_eq!((sums.total(), sums.nanos), (1000, 500_500_000));
        for (share, micros) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0), (0.001, 1.0)] {
            let quantile = sums.quantile(share).unwrap().as_secs_f64() * 1e6;
            assert!(
                (micros..=micros * 1.13).contains(&quantile),
                "{share}: {quantile} of {micros}"
            );
        }
        let within = sums.within(Duration::from_micros(500));
        assert!((437..=500).contains(&within), "{within}");
        assert_eq!(Sums::default().quantile(0.5), None);
    }
}
