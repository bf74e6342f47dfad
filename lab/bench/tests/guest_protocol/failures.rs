//! A failure is one line and no miss, and a phase of failures is given up.

use larder_bench::guest::protocol::{HandPhase, HandPlan, Program, Step};
use larder_report::Operation;
use larder_testkit::signal;

use super::{Case, Language, counts, run, store};

pub(super) const CASES: &[(&str, Case)] = &[
    ("a_wrong_command_is_refused_and_the_guest_goes_on", commands),
    ("a_value_that_the_server_refuses_is_told_with_the_reason", refused),
    ("after_a_set_that_failed_every_value_of_the_key_is_right", unsure),
    ("a_fill_that_is_refused_is_a_miss_that_did_not_succeed", unfilled),
    ("where_everything_fails_it_gives_up", gives_up),
    ("a_server_that_is_gone_is_no_cache_that_misses", server_gone),
];

/// A value larger than memcached takes.
const TOO_LARGE: usize = 1_500_000;

fn plan(keys: u32) -> HandPlan {
    HandPlan::new("failing-", keys, 1, TOO_LARGE)
}

fn commands(language: &'static Language) {
    let mut program = language.replaying();
    for (command, error, kind) in [
        ("flush", "unknown command: flush", "protocol"),
        ("run 0", "no plan has been loaded", "protocol"),
        ("load /nowhere", "/nowhere/plan.json", "io"),
    ] {
        let answer = program.ask(command, &[]).unwrap();
        assert!(answer["error"].as_str().unwrap().contains(error), "{answer}");
        assert_eq!(answer["kind"], kind, "{answer}");
    }
    store(&mut program, b"a", b"b");
    program.end().unwrap();
}

fn refused(language: &'static Language) {
    let mut program = language.keeping();
    let value = vec![b'x'; TOO_LARGE];
    let answer = program.ask(&format!("set 5 {TOO_LARGE} -"), &[b"large", &value]).unwrap();
    let is_told = answer["kind"] == "too_large" || answer["stored"] == false;
    assert!(is_told && answer["why"].as_str().or(answer["error"].as_str()).is_some(), "{answer}");
    store(&mut program, b"small", b"x");
}

fn unsure(language: &'static Language) {
    let mut program = language.keeping();
    let mut plan = plan(1);
    let older = plan.value(0, 40);
    let newer = plan.value(0, TOO_LARGE);
    plan.phase(HandPhase::new(&[Operation::Set], vec![Step::set(0, newer)]));
    plan.phase(HandPhase::new(&[Operation::Get], vec![Step::get(0, newer)]));
    program.load(&plan).unwrap();
    let ran = program.ask("run 0", &[]).unwrap();
    assert_eq!(ran["ran"], 0, "{ran}");
    let set = program.counts(0, 0).unwrap();
    assert_eq!(set["failed"], serde_json::json!([newer]), "{set}");
    assert!(set["first_error"].is_string(), "{set}");
    assert_eq!(set["operations"]["set"]["errors_by_kind"], serde_json::json!({"too_large": 1}));
    store(&mut program, &plan.key(0), plan.text(older));
    program.ask("run 1", &[]).unwrap();
    let get = program.counts(1, 0).unwrap();
    assert_eq!(counts(&get["operations"]["get"], &["hits", "wrong"]), [1, 0], "{get}");
}

fn unfilled(language: &'static Language) {
    let mut program = language.keeping();
    let mut plan = plan(2);
    let (large, small) = (plan.value(0, TOO_LARGE), plan.value(1, 10));
    super::remove(&mut program, &plan.key(0));
    super::remove(&mut program, &plan.key(1));
    let fills = [Step::get_or_set(0, large, 0), Step::get_or_set(1, small, 1)];
    plan.phase(HandPhase::new(&[Operation::GetOrSet], fills.repeat(2)));
    let ran = &run(&mut program, &plan, 1, 1)[0][0];
    let found = &ran["operations"]["get_or_set"];
    let names = ["ops", "hits", "misses", "wrong", "errors", "failed_fills", "succeeded"];
    assert_eq!(counts(found, &names), [4, 1, 3, 0, 0, 2, 2], "{found}");
    assert_eq!(found["errors_by_kind"], serde_json::json!({"too_large": 2}));
    assert_eq!(ran["failed"], serde_json::json!([large]));
}

fn gives_up(language: &'static Language) {
    let mut program = language.keeping();
    let mut plan = plan(1);
    let large = plan.value(0, TOO_LARGE);
    plan.phase(HandPhase::new(&[Operation::Set], vec![Step::set(0, large); 200]));
    program.load(&plan).unwrap();
    let answer = program.ask("run 0", &[]).unwrap();
    let error = answer["error"].as_str().unwrap();
    assert!(error.starts_with("gave up after "), "{answer}");
    assert!(error.contains(" failures in a row: "), "{answer}");
    // A client that still sends the value when the refusal comes may miss it, and wait in vain.
    assert!(answer["kind"] == "too_large" || answer["kind"] == "timeout", "{answer}");
}

fn server_gone(language: &'static Language) {
    let mut program = language.keeping();
    let mut plan = plan(40);
    let values: Vec<u32> = (0..40).map(|key| plan.value(key, 50)).collect();
    let keys = || (0..40).zip(&values);
    let gets: Vec<Step> = keys().map(|(key, value)| Step::get(key, *value)).collect();
    let many = HandPhase { multiget: 10, ..HandPhase::new(&[Operation::GetMany], gets.clone()) };
    let sets: Vec<Step> = keys().map(|(key, value)| Step::set(key, *value)).collect();
    plan.phase(HandPhase::new(&[Operation::Set], sets.clone()));
    plan.phase(HandPhase::new(&[Operation::Get], gets));
    plan.phase(many);
    plan.phase(HandPhase::new(&[Operation::Set], sets));
    program.load(&plan).unwrap();
    assert_eq!(program.ask("run 0", &[]).unwrap()["ran"], 0);
    end_servers(&program);
    for (phase, name) in [(1, "get"), (2, "get_many"), (3, "set")] {
        let answer = program.ask(&format!("run {phase}"), &[]).unwrap();
        // A client that waits for each answer gives up before the phase is over.
        if let Some(error) = answer["error"].as_str() {
            assert!(error.starts_with("gave up after "), "{answer}");
            continue;
        }
        let ran = program.counts(phase, 0).unwrap();
        let found = &ran["operations"][name];
        assert_eq!(counts(found, &["hits", "misses", "wrong", "errors"]), [0, 0, 0, 40], "{found}");
    }
}

/// Kills the servers of a program, and waits until they are gone.
fn end_servers(program: &Program) {
    for pid in program.server_pids() {
        signal(pid, libc::SIGKILL);
        super::ends::wait_until_gone(pid);
    }
}
