//! The events of an observer while a comparison runs.

mod support;

use std::cell::RefCell;

use larder_analysis::check::{CHECKS, Needs};
use larder_bench::{Event, Observer};
use larder_engines::ENGINES;
use larder_report::{Operation, Run};
use larder_store::Catalog;
use larder_testkit::stores;
use support::{cell, findings, run};

/// Writes down each event as a line.
#[derive(Default)]
struct Notes(RefCell<Vec<String>>);

impl Observer for Notes {
    fn notice(&self, event: Event<'_>) {
        let line = match event {
            Event::Opening { target } => format!("opening {target}"),
            Event::Floor => "floor".into(),
            Event::WarmUp => "warm-up".into(),
            Event::Started { plan } => format!("{} turns", plan.turns()),
            Event::Turn { round, rounds, target, .. } => format!("{round}/{rounds} {target}"),
            Event::Measured { target, operation, sample, .. } => {
                let counts = &sample.counts;
                format!("{target} {operation} {} {} {}", sample.round, counts.ops, counts.hits)
            }
            Event::Lost { target, .. } => format!("lost {target}"),
            Event::Fired { target, check } => {
                format!("{} {}", check.id, target.unwrap_or("several"))
            }
            Event::TurnEnded { done } => format!("done {done}"),
            Event::Ended => "ended".into(),
            _ => return,
        };
        self.0.borrow_mut().push(line);
    }
}

/// Runs a comparison, and returns the events and the run.
fn observed(catalog: &Catalog, targets: &[&str], workload: &str) -> (Vec<String>, Run) {
    let notes = Notes::default();
    let outcome = support::observed(catalog, targets, workload, &notes);
    (notes.0.into_inner(), outcome.run)
}

#[test]
fn every_round_of_every_cell_is_told_in_its_turn() {
    let workload = "keys = 200\nrounds = 2\nwarmup = '10ms'";
    let (told, _) = observed(&stores::ENGINES, &["map:"], workload);
    let expected = [
        "opening map:",
        "floor",
        "warm-up",
        "2 turns",
        "1/2 map:",
        "map: set 1 200 0",
        "map: get 1 200 200",
        "done 1",
        "2/2 map:",
        "map: set 2 200 0",
        "map: get 2 200 200",
        "done 2",
        "ended",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_check_that_can_judge_some_rounds_fires_after_the_first_and_once() {
    let workload = "keys = 200\nrounds = 3\nthreads = [1, 2]";
    let targets = ["map:", "faulty:?fault=miss&name=deaf"];
    let (told, run) = observed(&stores::ENGINES, &targets, workload);
    let fired: Vec<usize> = (0..told.len()).filter(|at| told[*at] == "NEVER-HITS deaf").collect();
    assert_eq!(fired.len(), 2, "once at each point: {told:#?}");
    let second_point = told.iter().position(|line| line == "done 3");
    assert!(second_point.is_some_and(|at| fired[0] < at), "{told:#?}");
    assert_eq!(findings(&run, "NEVER-HITS").len(), 2);
}

#[test]
fn nothing_fires_early_that_needs_the_whole_run() {
    // The first target waits long and works little, so its ranks by CPU and by wall clock differ. The floor is a large
    // part of a map, and the rounds are short. However busy the machine is, not all of this changes.
    let both = ENGINES.iter().chain(stores::ENGINES.iter()).copied().collect::<Vec<_>>();
    let catalog = Catalog::new(both.leak());
    let targets = ["faulty:?fault=sleep&micros=4000", "faulty:?fault=spin&micros=600", "map:"];
    let (told, run) = observed(&catalog, &targets, "keys = 60\nrounds = 2");
    let late: Vec<&str> = CHECKS
        .iter()
        .map(|check| check.about())
        .filter(|about| about.needs == Needs::WholeRun)
        .map(|about| about.id)
        .collect();
    assert!(late.contains(&"CPU-WALL") && late.contains(&"CLIENT-COST"), "{late:?}");
    assert!(late.iter().any(|id| !findings(&run, id).is_empty()), "{:#?}", run.checks);
    let early = told.iter().any(|line| late.iter().any(|id| line.starts_with(id)));
    assert!(!early, "{told:#?}");
}

#[test]
fn a_check_that_fires_early_fires_in_the_end_too() {
    let targets = [
        "map:",
        "faulty:?fault=drop",
        "faulty:?fault=truncate",
        "faulty:?fault=swap-values",
        "faulty:?fault=fail&every=50",
        "faulty:?fault=miss",
    ];
    let workload = "keys = 300\nrounds = 3\ndata-size = '2k'";
    let (told, run) = observed(&stores::ENGINES, &targets, workload);
    let fired: Vec<(&str, &str)> = told
        .iter()
        .filter_map(|line| line.split_once(' '))
        .filter(|(id, _)| CHECKS.iter().any(|check| check.about().id == *id))
        .collect();
    for (id, target) in &fired {
        let found = findings(&run, id);
        let same = |found: &&larder_report::Finding| {
            found.target.as_deref().is_none_or(|url| url == *target)
        };
        assert!(found.iter().any(same), "{id} {target}: {:#?}", run.checks);
    }
    for id in ["SILENT-DROP", "TRUNCATED", "ERR-AS-OP", "NEVER-HITS"] {
        assert!(fired.iter().any(|(fired, _)| *fired == id), "{id} is not in {told:#?}");
    }
    assert!(!fired.iter().any(|(_, target)| *target == "map:"), "{fired:#?}");
}

#[test]
fn a_target_that_is_lost_is_told_once() {
    let (told, run) =
        observed(&stores::ENGINES, &["faulty:?fault=full", "map:"], "keys = 4000\nrounds = 3");
    assert_eq!(
        told.iter().filter(|line| *line == "lost faulty:?fault=full").count(),
        1,
        "{told:#?}"
    );
    assert!(cell(&run, "faulty:?fault=full", Operation::Set).reason.is_some());
}

#[test]
fn an_observer_changes_no_count() {
    let (targets, workload) = (["map:", "faulty:?fault=miss"], "keys = 100\nrounds = 2");
    let counts = |run: &Run| run.cells.iter().map(|cell| cell.counts).collect::<Vec<_>>();
    let (_, told) = observed(&stores::ENGINES, &targets, workload);
    assert_eq!(counts(&told), counts(&run(&stores::ENGINES, &targets, workload)));
}
