//! What costs time besides the operation, and by which clock.

use larder_report::{Check, Operation, Run, Severity};
use larder_testkit::{stores, trial_where};
use libtest_mimic::Trial;

use crate::case::{Case, NOTHING, both, made, memcached, real};
use crate::support::{findings, run};

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "CPU-WALL",
        severity: Severity::Warn,
        fires_on: "one who waits and one who works",
        // One waits long and works little, the other works all the time and is done sooner.
        trips: || {
            let targets = ["sleeps:?micros=300&name=who waits", "spins:?micros=60&name=who works"];
            run(&stores::ENGINES, &targets, "keys = 300\nrounds = 2")
        },
        words: &[
            "by wall clock",
            " who works is ",
            " faster than who waits; by client CPU it is the other way round",
            " of the time of who waits is not the client's CPU",
        ],
        silent_on: "two who work",
        silent: || made(&["spins:?micros=20", "spins:?micros=60"]),
        needs: NOTHING,
    },
    Case {
        id: "CLIENT-COST",
        severity: Severity::Warn,
        fires_on: "values whose copying and comparing is most of the work",
        trips: || run_until(LARGE, |found| found.operation.is_some()),
        words: &["an operation (", "are the measuring itself"],
        silent_on: "a store that works longer",
        silent: || {
            let run = run(&both(), &["spins:?micros=200"], "keys = 300\nrounds = 3");
            assert_eq!(run.floors.len(), 2);
            run
        },
        needs: NOTHING,
    },
    Case {
        id: "RECONNECT",
        severity: Severity::Warn,
        fires_on: "a connection for each operation",
        trips: || real(&["memcached:?connect=operation"], "keys = 150"),
        words: &["300 operations"],
        silent_on: "one connection a thread and node",
        silent: || real(&["memcached:", "memcached:?nodes=3"], "keys = 150\nthreads = 2"),
        needs: memcached,
    },
];

pub(crate) fn of_a_multiget() -> Trial {
    trial_where(NOTHING, "CLIENT-COST: counts the keys of a multiget", || {
        let workload = format!("{LARGE}\nmultiget = 16");
        run_until(&workload, |found| found.operation == Some(Operation::GetMany));
    })
}

/// Copying and comparing large values is most of what a map takes for them.
const LARGE: &str = "keys = 300\nrounds = 3\ndata-size = '64k'\nrequests = 3000";

/// A run of `map:` in which CLIENT-COST found what is `wanted`: the floor, measured with an engine that keeps nothing, stands
/// beside a store of known cost. Where other work takes the processor from the store alone, the share of the measuring
/// looks small, so that it may take more than one; ten are enough.
fn run_until(workload: &str, wanted: fn(&Check) -> bool) -> Run {
    let mut ran = (0..10).map(|_| run(&both(), &["map:"], workload));
    let fired = |run: &Run| findings(run, "CLIENT-COST").into_iter().any(wanted);
    ran.find(fired).expect("a run in which it fires")
}
