//! The number of rounds: a given number, until the rates are exact enough, or until the time is over.

mod support;

use larder_report::{Operation, Run};
use larder_testkit::stores;
use support::{cell, findings, run};

/// The rounds of each cell; all cells of one point have the same number.
fn rounds(run: &Run) -> Vec<u32> {
    let mut found: Vec<u32> = run.cells.iter().map(|cell| cell.rounds).collect();
    found.dedup();
    found
}

/// The event that ended the rounds, where its text begins like this.
fn ended<'a>(run: &'a Run, by: &str) -> Option<&'a str> {
    run.rounds_ended.as_deref().filter(|how| how.starts_with(by))
}

#[test]
fn rounds_go_on_until_every_rate_is_known() {
    // A sleep is as long in every round, but never to the microsecond.
    let targets = ["faulty:?fault=sleep&micros=300", "faulty:?fault=sleep&micros=300&name=other"];
    let run = run(&stores::ENGINES, &targets, "keys = 20\nrounds = 3\nuntil = '40%'");
    let [rounds] = rounds(&run)[..] else { panic!("{:?}", run.cells) };
    assert!(rounds >= 28, "{rounds} rounds tell too little");
    assert_eq!(run.workload["until"], "40%");
    let wanted = "until every rate is known to ±40% and every ratio of two to ±56.6 %: ";
    let note = ended(&run, wanted).expect("a note");
    let wide = |cell: &larder_report::Cell| {
        let ([low, high], rate) = (cell.ops_per_s_ci95.unwrap(), cell.ops_per_s.unwrap());
        low < 0.6 * rate || high > 1.4 * rate
    };
    let alike = |of: &larder_report::Comparison| {
        let [low, high] = of.ci95.unwrap();
        low >= 0.44 * of.ratio && high <= 1.56 * of.ratio
    };
    let there = !run.cells.iter().any(wide) && run.comparisons.iter().all(alike);
    assert_eq!(!note.contains("did not reach that"), there, "{note}");
}

#[test]
fn the_time_ends_rounds_that_would_go_on_for_ever() {
    // The sleeps vary so much that no rate reaches this exactness in the time.
    let targets =
        ["faulty:?fault=sleep&micros=50&spread=300", "faulty:?fault=sleep&micros=80&spread=400"];
    let workload = "keys = 20\nuntil = '0.1%'\nmax-time = '3s'\nrounds = 2";
    let run = run(&stores::ENGINES, &targets, workload);
    assert_eq!(rounds(&run).len(), 1, "all have equally many: {:?}", rounds(&run));
    assert!(rounds(&run)[0] > 2, "{:?}", rounds(&run));
    let note = ended(&run, "until every rate is known to ±0.1% and ").expect("a note");
    assert!(note.contains("6 of 6 did not reach that in 3s: "), "{note}");
    assert!(note.contains("get of ") && note.contains(" over ") && note.contains("(±"), "{note}");
}

#[test]
fn a_time_bounds_a_number_of_rounds_and_leaves_each_point_its_first() {
    let workload = "keys = [20, 30]\nrounds = 900\nmax-time = '1ms'";
    let run = run(&stores::ENGINES, &["faulty:?fault=sleep&micros=100"], workload);
    assert_eq!(rounds(&run), [1], "{:?}", run.cells);
    let note = ended(&run, "").expect("a note");
    assert_eq!(note, "--max-time 1ms was over after 1 of 900 rounds");
    assert!(run.cells.iter().all(|cell| cell.reason.is_none() && cell.ops_per_s.is_some()));
}

#[test]
fn a_number_of_rounds_by_itself_needs_no_words() {
    let run = run(&stores::ENGINES, &["map:"], "keys = 20\nrounds = 3\nmax-time = '1h'");
    assert_eq!((rounds(&run), ended(&run, "")), (vec![3], None));
    assert!(run.cells.iter().all(|cell| cell.trend.is_none() && cell.outliers.is_empty()));
    assert!(findings(&run, "ORDER").is_empty(), "three rounds are in every order by chance");
}

#[test]
fn a_lost_target_tells_after_how_many_of_the_rounds_of_the_whole_run() {
    // The store takes a thousand sets, those of the probe included, and no more.
    let targets = ["faulty:?fault=full", "faulty:?fault=sleep&micros=10"];
    let workload = "keys = 300\nrounds = 2\noperations = 'set'\nuntil = '0.1%'\nmax-time = '4s'";
    let run = run(&stores::ENGINES, &targets, workload);
    let lost = cell(&run, targets[0], Operation::Set);
    let all = cell(&run, targets[1], Operation::Set).rounds;
    let reason = lost.reason.as_deref().expect("it was lost");
    // Two rounds were planned, and the further rounds found a place in the time.
    assert!(all > 2 && lost.ops_per_s.is_none(), "{all}: {reason}");
    assert!(
        reason.starts_with("lost after ") && reason.contains(&format!(" of {all} rounds: ")),
        "{reason}"
    );
}
