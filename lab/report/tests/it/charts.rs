//! Charts: their data, which agrees with the cells, and their look.

use std::collections::BTreeSet;

use larder_report::{
    Cell, Chart, CurvePoint, Family, Latency, LatencyTo, Operation, PointValue, Run, Sample, Scale,
    Severity, Shape, Timeline, charts, is_shown,
};

use super::small::{at, cell, check, gets, size, target};
use super::snapshots::fixture;

/// The chart with this id.
fn chart(run: &Run, id: &str) -> Chart {
    let charts = charts(run);
    let ids: Vec<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
    charts.iter().find(|chart| chart.id == id).unwrap_or_else(|| panic!("{id}: {ids:?}")).clone()
}

#[test]
fn ids_are_unique_and_fit_for_files() {
    let mut run = fixture();
    // Two points whose texts differ only in characters that no id has.
    for (number, text) in [(4096, "zipf:0.9/a"), (65536, "zipf:0.9:A")] {
        for cell in &mut run.cells {
            if cell.point["data_size"] == PointValue::Number(number) {
                cell.point.insert("data_size".into(), PointValue::Text(text.into()));
            }
        }
    }
    let charts = charts(&run);
    let ids: BTreeSet<String> = charts.iter().map(|chart| chart.id.to_lowercase()).collect();
    assert_eq!(ids.len(), charts.len());
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    assert!(ids.iter().all(|id| id.chars().all(plain) && id.len() < 200), "{ids:?}");
}

#[test]
fn an_id_is_known_as_one_and_other_names_are_not() {
    let all = [charts(&fixture()), charts(&sweep())].concat();
    let families: BTreeSet<Family> = all.iter().map(|chart| chart.family).collect();
    assert_eq!(families.len(), 6);
    for chart in &all {
        assert!(larder_report::is_chart_id(&chart.id), "{}", chart.id);
    }
    for other in ["", "rate", "rate-", "rate-limits", "rate-getaway", "my-rate-get", "rate-get x"] {
        assert!(!larder_report::is_chart_id(other), "{other}");
    }
}

#[test]
fn the_vectors_of_a_series_have_one_length_and_its_places_rise() {
    for chart in charts(&fixture()) {
        assert!(!chart.series.is_empty(), "{}", chart.id);
        for series in &chart.series {
            let bounds = [&series.low, &series.high];
            assert_eq!(series.x.len(), series.y.len(), "{}", chart.id);
            assert!(
                bounds.iter().all(|v| v.is_empty() || v.len() == series.x.len()),
                "{}",
                chart.id
            );
            assert!(series.x.is_sorted(), "{}: {:?}", chart.id, series.x);
        }
    }
}

#[test]
fn each_rate_is_that_of_its_cell() {
    let run = fixture();
    let mut found = 0;
    for chart in charts(&run).iter().filter(|chart| chart.family == Family::Rate) {
        assert_eq!((chart.shape, chart.x.label.as_str()), (Shape::Lines, "data_size"));
        for series in &chart.series {
            let url = &run.targets[series.target.expect("a line is of a target")].url;
            for (at, x) in series.x.iter().enumerate() {
                let Some(rate) = series.y[at] else { continue };
                let at_place = |value: &PointValue| value.to_string() == x.to_string();
                let cell = run.cells.iter().find(|cell| {
                    cell.target == *url
                        && cell.operation.as_str() == chart.facets[0].value
                        && at_place(&cell.point["data_size"])
                });
                let cell = cell.expect("a mark stands for a cell");
                assert_eq!(Some(rate), cell.ops_per_s);
                let ci95 = cell.ops_per_s_ci95.map(|[low, high]| (Some(low), Some(high)));
                assert_eq!(ci95, Some((series.low[at], series.high[at])));
                found += 1;
            }
        }
    }
    assert_eq!(found, run.cells.iter().filter(|cell| cell.ops_per_s.is_some()).count());
}

