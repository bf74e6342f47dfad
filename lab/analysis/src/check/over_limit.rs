//! OVER-LIMIT: more hits than any cache can have on the requests of a trace.

use larder_report::figures::{at_most, count};
use larder_report::{Cell, LIKE_HITS, PointValue, Run, Severity};

use super::{About, Check, Needs, Report, at_point_of, measured};

pub(super) struct OverLimit;

/// Whether one request after the other was sent, so that the order of the trace was kept.
fn is_in_order(cell: &Cell) -> bool {
    let is_one = |name| cell.point.get(name).is_none_or(|value| *value == PointValue::Number(1));
    cell.workers == 1 && is_one("connections") && is_one("pipeline")
}

impl Check for OverLimit {
    fn about(&self) -> &'static About {
        &About {
            id: "OVER-LIMIT",
            severities: &[Severity::Error],
            sees: "a larger share of hits on a trace than any cache can have, because nobody stored the other keys before, \
                   or their TTL was over",
            seen_in: "none of the articles, which replay no trace; common in replays that fill each miss, also that of a key \
                      which the recorded application never found",
            advice: "look for values that a target had before the run, and for deletes and TTLs that it does not keep; \
                     `larder trace info` tells the limit of a trace",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            let Some(limit) = cell.hit_limit else { continue };
            let reads = Reads::at_point_of(run, cell);
            // Several requests at once may change places.
            let slack = if is_in_order(cell) { f64::EPSILON } else { LIKE_HITS };
            if reads.ratio().is_some_and(|ratio| ratio > limit + slack) {
                report.cell(Severity::Error, cell, reads.text(limit));
            }
        }
    }
}

/// All reads of a trace, which may be of one key and of several. Their limit is one.
struct Reads {
    found: u64,
    answered: u64,
}

impl Reads {
    fn at_point_of(run: &Run, cell: &Cell) -> Self {
        let mut reads = Self { found: 0, answered: 0 };
        for other in at_point_of(run, cell).filter(|other| other.hit_limit.is_some()) {
            let found = other.counts.hits + other.counts.wrong;
            reads.found += found;
            reads.answered += found + other.counts.misses;
        }
        reads
    }

    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    fn ratio(&self) -> Option<f64> {
        (self.answered > 0).then(|| self.found as f64 / self.answered as f64)
    }

    /// The reads that found a value and those that can. Percents of both may look alike.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count"
    )]
    fn text(&self, limit: f64) -> String {
        // A product may be off by the error of its arithmetic.
        let allowed = (self.answered as f64 * limit + 1e-6) as u64;
        format!(
            "{} of {} found a value, and in no cache more than {allowed} can: the trace allows {}",
            self.found,
            count(self.answered, "read"),
            at_most(limit)
        )
    }
}

#[cfg(test)]
mod tests {
    use larder_report::{Operation, Point};

    use super::*;

    fn found_with(
        hits: u64,
        limit: Option<f64>,
        workers: u32,
        pipeline: Option<u64>,
    ) -> Option<String> {
        let mut cell = Cell { operation: Operation::GetOrSet, ..Cell::default() };
        (cell.counts.ops, cell.counts.hits, cell.counts.misses) = (1000, hits, 1000 - hits);
        (cell.hit_limit, cell.workers) = (limit, workers);
        cell.point = Point::from_iter(
            pipeline.map(|number| ("pipeline".to_owned(), PointValue::Number(number))),
        );
        let found = super::super::run_all(&Run { cells: vec![cell], ..Run::default() });
        let is_it = |check: &larder_report::Finding| {
            check.id == "OVER-LIMIT" && check.severity == Severity::Error
        };
        found.into_iter().find(is_it).map(|check| check.text)
    }

    fn fires(hits: u64, limit: Option<f64>, workers: u32, pipeline: Option<u64>) -> bool {
        found_with(hits, limit, workers, pipeline).is_some()
    }

    #[test]
    fn no_replay_in_order_hits_more_than_its_trace_allows() {
        assert!(!fires(490, Some(0.49), 1, None));
        assert!(fires(491, Some(0.49), 1, None));
        assert!(fires(491, Some(0.49), 1, Some(1)));
        assert!(fires(1, Some(0.0), 1, None));
        assert!(!fires(1000, None, 1, None), "a drawn workload has no limit");
    }

    #[test]
    fn what_was_found_is_more_than_the_limit_that_is_told() {
        assert_eq!(
            found_with(334, Some(1.0 / 3.0), 1, None).unwrap(),
            "334 of 1000 reads found a value, and in no cache more than 333 can: the trace allows 33.34 %"
        );
    }

    #[test]
    fn reads_of_one_key_and_of_several_have_one_limit() {
        let n_found = |alone: u64, together: u64| {
            let cell = |operation, hits| {
                let mut cell = Cell { operation, workers: 1, ..Cell::default() };
                (cell.counts.ops, cell.counts.hits, cell.counts.misses) = (100, hits, 100 - hits);
                cell.hit_limit = Some(0.5);
                cell
            };
            let cells = vec![cell(Operation::Get, alone), cell(Operation::GetMany, together)];
            let found = super::super::run_all(&Run { cells, ..Run::default() });
            found.iter().filter(|check| check.id == "OVER-LIMIT").count()
        };
        assert_eq!(n_found(90, 10), 0);
        assert!(n_found(90, 11) > 0);
    }

    #[test]
    fn requests_that_change_places_may_hit_a_little_more() {
        for (workers, pipeline) in [(2, None), (1, Some(16))] {
            assert!(!fires(495, Some(0.49), workers, pipeline));
            assert!(fires(520, Some(0.49), workers, pipeline));
        }
    }
}
