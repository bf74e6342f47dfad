//! Slices of one plan, merged: their figures are exactly those of the whole.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[expect(dead_code, reason = "it is shared by tests that need more of it")]
mod support;

#[path = "merge/besides.rs"]
mod besides;

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use larder_bench::{CellHistograms, Outcome, Plan, Sliced, merge, write};
use larder_engines::ENGINES;
use larder_report::{Cell, Finding, Run, Severity, Slice};
use support::{outcome, scenario};
use tempfile::TempDir;

const ROUNDS: u32 = 7;

/// A real run: two targets, a mix.
static WHOLE: LazyLock<Outcome> = LazyLock::new(|| {
    let workload = format!("keys = 300\nrounds = {ROUNDS}\nratio = '1:1'\nrequests = 600");
    outcome(&ENGINES, &["moka:", "file:"], &workload)
});

/// The same in an open loop, which keeps several times for each operation.
static PACED: LazyLock<Outcome> = LazyLock::new(|| {
    let workload = format!("keys = 100\nrounds = {ROUNDS}\nrate = '4k'\nrequests = 200");
    outcome(&ENGINES, &["moka:"], &workload)
});

/// The rounds of a slice, taken from the whole, as the run of a slice would have them.
fn slice_of(whole: &Outcome, number: u32, of: u32) -> Outcome {
    let slice = Slice { number, of, rounds: ROUNDS, plan: "a plan".into() };
    let is_own = |round: u32| slice.has(round);
    let cell = |cell: &Cell| {
        let samples: Vec<_> =
            cell.samples.iter().filter(|sample| is_own(sample.round)).cloned().collect();
        Cell {
            target: cell.target.clone(),
            point: cell.point.clone(),
            operation: cell.operation,
            workers: cell.workers,
            working_set_bytes: cell.working_set_bytes,
            predicted_hit_ratio: cell.predicted_hit_ratio,
            // The whole does not record which rounds moved the bytes; only the sum counts.
            bytes: if number == 1 { cell.bytes } else { 0 },
            samples,
            ..Cell::default()
        }
    };
    let histograms = whole.histograms.iter().map(|cell| CellHistograms {
        target: cell.target.clone(),
        point: cell.point.clone(),
        operation: cell.operation,
        rounds: (1..)
            .zip(&cell.rounds)
            .filter(|(round, _)| is_own(*round))
            .map(|(_, round)| round.clone())
            .collect(),
        times: cell.times,
    });
    let histograms = histograms.collect();
    Outcome {
        run: Run {
            slice: Some(slice.clone()),
            cells: whole.run.cells.iter().map(cell).collect(),
            comparisons: Vec::new(),
            checks: Vec::new(),
            ..whole.run.clone()
        },
        histograms,
        failed: false,
    }
}

/// A run that is written into a folder and read back.
fn left(folder: &Path, slice: &Outcome) -> Sliced {
    write(folder, slice).unwrap();
    let text = fs::read_to_string(folder.join("run.json")).unwrap();
    Sliced { folder: folder.to_owned(), run: Run::from_json(&text).unwrap() }
}

/// The closed loop in this number of slices, each in a folder.
fn slices(folder: &TempDir, of: u32) -> Vec<Sliced> {
    slices_of(&WHOLE, folder, of)
}

fn slices_of(whole: &Outcome, folder: &TempDir, of: u32) -> Vec<Sliced> {
    let left = |number| {
        let name = format!("slice-{number}");
        left(&folder.path().join(name), &slice_of(whole, number, of))
    };
    (1..=of).map(left).collect()
}