#[test]
fn a_missing_figure_says_why() {
    let rate = chart(&fixture(), "rate-get");
    let of =
        |name: &str| rate.absent.iter().filter(|absent| absent.name == name).collect::<Vec<_>>();
    let redis = of("redis");
    assert_eq!((redis.len(), redis[0].at.len()), (1, 0));
    assert!(redis[0].reason.starts_with("redis: connection to 127.0.0.1:6379 refused"));
    let memcached = of("memcached:");
    assert_eq!(
        (memcached.len(), memcached[0].at.as_slice()),
        (1, ["2.1 MiB".to_owned()].as_slice())
    );
    assert_eq!(memcached[0].reason, "value 2.1 MiB > item limit 1 MiB");
    let line = rate.series.iter().find(|series| series.name == "memcached:").unwrap();
    assert_eq!(line.y.iter().filter(|y| y.is_none()).count(), 1);
}

#[test]
fn withheld_figures_stand_in_series_of_their_own() {
    let mut run = gets(&[]);
    for (name, rates) in [("a", [9e5, 8e5, 7e5]), ("null", [5e7, 5e7, 5e7])] {
        run.targets.push(target(name));
        for (size, rate) in [100, 1000, 10_000].into_iter().zip(rates) {
            run.cells.push(at(cell(name, Operation::Get, Some(rate)), size));
        }
    }
    run.targets[1].stores = Some(false);
    let mut broken = check("TRUNCATED", larder_report::Severity::Error, Some("a"), "cut short");
    broken.point = Some(size(1000));
    run.checks.push(broken);
    let rate = chart(&run, "rate-get");
    let seen: Vec<_> =
        rate.series.iter().map(|s| (s.target, s.withheld.as_deref(), s.y.as_slice())).collect();
    assert_eq!(
        seen,
        [
            (Some(0), None, [Some(9e5), None, Some(7e5)].as_slice()),
            (Some(0), Some("TRUNCATED"), &[None, Some(8e5), None]),
            (
                Some(1),
                Some("keeps nothing: its time is the cost of the measuring"),
                &[Some(5e7); 3]
            ),
        ]
    );
}

#[test]
fn one_point_makes_bars() {
    let rate = chart(&gets(&[("a", 1e6), ("b", 2e4), ("c", 3e5)]), "rate-get");
    assert_eq!(rate.shape, Shape::Bars);
    assert_eq!(rate.x.categories, ["a", "b", "c"]);
    assert_eq!(rate.series.len(), 1);
    assert_eq!(rate.series[0].y, [Some(1e6), Some(2e4), Some(3e5)]);
}

#[test]
fn a_curve_has_the_recorded_points_or_else_the_known_percentiles() {
    let mut run = gets(&[("a", 1e6), ("b", 1e6)]);
    run.cells[0].latency_curve =
        vec![CurvePoint(0.0, 70), CurvePoint(0.9, 120), CurvePoint(1.0, 900)];
    let percentiles = chart(&run, "percentiles-get");
    assert_eq!((percentiles.shape, percentiles.x.scale), (Shape::Curves, Scale::Tail));
    let [recorded, older] = percentiles.series.as_slice() else { panic!("two targets") };
    assert_eq!(
        (recorded.x.as_slice(), recorded.y.as_slice()),
        ([0.0, 0.9, 1.0].as_slice(), [70.0, 120.0, 900.0].map(Some).as_slice())
    );
    let latency = run.cells[1].latency_ns.unwrap();
    let known = [latency.min, latency.p50, latency.p90, latency.p99, latency.p999, latency.max];
    assert_eq!(older.x, [0.0, 0.5, 0.9, 0.99, 0.999, 1.0]);
    assert_eq!(older.y, known.map(|ns| Some(f64::from(u32::try_from(ns).unwrap()))));
}

