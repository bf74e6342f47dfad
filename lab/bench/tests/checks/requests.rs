//! Requests: more than the plan asks for, or without waiting for an answer.

use larder_analysis::check::run_all;
use larder_engines::ENGINES;
use larder_report::{Operation, Run, Severity};

use crate::case::{Case, made, memcached, real, server};
use crate::support::cell;

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "UNACKED",
        severity: Severity::Warn,
        fires_on: "a MongoDB that answers no write",
        trips: || {
            let run = real(&["mongodb:?server=stand-in&w=0"], WRITTEN);
            let set = cell(&run, &run.targets[0].url, Operation::Set);
            for sample in &set.samples {
                assert!(sample.barrier_s.is_some_and(|it| it > 0.0 && it < sample.wall_s));
            }
            assert_eq!((set.counts.read_back, set.counts.read_back_absent), (1000, 0));
            run
        },
        words: &[
            "none of 1000 writes was acknowledged; after the last, the server needed ",
            " to finish them; 0 of 1000 values read back were absent",
        ],
        silent_on: "a MongoDB that answers each write",
        silent: || {
            let run = real(&["mongodb:?server=stand-in&w=1"], WRITTEN);
            assert!(run.cells.iter().all(|cell| cell.samples[0].barrier_s.is_none()));
            run
        },
        needs: || server("mongodb", "stand-in"),
    },
    Case {
        id: "HIDDEN-WORK",
        severity: Severity::Note,
        fires_on: "a stack whose writes go to both tiers",
        trips: || {
            let run = real(&["tiered:memcached:|memcached:"], READ_TOO);
            assert_eq!(requests(&run, Operation::Set), (1000, 500));
            assert_eq!(requests(&run, Operation::Get), (500, 500));
            run
        },
        words: &["a set takes 2.0 requests: 1000 for 500"],
        silent_on: "one memcached, and a local tier before it that sends nothing",
        silent: || {
            let run = real(&["memcached:", "tiered:moka:|memcached:"], READ_TOO);
            assert_eq!(requests(&run, Operation::Set), (500, 500));
            run
        },
        needs: memcached,
    },
    Case {
        id: "HIDDEN-WORK",
        severity: Severity::Note,
        fires_on: "a multiget that misses above, so that every tier is asked",
        trips: || {
            real(
                &["tiered:memcached:?item_size=16k|memcached:"],
                &format!("{LARGE}\nmultiget = 10"),
            )
        },
        words: &["a get many takes "],
        silent_on: "many keys in one request a node, by every client",
        silent: || {
            let run = real(&["memcached:", "memcached:?nodes=3", "redis:", "sqlite:"], MANY);
            let multiget = run.cells.iter().find(|cell| cell.operation == Operation::GetMany);
            assert_eq!(multiget.unwrap().counts.wire_requests, Some(100));
            run
        },
        needs: || {
            memcached()?;
            larder_testkit::has_program(&ENGINES.find("redis").unwrap().recipes[0])
        },
    },
    Case {
        id: "HIDDEN-WORK",
        severity: Severity::Warn,
        fires_on: "a server that is at work while others have their turns, made up",
        trips: || {
            let mut run = made(&["map:", "map:?name=other"]);
            let target = &mut run.targets[0];
            // Its server works a tenth of the time beside other targets, but longer than in its own turns.
            (target.other_turns_server_cpu_s, target.other_turns_wall_s) = (Some(4.0), Some(44.0));
            target.own_turns_wall_s = Some(3.9);
            Run { checks: run_all(&run), ..run }
        },
        words: &["its servers used 4.0 s of CPU time in the 44.0 s of other targets' turns"],
        silent_on: "two servers of which each rests",
        silent: || {
            let run = real(&["memcached:", "memcached:?name=other"], WRITTEN);
            for target in &run.targets {
                assert!(target.other_turns_wall_s.is_some_and(|turns| turns > 0.0), "{target:?}");
                assert!(target.own_turns_wall_s.is_some_and(|turns| turns > 0.0), "{target:?}");
            }
            run
        },
        needs: memcached,
    },
];

/// Sets alone, with the read-back.
const WRITTEN: &str = "keys = 500\noperations = 'set'";

const READ_TOO: &str = "keys = 250";

const MANY: &str = "keys = 500\nmultiget = 10";

/// Values that a small item limit refuses.
const LARGE: &str = "keys = 50\ndata-size = '30000'";

/// The counts of requests and of operations.
fn requests(run: &Run, operation: Operation) -> (u64, u64) {
    let counts = cell(run, &run.targets[0].url, operation).counts;
    (counts.wire_requests.unwrap(), counts.ops)
}
