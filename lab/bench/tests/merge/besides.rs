//! The parts of slices besides their figures: findings, searches, possible hits.

use std::fs;

use larder_analysis::check;
use larder_bench::{Sliced, merge, write};
use larder_report::{
    Finding, HitCurve, HitRatios, Operation, Point, ReasonKind, Run, Search, SearchStep, Severity,
    TtlTrial,
};

use crate::{json, slice_of, slices};

/// Changes a slice, and runs its checks again.
fn change(slice: &mut Sliced, change: impl FnOnce(&mut Run)) {
    change(&mut slice.run);
    slice.run.checks = check::run_all(&slice.run);
}

fn texts<'a>(run: &'a Run, id: &str) -> Vec<(Severity, &'a str)> {
    let of_id = run.checks.iter().filter(|check| check.id == id);
    of_id.map(|check| (check.severity, &*check.text)).collect()
}

#[test]
fn a_finding_in_one_slice_is_told_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut parts = slices(&folder, 3);
    for part in &mut parts {
        change(part, |_| {});
    }
    change(&mut parts[1], |run| {
        let late = TtlTrial {
            ttl_s: 1.0,
            keys: 5,
            late: 5,
            last_request_after_s: 3.0,
            ..TtlTrial::default()
        };
        let [moka, file] = &mut run.targets[..] else { panic!("{:#?}", run.targets) };
        moka.ttl = Some(late);
        moka.capacity_bytes = Some(1000);
        moka.limits.max_key_len = Some(64);
        file.file_system = Some("tmpfs, 64 MiB".into());
        file.file_system_kind = Some("tmpfs".into());
        file.durability = Some("fsync-each".into());
        file.settings.insert("stand_in".into(), "made for tests".into());
        run.environment.memory_bytes = Some(4096);
        run.environment.memory_limit_bytes = None;
    });
    let run = merge(parts).unwrap().run;
    let first = |id: &str| texts(&run, id).first().copied().unwrap_or_else(|| panic!("no {id}"));
    let (severity, text) = first("TTL-TRUTH");
    assert_eq!(severity, Severity::Error, "--strict fails");
    assert!(text.starts_with("in slice 2 of 3: 5 of 5 keys with a TTL of 1s"), "{text}");
    let kept = |id: &str, words: &str| {
        let is_told = |(_, text): &(Severity, &str)| {
            text.starts_with("in slice 2 of 3: ") && text.contains(words)
        };
        assert!(texts(&run, id).iter().any(is_told), "{id}: {:#?}", texts(&run, id));
    };
    kept("FS-KIND", "files lie on tmpfs, 64 MiB");
    kept("STAND-IN", "made for tests");
    kept("CAPACITY", "> capacity 1000 B");
    kept("CAPACITY", "> memory 4 KiB of this machine");
    // The checks judge the whole by its machine and targets, as if the first slice were the whole run.
    kept("ACK-PARITY", "are fsync-each");
    let of_others = |(_, text): &(Severity, &str)| text.starts_with("in slices 1, 3 of 3: ");
    assert!(texts(&run, "ACK-PARITY").iter().any(of_others));
    // A finding on all slices is reported once, and names no slice.
    assert!(texts(&run, "REACH-PARITY").iter().all(|(_, text)| !text.starts_with("in slice")));
    let [moka, file] = &run.targets[..] else { panic!("{:#?}", run.targets) };
    assert_eq!((moka.capacity_bytes, moka.limits.max_key_len), (Some(1000), Some(64)));
    assert_eq!((moka.ttl.as_ref().unwrap().late, file.stand_in()), (5, Some("made for tests")));
    assert!(run.comparisons.is_empty(), "a stand-in is not ranked");
    let note = run.notes.iter().find(|note| note.starts_with("file: was not the same")).unwrap();
    assert!(note.contains("durability ") && note.contains(" (1, 3) and fsync-each (2)"), "{note}");
}

#[test]
fn an_error_of_a_slice_that_the_others_cover_up_stays_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut parts = slices(&folder, 2);
    let cell = parts[1].run.cells[0].clone();
    let error = Finding {
        id: "TIER-DEAD".into(),
        severity: Severity::Error,
        target: Some(cell.target.clone()),
        point: Some(cell.point.clone()),
        operation: Some(cell.operation),
        stored: false,
        text: "L1 answered 0 of 900 reads".into(),
        advice: "give it room".into(),
    };
    parts[1].run.checks = vec![error.clone(), Finding { severity: Severity::Warn, ..error }];
    let run = merge(parts).unwrap().run;
    assert_eq!(
        texts(&run, "TIER-DEAD"),
        [(Severity::Error, "in slice 2 of 2: L1 answered 0 of 900 reads")]
    );
    assert_eq!(run.checks[0].id, "TIER-DEAD", "the worst comes first");
}

/// A search as a slice records it: the rates tried in each round, and whether each was within the bound.
fn search(rounds: &[(u32, &[(f64, bool)])]) -> Search {
    let steps = rounds.iter().flat_map(|(round, steps)| {
        steps.iter().map(|(rate, within)| SearchStep {
            round: *round,
            offered_per_s: *rate,
            achieved_per_s: *rate,
            latency_ns: 1,
            within: *within,
        })
    });
    Search {
        target: "moka:".into(),
        point: Point::new(),
        operations: vec![Operation::Get],
        quantile: 0.99,
        bound_ns: 1_000_000,
        steps: steps.collect(),
        ..Search::default()
    }
}