/// A round of eight bins of a second, of which the last is cut to half a second.
fn round(number: u32, wall_s: f64) -> Sample {
    let ops: Vec<u64> = (0..8).map(|bin| 1000 * u64::from(number) + bin).collect();
    let max_ns = (0..8).map(|bin| 10 * u64::from(number) + bin).collect();
    let sample = serde_json::json!({
        "round": number, "position": 1, "complete": true, "at_s": 0.0, "wall_s": wall_s,
        "ops": ops.iter().sum::<u64>(), "hits": 0, "misses": 0, "wrong": 0, "truncated": 0, "errors": 0,
        "failed_fills": 0, "distinct_keys": 1, "top_key_ops": 1, "read_back": 0, "read_back_absent": 0,
        "read_back_wrong": 0, "ops_per_s": 1.0, "major_faults": 0, "errors_by_kind": {},
    });
    let timeline = Some(Timeline { bin_ns: 1_000_000_000, ops, max_ns });
    Sample { timeline, ..serde_json::from_value(sample).expect("a sample") }
}

#[test]
fn rounds_stand_one_after_another_with_a_gap() {
    let mut run = gets(&[("a", 1e3)]);
    assert!(charts(&run).iter().all(|chart| chart.family != Family::Timeline));
    run.cells[0].samples = vec![round(1, 7.5), round(2, 7.5)];
    let slowest = chart(&run, "timeline-get-slowest-operation");
    let line = &slowest.series[0];
    assert_eq!(line.x.len(), 18);
    assert_eq!((line.x[7], line.x[8], line.x[9]), (7.25, 7.5, 8.0));
    assert_eq!((line.y[7], line.y[8], line.y[9]), (Some(17.0), None, Some(20.0)));
    let rate = chart(&run, "timeline-get-rate");
    // The operations that ended in half a second, as a rate for a second.
    assert_eq!(rate.series[0].y[7], Some(2014.0));
    assert_eq!(rate.series[0].y[6], Some(1006.0));
}

#[test]
fn a_short_end_of_a_round_is_no_spike() {
    let mut run = gets(&[("a", 1e3)]);
    for (wall_s, ops) in [(7.01, 1006.0 + 1007.0), (7.0, 1006.0 + 1007.0)] {
        run.cells[0].samples = vec![round(1, wall_s)];
        let rate = chart(&run, "timeline-get-rate");
        let line = &rate.series[0];
        // The last bin lasted a hundredth of a second, or no time at all, so it joins the bin before.
        assert_eq!((line.y.len(), line.y[7], rate.y.scale), (8, None, Scale::Linear));
        let expected = ops / (wall_s - 6.0);
        assert!((line.y[6].unwrap() / expected - 1.0).abs() < 1e-5, "{:?}", line.y);
        let slowest = chart(&run, "timeline-get-slowest-operation");
        assert_eq!(slowest.series[0].y[6], Some(17.0));
    }
}

#[test]
fn a_timeline_of_a_mix_has_the_time_of_the_whole_phase_and_the_rate_of_its_share() {
    let mut run = gets(&[("a", 1e3)]);
    run.cells[0].samples = vec![round(1, 2.5)];
    let alone = chart(&run, "timeline-get-rate").reading;
    run.cells.push(cell("a", Operation::Set, Some(1e3)));
    run.cells[1].samples = vec![round(1, 5.0)];
    let rate = chart(&run, "timeline-get-rate");
    assert_eq!(rate.series[0].x.last(), Some(&7.5));
    // A third of each second was spent in gets.
    assert_eq!(rate.series[0].y[..2], [Some(3000.0), Some(3003.0)]);
    assert_eq!(chart(&run, "timeline-set-rate").series[0].y[0], Some(1500.0));
    assert!(rate.reading.starts_with(&alone) && rate.reading.contains("same rounds"), "{alone}");
    // An operation that took nearly all of the phase does not stand for the whole.
    run.cells[0].samples = vec![round(1, 0.25)];
    run.cells[1].samples = vec![round(1, 7.25)];
    let rate = chart(&run, "timeline-set-rate");
    assert_eq!((rate.series[0].x.last(), rate.series[0].y[0]), (Some(&7.5), Some(1034.48)));
}

