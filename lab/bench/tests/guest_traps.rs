//! Servers that misbehave behind the clients of every language: a guest's program finds the same faults as Larder.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[expect(dead_code, reason = "other tests ask for more")]
mod support;

use std::process::ExitCode;

use larder_bench::guest;
use larder_engines::ENGINES;
use larder_report::{Counts, Run, Severity};
use larder_store::{Catalog, StoreUrl};
use larder_testkit::traps::{TrapServer, find};
use larder_testkit::{compile_java_fast, trial_where};
use libtest_mimic::Arguments;

const CATALOG: Catalog = ENGINES.with_guests(guest::GUESTS);

const LANGUAGES: [&str; 5] = ["perl", "php", "java", "python", "go"];

/// Each key is set once and read once: Larder's default.
const DEFAULT: &str = "keys = 100";
/// Keys are overwritten, deleted and read in turn.
const MIXED: &str = "keys = 100\nratio = '1:3:1'\nrequests = 600";

/// Time ends a phase of fills after a phase of deletes.
const TIMED: &str = "keys = 100\noperations = 'delete,get_or_set,get'\nduration = '300ms'";

/// A fault, a plan under which it shows, the check that finds it, and words of the example.
const CASES: &[(&str, &str, &str, &str)] = &[
    ("swap", DEFAULT, "OTHER-KEY", "got the value of `"),
    ("wrong", DEFAULT, "DAMAGED", "came back damaged: byte "),
    ("tail", DEFAULT, "DAMAGED", " bytes, where 1024 were stored"),
    ("trunc", DEFAULT, "TRUNCATED", " came back with 300 of its 1024 bytes"),
    // The plan sets no key twice; the read-back sets some keys again.
    (
        "keepfirst",
        DEFAULT,
        "STALE",
        "got version 1 of it, but version 2 is the oldest right version",
    ),
    ("nodelete", MIXED, "STALE", "` was deleted, and version "),
    ("nodelete", DEFAULT, "NOT-EMPTIED", "is still there"),
];

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    // SAFETY: no other thread runs yet.
    unsafe { compile_java_fast() };
    let mut trials = Vec::new();
    for language in LANGUAGES {
        let is_there = move || opens(&format!("{language}+memcached:"));
        for (fault, plan, id, words) in CASES {
            let name = format!("{language}_finds_{id}_of_a_server_that_is_{fault}");
            trials.push(trial_where(is_there, &name, move || {
                found(language, fault, plan, id, words);
            }));
        }
        let name = format!("{language}_holds_nothing_against_a_sound_server");
        trials.push(trial_where(is_there, &name, move || sound(language)));
        let name = format!("{language}_holds_nothing_against_fills_that_time_ended");
        trials
            .push(trial_where(is_there, &name, move || no_error(&run(language, "honest", TIMED))));
    }
    libtest_mimic::run(&Arguments::from_args(), larder_testkit::nightly(trials).collect())
        .exit_code()
}

/// Whether a target can be opened here.
fn opens(url: &str) -> Result<(), String> {
    CATALOG.open(&StoreUrl::parse(url).unwrap()).map(drop).map_err(|error| error.to_string())
}

/// A run of a language's client with a server that has this fault.
fn run(language: &str, fault: &str, plan: &str) -> Run {
    let server = TrapServer::start(find(fault).unwrap().fault).unwrap();
    let target = format!("{language}+memcached://{}", server.address());
    support::run(&CATALOG, &[&target], &format!("rounds = 2\n{plan}"))
}

fn found(language: &str, fault: &str, plan: &str, id: &str, words: &str) {
    let run = run(language, fault, plan);
    let checks: Vec<_> = run.checks.iter().filter(|check| check.id == id).collect();
    assert!(checks.iter().any(|check| check.text.contains(words)), "{checks:#?} {:#?}", run.cells);
    for cell in &run.cells {
        let counts = cell.counts;
        assert_eq!(counts.wrong_unnamed(), 0, "{counts:#?}");
    }
}

/// Deletes, overwrites and clears that are carried out are verified, and cause no finding.
fn sound(language: &str) {
    let run = run(language, "honest", MIXED);
    no_error(&run);
    let mut counts = Counts::default();
    run.cells.iter().for_each(|cell| counts.add(&cell.counts));
    assert!(counts.planned_misses > 0 && counts.planned_misses <= counts.misses, "{counts:#?}");
    assert!(counts.overwritten > 0 && counts.deletes_read_back > 0, "{counts:#?}");
    assert_eq!((counts.emptied_checked > 0, counts.emptied_left), (true, 0), "{counts:#?}");
}

fn no_error(run: &Run) {
    let errors = run.checks.iter().filter(|check| check.severity == Severity::Error);
    assert_eq!(errors.count(), 0, "{:#?}", run.checks);
}
