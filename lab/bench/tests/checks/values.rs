//! Wrong answers to reads: no value, another value, an error.

use std::fmt::Write;

use larder_engines::ENGINES;
use larder_report::{Operation, Run, Severity};
use larder_testkit::stores;

use crate::case::{Case, NOTHING, made, real, server};
use crate::support::{cell, findings, run};

/// A replay of a trace that reads each key twice, once before and once after the TTL of its entry is over.
fn expired(target: &str) -> Run {
    let mut csv = "time,key,op,size,ttl\n".to_owned();
    for (time, operation) in [(0, "set,100,5"), (1, "get,,"), (9, "get,,")] {
        for key in 0..100 {
            let _ = writeln!(csv, "{time},k{key},{operation}");
        }
    }
    let trace = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    std::fs::write(trace.path(), csv).unwrap();
    let workload = format!("rounds = 2\nkey-pattern = 'trace:{}'", trace.path().display());
    run(&stores::ENGINES, &[target], &workload)
}

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "NEVER-HITS",
        severity: Severity::Error,
        fires_on: "a store that finds nothing",
        trips: || {
            let run = made(&["faulty:?fault=miss", "map:"]);
            assert!(run.comparisons.is_empty(), "{:#?}", run.comparisons);
            run
        },
        words: &["0 hits of 800 reads: only misses timed"],
        silent_on: "a map",
        silent: || made(&["map:"]),
        needs: NOTHING,
    },
    Case {
        id: "NEVER-HITS",
        severity: Severity::Warn,
        fires_on: "fewer hits than predicted",
        trips: || made(&["faulty:?fault=drop&every=2"]),
        words: &[" % of reads hit; the workload predicts 100.0 %"],
        silent_on: "a store that had to make room, of which CAPACITY tells",
        silent: || {
            let run = evicting();
            assert!(!findings(&run, "CAPACITY").is_empty(), "{:#?}", run.checks);
            run
        },
        needs: NOTHING,
    },
    Case {
        id: "OVER-LIMIT",
        severity: Severity::Error,
        fires_on: "a store that has entries after their TTL",
        trips: || expired("faulty:?fault=keep-deleted&every=1"),
        words: &[" found a value, and in no cache more than ", " can: the trace allows 50 %"],
        silent_on: "a map",
        silent: || expired("map:"),
        needs: NOTHING,
    },
    Case {
        id: "SILENT-DROP",
        severity: Severity::Error,
        fires_on: "a store that acknowledges and forgets",
        trips: || {
            let run = made(&["faulty:?fault=drop"]);
            let counts = cell(&run, "faulty:?fault=drop", Operation::Set).counts;
            assert!(counts.read_back_absent > 0 && counts.errors == 0, "{counts:?}");
            run
        },
        words: &[" acknowledged values read back were absent ("],
        silent_on: "a map",
        silent: || made(&["map:"]),
        needs: NOTHING,
    },
    Case {
        id: "SILENT-DROP",
        severity: Severity::Error,
        fires_on: "a store that finds nothing",
        trips: || made(&["faulty:?fault=miss"]),
        words: &[" acknowledged values read back were absent (100.0 %)"],
        silent_on: "evictions that explain the absent keys",
        silent: || {
            let run = evicting();
            assert!(cell(&run, EVICTING, Operation::Set).counts.read_back_absent > 0);
            run
        },
        needs: NOTHING,
    },
    Case {
        id: "TRUNCATED",
        severity: Severity::Error,
        fires_on: "a store that keeps the beginning",
        trips: || {
            let large = "keys = 200\nrounds = 2\ndata-size = '2k'";
            let run = run(&stores::ENGINES, &["faulty:?fault=truncate"], large);
            let counts = cell(&run, "faulty:?fault=truncate", Operation::Get).counts;
            assert_eq!((counts.truncated, counts.hits), (counts.ops, 0));
            let limit = run.targets[0].limits.max_value_len;
            assert_eq!(limit, Some(1024), "the probe finds it too");
            run
        },
        words: &[
            " values looked up came back cut short (",
            "; such as: `",
            " came back with 1024 of its 2048 bytes",
        ],
        silent_on: "values that it keeps whole",
        silent: || {
            let fitting = "keys = 200\nrounds = 2\ndata-size = '1k'";
            run(&stores::ENGINES, &["faulty:?fault=truncate"], fitting)
        },
        needs: NOTHING,
    },
    Case {
        id: "OTHER-KEY",
        severity: Severity::Error,
        fires_on: "a store that swaps values of one length",
        trips: || {
            let run = made(&["faulty:?fault=swap-values"]);
            let counts = cell(&run, "faulty:?fault=swap-values", Operation::Get).counts;
            assert!(counts.wrong > 0 && counts.other_key == counts.wrong, "{counts:?}");
            run
        },
        words: &[
            "values looked up came back as the value of another key (",
            "; such as: asked for `",
            "`, got the value of `",
        ],
        silent_on: "a store that flips bits, of which DAMAGED tells",
        silent: || {
            let run = made(&["faulty:?fault=flip-bit"]);
            assert!(!findings(&run, "DAMAGED").is_empty(), "{:#?}", run.checks);
            run
        },
        needs: NOTHING,
    },
    Case {
        id: "DAMAGED",
        severity: Severity::Error,
        fires_on: "a store that flips a bit now and then",
        trips: || {
            let run = made(&["faulty:?fault=flip-bit"]);
            let counts = cell(&run, "faulty:?fault=flip-bit", Operation::Get).counts;
            assert!(counts.wrong > 0 && counts.damaged == counts.wrong, "{counts:?}");
            assert!(run.comparisons.is_empty(), "{:#?}", run.comparisons);
            run
        },
        words: &[
            "came back with bytes or flags that were never stored (",
            "came back damaged: byte 512 of 1024 is 0x",
        ],
        silent_on: "a store that cuts values short, of which TRUNCATED tells",
        silent: || {
            let run = run(
                &stores::ENGINES,
                &["faulty:?fault=truncate&keep=512"],
                "keys = 200\nrounds = 2",
            );
            assert!(!findings(&run, "TRUNCATED").is_empty(), "{:#?}", run.checks);
            run
        },
        needs: NOTHING,
    },
    Case {
        id: "TRUNCATED",
        severity: Severity::Error,
        fires_on: "a column that cuts values short, as the plugin of A004 is shipped",
        trips: || innodb("memcached:?server=innodb", 1024),
        words: &["came back cut short"],
        silent_on: "the same plugin with a wider column",
        silent: || innodb("memcached:?server=innodb&column=4096", 4096),
        needs: || server("memcached", "innodb"),
    },
    Case {
        id: "ERR-AS-OP",
        severity: Severity::Error,
        fires_on: "a store that fails now and then",
        trips: || made(&["faulty:?fault=fail&every=50"]),
        words: &["operations failed (2.00 %)", "each 50th operation fails"],
        silent_on: "a map",
        silent: || made(&["map:"]),
        needs: NOTHING,
    },
];

const EVICTING: &str = "moka:?size=100k";

/// A store that must drop most of its entries.
fn evicting() -> Run {
    run(&ENGINES, &[EVICTING], "keys = 1000\nrounds = 2")
}

/// The plugin of article A004: it acknowledges 2000 bytes and returns as many as its column holds.
fn innodb(target: &str, width: u64) -> Run {
    let run = real(&[target], "keys = 100\ndata-size = '2000'");
    let get = cell(&run, &run.targets[0].url, Operation::Get).counts;
    let set = cell(&run, &run.targets[0].url, Operation::Set).counts;
    if width < 2000 {
        assert_eq!((get.hits, get.truncated), (0, get.ops));
        let all = set.read_back + set.overwritten;
        assert_eq!((set.read_back_wrong, set.truncated), (all, all));
    } else {
        assert_eq!((get.hits, get.wrong), (get.ops, 0));
    }
    assert_eq!(run.targets[0].limits.max_value_len, Some(width));
    run
}