#[test]
fn times_of_gets_of_many_keys_are_those_of_requests_or_groups() {
    for operation in [Operation::GetMany, Operation::GetEach, Operation::GetTag] {
        times_are_not_those_of_keys(operation);
    }
}

fn times_are_not_those_of_keys(operation: Operation) {
    let timed = operation.timed();
    let mut run = gets(&[("a", 1e3)]);
    run.cells[0].samples = vec![round(1, 7.5)];
    let of_one: Vec<Chart> = charts(&run);
    run.cells[0].operation = operation;
    let of_many: Vec<Chart> = charts(&run);
    assert_eq!(of_one.len(), of_many.len());
    for (one, many) in of_one.iter().zip(&of_many) {
        let words = [&one.title, &one.reading, &one.x.label, &one.y.label];
        assert!(words.iter().all(|text| !text.contains(timed)), "{words:?}");
        let ends = format!("are of keys, times of {timed}s.");
        assert!(many.reading.ends_with(&ends), "{}", many.reading);
        let words = [&many.title, &many.reading, &many.x.label, &many.y.label];
        let is_time = one.y.unit == larder_report::Unit::Nanoseconds;
        if is_time && one.family != Family::Resources {
            assert!(words.iter().all(|text| !text.contains("operation")), "{words:?}");
        } else {
            assert!(many.y.label == one.y.label && many.reading.starts_with(&one.reading));
        }
    }
}

#[test]
fn a_round_that_broke_off_is_shown_where_it_is_all_there_is() {
    let mut run = gets(&[("a", 1e3)]);
    let broken = || Sample { complete: false, ..round(1, 7.5) };
    run.cells[0].samples = vec![broken()];
    assert_eq!(chart(&run, "timeline-get-rate").series[0].x.len(), 9);
    run.cells[0].samples = vec![round(2, 7.5), broken()];
    let rate = chart(&run, "timeline-get-rate");
    assert_eq!((rate.series[0].x.len(), rate.series[0].y[0]), (9, Some(2000.0)));
}

#[test]
fn many_lines_have_fewer_places_but_every_maximum() {
    let mut run = gets(&[]);
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        run.targets.push(target(name));
        for bytes in 1..=16 {
            let mut cell = at(cell(name, Operation::Get, Some(1e3)), bytes);
            cell.samples = (1..=16).map(|number| round(number, 8.0)).collect();
            run.cells.push(cell);
        }
    }
    let slowest = chart(&run, "timeline-get-1-B-slowest-operation");
    for line in &slowest.series {
        assert_eq!(line.x.len(), 16 * (4 + 1));
        assert_eq!((line.y[0], line.y[78]), (Some(11.0), Some(167.0)));
    }
    let rates = &chart(&run, "timeline-get-1-B-rate").series[0].y;
    assert_eq!(rates[0], Some(1000.5));
}

#[test]
fn costs_are_of_an_operation_and_never_nothing() {
    let run = fixture();
    let cpu = chart(&run, "resources-get-4-KiB-CPU");
    let part =
        |name: &str| cpu.series.iter().find(|s| s.name == name && s.withheld.is_none()).unwrap();
    assert_eq!((part("client").x[0], part("client").y[0]), (0.0, Some(0.395 / 50_000.0 * 1e9)));
    assert_eq!(part("server").y, [0.37, 3.05].map(|seconds| Some(seconds / 50_000.0 * 1e9)));
    assert_eq!(part("server").x, [0.0, 3.0]);
    // An embedded engine has no server, so no time of a server can be missing.
    assert!(cpu.absent.iter().all(|absent| absent.name == "redis"), "{:?}", cpu.absent);
    let disk = chart(&run, "resources-get-4-KiB-disk");
    let memcached = disk.absent.iter().find(|absent| absent.name == "memcached:").unwrap();
    assert_eq!(memcached.reason, "not known");
    assert!(disk.series.iter().all(|series| !series.x.contains(&0.0)));
}

