//! The work of a phase, whose counts must add up.

use std::time::Duration;

use larder_bench::guest::protocol::{HandPhase, HandPlan, Program, Step};
use larder_report::Operation;
use serde_json::Value as Json;

use super::{CATALOG, CacheCase, Case, Language, counts, latencies, remove, run, run_one, store};

pub(super) const CASES: &[(&str, Case)] = &[
    ("the_figures_of_the_floor_add_up", floor),
    ("a_fill_goes_where_the_plan_says", fill),
    ("time_ends_a_phase_whose_operations_come_again", timed),
    ("one_without_work_is_no_reason", idle),
    ("a_value_that_another_process_stored_meanwhile_is_right", meanwhile),
];

pub(super) const OF_CACHES: &[(&str, CacheCase)] = &[
    ("every_operation_is_counted_by_its_kind_and_outcome", operations),
    ("three_processes_share_a_phase_and_find_each_others_values", shared),
];

fn floor(language: &'static Language) {
    let mut program = language.replaying();
    assert_eq!(program.get(b"a").unwrap(), None);
    store(&mut program, b"a", b"line\nfeed");
    let replayed = program.get(b"b").unwrap();
    assert_eq!(replayed.as_deref(), Some(&b"line\nfeed"[..]), "what was set last comes back");

    let mut plan = HandPlan::new("floor-", 100, 1, 4096);
    let values: Vec<u32> = (0..100).map(|key| plan.value(key, key.min(5) as usize * 20)).collect();
    let sets = (0..100).map(|key| Step::set(key, values[key as usize])).collect();
    // Each get finds the last set value, which is the value of its key only where sets and gets alternate.
    let both = (0..5000).flat_map(|n| {
        let key = n % 100;
        [Step::set(key, values[key as usize]), Step::get(key, values[key as usize])]
    });
    plan.phase(HandPhase::new(&[Operation::Set], sets));
    plan.phase(HandPhase::new(&[Operation::Set, Operation::Get], both.collect()));
    let ran = run(&mut program, &plan, 2, 1);
    for (phase, name, expected) in [
        (0, "set", [100, 0, 0, 0, 0, 100, 9700]),
        (1, "set", [5000, 0, 0, 0, 0, 5000, 485_000]),
        (1, "get", [5000, 5000, 0, 0, 0, 5000, 485_000]),
    ] {
        let ran = &ran[phase][0];
        let found = &ran["operations"][name];
        let names = ["ops", "hits", "misses", "wrong", "errors", "succeeded", "bytes"];
        assert_eq!(counts(found, &names), expected, "{found}");
        adds_up(found);
        assert!(number(ran, "rss_bytes") > 1_000_000, "{ran}");
        assert!(number(found, "busy_ns") <= number(ran, "wall_ns"), "{ran}");
    }
    let alone = &ran[0][0];
    assert_eq!(alone["operations"]["set"]["busy_ns"], alone["wall_ns"], "it is always busy");
    program.end().unwrap();
}

fn number(of: &Json, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("{name} of {of}"))
}

/// Latencies add up to the measured time; each operation is in a bin.
fn adds_up(found: &Json) {
    let mut together = 0;
    for pair in found["latencies"].as_array().unwrap() {
        let (ns, times) = (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap());
        together += ns * times;
    }
    assert_eq!(latencies(found), number(found, "succeeded"));
    let busy = number(found, "busy_ns");
    assert!(together.abs_diff(busy) <= busy / 50 + number(found, "ops"), "{together} of {busy} ns");
    let timeline = &found["timeline"];
    let bins = timeline["ops"].as_array().unwrap();
    assert_eq!(bins.iter().map(|ops| ops.as_u64().unwrap()).sum::<u64>(), number(found, "ops"));
    assert_eq!(timeline["max_ns"].as_array().unwrap().len(), bins.len());
    assert!(number(timeline, "bin_ns").is_power_of_two());
}

fn operations(url: &str) {
    let mut program = Program::start(url, &CATALOG).unwrap();
    let mut plan = HandPlan::new("counted-", 50, 1, 4096);
    let values: Vec<u32> = (0..50).map(|key| plan.value(key, 10 + 40 * key as usize)).collect();
    let value = |key: u32| values[key as usize];
    let sets = (0..30).map(|key| Step::set(key, value(key))).collect();
    let gets: Vec<Step> =
        (0..40).map(|key| Step::get(key, if key < 30 { value(key) } else { 0 })).collect();
    let fills = (20..50).map(|key| Step::get_or_set(key, value(key), key)).collect();
    let mixed = (40..50).flat_map(|key| [Step::get(key, value(key)), Step::delete(key)]).collect();
    let many = HandPhase { multiget: 8, ..HandPhase::new(&[Operation::GetMany], gets.clone()) };
    plan.phase(HandPhase::new(&[Operation::Set], sets));
    plan.phase(HandPhase::new(&[Operation::Get], gets));
    plan.phase(many);
    plan.phase(HandPhase::new(&[Operation::GetOrSet], fills));
    plan.phase(HandPhase::new(&[Operation::Get, Operation::Delete], mixed));
    plan.ttl = Some(Duration::from_mins(10));
    let ran = run(&mut program, &plan, 5, 1);
    for (phase, name, expected) in [
        (0, "set", [30, 0, 0, 0, 0, 0, 30]),
        (1, "get", [40, 30, 10, 0, 0, 0, 30]),
        (2, "get_many", [40, 30, 10, 0, 0, 0, 30]),
        (3, "get_or_set", [30, 10, 20, 0, 0, 0, 30]),
        (4, "get", [10, 10, 0, 0, 0, 0, 10]),
        (4, "delete", [10, 0, 0, 0, 0, 0, 10]),
    ] {
        let found = &ran[phase][0]["operations"][name];
        let names = ["ops", "hits", "misses", "wrong", "errors", "failed_fills", "succeeded"];
        assert_eq!(counts(found, &names), expected, "{phase} {name}: {found}");
    }
    let requests = latencies(&ran[2][0]["operations"]["get_many"]);
    assert_eq!(requests, 4, "a request has one latency, if any of its keys was right");
    program.end().unwrap();
}