fn json(value: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap()
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn slices_come_to_the_very_figures_of_the_whole() {
    for (all, of, logs) in [(&*WHOLE, 2, 4), (&*WHOLE, 3, 4), (&*PACED, 2, 6)] {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = slices_of(all, &folder, of);
        // The order of the folders is arbitrary.
        parts.rotate_left(1);
        let merged = merge(parts).unwrap();
        let (found, whole) = (&merged.run, &all.run);
        for (found, whole) in found.cells.iter().zip(&whole.cells) {
            assert_eq!(json(found), json(whole));
        }
        assert_eq!(json(&found.comparisons), json(&whole.comparisons));
        // Other work of the machine is reported for each slice, and no slice here has any.
        let of_figures = |run: &Run| {
            run.checks.iter().filter(|check| check.id != "NOISE").cloned().collect::<Vec<_>>()
        };
        assert_eq!(json(&found.checks), json(&of_figures(whole)));
        assert_eq!(json(&found.floors), json(&whole.floors));
        assert_eq!((found.slices.len(), &found.slice), (of as usize, &None));
        // Their logs agree too, byte by byte.
        let (one, other) = (folder.path().join("merged"), folder.path().join("whole"));
        write(&one, &merged).unwrap();
        write(&other, all).unwrap();
        assert_eq!(files(&one.join("hdr")), files(&other.join("hdr")));
        assert_eq!(files(&one.join("hdr")).len(), logs);
    }
}

#[test]
fn a_missing_slice_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut parts = slices(&folder, 4);
    parts.remove(3);
    parts.remove(1);
    parts[0].run.interrupted = true;
    parts[1].run.checks = vec![Finding {
        id: "NOISE".into(),
        severity: Severity::Warn,
        target: None,
        point: None,
        operation: None,
        stored: false,
        text: "others were at work".into(),
        advice: "end them".into(),
    }];
    let run = merge(parts).unwrap().run;
    let noise = run.checks.iter().find(|check| check.id == "NOISE").unwrap();
    assert_eq!(noise.text, "in slice 3 of 4: others were at work");
    let told = |note: &str| run.notes.iter().any(|told| told == note);
    assert!(told("slices 2, 4 of 4 are missing: 4 of 7 rounds are here"), "{:#?}", run.notes);
    assert!(told("slice 1 of 4 was interrupted after 2 of its rounds"), "{:#?}", run.notes);
    assert!(run.interrupted);
    let rounds: Vec<u32> = run.cells[0].samples.iter().map(|sample| sample.round).collect();
    assert_eq!(rounds, [1, 3, 5, 7]);
    assert!(run.cells.iter().all(|cell| cell.rounds == 4));
}

#[test]
fn slices_that_are_not_of_one_plan_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let parts = slices(&folder, 3);
    let whole = Sliced { run: WHOLE.run.clone(), ..parts[0].clone() };
    let mut other = parts[1].clone();
    other.run.slice.as_mut().unwrap().plan = "another".into();
    let mut fewer = parts[1].clone();
    fewer.run.cells[0].samples.pop();
    let mut lost = parts[1].clone();
    lost.folder = folder.path().join("nowhere");
    for (second, parts_of_text) in [
        (whole, &["a whole run, not a slice", "--slice N/M"][..]),
        (
            other,
            &["slices of two plans", "plan another (7 rounds)", "merge the slices of one command"],
        ),
        (parts[0].clone(), &["slice-1 are the same slice 1/3", "name each once"]),
        (fewer, &["latencies of 2 rounds, but run.json has 1"]),
        (lost, &["reading the latencies of a slice", "nowhere/hdr/1-moka-"]),
    ] {
        let error = merge(vec![parts[0].clone(), second]).unwrap_err();
        let text = error.to_string();
        assert!(error.is_usage(), "{text}");
        for part in parts_of_text {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    }
    fs::write(
        folder.path().join("slice-2/hdr").join(&files(&folder.path().join("slice-2/hdr"))[0].0),
        "#no\n\"x",
    )
    .unwrap();
    let error = merge(parts).unwrap_err().to_string();
    assert!(
        error.contains("not a log of latencies") || error.contains("latencies of 0 rounds"),
        "{error}"
    );
}

#[test]
fn a_slice_that_lacks_a_target_leaves_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let mut parts = slices(&folder, 2);
    for cell in parts[1].run.cells.iter_mut().filter(|cell| cell.target == "file:") {
        cell.samples.clear();
        cell.reason = Some("no room".into());
        cell.reason_kind = Some(larder_report::ReasonKind::Unavailable);
    }
    let run = merge(parts).unwrap().run;
    for cell in &run.cells {
        let expected = (cell.target == "file:").then_some("in slice 2 of 2: no room");
        assert_eq!(cell.reason.as_deref(), expected);
        assert_eq!(cell.ops_per_s.is_some(), expected.is_none());
    }
}

#[test]
fn slices_of_a_plan_share_it_with_no_other() {
    let plan = |workload: &str| Plan::new(&scenario(&["moka:"], workload), true, &ENGINES).unwrap();
    let slice = |workload: &str, text: &str| plan(workload).sliced(text.parse().unwrap()).unwrap();
    let of = |plan: &Plan| plan.slice.clone().unwrap().plan;
    let (one, two) = (slice("rounds = 10", "1/4"), slice("rounds = 10", "3/4"));
    assert_eq!(of(&one), of(&two));
    assert_eq!((one.own_rounds(), two.own_rounds(), one.turns()), (3, 2, 3));
    for other in
        ["rounds = 11", "rounds = 10\nseed = 2", "rounds = 10\nkeys = 7", "rounds = 10\nttl = '9s'"]
    {
        assert_ne!(of(&one), of(&slice(other, "1/4")), "{other}");
    }
    let error = plan("rounds = 3").sliced("1/4".parse().unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--slice 1/4: the plan has 3 rounds; take at most as many slices, or more rounds with -r"
    );
    for open in ["until = '2%'", "max-time = '9s'"] {
        let error = plan(open).sliced("1/2".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("slices need a known number of rounds; give -r instead"), "{error}");
    }
}
