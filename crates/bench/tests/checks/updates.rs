//! What comes back after it was overwritten, or should have gone.

use larder_report::{Operation, Run, Severity};
use larder_testkit::stores;

use crate::case::{Case, NOTHING, memcached, real};
use crate::pair;
use crate::support::{cell, findings, run};

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "STALE",
        severity: Severity::Error,
        fires_on: "a store that forgets an update now and then",
        trips: || stale("stale:", MIXED),
        words: &["were older than the last acknowledged write of their key ("],
        silent_on: "a map",
        silent: || run(&stores::ENGINES, &["map:"], MIXED),
        needs: NOTHING,
    },
    Case {
        id: "STALE",
        severity: Severity::Error,
        fires_on: "short values that come back after their delete",
        trips: || stale("undead:?every=7", DELETED),
        words: &["were older than the last acknowledged write of their key ("],
        silent_on: "a value of another key, of which TRUNCATED tells",
        silent: || {
            let run = run(&stores::ENGINES, &["swaps:"], MIXED);
            assert!(!findings(&run, "TRUNCATED").is_empty(), "{:#?}", run.checks);
            run
        },
        needs: NOTHING,
    },
    Case {
        id: "STALE",
        severity: Severity::Error,
        fires_on: "a local tier that is not told of another machine's writes",
        trips: || pair::run(SHARED),
        words: &["were older than the last acknowledged write of their key ("],
        silent_on: "two threads of one machine, whose local tier sees every write",
        silent: || real(&["tiered:moka:|memcached:"], SHARED),
        needs: memcached,
    },
    Case {
        id: "TTL-TRUTH",
        severity: Severity::Error,
        fires_on: "a store in which nothing expires",
        trips: || run(&stores::ENGINES, &["lingers:"], MORTAL),
        words: &["8 of 8 keys with a TTL of 100ms still answered ", "in steps of 1ms"],
        silent_on: "a map that looks at the time",
        silent: || tried(run(&stores::ENGINES, &["map:"], MORTAL)),
        needs: NOTHING,
    },
    Case {
        id: "TTL-TRUTH",
        severity: Severity::Warn,
        fires_on: "a store that takes seconds for milliseconds",
        trips: || tried(run(&stores::ENGINES, &["hurries:"], MORTAL)),
        words: &["8 of 8 keys with a TTL of 1m were gone ", "no eviction explains it"],
        silent_on: "a clock that ticks once a second",
        silent: || tried(real(&["memcached:", "moka:"], MORTAL)),
        needs: memcached,
    },
];

/// Everything expires, though not while it is read.
const MORTAL: &str = "keys = 200\nttl = '1h'";

/// A run in which the TTLs were tried, and what should have expired was gone.
fn tried(run: Run) -> Run {
    for target in &run.targets {
        let trial = target.ttl.unwrap();
        assert_eq!((trial.keys, trial.lasting_keys, trial.late), (8, 8, 0), "{trial:?}");
        assert!(trial.asked_after_s >= trial.ttl_s + trial.resolution_s, "{trial:?}");
    }
    run
}

/// Half of it overwrites.
const MIXED: &str = "keys = 50\nrounds = 2\nratio = '1:1'\nrequests = 5000";

/// Values too short for a header, each read behind its delete.
const DELETED: &str = "keys = 300\nrounds = 2\ndata-size = '10'\noperations = 'set+delete+get'";

/// Two who write, each its own keys, and read all.
const SHARED: &str = "keys = 200\nthreads = 2\nratio = '1:1'\nrequests = 20000";

/// A run in which all that is wrong is of old.
fn stale(target: &str, workload: &str) -> Run {
    let run = run(&stores::ENGINES, &[target], workload);
    let counts = cell(&run, target, Operation::Get).counts;
    assert_eq!((counts.stale, counts.truncated), (counts.wrong, 0), "{counts:?}");
    assert!(findings(&run, "TRUNCATED").is_empty(), "{:#?}", run.checks);
    run
}
