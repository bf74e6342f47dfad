//! Costs besides the operation, and the clocks that show them.

use larder_report::{Operation, Run, Sample, Severity};
use larder_testkit::trial_where;
use libtest_mimic::Trial;

use crate::case::{Case, NOTHING, both, made, made_up, memcached, real};
use crate::support::{findings, run};

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "CPU-WALL",
        severity: Severity::Warn,
        fires_on: "a target that waits beside a target that works",
        trips: || each_takes([("waits", 4000, 50), ("works", 600, 600)]),
        words: &[
            "by wall clock",
            " works is ",
            " faster than waits; by client CPU the order is reversed",
            " of the time of waits is not the client's CPU",
        ],
        silent_on: "two targets that work",
        silent: || each_takes([("works", 20, 20), ("works more", 60, 60)]),
        needs: NOTHING,
    },
    Case {
        id: "CLIENT-COST",
        severity: Severity::Warn,
        fires_on: "values whose copying and comparing is most of the work",
        trips: || dear_to_measure(run(&both(), &["map:"], "keys = 300\nrounds = 2")),
        words: &["the measuring itself takes ", " an operation (50 %)"],
        silent_on: "a store that works longer",
        silent: || {
            let mut run = run(&both(), &["map:"], "keys = 300\nrounds = 2");
            assert_eq!(run.floors.len(), 2);
            run.floors.iter_mut().for_each(|floor| floor.ns_per_op = 1000.0);
            made_up(run, |cell| (cell.ops_per_s, cell.answered_per_s) = (Some(100_000.0), None))
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

/// A run of targets with these names, whose operations take these made-up times: microseconds by wall clock, and of the
/// client's CPU.
fn each_takes(targets: [(&str, u32, u32); 2]) -> Run {
    let urls = targets.map(|(name, ..)| format!("map:?name={name}"));
    made_up(made(&urls.each_ref().map(String::as_str)), |cell| {
        let at = urls.iter().position(|url| *url == cell.target).unwrap();
        let (_, wall_us, cpu_us) = targets[at];
        for sample in &mut cell.samples {
            let time_s = |us: u32| f64::from(us) * 1e-6 * n_ops(sample);
            (sample.wall_s, sample.client_cpu_s) = (time_s(wall_us), Some(time_s(cpu_us)));
            (sample.client_wait_s, sample.latency_ns) = (Some(0.0), None);
            sample.ops_per_s = 1e6 / f64::from(wall_us);
        }
    })
}

fn n_ops(sample: &Sample) -> f64 {
    f64::from(u32::try_from(sample.counts.ops).unwrap())
}

pub(crate) fn of_a_multiget() -> Trial {
    trial_where(NOTHING, "CLIENT-COST: counts the keys of a multiget", || {
        let run = run(&both(), &["map:"], "keys = 64\nrounds = 2\nmultiget = 32");
        let floor = |operation| run.floors.iter().find(|floor| floor.operation == operation);
        let [many, set] =
            [Operation::GetMany, Operation::Set].map(|of| floor(of).unwrap().ns_per_op);
        // Counted by requests, it would be the time of 32 keys.
        assert!(many < 8.0 * set, "{:#?}", run.floors);
        let run = dear_to_measure(run);
        let found = findings(&run, "CLIENT-COST");
        assert!(
            found.iter().any(|found| found.operation == Some(Operation::GetMany)),
            "{found:#?}"
        );
    })
}

/// The run with other rates: the measuring takes half the time of every operation.
fn dear_to_measure(run: Run) -> Run {
    let floors = run.floors.clone();
    made_up(run, |cell| {
        let floor = floors.iter().find(|floor| floor.operation == cell.operation).unwrap();
        (cell.ops_per_s, cell.answered_per_s) = (Some(1e9 / (2.0 * floor.ns_per_op)), None);
    })
}
