//! Lack of room for a value or for a working set, and working sets too small to need room.

use larder_report::{Operation, Severity};
use larder_testkit::stores;

use crate::case::{Case, NOTHING, made, memcached, real, small};
use crate::support::{cell, run};

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "OVERSIZE",
        severity: Severity::Warn,
        fires_on: "a value beyond the item limit",
        trips: || real(&["memcached:"], "keys = 3\ndata-size = '2170k'"),
        words: &["value 2.1 MiB > item limit 1 MiB"],
        silent_on: "a value that fits",
        silent: || real(&["memcached:"], "keys = 3\ndata-size = '1k'"),
        needs: memcached,
    },
    Case {
        id: "CAPACITY",
        severity: Severity::Warn,
        fires_on: "a working set beyond the size of a store",
        trips: || small(&["moka:?size=100k"]),
        words: &["> capacity 100 KiB: this measures eviction"],
        silent_on: "a store that has room",
        silent: || small(&["moka:"]),
        needs: NOTHING,
    },
    Case {
        id: "CAPACITY",
        severity: Severity::Warn,
        fires_on: "a server too small for the working set",
        trips: || {
            let run = real(&["memcached:?m=64"], LARGE);
            assert!(cell(&run, "memcached:?m=64", Operation::Set).counts.evictions > Some(0));
            run
        },
        words: &["> capacity 64 MiB"],
        silent_on: "a server that was given room for it",
        silent: || real(&["memcached:"], LARGE),
        needs: memcached,
    },
    Case {
        id: "CAPACITY",
        severity: Severity::Warn,
        fires_on: "a server that cannot use its room for values of many sizes",
        trips: || real(&["memcached:"], &format!("{MANY_SIZES}\ncapacity = '20m'")),
        words: &["of --capacity 20 MiB at most, and dropped entries"],
        silent_on: "a server with room for all of its classes of sizes",
        silent: || real(&["memcached:"], &format!("{MANY_SIZES}\ncapacity = '64m'")),
        needs: memcached,
    },
    Case {
        id: "ONE-KEY",
        severity: Severity::Note,
        fires_on: "one key again and again",
        trips: || run(&stores::ENGINES, &["map:"], "keys = 1\nrequests = 500\nrounds = 2"),
        words: &["1 different key, the most frequent one in 100 % of operations"],
        silent_on: "some hundred keys",
        silent: || made(&["map:"]),
        needs: NOTHING,
    },
];

/// About 12 MiB.
const MANY_SIZES: &str =
    "keys = 4000\ndata-size = 'uniform:100-6000'\nrequests = 8000\non-miss = 'fill'";

/// About 100 MiB.
const LARGE: &str = "keys = 130\ndata-size = '800k'";
