//! The whole distribution of a cell's latencies, as points that a chart with the axis log10(1 / (1 − q)) needs.

use hdrhistogram::Histogram;
use larder_report::{CurvePoint, LatencyTo};

/// The shares that lie beyond the points of each decade, in tenths of it. The points are 30 %, 50 %, 70 %, 80 %, 90 %,
/// then 93 %, 95 % and so on. They divide a decade of the axis about evenly, and include every quantile that a table
/// shows.
const BEYOND: [u64; 5] = [7, 5, 3, 2, 1];
/// Fewer operations beyond a quantile say more about themselves than about the quantile.
const LEAST_BEYOND: u64 = 10;
/// The percentiles up to which operations are summarised.
const PERCENTS: [u64; 4] = [90, 95, 99, 100];

/// The points of a histogram, by rising quantile, from the fastest (0) to the slowest (1); empty without latencies.
pub(crate) fn curve(latencies: &Histogram<u64>) -> Vec<CurvePoint> {
    if latencies.is_empty() {
        return Vec::new();
    }
    let inner = quantiles(latencies.len()).map(|q| CurvePoint(q, latencies.value_at_quantile(q)));
    let (fastest, slowest) = (latencies.min(), latencies.max());
    std::iter::once(CurvePoint(0.0, fastest))
        .chain(inner)
        .chain([CurvePoint(1.0, slowest)])
        .collect()
}

/// The mean and the slowest of the fastest operations, up to each of [`PERCENTS`] that this many operations can show.
#[expect(clippy::cast_precision_loss, reason = "a percentage")]
pub(crate) fn up_to(latencies: &Histogram<u64>) -> Vec<LatencyTo> {
    let ops = latencies.len();
    let told = |percent: &u64| *percent == 100 || ops * (100 - percent) >= LEAST_BEYOND * 100;
    let to = |percent: u64| {
        let quantile = percent as f64 / 100.0;
        let mean = mean_of_fastest(latencies, (ops * percent).div_ceil(100));
        LatencyTo { quantile, mean, max: latencies.value_at_quantile(quantile) }
    };
    if ops == 0 { Vec::new() } else { PERCENTS.into_iter().filter(told).map(to).collect() }
}

/// The mean of the `wanted` fastest operations, 1 or more.
#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn mean_of_fastest(latencies: &Histogram<u64>, wanted: u64) -> f64 {
    let mut left = wanted;
    let mut sum = 0.0;
    for bin in latencies.iter_recorded() {
        let taken = bin.count_at_value().min(left);
        sum += latencies.median_equivalent(bin.value_iterated_to()) as f64 * taken as f64;
        left -= taken;
    }
    sum / wanted as f64
}

/// The quantiles between fastest and slowest that this many operations can show.
fn quantiles(ops: u64) -> impl Iterator<Item = f64> {
    let decades = (1..).map_while(|power| 10_u64.checked_pow(power));
    decades
        .flat_map(|whole| BEYOND.map(|beyond| (whole, beyond)))
        .take_while(move |(whole, beyond)| {
            u128::from(ops) * u128::from(*beyond) >= u128::from(LEAST_BEYOND) * u128::from(*whole)
        })
        .map(|(whole, beyond)| {
            #[expect(clippy::cast_precision_loss, reason = "powers of ten of counts fit a double")]
            let q = (whole - beyond) as f64 / whole as f64;
            q
        })
}

#[cfg(test)]
mod tests {
    use super::super::{Tally, figures};
    use super::*;

    fn of(latencies: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Tally::new().latency;
        for ns in latencies {
            histogram.record(ns).unwrap();
        }
        histogram
    }

    #[test]
    fn a_curve_rises_from_the_fastest_to_the_slowest_and_has_the_figures_in_it() {
        let histogram = of((1..=30_000).map(|n| 100 + n * n / 1000));
        let (curve, figures) = (curve(&histogram), figures(&histogram).unwrap());
        assert!(curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{curve:?}");
        for (q, ns) in [
            (0.0, figures.min),
            (0.5, figures.p50),
            (0.9, figures.p90),
            (0.99, figures.p99),
            (0.999, figures.p999),
            (1.0, figures.max),
        ] {
            assert!(curve.contains(&CurvePoint(q, ns)), "{q}: {ns} is not in {curve:?}");
        }
    }

    #[test]
    fn every_point_between_has_ten_operations_beyond_it() {
        for (ops, points, last) in
            [(0, 0, None), (1, 2, None), (14, 2, None), (15, 3, Some(0.3)), (99, 6, Some(0.8))]
                .into_iter()
                .chain([(100, 7, Some(0.9)), (10_000, 17, Some(0.999))])
        {
            let curve = curve(&of(std::iter::repeat_n(50, ops)));
            assert_eq!(curve.len(), points, "{ops}");
            let inner = curve.iter().rev().nth(1).map(|point| point.0).filter(|q| *q > 0.0);
            assert_eq!(inner, last, "{ops}");
        }
    }

    #[test]
    fn a_thousand_million_operations_are_about_forty_points() {
        assert_eq!(quantiles(100_000_000).count(), 35);
        assert_eq!(quantiles(1_000_000_000).last(), Some(0.999_999_99));
        assert!(quantiles(u64::MAX).count() < 100);
    }

    #[test]
    fn the_fastest_up_to_a_percentile_have_their_own_mean_and_the_last_of_them_is_the_slowest() {
        // 97 of 100 take 1 µs, and the others 100 µs.
        let histogram = of((0..1000).map(|n| if n < 970 { 1000 } else { 100_000 }));
        let up_to = up_to(&histogram);
        let found: Vec<_> = up_to.iter().map(|to| (to.quantile, to.max / 1000)).collect();
        assert_eq!(found, [(0.9, 1), (0.95, 1), (0.99, 100), (1.0, 100)]);
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 0.002;
        assert!(close(up_to[1].mean, 1000.0), "{up_to:?}");
        assert!(close(up_to[2].mean, (970.0 * 1.0 + 20.0 * 100.0) / 990.0 * 1000.0), "{up_to:?}");
        assert!(close(up_to[3].mean, histogram.mean()), "{up_to:?}");
        // Nine operations beyond are too few.
        let few = super::up_to(&of(1..=90));
        assert_eq!(few.iter().map(|to| to.quantile).collect::<Vec<_>>(), [1.0]);
        assert!(super::up_to(&of([])).is_empty());
    }
}
