//! NEVER-HITS: operations that miss existing keys measure the path of a miss.

use larder_report::figures::count;
use larder_report::{CAPACITY, Cell, HitCurve, PointValue, Run, Severity};

use super::{
    About, Check, Needs, Report, at_point_of, found, is_bounded, keeps_all, lacks_room, measured,
};

/// A ratio that differs from the predicted ratio by more than this is worth a finding.
const TOLERANCE: f64 = 0.02;

pub(super) struct NeverHits;

/// Misses of keys that were stored and that nothing has ended: the store tells that it evicted nothing. Where each read is
/// predicted to hit, every TTL outlives the phase; and then each that misses is one, if no set was refused.
fn lost(run: &Run, cell: &Cell) -> u64 {
    let refuses = |other: &Cell| !other.operation.reads() && other.counts.errors > 0;
    let must_all_hit = cell.predicted_hit_ratio.is_some_and(|ratio| ratio >= 1.0)
        && !at_point_of(run, cell).any(refuses);
    match (keeps_all(run, cell), must_all_hit) {
        (false, _) => 0,
        (true, true) => cell.counts.unplanned_misses(),
        (true, false) => cell.counts.stored_misses,
    }
}

/// Whether an exact LRU of a cell's capacity is known to hit next to never, as in a scan of more keys than fit.
fn hits_rarely(run: &Run, cell: &Cell) -> bool {
    let Some(PointValue::Number(capacity)) = cell.point.get(CAPACITY) else { return false };
    let mut point = cell.point.clone();
    point.remove(CAPACITY);
    let mine = |curve: &&HitCurve| curve.point == point && curve.operation == cell.operation;
    let curves = run.hit_curves.iter().filter(mine);
    curves
        .flat_map(|curve| &curve.capacities)
        .any(|ratios| ratios.capacity_bytes == *capacity && ratios.lru <= TOLERANCE)
}

impl Check for NeverHits {
    fn about(&self) -> &'static About {
        &About {
            id: "NEVER-HITS",
            severities: &[Severity::Error, Severity::Warn],
            sees: "reads with no hit, or with fewer hits than the workload predicts, and touches and deletes that \
                   miss stored keys; misses of keys that the run deleted are right",
            seen_in: "A002: get key0, set key1, for ever: 0 hits of 10,000 on both sides; A000: probably \
                      reads of files that a full tmpfs left empty",
            advice: "read the keys that were stored, give the store room for them, or find out where it lost them",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run).filter(|cell| cell.operation.can_miss()) {
            let (counts, reads, lost) = (&cell.counts, cell.operation.reads(), lost(run, cell));
            // The hits of an LRU are computed at the end of the run.
            if is_bounded(cell) && (report.is_early || hits_rarely(run, cell)) {
                continue;
            }
            let missed = counts.unplanned_misses();
            if reads && counts.hits == 0 && counts.wrong == 0 && missed > 0 {
                let text = format!("0 hits of {}: only misses timed", count(counts.misses, "read"));
                report.cell(Severity::Error, cell, text);
            } else if lost > 0 {
                let (asked, what) = if reads {
                    (counts.hits + counts.wrong + missed, "reads")
                } else {
                    (counts.ops - counts.errors, "operations")
                };
                let text = format!(
                    "{lost} of {asked} {what} missed keys whose set had been acknowledged, and nothing was evicted"
                );
                report.cell(Severity::Warn, cell, text);
            } else if let Some((ratio, predicted)) = found(cell).zip(cell.predicted_hit_ratio)
                && predicted - ratio > TOLERANCE
                && !lacks_room(run, cell)
            {
                let (ratio, predicted) = (ratio * 100.0, predicted * 100.0);
                let text =
                    format!("{ratio:.1} % of reads hit; the workload predicts {predicted:.1} %");
                report.cell(Severity::Warn, cell, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use larder_report::{HitRatios, Operation, Point};

    use super::*;

    /// A run with one cell of a given capacity without hits, and the hit ratio of an LRU of this capacity.
    fn run(lru: Option<f64>) -> Run {
        let point = Point::from([(CAPACITY.to_owned(), PointValue::Number(1000))]);
        let mut cell = Cell { operation: Operation::Get, point, ..Cell::default() };
        (cell.counts.ops, cell.counts.misses) = (10, 10);
        let curve = |lru| HitCurve {
            point: Point::new(),
            operation: Operation::Get,
            working_set_bytes: 10_000,
            rounds: 1,
            capacities: vec![HitRatios { capacity_bytes: 1000, lru, optimal: 0.5 }],
        };
        Run {
            cells: vec![cell],
            hit_curves: lru.map(curve).into_iter().collect(),
            ..Run::default()
        }
    }

    fn fires(found: &[larder_report::Finding]) -> bool {
        found.iter().any(|check| check.id == "NEVER-HITS")
    }

    #[test]
    fn a_read_of_what_was_refused_is_no_loss() {
        let found = |refused: u64| {
            let mut set = Cell { operation: Operation::Set, ..Cell::default() };
            (set.counts.ops, set.counts.errors, set.counts.evictions) = (100, refused, Some(0));
            let mut get = Cell { operation: Operation::Get, ..Cell::default() };
            (get.counts.ops, get.counts.hits, get.counts.misses) = (100, 99, 1);
            (get.counts.evictions, get.predicted_hit_ratio) = (Some(0), Some(1.0));
            super::super::run_all(&Run { cells: vec![set, get], ..Run::default() })
        };
        assert!(fires(&found(0)), "it was acknowledged");
        assert!(!fires(&found(1)), "it was not");
    }

    #[test]
    fn with_a_capacity_only_an_lru_that_hits_nothing_either_excuses_it() {
        assert!(fires(&super::super::run_all(&run(Some(0.3)))));
        assert!(fires(&super::super::run_all(&run(None))), "no curve was worked out");
        assert!(!fires(&super::super::run_all(&run(Some(0.01)))));
        assert!(!fires(&super::super::run_early(&run(None))), "the curve is still to come");
    }
}