#[test]
fn a_rate_is_found_as_in_one_run_or_not_at_all() {
    let found = |searches: Vec<Search>| {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = slices(&folder, 2);
        for (part, search) in parts.iter_mut().zip(searches) {
            part.run.searches = vec![search];
        }
        merge(parts).unwrap().run.searches.remove(0)
    };
    let tried: &[(f64, bool)] = &[(500.0, true), (750.0, false), (750.0, true), (875.0, false)];
    let other: &[(f64, bool)] = &[(500.0, true), (750.0, false), (625.0, false)];
    let none: &[(f64, bool)] = &[(500.0, false), (250.0, false)];
    let whole = found(vec![search(&[(1, tried), (3, tried)]), search(&[(2, other)])]);
    assert_eq!((&whole.rates[..], whole.rate), (&[750.0, 500.0, 750.0][..], Some(750.0)));
    assert_eq!((whole.reason, whole.steps.len()), (None, 11));
    // Each slice found a rate in one round and no rate in another, and so reported no rate.
    let withheld = found(vec![search(&[(1, tried), (3, none)]), search(&[(2, none), (4, other)])]);
    assert_eq!((withheld.rates.len(), withheld.rate, withheld.rate_ci95), (2, None, None));
    assert_eq!(
        withheld.reason.unwrap(),
        "in 2 of 4 rounds p99 was longer than 1 ms at every rate that was tried"
    );
    let closed = Search {
        reason: Some("no server".into()),
        reason_kind: Some(ReasonKind::Unavailable),
        ..search(&[])
    };
    let without = found(vec![search(&[(1, tried)]), closed]);
    assert_eq!(
        (without.rate, without.reason.as_deref()),
        (None, Some("in slice 2 of 2: no server"))
    );
    let broken = Search { reason_kind: Some(ReasonKind::Interrupted), ..search(&[]) };
    assert_eq!(found(vec![search(&[(1, tried)]), broken]).rate, Some(750.0));
}

#[test]
fn hit_ratios_are_those_of_the_rounds_that_were_followed() {
    let folder = tempfile::tempdir().unwrap();
    let mut parts = slices(&folder, 3);
    let ratios = |capacity_bytes, lru| HitRatios { capacity_bytes, lru, optimal: lru + 0.1 };
    let curve = |rounds, capacities: &[HitRatios]| HitCurve {
        point: Point::new(),
        operation: Operation::GetOrSet,
        working_set_bytes: 1000,
        rounds,
        capacities: capacities.to_vec(),
    };
    parts[1].run.hit_curves = vec![curve(3, &[ratios(100, 0.4), ratios(300, 0.8)])];
    parts[2].run.hit_curves = vec![curve(1, &[ratios(100, 0.6), ratios(200, 0.7)])];
    let curves = merge(parts).unwrap().run.hit_curves;
    let [curve] = &curves[..] else { panic!("{curves:#?}") };
    let found = curve.capacities.iter().map(|ratios| {
        let rounded = |ratio: f64| (ratio * 1e9).round() / 1e9;
        (ratios.capacity_bytes, rounded(ratios.lru), rounded(ratios.optimal))
    });
    assert_eq!(found.collect::<Vec<_>>(), [(100, 0.45, 0.55), (200, 0.7, 0.8), (300, 0.8, 0.9)]);
    assert_eq!(curve.rounds, 4);
}

#[test]
fn floors_of_unlike_machines_are_not_those_of_the_fastest() {
    let floor_of = |cpus: [&str; 3], ns: [f64; 3]| {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = slices(&folder, 3);
        for ((part, cpu), ns) in parts.iter_mut().zip(cpus).zip(ns) {
            part.run.environment.cpu = Some(cpu.into());
            for floor in &mut part.run.floors {
                floor.ns_per_op = ns;
            }
        }
        merge(parts).unwrap().run.floors[0].ns_per_op
    };
    assert_eq!(json(&floor_of(["a", "a", "a"], [70.0, 50.0, 60.0])), 50.0);
    assert_eq!(json(&floor_of(["a", "a", "b"], [70.0, 50.0, 80.0])), 60.0);
}

#[test]
fn latencies_of_another_run_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let parts = slices(&folder, 7);
    // Each slice has one round, so only the latencies differ.
    let [one, other] = [2, 3].map(|number| folder.path().join(format!("slice-{number}/hdr")));
    for entry in fs::read_dir(&other).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, one.join(path.file_name().unwrap())).unwrap();
    }
    let error = merge(parts).unwrap_err();
    let text = error.to_string();
    assert!(error.is_usage() && text.contains("slice-2/hdr/"), "{text}");
    assert!(text.contains(": the latencies of round 2 differ from run.json beside it"), "{text}");
}

#[test]
fn a_file_that_cannot_be_written_after_the_data_is_told_and_costs_no_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let slice = slice_of(&crate::WHOLE, 1, 2);
    write(folder.path(), &slice).unwrap();
    // A second run can write its data, but not every file that is made from it.
    fs::remove_file(folder.path().join("usage.csv")).unwrap();
    fs::create_dir(folder.path().join("usage.csv")).unwrap();
    let missing = write(folder.path(), &slice).unwrap();
    assert!(missing.len() == 1 && missing[0].contains("usage.csv"), "{missing:?}");
    assert!(folder.path().join("hdr").exists() && folder.path().join("run.json").exists());
}
