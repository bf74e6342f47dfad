//! The difference of two runs: the compared cells, the texts about them, and the refusals.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use larder_analysis::{DiffOf, MatchBy, NotComparable, diff};
use larder_report::{
    Cell, Change, ChangeVerdict, Counts, CurvePoint, Diff, DiffMeasure, Environment, Latency,
    LatencyIntervals, MergedSlice, Operation, Point, PointValue, ReasonKind, Run, Sample, Slice,
    Target,
};

/// A run of gets at these rates, with slight differences between rounds. Each target has its name as its URL.
fn run(rates: &[(&str, f64)]) -> Run {
    let target = |name: &str| Target {
        url: name.into(),
        name: name.into(),
        version: Some("1.0".into()),
        stores: Some(true),
        ..Target::default()
    };
    Run {
        seed: 1,
        larder: "0.1.0".into(),
        environment: Environment {
            cpu: Some("a processor".into()),
            kernel: Some("6.1".into()),
            cores: 2,
            memory_bytes: Some(8_000_000_000),
            build: "release".into(),
            ..Environment::default()
        },
        workload: [("keys", "1000"), ("data-size", "1k")].map(|(a, b)| (a.into(), b.into())).into(),
        targets: rates.iter().map(|(name, _)| target(name)).collect(),
        cells: rates.iter().map(|(name, rate)| cell(name, *rate)).collect(),
        ..Run::default()
    }
}

/// Ten rounds around this rate, with latencies to match; nine reads of ten hit.
fn cell(target: &str, rate: f64) -> Cell {
    let round = |n: u32| {
        let rate = rate * (1.0 + f64::from(n) / 1000.0);
        Sample {
            round: n,
            complete: true,
            ops_per_s: rate * 0.9,
            wall_s: 1000.0 / rate,
            counts: Counts { ops: 1000, hits: 900, misses: 100, ..Counts::default() },
            latency_ns: Some(latency(rate)),
            ..Sample::default()
        }
    };
    let around = |ns: u64| [real(ns) * 0.99, real(ns) * 1.01];
    let whole = latency(rate);
    Cell {
        target: target.into(),
        point: Point::from([("data_size".into(), PointValue::Number(1000))]),
        operation: Operation::Get,
        workers: 1,
        rounds: 10,
        counts: Counts { ops: 10_000, hits: 9000, misses: 1000, ..Counts::default() },
        ops_per_s: Some(rate * 1.0055),
        ops_per_s_ci95: Some([rate * 1.002, rate * 1.009]),
        latency_ns: Some(whole),
        latency_ns_ci95: Some(LatencyIntervals {
            p50: around(whole.p50),
            p99: around(whole.p99),
            ..LatencyIntervals::default()
        }),
        latency_curve: vec![CurvePoint(0.5, 1), CurvePoint(0.99, 2), CurvePoint(1.0, 3)],
        samples: (1..=10).map(round).collect(),
        ..Cell::default()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "made up")]
fn latency(rate: f64) -> Latency {
    let mean = 1e9 / rate;
    Latency { mean, p50: (mean * 0.9) as u64, p99: (mean * 3.0) as u64, ..Latency::default() }
}

#[expect(clippy::cast_precision_loss, reason = "made up")]
fn real(ns: u64) -> f64 {
    ns as f64
}

fn between(old: &Run, new: &Run) -> Diff {
    try_between(old, new, MatchBy::Url).unwrap()
}

fn try_between(old: &Run, new: &Run, by: MatchBy) -> Result<Diff, NotComparable> {
    diff(DiffOf { path: "before", run: old }, DiffOf { path: "after", run: new }, by)
}

fn change(diff: &Diff, measure: DiffMeasure) -> &Change {
    diff.changes.iter().find(|change| change.measure == measure).unwrap()
}

#[test]
fn a_run_set_against_itself_has_no_change() {
    let one = run(&[("moka:", 1e5), ("lmdb:", 2e5)]);
    let found = between(&one, &one);
    assert_eq!(found.changes.len(), 6, "rate, p50 and p99 of two cells: {found:#?}");
    for change in &found.changes {
        assert_eq!((change.ratio, change.verdict), (Some(1.0), ChangeVerdict::Indistinguishable));
    }
    assert!(found.mixed.is_empty() && found.only_old.is_empty() && found.only_new.is_empty());
}

