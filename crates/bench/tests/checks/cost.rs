//! Costs besides the operation, and the clocks that show them.

use larder_report::{Operation, Run, Severity};
use larder_testkit::{stores, trial_where};
use libtest_mimic::Trial;

use crate::case::{Case, NOTHING, both, made, memcached, real};
use crate::support::{findings, run};

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "CPU-WALL",
        severity: Severity::Warn,
        fires_on: "a target that waits beside a target that works",
        // The first target waits long and works little; the second works all the time and ends sooner. The difference
        // is too large for the cost of wake-ups or for other work of the machine to change it.
        trips: || {
            let targets =
                ["sleeps:?micros=4000&name=who waits", "spins:?micros=600&name=who works"];
            run(&stores::ENGINES, &targets, "keys = 60\nrounds = 2")
        },
        words: &[
            "by wall clock",
            " who works is ",
            " faster than who waits; by client CPU the order is reversed",
            " of the time of who waits is not the client's CPU",
        ],
        silent_on: "two targets that work",
        silent: || made(&["spins:?micros=20", "spins:?micros=60"]),
        needs: NOTHING,
    },
    Case {
        id: "CLIENT-COST",
        severity: Severity::Warn,
        fires_on: "values whose copying and comparing is most of the work",
        trips: || dear_to_measure(""),
        // On a busy machine the floor may take as much as the operation, and the finding then has other words.
        words: &["the measuring itself", "an operation ("],
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
        let run = dear_to_measure("multiget = 2");
        let found = findings(&run, "CLIENT-COST");
        let many = found.iter().any(|found| found.operation == Some(Operation::GetMany));
        assert!(many, "{found:#?}, floors: {:#?}", run.floors);
    })
}

/// A run in which a target's get does little but copy a value, and the measuring compares the value, too. The values
/// are so few that the processor has them at hand for both.
fn dear_to_measure(more: &str) -> Run {
    let workload = format!("keys = 2\nrounds = 3\ndata-size = '256k'\nrequests = 400\n{more}");
    run(&both(), &["map:"], &workload)
}