#[test]
fn spans_reach_from_the_least_over_the_mean_to_the_greatest() {
    let mut run = gets(&[("steady", 1e6), ("stalls", 1e5)]);
    for (cell, slowest) in run.cells.iter_mut().zip([9_000, 4_000_000_000]) {
        cell.latency_ns = Some(Latency { min: 200, max: slowest, ..Latency::default() });
        let all = LatencyTo { quantile: 1.0, mean: 2_500.0, max: slowest };
        cell.latency_to = vec![LatencyTo { quantile: 0.9, mean: 400.0, max: 900 }, all];
    }
    run.cells[0].latency_to.remove(0);
    let spread = chart(&run, "spread-get");
    assert_eq!((spread.shape, spread.y.scale), (Shape::Bars, Scale::Log));
    let spans: Vec<_> = spread
        .series
        .iter()
        .map(|span| (span.name.as_str(), span.x.len(), span.low[0], span.y[0], span.high[0]))
        .collect();
    // The first target has too few operations for 90 %, and both have too few for 95 and 99 %.
    assert_eq!(
        spans,
        [
            ("90 %", 1, Some(200.0), Some(400.0), Some(900.0)),
            ("all", 2, Some(200.0), Some(2_500.0), Some(9_000.0)),
        ]
    );
    assert_eq!(spread.series[1].high[1], Some(4e9), "no stall is left out");
    assert!(spread.absent.is_empty());
    let picture = larder_report::svg(&spread, larder_report::Ground::White);
    assert!(picture.contains("all: 200 ns – 2.50 µs – 4.00 s"), "{picture}");
    // Earlier runs have no such chart.
    run.cells.iter_mut().for_each(|cell| cell.latency_to.clear());
    assert!(charts(&run).iter().all(|chart| chart.family != Family::Spread));
}

#[test]
fn a_server_whose_time_is_not_known_is_said_to_lack_it() {
    let mut run = gets(&[("far", 1e4)]);
    run.targets[0].ownership = Some("external".into());
    let cpu = chart(&run, "resources-get-CPU");
    assert_eq!(cpu.series.len(), 1);
    assert_eq!(cpu.absent.len(), 1);
    assert_eq!(
        (cpu.absent[0].at.as_slice(), cpu.absent[0].reason.as_str()),
        (["server".to_owned()].as_slice(), "not known")
    );
}

#[test]
fn outcomes_are_shown_where_something_failed_and_add_up() {
    let run = fixture();
    let outcomes: Vec<Chart> =
        charts(&run).into_iter().filter(|chart| chart.family == Family::Outcomes).collect();
    let ids: Vec<&str> = outcomes.iter().map(|chart| chart.id.as_str()).collect();
    // Two sets of 64 KiB failed, and one target never hits.
    assert_eq!(ids.len(), 6, "{ids:?}");
    for chart in &outcomes {
        for target in 0..run.targets.len() {
            let of_target = |series: &larder_report::Series| {
                let at = series.x.iter().position(|x| x.to_string() == target.to_string());
                at.and_then(|at| series.y[at])
            };
            let shares: Vec<f64> = chart.series.iter().filter_map(of_target).collect();
            let absent = chart.absent.iter().any(|absent| absent.target == target);
            assert_eq!(shares.is_empty(), absent);
            assert!(absent || (shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
        }
    }
    let mut absent = gets(&[("a", 1e6)]);
    absent.cells[0].counts.misses = 1;
    absent.targets.push(larder_report::Target { reason: Some("no server".into()), ..target("b") });
    assert_eq!(chart(&absent, "outcomes-get").absent[0].reason, "no server");
    let all_right = gets(&[("a", 1e6)]);
    assert!(charts(&all_right).iter().all(|chart| chart.family != Family::Outcomes));
}

/// A measured comparison of six targets over four sizes, with distributions and timelines.
pub(crate) fn sweep() -> Run {
    Run::from_json(include_str!("../fixture/sweep.json")).expect("the fixture is a run.json")
}

/// The cell behind a target's mark.
fn cell_of<'a>(run: &'a Run, chart: &Chart, target: usize, size: &str) -> &'a Cell {
    let url = &run.targets[target].url;
    let here = |cell: &&Cell| {
        cell.target == *url
            && cell.operation.as_str() == chart.facets[0].value
            && larder_report::coordinate("data_size", &cell.point["data_size"]) == size
    };
    run.cells.iter().find(here).expect("a mark stands for a cell")
}