#[test]
fn half_the_rate_is_worse_in_every_measure_and_the_other_way_round_better() {
    let (fast, slow) = (run(&[("moka:", 1e5)]), run(&[("moka:", 5e4)]));
    for (old, new, ratio, verdict) in
        [(&fast, &slow, 0.5, ChangeVerdict::Worse), (&slow, &fast, 2.0, ChangeVerdict::Better)]
    {
        let found = between(old, new);
        let rate = change(&found, DiffMeasure::AnsweredPerS);
        assert!((rate.ratio.unwrap() - ratio).abs() < 1e-9 && rate.verdict == verdict, "{rate:?}");
        let [low, high] = rate.ci95.unwrap();
        assert!(low <= ratio && ratio <= high && high - low < 0.05, "{rate:?}");
        for measure in [DiffMeasure::P50Ns, DiffMeasure::P99Ns] {
            let found = change(&found, measure);
            assert!((found.ratio.unwrap() * ratio - 1.0).abs() < 1e-3, "{found:?}");
            assert_eq!(found.verdict, verdict);
            // The rounds of each side lie within 1 % of each other, and so do the figures made of them.
            let [low, high] = found.ci95.unwrap();
            assert!(low <= found.ratio.unwrap() && found.ratio.unwrap() <= high, "{found:?}");
            assert!(high / low < 1.02, "{found:?}");
        }
    }
}

#[test]
fn a_percentile_that_jumps_from_round_to_round_has_an_interval_that_says_so() {
    // Two of six new rounds lie below the old rounds: neither test nor interval may call that a change.
    let with = |p99s: [u64; 6]| {
        let mut run = run(&[("moka:", 1e5)]);
        run.cells[0].samples.truncate(6);
        for (sample, us) in run.cells[0].samples.iter_mut().zip(p99s) {
            sample.latency_ns.as_mut().unwrap().p99 = us * 1000;
        }
        run
    };
    let old = with([184, 189, 259, 354, 191, 156]);
    let found = between(&old, &with([1374, 162, 162, 577, 803, 1521]));
    let p99 = change(&found, DiffMeasure::P99Ns);
    assert_eq!((p99.old.value, p99.new.value), (190_000.0, 690_000.0), "the medians of the rounds");
    assert!((p99.ratio.unwrap() - 690.0 / 190.0).abs() < 1e-9);
    let [low, high] = p99.ci95.unwrap();
    assert!(low < 1.0 && high > 1.0 && p99.p > 0.05, "{p99:?}");
}

#[test]
fn where_one_hits_less_often_only_the_hits_are_compared() {
    let old = run(&[("moka:", 1e5)]);
    let mut new = run(&[("moka:", 2e5)]);
    (new.cells[0].counts.hits, new.cells[0].counts.misses) = (5000, 5000);
    for sample in &mut new.cells[0].samples {
        (sample.counts.hits, sample.counts.misses) = (500, 500);
    }
    let found = between(&old, &new);
    let measures: Vec<DiffMeasure> = found.changes.iter().map(|change| change.measure).collect();
    assert_eq!(measures, [DiffMeasure::HitRatio]);
    let [left] = &found.not_compared[..] else { panic!("{found:#?}") };
    let wanted =
        "rate and latency: hits 90 % in old and 50 % in new, and a miss is other work than a hit";
    assert_eq!((left.reason.as_str(), left.may_be_worse), (wanted, true));
    assert!(!between(&new, &old).not_compared[0].may_be_worse, "more hits are no loss");
}

#[test]
fn a_change_within_2_percent_is_indistinguishable() {
    let found = between(&run(&[("moka:", 1e5)]), &run(&[("moka:", 1.015e5)]));
    let rate = change(&found, DiffMeasure::AnsweredPerS);
    assert!(rate.p < 0.01 && rate.verdict == ChangeVerdict::Indistinguishable, "{rate:?}");
}

