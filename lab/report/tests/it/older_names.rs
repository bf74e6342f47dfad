//! A `run.json` with the names that some fields had in older versions reads as the same run.

use std::collections::BTreeMap;

use larder_report::{Latency, MergedSlice, Paced, PacedSample, Run, Slice, Timeline, TtlTrial};

use crate::made_up::article::article;
use crate::made_up::usage::usage;

/// The older name of each field that was renamed, and its present name.
const RENAMED: &[(&str, &str)] = &[
    ("asked_after_s", "last_request_after_s"),
    ("asked_elsewhere", "claims_of_other_form"),
    ("beside_cpu_s", "other_turns_server_cpu_s"),
    ("beside_s", "other_turns_wall_s"),
    ("besides", "unexpected"),
    ("curtailed_keys", "set_shortened_keys"),
    ("curtailed_late", "set_shortened_late"),
    ("evictions_told", "evictions_reported"),
    ("lag_ns", "schedule_lag_ns"),
    ("parts", "slices"),
    ("own_turns_s", "own_turns_wall_s"),
    ("prolonged_early", "set_lengthened_early"),
    ("prolonged_keys", "set_lengthened_keys"),
    ("renewed_early", "touch_lengthened_early"),
    ("renewed_keys", "touch_lengthened_keys"),
    ("shortened_keys", "touch_shortened_keys"),
    ("shortened_late", "touch_shortened_late"),
    ("slot_ns", "bin_ns"),
    ("somebodys_evictions", "external_evictions"),
    ("timed", "latency_count"),
    ("turn_of", "turn_target"),
    ("requests", "wire_requests"),
    ("unbegun", "not_started"),
    ("unknown", "unknown_reason"),
];

/// A run that has every renamed field, each with a value that is not the default.
fn run() -> Run {
    let mut run = article();
    run.usage = usage(&run, 3);
    run.usage[1].unknown_reason = Some("not on this machine".into());
    let article = run.article.as_mut().expect("it repeats an article");
    article.claims_of_other_form = 2;
    let checks = article.checks.as_mut().expect("it is the published form");
    checks.unexpected = vec!["ONE-KEY".into()];
    let target = &mut run.targets[0];
    target.external_evictions = Some(7);
    target.other_turns_server_cpu_s = Some(1.5);
    target.other_turns_wall_s = Some(9.5);
    target.own_turns_wall_s = Some(4.5);
    target.ttl = Some(TtlTrial {
        last_request_after_s: 3.5,
        touch_lengthened_keys: 1,
        touch_lengthened_early: 2,
        touch_shortened_keys: 3,
        touch_shortened_late: 4,
        set_lengthened_keys: 5,
        set_lengthened_early: 6,
        set_shortened_keys: 7,
        set_shortened_late: 8,
        evictions_reported: false,
        ..TtlTrial::default()
    });
    let lag = Latency { p99: 11, ..Latency::default() };
    let cell = &mut run.cells[0];
    cell.latency_count = Some(12);
    cell.paced = Some(Paced { schedule_lag_ns: Some(lag), not_started: 13, ..Paced::default() });
    cell.samples[0].timeline = Some(Timeline { bin_ns: 15, ops: vec![1], max_ns: vec![2] });
    cell.samples[0].paced =
        Some(PacedSample { schedule_lag_ns: Some(lag), not_started: 14, ..PacedSample::default() });
    run.slices = vec![MergedSlice {
        slice: Slice { number: 1, of: 2, rounds: 10, plan: "a plan".into() },
        started: run.started.clone(),
        larder: run.larder.clone(),
        environment: run.environment.clone(),
        versions: BTreeMap::default(),
    }];
    run
}

#[test]
fn a_run_with_older_names_reads_as_the_same_run() {
    let text = run().to_json();
    let mut older = text.clone();
    for (old, new) in RENAMED {
        let with_old = older.replace(&format!("\"{new}\":"), &format!("\"{old}\":"));
        assert_ne!(with_old, older, "{new} is not in the run");
        older = with_old;
    }
    assert_eq!(Run::from_json(&older).unwrap().to_json(), text);
}
