//! Decides which percentiles of a cell's latencies are shown.
//!
//! At least ten operations must lie beyond a percentile: with fewer, the percentile is the chance result of a single
//! operation. `run.json` has every percentile, and every report shows only those that this file allows.

use crate::model::{Cell, Latency};

/// The fewest operations beyond a percentile that is shown.
pub const LEAST_BEYOND: f64 = 10.0;

/// Marks a percentile with too few operations beyond it.
pub(crate) const WITHHELD: &str = "–";

/// The legend of [`WITHHELD`].
pub(crate) const WITHHELD_MEANS: &str = "fewer than ten operations lie beyond this percentile";

/// The number of operations that the percentile of this quantile needs: 1000 for the p99.
pub fn operations_for(quantile: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of operations"
    )]
    // Rounded, because 1 − 0.99 is no exact hundredth.
    let operations = (LEAST_BEYOND / (1.0 - quantile)).round() as u64;
    operations
}

/// Whether enough operations of a cell lie beyond a quantile. Fastest and slowest, 0 and 1, are no percentiles: each is
/// one operation.
pub fn is_shown(cell: &Cell, quantile: f64) -> bool {
    if !(quantile > 0.0 && quantile < 1.0) {
        return true;
    }
    // The curve has only points with ten operations beyond them. For requests of many keys it counts requests.
    let inner = cell.latency_curve.iter().rev().find(|point| point.0 < 1.0);
    match inner {
        Some(last) => last.0 >= quantile - 1e-9,
        None => cell.latency_count.unwrap_or(cell.counts.ops) >= operations_for(quantile),
    }
}

/// The figure of the latencies for this quantile; `None` without latencies, or with too few.
pub(crate) fn shown_percentile(cell: &Cell, quantile: f64, of: LatencyFigure) -> Option<u64> {
    cell.latency_ns.as_ref().filter(|_| is_shown(cell, quantile)).map(of)
}

/// A function that reads a figure from latencies.
pub type LatencyFigure = fn(&Latency) -> u64;

/// The highest shown percentile that the operations of a cell support: its name, its quantile, and its function.
/// Sentences use it, so that they name no percentile that the tables withhold. `None` without latencies, or with too
/// few.
pub fn highest_shown(cell: &Cell) -> Option<(&'static str, f64, LatencyFigure)> {
    const SHOWN: [(f64, &str, LatencyFigure); 3] = [
        (0.999, "p99.9", |latency| latency.p999),
        (0.99, "p99", |latency| latency.p99),
        (0.5, "p50", |latency| latency.p50),
    ];
    cell.latency_ns?;
    let (quantile, name, of) =
        SHOWN.into_iter().find(|(quantile, ..)| is_shown(cell, *quantile))?;
    Some((name, quantile, of))
}

/// Whether a cell has latencies, but too few for a percentile that reports show.
pub(crate) fn withholds(cell: &Cell) -> bool {
    cell.latency_ns.is_some() && !is_shown(cell, 0.999)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Counts, CurvePoint};

    #[test]
    fn ten_operations_must_lie_beyond() {
        let needed = [(0.5, 20), (0.9, 100), (0.99, 1000), (0.999, 10_000)];
        for (quantile, operations) in needed {
            assert_eq!(operations_for(quantile), operations);
            for (ops, told) in [(operations, true), (operations - 1, false)] {
                let counts = Counts { ops, ..Counts::default() };
                let cell = Cell { counts, ..Cell::default() };
                assert_eq!(is_shown(&cell, quantile), told, "{ops} operations, {quantile}");
                assert!(is_shown(&cell, 1.0) && is_shown(&cell, 0.0));
            }
        }
    }

    #[test]
    fn a_sentence_falls_back_to_a_percentile_that_is_told() {
        for (ops, name) in
            [(10_000, Some("p99.9")), (9999, Some("p99")), (999, Some("p50")), (19, None)]
        {
            let counts = Counts { ops, ..Counts::default() };
            let cell = Cell { counts, latency_ns: Some(Latency::default()), ..Cell::default() };
            assert_eq!(highest_shown(&cell).map(|(name, ..)| name), name, "{ops} operations");
        }
    }

    #[test]
    fn the_recorded_curve_knows_how_many_times_there_were() {
        // A million keys in requests of a thousand.
        let counts = Counts { ops: 1_000_000, ..Counts::default() };
        let curve = [0.0, 0.5, 0.9, 0.99, 1.0].map(|quantile| CurvePoint(quantile, 1)).to_vec();
        let cell = Cell { counts, latency_curve: curve, ..Cell::default() };
        assert!(is_shown(&cell, 0.99) && !is_shown(&cell, 0.999));
    }
}