#[test]
fn each_latency_is_that_of_its_cell() {
    let run = sweep();
    let mut found = 0;
    for chart in charts(&run).iter().filter(|chart| chart.family == Family::Latency) {
        for series in &chart.series {
            for (at, x) in series.x.iter().enumerate() {
                let size = PointValue::Number(x.to_string().parse().unwrap());
                let size = larder_report::coordinate("data_size", &size);
                let cell = cell_of(&run, chart, series.target.unwrap(), &size);
                let (latency, ci95) = (cell.latency_ns.unwrap(), cell.latency_ns_ci95.unwrap());
                let (expected, ci95) = match chart.facets[1].value.as_str() {
                    "p50" => (latency.p50, Some(ci95.p50)),
                    "p90" => (latency.p90, Some(ci95.p90)),
                    "p99" => (latency.p99, Some(ci95.p99)),
                    "p99.9" => (latency.p999, Some(ci95.p999)),
                    "max" => (latency.max, None),
                    "min" => (latency.min, None),
                    other => panic!("{other}"),
                };
                assert_eq!(series.y[at].map(|y| y.to_string()), Some(expected.to_string()));
                let bound = |bounds: &[Option<f64>]| bounds.get(at).copied().flatten();
                assert_eq!(bound(&series.low), ci95.map(|[low, _]| low));
                assert_eq!(bound(&series.high), ci95.map(|[_, high]| high));
                found += 1;
            }
        }
    }
    // The fastest and slowest of every cell, and the percentiles that have enough operations.
    let told =
        |cell| 2 + [0.5, 0.9, 0.99, 0.999].into_iter().filter(|q| is_shown(cell, *q)).count();
    assert_eq!(found, run.cells.iter().map(told).sum::<usize>());
    assert!(run.cells.iter().any(|cell| !is_shown(cell, 0.999)));
}

#[test]
fn each_curve_is_that_of_its_cell() {
    let run = sweep();
    let charts = charts(&run);
    let mut curves = 0;
    for chart in charts.iter().filter(|chart| chart.family == Family::Percentiles) {
        for series in &chart.series {
            let cell = cell_of(&run, chart, series.target.unwrap(), &chart.facets[1].value);
            let marks = series.x.iter().zip(&series.y);
            let marks: Vec<String> = marks.map(|(q, ns)| format!("{q} {}", ns.unwrap())).collect();
            let curve = cell.latency_curve.iter().map(|CurvePoint(q, ns)| format!("{q} {ns}"));
            assert_eq!(marks, curve.collect::<Vec<_>>());
            curves += 1;
        }
    }
    assert_eq!(curves, run.cells.len());
}

