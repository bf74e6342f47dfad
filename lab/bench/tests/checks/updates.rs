//! Values that return after they were overwritten, or that should have gone.

use larder_report::{Operation, Run, Severity};
use larder_testkit::stores;

use crate::case::{Case, NOTHING, made, memcached, real};
use crate::pair;
use crate::support::{cell, findings, run};

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "STALE",
        severity: Severity::Error,
        fires_on: "a store that forgets an update now and then",
        trips: || stale("faulty:?fault=keep-old-value", MIXED),
        words: &[" came back after a later set or delete of their key was acknowledged"],
        silent_on: "a map",
        silent: || run(&stores::ENGINES, &["map:"], MIXED),
        needs: NOTHING,
    },
    Case {
        id: "STALE",
        severity: Severity::Error,
        fires_on: "short values that come back after their delete",
        trips: || stale("faulty:?fault=keep-deleted&every=7", DELETED),
        words: &[" came back after a later set or delete of their key was acknowledged"],
        silent_on: "a value of another key, of which OTHER-KEY tells",
        silent: || {
            let run = run(&stores::ENGINES, &["faulty:?fault=swap-values"], MIXED);
            assert!(!findings(&run, "OTHER-KEY").is_empty(), "{:#?}", run.checks);
            run
        },
        needs: NOTHING,
    },
    Case {
        id: "STALE",
        severity: Severity::Error,
        fires_on: "a local tier that is not told of another machine's writes",
        trips: || pair::run(SHARED),
        words: &[" came back after a later set or delete of their key was acknowledged"],
        silent_on: "two threads of one machine, whose local tier sees every write",
        silent: || real(&["tiered:moka:|memcached:"], SHARED),
        needs: memcached,
    },
    Case {
        id: "STALE",
        severity: Severity::Error,
        fires_on: "a store that keeps the first value of a key, in a plan that sets each key once",
        trips: || {
            let run = made(&["faulty:?fault=keep-old-value&every=1"]);
            let counts = cell(&run, "faulty:?fault=keep-old-value&every=1", Operation::Set).counts;
            assert!(counts.overwritten > 0, "{counts:?}");
            assert_eq!((counts.stale, counts.read_back_absent), (counts.overwritten, 0));
            withheld(&run, &[Operation::Set, Operation::Get]);
            run
        },
        words: &[
            "; such as: asked for `",
            "`, got version 1 of it, but version 2 is the oldest right version",
        ],
        silent_on: "a map",
        silent: || made(&["map:"]),
        needs: NOTHING,
    },
    Case {
        id: "STALE",
        severity: Severity::Error,
        fires_on: "a store that keeps entries it is told to delete",
        trips: || {
            let run =
                run(&stores::ENGINES, &["faulty:?fault=keep-deleted&every=1", "map:"], PHASES);
            withheld(&run, &[Operation::Delete, Operation::Get]);
            run
        },
        words: &["` was deleted, and version 1 of it came back"],
        silent_on: "a store that deletes, whose misses were planned",
        silent: || {
            let run = run(&stores::ENGINES, &["map:"], PHASES);
            let get = cell(&run, "map:", Operation::Get);
            let counts = get.counts;
            assert_eq!((counts.planned_misses, counts.hits), (counts.ops, 0), "{counts:?}");
            assert!(get.ops_per_s.is_some() && get.latency_ns.is_some(), "misses are right here");
            assert_eq!(get.predicted_hit_ratio, Some(0.0));
            assert!(
                run.checks.iter().all(|check| check.severity != Severity::Error),
                "{:#?}",
                run.checks
            );
            run
        },
        needs: NOTHING,
    },
    Case {
        id: "STALE",
        severity: Severity::Error,
        fires_on: "deletes that were not done, with no read after them",
        trips: || {
            let workload = "keys = 400\nrounds = 2\noperations = 'set,delete'";
            let run = run(&stores::ENGINES, &["faulty:?fault=keep-deleted&every=3"], workload);
            let counts = cell(&run, "faulty:?fault=keep-deleted&every=3", Operation::Delete).counts;
            assert!(counts.deletes_read_back > 0 && counts.stale > 0, "{counts:?}");
            run
        },
        words: &["` was deleted, and version "],
        silent_on: "a map, of which every deleted key was looked for",
        silent: || {
            let workload = "keys = 400\nrounds = 2\noperations = 'set,delete'";
            let run = run(&stores::ENGINES, &["map:"], workload);
            assert_eq!(cell(&run, "map:", Operation::Delete).counts.deletes_read_back, 800);
            run
        },
        needs: NOTHING,
    },
    Case {
        id: "NOT-EMPTIED",
        severity: Severity::Error,
        fires_on: "a store that acknowledges a clear and keeps everything",
        trips: || {
            let run = made(&["faulty:?fault=keep-cleared"]);
            withheld(&run, &[Operation::Set, Operation::Get]);
            run
        },
        words: &["1200 of 1200 checked keys of this run exist", "` is still there"],
        silent_on: "a map",
        silent: || {
            let run = made(&["map:"]);
            let counts = cell(&run, "map:", Operation::Set).counts;
            assert_eq!((counts.emptied_checked, counts.emptied_left), (1200, 0));
            run
        },
        needs: NOTHING,
    },
    Case {
        id: "TTL-TRUTH",
        severity: Severity::Error,
        fires_on: "a store in which nothing expires",
        trips: || run(&stores::ENGINES, &["faulty:?fault=keep-expired"], MORTAL),
        words: &["8 of 8 keys with a TTL of 100ms (in steps of 1ms) still answered "],
        silent_on: "a map that looks at the time",
        silent: || tried(run(&stores::ENGINES, &["map:"], MORTAL)),
        needs: NOTHING,
    },
    Case {
        id: "TTL-TRUTH",
        severity: Severity::Error,
        fires_on: "reads that go on for longer than a TTL and still hit",
        trips: || run(&stores::ENGINES, &["faulty:?fault=keep-expired"], ENDING),
        words: &[" reads that hit began after the TTL of their value had passed"],
        silent_on: "a map that looks at the time",
        silent: || {
            let run = run(&stores::ENGINES, &["map:"], ENDING);
            let counts = cell(&run, "map:", Operation::Get).counts;
            assert!(counts.misses > 0 && counts.stored_misses == 0, "{counts:?}");
            run
        },
        needs: NOTHING,
    },
    Case {
        id: "TTL-TRUTH",
        severity: Severity::Warn,
        fires_on: "a store that takes seconds for milliseconds",
        trips: || tried(run(&stores::ENGINES, &["faulty:?fault=short-ttl"], MORTAL)),
        words: &["8 of 8 keys with a TTL of 1m were gone ", "no eviction explains it"],
        silent_on: "a clock that ticks once a second",
        silent: || tried(real(&["memcached:", "moka:"], MORTAL)),
        needs: memcached,
    },
    Case {
        id: "TTL-TRUTH",
        severity: Severity::Error,
        fires_on: "a clock that runs twice as fast",
        trips: || run(&stores::ENGINES, &["faulty:?fault=fast-clock"], MORTAL),
        words: &[
            "4 of 4 keys with a TTL of ",
            " were gone ",
            "its clock runs fast, or it cuts TTLs",
        ],
        silent_on: "a map that looks at the time",
        silent: || {
            let run = run(&stores::ENGINES, &["map:"], MORTAL);
            let trial = run.targets[0].ttl.as_ref().unwrap();
            let tried =
                (trial.middle_keys, trial.touch_lengthened_keys, trial.touch_shortened_keys);
            assert!(tried.0 == 4 && tried.1 > 0 && tried.2 == 8, "{trial:?}");
            run
        },
        needs: NOTHING,
    },
];