#[test]
fn the_correction_is_over_all_changes_of_a_measure() {
    let names = ["a", "b", "c"];
    let (old, new) = (run(&names.map(|name| (name, 1e5))), run(&names.map(|name| (name, 5e4))));
    let found = between(&old, &new);
    let alone = between(&run(&[("a", 1e5)]), &run(&[("a", 5e4)]));
    let p = |diff: &Diff| change(diff, DiffMeasure::AnsweredPerS).p;
    assert!((p(&found) / p(&alone) - 3.0).abs() < 1e-9, "{} {}", p(&found), p(&alone));
}

#[test]
fn a_percentile_with_too_few_operations_beyond_it_is_not_compared() {
    let (old, mut new) = (run(&[("moka:", 1e5)]), run(&[("moka:", 5e4)]));
    new.cells[0].latency_curve = vec![CurvePoint(0.0, 1), CurvePoint(0.9, 2), CurvePoint(1.0, 3)];
    let measures: Vec<DiffMeasure> =
        between(&old, &new).changes.iter().map(|change| change.measure).collect();
    assert_eq!(measures, [DiffMeasure::AnsweredPerS, DiffMeasure::P50Ns]);
}

#[test]
fn hits_are_compared_where_they_differ() {
    let (old, mut new) = (run(&[("moka:", 1e5)]), run(&[("moka:", 1e5)]));
    let cell = &mut new.cells[0];
    cell.counts = Counts { hits: 9100, misses: 900, ..cell.counts };
    for sample in &mut cell.samples {
        sample.counts = Counts { hits: 910, misses: 90, ..sample.counts };
    }
    let found = between(&old, &new);
    let hits = change(&found, DiffMeasure::HitRatio);
    assert!((hits.old.value, hits.new.value) == (0.9, 0.91), "{hits:?}");
    assert_eq!(hits.verdict, ChangeVerdict::Better);
}

#[test]
fn cells_of_one_run_only_are_listed_and_cells_without_a_result_say_why() {
    let mut old = run(&[("a", 1e5), ("b", 1e5), ("c", 1e5), ("d", 1e5)]);
    let mut new = run(&[("a", 1e5), ("b", 1e5), ("c", 1e5), ("e", 1e5)]);
    new.cells[1].reason = Some("lost in the first round".into());
    new.cells[1].reason_kind = Some(ReasonKind::Lost);
    old.cells[2].workers = 4;
    let found = between(&old, &new);
    let names = |cells: &[larder_report::DiffCell]| {
        cells.iter().map(|cell| cell.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(&found.only_old), names(&found.only_new)),
        (vec!["d".into()], vec!["e".into()])
    );
    let reasons: Vec<&str> = found.not_compared.iter().map(|left| &*left.reason).collect();
    assert_eq!(
        reasons,
        ["no figures in new: lost in the first round", "workers: 4 in old and 1 in new"]
    );
    assert!(found.changes.iter().all(|change| change.cell.name == "a"));
}

#[test]
fn runs_that_differ_in_more_list_their_differences() {
    let (old, mut new) = (run(&[("a", 1e5)]), run(&[("a", 1e5)]));
    // The common cells have the same value of a coordinate, and the part of the memory that a kernel reserves varies.
    new.workload.insert("data-size".into(), "1k,4k".into());
    new.environment.memory_bytes = Some(7_990_000_000);
    assert_eq!(between(&old, &new).mixed, []);
    new.environment.kernel = Some("6.2".into());
    new.environment.memory_bytes = Some(4 << 30);
    new.workload.insert("keys".into(), "2000".into());
    new.workload.insert("ttl".into(), "10s".into());
    new.targets[0].version = None;
    new.larder = "0.2.0".into();
    assert_eq!(
        between(&old, &new).told_mixed().unwrap(),
        "memory (7.5 GiB against 4 GiB), kernel (6.1 against 6.2), larder (0.1.0 against 0.2.0), keys (1000 against \
         2000), ttl (not given against 10s) and version of a (1.0 against unknown)"
    );
}

/// The run as it is when merged from slices on these kernels.
fn of_slices(run: &Run, kernels: &[&str]) -> Run {
    let part = |(number, kernel): (u32, &&str)| MergedSlice {
        slice: Slice { number, of: 4, rounds: 10, plan: "a plan".into() },
        started: run.started.clone(),
        larder: run.larder.clone(),
        environment: Environment { kernel: Some((*kernel).into()), ..run.environment.clone() },
        versions: run.targets.iter().map(|of| (of.url.clone(), of.version.clone())).collect(),
    };
    Run { slices: (1..).zip(kernels).map(part).collect(), ..run.clone() }
}

