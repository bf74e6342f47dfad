//! Sizes, TTLs and latencies by rank, of all rows.

use hdrhistogram::Histogram;
use larder_report::{Distribution, DistributionOf};
use larder_workload::trace::{Outcome, Row};

use crate::sample::Kind;

/// The quantiles that are told.
const QUANTILES: [f64; 13] =
    [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0];

/// Figures are told to this many digits.
const DIGITS: u8 = 3;

/// Counts by figure.
#[derive(Debug)]
pub(crate) struct Distributions {
    key_sizes: Histogram<u64>,
    value_sizes: Histogram<u64>,
    ttls: Histogram<u64>,
    latencies: Histogram<u64>,
    stored: u64,
    /// Whether any TTL was told, none among them.
    tells_ttls: bool,
}

impl Distributions {
    pub(crate) fn new() -> Self {
        let empty = || Histogram::new(DIGITS).expect("so many digits are possible");
        Self {
            key_sizes: empty(),
            value_sizes: empty(),
            ttls: empty(),
            latencies: empty(),
            stored: 0,
            tells_ttls: false,
        }
    }

    /// Counts a row of this kind, which has a value of this size.
    #[inline]
    pub(crate) fn count(&mut self, row: &Row<'_>, kind: Kind, value_size: Option<u32>) {
        if let Some(size) = row.key_size {
            record(&mut self.key_sizes, size.into());
        }
        if let Some(size) = value_size {
            record(&mut self.value_sizes, size.into());
        }
        let may_store = row.result != Some(Outcome::NotStored);
        if kind == Kind::Write || kind == Kind::Add && may_store {
            self.stored += 1;
            self.tells_ttls |= row.ttl_s.is_some();
            if let Some(ttl) = row.ttl_s.filter(|ttl| *ttl > 0) {
                record(&mut self.ttls, ttl.into());
            }
        }
        if let Some(latency) = row.latency_ns {
            record(&mut self.latencies, latency);
        }
    }

    /// The share of the stored entries that have a TTL.
    pub(crate) fn with_ttl(&self) -> Option<f64> {
        let share = crate::curve::float(self.ttls.len()) / crate::curve::float(self.stored);
        (self.tells_ttls && self.stored > 0).then_some(share)
    }

    /// Those that have figures.
    pub(crate) fn finish(&self) -> Vec<Distribution> {
        let all = [
            (DistributionOf::KeySizes, &self.key_sizes),
            (DistributionOf::ValueSizes, &self.value_sizes),
            (DistributionOf::Ttls, &self.ttls),
            (DistributionOf::Latencies, &self.latencies),
        ];
        let known = all.into_iter().filter(|(_, histogram)| !histogram.is_empty());
        known.map(|(of, histogram)| distribution(of, histogram)).collect()
    }
}

/// Counts a figure. The histogram grows to any figure.
fn record(histogram: &mut Histogram<u64>, figure: u64) {
    histogram.record(figure).expect("a histogram that grows takes every figure");
}

fn distribution(of: DistributionOf, histogram: &Histogram<u64>) -> Distribution {
    let at = |quantile: &f64| match *quantile {
        quantile if quantile <= 0.0 => (quantile, histogram.min()),
        quantile if quantile >= 1.0 => (quantile, histogram.max()),
        quantile => (quantile, histogram.value_at_quantile(quantile).min(histogram.max())),
    };
    Distribution {
        of,
        count: histogram.len(),
        mean: histogram.mean(),
        quantiles: QUANTILES.iter().map(at).collect(),
    }
}

#[cfg(test)]
mod tests {
    use larder_workload::trace::{Key, Verb};

    use super::*;

    #[test]
    fn figures_of_any_size_are_told_to_three_digits() {
        let mut all = Distributions::new();
        for number in 1..=1000_u32 {
            let row = Row {
                operation: Verb::Set,
                key_size: Some(20),
                ttl_s: Some(if number % 2 == 0 { 86_400 } else { 0 }),
                latency_ns: Some(u64::from(number) * 1_000_000_000),
                ..Row::get(Key::Hash(1))
            };
            all.count(&row, Kind::Write, Some(number * 1000));
        }
        assert_eq!(all.with_ttl(), Some(0.5));
        let told = all.finish();
        let of = |of| told.iter().find(|it| it.of == of).unwrap();
        let is_near =
            |figure: Option<u64>, wanted: u64| figure.unwrap().abs_diff(wanted) <= wanted / 1000;
        assert!(is_near(of(DistributionOf::ValueSizes).at(0.5), 500_000));
        assert!(is_near(of(DistributionOf::Latencies).at(1.0), 1_000_000_000_000));
        assert_eq!(of(DistributionOf::KeySizes).at(0.99), Some(20));
        assert_eq!(of(DistributionOf::Ttls).count, 500);
    }
}