#[test]
fn a_timeline_has_every_stall_and_every_operation_of_its_cell() {
    let run = sweep();
    let charts = charts(&run);
    let mut lines = 0;
    for chart in charts.iter().filter(|chart| chart.family == Family::Timeline) {
        for series in &chart.series {
            let cell = cell_of(&run, chart, series.target.unwrap(), &chart.facets[1].value);
            let timelines: Vec<&Timeline> =
                cell.samples.iter().filter_map(|sample| sample.timeline.as_ref()).collect();
            let rounds: Vec<&[Option<f64>]> = series.y.split(Option::is_none).collect();
            assert_eq!(rounds.len(), timelines.len() + 1, "each round ends with a gap");
            // The ends agree within the precision of six digits.
            let end = series.x.last().unwrap();
            assert!((end / cell.wall_s.unwrap() - 1.0).abs() < 1e-4, "{} {:?}", end, cell.wall_s);
            for (round, timeline) in rounds.iter().zip(timelines) {
                let highest = round.iter().copied().flatten().fold(0.0, f64::max);
                let slowest = timeline.max_ns.iter().max().unwrap();
                if chart.facets[2].value == "slowest operation" {
                    assert_eq!(highest.to_string(), slowest.to_string());
                } else {
                    assert!(highest > 0.0);
                }
            }
            lines += 1;
        }
    }
    assert_eq!(lines, 2 * run.cells.len());
}

#[test]
fn the_largest_run_makes_charts_that_fit_a_page() {
    let run = super::made_up::largest();
    let length = serde_json::to_string(&charts(&run)).unwrap().len();
    assert!(length < 3_000_000, "{length}");
}

/// A run of gets at these values of a coordinate.
fn swept(name: &str, values: &[PointValue]) -> Run {
    let mut run = gets(&[]);
    run.targets.push(target("a"));
    for value in values {
        let point = larder_report::Point::from([(name.to_owned(), value.clone())]);
        run.cells.push(Cell { point, ..cell("a", Operation::Get, Some(1e6)) });
    }
    run
}

#[test]
fn numbers_rise_along_the_axis_and_texts_stay_in_their_order() {
    let numbers = |all: &[u64]| all.iter().copied().map(PointValue::Number).collect::<Vec<_>>();
    let sizes = chart(&swept("data_size", &numbers(&[4096, 100, 1024])), "rate-get");
    assert_eq!((sizes.x.scale, sizes.x.unit), (Scale::Log, larder_report::Unit::Bytes));
    assert_eq!(sizes.series[0].x, [100.0, 1024.0, 4096.0]);
    let threads = chart(&swept("threads", &numbers(&[1, 2, 8])), "rate-get");
    assert_eq!(threads.x.scale, Scale::Linear);
    assert_eq!(threads.x.scales, [Scale::Linear, Scale::Log]);
    let keys = chart(&swept("keys", &numbers(&[50, 100, 500])), "rate-get");
    assert_eq!((keys.x.scale, keys.x.unit), (Scale::Log, larder_report::Unit::Number));
    // A logarithmic axis has no 0.
    let from_0 = chart(&swept("offered", &numbers(&[0, 1000])), "rate-get");
    assert_eq!((from_0.x.scale, from_0.x.scales.len()), (Scale::Linear, 0));

    let texts = ["uniform:1k-4k", "normal:2k"].map(|text| PointValue::Text(text.into()));
    let mixed = [texts.as_slice(), &numbers(&[100])].concat();
    let mixed = chart(&swept("data_size", &mixed), "rate-get");
    assert_eq!(mixed.x.scale, Scale::Categories);
    assert_eq!(mixed.x.categories, ["uniform:1k-4k", "normal:2k", "100 B"]);
    assert_eq!(mixed.series[0].x, [0.0, 1.0, 2.0]);
}