/// All entries expire, though not while they are read.
const MORTAL: &str = "keys = 200\nttl = '1h'";

/// All entries expire while they are still read.
const ENDING: &str = "keys = 200\nttl = '300ms'\nduration = '600ms'\nrounds = 1";

/// A run with trials of TTLs, in which every entry that should have expired was gone.
fn tried(run: Run) -> Run {
    for target in &run.targets {
        let trial = target.ttl.as_ref().unwrap();
        assert_eq!((trial.keys, trial.lasting_keys, trial.late), (8, 8, 0), "{trial:?}");
        assert!(trial.last_request_after_s >= trial.ttl_s + trial.resolution_s, "{trial:?}");
    }
    run
}

/// Each operation is a phase of its own.
const PHASES: &str = "keys = 400\nrounds = 2\noperations = 'set,delete,get'";

/// The stored values differ from the acknowledged values, so none of these cells of the first target is a result.
fn withheld(run: &Run, operations: &[Operation]) {
    let first = &run.targets[0].url;
    for operation in operations {
        let cell = cell(run, first, *operation);
        let is_withheld = run.checks.iter().any(|check| check.disqualifies(cell));
        assert!(is_withheld, "{operation} of {first} is ranked: {:#?}", run.checks);
        let compared = run.comparisons.iter().find(|of| of.operation == *operation);
        assert!(compared.is_none(), "{compared:?}");
    }
}

/// Half of the operations overwrite.
const MIXED: &str = "keys = 50\nrounds = 2\nratio = '1:1'\nrequests = 5000";

/// Values too short for a header, each read behind its delete.
const DELETED: &str = "keys = 300\nrounds = 2\ndata-size = '10'\noperations = 'set+delete+get'";

/// Two threads write, each its own keys, and both read all keys.
const SHARED: &str = "keys = 200\nthreads = 2\nratio = '1:1'\nrequests = 20000";

/// A run in which every wrong value is a stale value.
fn stale(target: &str, workload: &str) -> Run {
    let run = run(&stores::ENGINES, &[target], workload);
    let counts = cell(&run, target, Operation::Get).counts;
    assert_eq!((counts.stale, counts.truncated), (counts.wrong, 0), "{counts:?}");
    assert!(findings(&run, "TRUNCATED").is_empty(), "{:#?}", run.checks);
    run
}
