//! Charts: what each is made of, that no figure differs from its cell, and how they look.

use std::collections::BTreeSet;

use larder_report::{Chart, Family, Operation, PointValue, Run, Shape, charts};

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
                let cell = run.cells.iter().find(|cell| {
                    cell.target == *url
                        && cell.operation.as_str() == chart.facets[0].value
                        && matches!(cell.point["data_size"], PointValue::Number(n) if n as f64 == *x)
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
fn what_is_missing_says_why() {
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
            (Some(1), Some("keeps nothing: this is what the measuring costs"), &[Some(5e7); 3]),
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