#[test]
fn of_several_coordinates_the_longest_runs_along_the_axis_and_the_others_are_a_choice() {
    let mut run = gets(&[]);
    run.targets.push(target("a"));
    for (threads, bytes) in [(1, 100), (1, 200), (1, 300), (2, 100), (2, 200), (2, 300)] {
        let mut cell = at(cell("a", Operation::Get, Some(1e6)), bytes);
        cell.point.insert("threads".into(), PointValue::Number(threads));
        run.cells.push(cell);
    }
    let rates = charts(&run).into_iter().filter(|chart| chart.family == Family::Rate);
    let rates: Vec<Chart> = rates.collect();
    let choices: Vec<&str> = rates.iter().map(|chart| chart.facets[1].value.as_str()).collect();
    assert_eq!(choices, ["threads 1", "threads 2"]);
    assert!(rates.iter().all(|chart| chart.x.label == "data_size" && chart.series[0].x.len() == 3));
}

#[test]
fn points_that_read_alike_are_told_apart_to_the_byte() {
    let sizes = [2_222_080, 2_202_010, 4096].map(PointValue::Number);
    let run = swept("data_size", &sizes);
    let all = charts(&run);
    let of_family = all.iter().filter(|chart| chart.family == Family::Percentiles);
    let points: Vec<&str> = of_family.map(|chart| chart.facets[1].value.as_str()).collect();
    assert_eq!(points, ["4 KiB", "2.1 MiB", "2222080 B"]);
    let page = larder_report::render(&run, larder_report::Format::HTML, super::small::PLAIN);
    assert!(page.contains(">2222080 B</span>") && page.contains(">2.1 MiB</span>"));

    // The other coordinates are a choice of the same words, and no choice mixes the figures of two points.
    let mut run = gets(&[]);
    run.targets.push(target("a"));
    for threads in 1..=3 {
        for bytes in [2_222_080, 2_202_010] {
            let mut cell = at(cell("a", Operation::Get, Some(1e6)), bytes);
            cell.point.insert("threads".into(), PointValue::Number(threads));
            run.cells.push(cell);
        }
    }
    let all = charts(&run);
    let rates: Vec<&Chart> = all.iter().filter(|chart| chart.family == Family::Rate).collect();
    let choices: Vec<&str> = rates.iter().map(|chart| chart.facets[1].value.as_str()).collect();
    assert_eq!(choices, ["data_size 2.1 MiB", "data_size 2222080 B"]);
    assert!(rates.iter().all(|chart| chart.series[0].x == [1.0, 2.0, 3.0]));
}

#[test]
fn a_wide_spread_is_drawn_by_powers_and_a_narrow_one_from_0() {
    let scale = |slowest: f64| chart(&gets(&[("a", 1e6), ("b", slowest)]), "rate-get").y.scale;
    assert_eq!((scale(1e5), scale(4e4)), (Scale::Linear, Scale::Log));
}

#[test]
fn bars_stand_in_the_order_of_the_ranking() {
    let mut run = gets(&[("slow", 1e6), ("none", 3e6), ("doubted", 9e6), ("fast", 2e6)]);
    run.cells[1].ops_per_s = None;
    run.checks = vec![check("NEVER-HITS", Severity::Error, Some("doubted"), "it never hits")];
    let chart = charts(&run).into_iter().find(|chart| chart.family == Family::Rate).unwrap();
    assert_eq!(chart.order, [3, 0, 2, 1]);
}

#[test]
fn rates_have_the_ratios_of_their_comparisons() {
    let run = fixture();
    let mut known = 0;
    for chart in charts(&run) {
        let ratios = &chart.ratios;
        for at in 0..ratios.at.len() {
            let [a, b] = [ratios.one[at], ratios.other[at]].map(|it| run.targets[it].url.as_str());
            let mine = run.comparisons.iter().filter(|it| (it.a.as_str(), it.b.as_str()) == (a, b));
            let bounds = [ratios.low[at], ratios.high[at]];
            assert!(
                mine.filter_map(|it| it.ci95)
                    .any(|ci95| ci95.map(f64::to_bits) == bounds.map(f64::to_bits)),
                "{a} {b}"
            );
            known += 1;
        }
    }
    assert_eq!(known, run.comparisons.iter().filter(|it| it.ci95.is_some()).count());
}