fn fill(language: &'static Language) {
    let mut program = language.keeping();
    let mut plan = HandPlan::new("filled-", 2, 1, 4096);
    let value = plan.value(1, 64);
    let (asked, under) = (plan.key(0), plan.key(1));
    remove(&mut program, &asked);
    let text = plan.text(value).to_vec();
    let fills = vec![Step::get_or_set(0, value, 1); 5];
    let found = run_one(&mut program, plan, Operation::GetOrSet, fills);
    assert_eq!(counts(&found, &["misses", "succeeded"]), [5, 5], "under another key it never hits");
    assert_eq!(program.get(&under).unwrap(), Some(text));
    assert_eq!(program.get(&asked).unwrap(), None);
}

fn timed(language: &'static Language) {
    const LIMIT: Duration = Duration::from_millis(1500);
    let mut program = language.replaying();
    let mut plan = HandPlan::new("timed-", 1, 1, 4096);
    let value = plan.value(0, 100);
    let sets = vec![Step::set(0, value); 500];
    let phase = HandPhase::new(&[Operation::Set], sets);
    plan.phase(HandPhase { time_limit: Some(LIMIT), ..phase });
    let ran = &run(&mut program, &plan, 1, 1)[0][0];
    assert!(u128::from(number(ran, "wall_ns")) >= LIMIT.as_nanos(), "{ran}");
    let found = &ran["operations"]["set"];
    assert!(number(found, "ops") > 500, "operations come again: {found}");
    adds_up(found);
    assert!(number(ran, "cpu_user_ns") + number(ran, "cpu_system_ns") > 0, "{ran}");
}

/// Each of three processes sets its own keys, and then reads all keys.
fn shared(url: &str) {
    let mut program = Program::start(url, &CATALOG).unwrap();
    let mut plan = HandPlan::new("shared-", 300, 3, 4096);
    let values: Vec<u32> = (0..300).map(|key| plan.value(key, 100)).collect();
    let sets = |keys: std::ops::Range<u32>| keys.map(|key| Step::set(key, values[key as usize]));
    let gets: Vec<Step> = (0..300).map(|key| Step::get(key, values[key as usize])).collect();
    plan.phase(HandPhase {
        shares: [0..100, 100..200, 200..300].map(|keys| sets(keys).collect()).into(),
        ..HandPhase::new(&[Operation::Set], Vec::new())
    });
    plan.phase(HandPhase {
        shares: vec![gets; 3],
        ..HandPhase::new(&[Operation::Get], Vec::new())
    });
    let ran = run(&mut program, &plan, 2, 3);
    for (phase, name, expected) in [(0, "set", [100, 100, 0]), (1, "get", [300, 300, 0])] {
        let starts = ran[phase].iter().map(|ran| number(ran, "start_ns"));
        let ends = ran[phase].iter().map(|ran| number(ran, "start_ns") + number(ran, "wall_ns"));
        assert!(starts.clone().all(|start| start > 0));
        assert!(starts.max() <= ends.max());
        for ran in &ran[phase] {
            let found = &ran["operations"][name];
            assert_eq!(counts(found, &["ops", "succeeded", "wrong"]), expected, "{found}");
            assert!(number(found, "busy_ns") <= number(ran, "wall_ns"), "{ran}");
        }
    }
    store(&mut program, b"after", b"x");
    program.end().unwrap();
}

fn idle(language: &'static Language) {
    let mut program = language.replaying();
    let mut plan = HandPlan::new("idle-", 1, 3, 4096);
    let sets = vec![Step::set(0, plan.value(0, 100)); 3];
    plan.phase(HandPhase {
        shares: vec![sets.clone(), sets, Vec::new()],
        ..HandPhase::new(&[Operation::Set], Vec::new())
    });
    let ran = &run(&mut program, &plan, 1, 3)[0];
    let ops: Vec<u64> =
        ran.iter().map(|ran| ran["operations"]["set"]["ops"].as_u64().unwrap_or(0)).collect();
    assert_eq!(ops, [3, 3, 0]);
}

/// One process reads while another stores newer values.
fn meanwhile(language: &'static Language) {
    let mut program = language.keeping();
    let mut plan = HandPlan::new("hot-", 1, 2, 4096);
    let first = plan.value(0, 64);
    store(&mut program, &plan.key(0), plan.text(first));
    let sets = (0..200).map(|n| Step::set(0, plan.value(0, 64 + n % 40))).collect();
    plan.phase(HandPhase {
        shares: vec![vec![Step::get(0, first); 500], sets],
        ..HandPhase::new(&[Operation::Get, Operation::Set], Vec::new())
    });
    let ran = &run(&mut program, &plan, 1, 2)[0];
    let get = &ran[0]["operations"]["get"];
    assert_eq!(counts(get, &["hits", "wrong"]), [500, 0], "{get}");
    assert_eq!(counts(&ran[1]["operations"]["set"], &["succeeded"]), [200]);
}