#[test]
fn all_slices_of_a_run_must_be_alike_with_the_other_run() {
    let one = run(&[("a", 1e5)]);
    let alike = of_slices(&one, &["6.1", "6.1"]);
    assert_eq!(between(&one, &alike).mixed, []);
    assert!(between(&one, &alike).common.contains_key("machine"));
    let mut mixed = of_slices(&one, &["6.1", "6.2"]);
    assert_eq!(between(&one, &mixed).told_mixed().unwrap(), "kernel (6.1 against 6.1, 6.2)");
    // Runs on the same two machines are alike, whatever the shares of the rounds. Neither machine is common to all
    // rounds.
    let again = of_slices(&one, &["6.2", "6.1", "6.2"]);
    assert_eq!(between(&mixed, &again).mixed, []);
    assert!(!between(&mixed, &again).common.contains_key("machine"));
    mixed.slices[1].larder = "0.2.0".into();
    mixed.slices[1].versions.insert("a".into(), Some("1.1".into()));
    assert_eq!(
        between(&again, &mixed).told_mixed().unwrap(),
        "larder (0.1.0 against 0.1.0, 0.2.0) and version of a (1.0 against 1.0, 1.1)"
    );
}

#[test]
fn equal_workloads_are_alike_however_they_were_typed() {
    let (old, mut new) = (run(&[("a", 1e5)]), run(&[("a", 1e5)]));
    for (option, value) in [
        ("compressibility", "0"),
        ("operations", "set,get"),
        ("multiget", "1"),
        ("requests", "1000"),
        ("until", "2%"),
        ("max-time", "9s"),
    ] {
        new.workload.insert(option.into(), value.into());
    }
    assert_eq!(between(&old, &new).mixed, []);
    assert_eq!(between(&new, &old).mixed, []);
    new.workload.insert("requests".into(), "5000".into());
    new.workload.insert("operations".into(), "get".into());
    // Figures of warm operations are different figures.
    new.workload.insert("warmup".into(), "1s".into());
    assert_eq!(
        between(&old, &new).told_mixed().unwrap(),
        "operations (set,get against get), requests (1000 against 5000) and warmup (not given against 1s)"
    );
}

#[test]
fn other_seeds_are_told_where_hits_are_compared() {
    let (old, mut new) = (run(&[("a", 1e5)]), run(&[("a", 1e5)]));
    new.seed = 2;
    assert_eq!(between(&old, &new).notes, [""; 0]);
    new.cells[0].counts.hits = 9100;
    new.cells[0].counts.misses = 900;
    let notes = between(&old, &new).notes;
    assert!(notes.len() == 1 && notes[0].starts_with("the seeds are 1 and 2"), "{notes:?}");
    new.seed = 1;
    assert_eq!(between(&old, &new).notes, [""; 0]);
}

#[test]
fn targets_are_matched_by_url_or_by_name() {
    let (old, mut new) = (run(&[("a", 1e5)]), run(&[("a", 1e5)]));
    new.targets[0].url = "file:/elsewhere".into();
    new.cells[0].target = "file:/elsewhere".into();
    let error = try_between(&old, &new, MatchBy::Url).unwrap_err();
    assert_eq!(
        error.to_string(),
        "before and after have no cell in common: the first measured a, the second file:/elsewhere; --by-name \
         matches targets by their names"
    );
    assert_eq!(try_between(&old, &new, MatchBy::Name).unwrap().changes.len(), 3);
    for cell in &mut new.cells {
        cell.target = "a".into();
        cell.point.insert("data_size".into(), PointValue::Number(2048));
    }
    new.targets[0].url = "a".into();
    let error = try_between(&old, &new, MatchBy::Url).unwrap_err().to_string();
    assert_eq!(
        error,
        "before and after have no cell in common, though their targets are the same: data_size 1000 B against \
         2 KiB; measure both alike"
    );
    let twice = run(&[("a", 1e5), ("a", 1e5)]);
    let error = try_between(&old, &twice, MatchBy::Name).unwrap_err();
    assert!(error.to_string().starts_with("--by-name: after has two targets called a"), "{error}");
}
