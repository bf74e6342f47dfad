//! The data behind the figures of a cell: curve and intervals of its latencies, and the course of each round.

mod support;

use larder_engines::ENGINES;
use larder_report::{Cell, CurvePoint, Operation, Run};
use larder_testkit::stores;
use support::{cell, findings, run};

/// Every operation is in the timeline of its round, which is as long as the round.
fn assert_timelines(run: &Run, operations: &[Operation]) {
    let cells: Vec<&Cell> =
        run.cells.iter().filter(|cell| operations.contains(&cell.operation)).collect();
    assert_eq!(cells.len(), operations.len());
    for round in 0..cells[0].samples.len() {
        let samples: Vec<_> = cells.iter().map(|cell| &cell.samples[round]).collect();
        // The operations of a mix share the time of its phase.
        let wall_s: f64 = samples.iter().map(|sample| sample.wall_s).sum();
        for sample in samples {
            let timeline = sample.timeline.as_ref().expect("every round has one");
            assert_eq!(timeline.ops.iter().sum::<u64>(), sample.counts.ops, "{timeline:?}");
            assert_eq!(timeline.ops.len(), timeline.max_ns.len());
            assert!(timeline.bin_ns.is_power_of_two() && timeline.ops.len() <= 32);
            for (ops, max_ns) in timeline.ops.iter().zip(&timeline.max_ns) {
                assert!(*ops > 0 || *max_ns == 0, "{timeline:?}");
            }
            #[expect(clippy::cast_precision_loss, reason = "a second at most")]
            let bins = wall_s * 1e9 / timeline.bin_ns as f64;
            let lasted = timeline.ops.len() - 1..=timeline.ops.len();
            #[expect(clippy::cast_precision_loss, reason = "32 at most")]
            let [least, most] = [*lasted.start() as f64, *lasted.end() as f64];
            assert!(least - 1e-3 <= bins && bins <= most + 1e-3, "{bins} in {timeline:?}");
            // No successful operation was slower than the slowest operation.
            let slowest = timeline.max_ns.iter().max().copied().unwrap_or(0);
            let max = sample.latency_ns.map_or(0, |latency| latency.max);
            assert!(max <= slowest + slowest / 500 + 1, "{max} > {slowest}");
        }
    }
}

#[test]
fn a_timeline_has_every_operation_and_covers_the_measured_time() {
    let run = run(&ENGINES, &["moka:"], "keys = 3000\nrounds = 3");
    assert_timelines(&run, &[Operation::Set]);
    assert_timelines(&run, &[Operation::Get]);
    let bins = &cell(&run, "moka:", Operation::Set).samples[0].timeline;
    assert!(bins.as_ref().unwrap().ops.len() > 16, "{bins:?}");
}

#[test]
fn a_timeline_is_complete_with_threads_in_a_mix_and_with_many_keys_a_request() {
    let mix = "keys = 500\nrounds = 2\nratio = '1:3:1'\nrequests = 20000\nthreads = 4";
    let mix = run(&stores::ENGINES, &["map:"], mix);
    assert_timelines(&mix, &[Operation::Set, Operation::Get, Operation::Delete]);
    let many = run(&ENGINES, &["moka:"], "keys = 2000\nrounds = 2\nmultiget = 16\nthreads = 3");
    assert_timelines(&many, &[Operation::GetMany]);
    assert_timelines(&many, &[Operation::Set]);
}

#[test]
fn failed_operations_are_in_the_timeline_and_in_no_latency() {
    let run = run(&stores::ENGINES, &["faulty:?fault=fail&every=50"], "keys = 1000\nrounds = 1");
    assert_timelines(&run, &[Operation::Set]);
    let counts = cell(&run, "faulty:?fault=fail&every=50", Operation::Set).counts;
    assert_eq!((counts.ops, counts.errors), (1000, 20));
    assert_eq!(findings(&run, "ERR-AS-OP").len(), 2, "{:#?}", run.checks);
}

#[test]
fn the_curve_has_the_figures_in_it_and_they_lie_within_their_intervals() {
    let run = run(&ENGINES, &["moka:", "null:"], "keys = 2000\nrounds = 6");
    for cell in &run.cells {
        let (latency, intervals) = (cell.latency_ns.unwrap(), cell.latency_ns_ci95.unwrap());
        for (q, figure, [low, high]) in [
            (0.5, latency.p50, intervals.p50),
            (0.9, latency.p90, intervals.p90),
            (0.99, latency.p99, intervals.p99),
            (0.999, latency.p999, intervals.p999),
        ] {
            assert!(cell.latency_curve.contains(&CurvePoint(q, figure)), "{cell:?}");
            #[expect(clippy::cast_precision_loss, reason = "nanoseconds of hours fit a double")]
            let figure = figure as f64;
            assert!(low <= figure && figure <= high, "{figure} is not in {low}-{high}");
        }
        assert_eq!(cell.latency_curve.first(), Some(&CurvePoint(0.0, latency.min)));
        assert_eq!(cell.latency_curve.last(), Some(&CurvePoint(1.0, latency.max)));
    }
}

#[test]
fn without_figures_there_is_no_curve_and_with_few_rounds_no_interval() {
    let run = run(&stores::ENGINES, &["map:", "faulty:?fault=miss"], "keys = 100\nrounds = 5");
    let found = cell(&run, "map:", Operation::Get);
    assert!(found.latency_ns_ci95.is_none() && !found.latency_curve.is_empty(), "{found:?}");
    let missed = cell(&run, "faulty:?fault=miss", Operation::Get);
    assert!(missed.latency_ns.is_none() && missed.latency_curve.is_empty(), "{missed:?}");
}
