//! Stacks of tiers.

use larder_report::{Operation, Run, Severity};

use crate::case::{Case, NOTHING, both, memcached, real};
use crate::support::{cell, run};

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "TIER-DEAD",
        severity: Severity::Error,
        fires_on: "a first tier that finds no entry it stores",
        trips: || stack("tiered:faulty:?fault=miss|map:", OFTEN),
        words: &[
            "L1 faulty: answered 0 of 1200 reads of",
            "keys; L2 map: hit 1200: each read costs both",
        ],
        silent_on: "a first tier that answers",
        silent: || {
            let run = stack("tiered:map:|map:", OFTEN);
            let tiers = &cell(&run, "tiered:map:|map:", Operation::Get).tiers;
            assert_eq!((tiers[0].hits, tiers[1].hits), (1200, 0), "{tiers:?}");
            run
        },
        needs: NOTHING,
    },
    Case {
        id: "TIER-DEAD",
        severity: Severity::Error,
        fires_on: "a local memcached that does not take such values",
        trips: || {
            let run = local("tiered:memcached:?item_size=16k|memcached:");
            assert_eq!(hits(&run), (0, reads(&run)));
            run
        },
        words: &[
            "L1 memcached: answered 0 of 800 reads of",
            "refused 800 of 800 values; L2 memcached: hit 800",
        ],
        silent_on: "a local memcached that does",
        silent: || {
            let run = local("tiered:memcached:|memcached:");
            assert_eq!(hits(&run), (reads(&run), 0));
            run
        },
        needs: memcached,
    },
    Case {
        id: "TIER-DEAD",
        severity: Severity::Warn,
        fires_on: "a tier that refuses some values",
        trips: || {
            let sizes = "keys = 150\nrequests = 600\nrounds = 2\ndata-size = 'uniform:100-8k'";
            stack("tiered:moka:?size=4k|map:", sizes)
        },
        words: &["L1 moka: refused"],
        silent_on: "a small tier, which answers less without a mistake",
        silent: || stack("tiered:moka:?size=20k|map:", OFTEN),
        needs: NOTHING,
    },
    Case {
        id: "TIER-DEAD",
        severity: Severity::Error,
        fires_on: "a dead tier of three",
        trips: || stack("tiered:faulty:?fault=miss|faulty:?fault=miss|map:", OFTEN),
        words: &["L2 faulty: hit 0, L3 map: hit 1200: each read costs all"],
        silent_on: "keys that are read once, and could not hit",
        silent: || stack("tiered:faulty:?fault=miss|map:", "keys = 150\nrounds = 2"),
        needs: NOTHING,
    },
    Case {
        id: "TIER-DEAD",
        severity: Severity::Error,
        fires_on: "a second tier that finds nothing, above a third",
        trips: || stack("tiered:moka:?size=4k|faulty:?fault=miss|map:", OFTEN),
        words: &["L2 faulty: answered 0 of"],
        silent_on: "a truth that has nothing, of which NEVER-HITS tells",
        silent: || stack("tiered:map:|faulty:?fault=miss", OFTEN),
        needs: NOTHING,
    },
];

/// Several reads of each key.
const OFTEN: &str = "keys = 150\nrequests = 600\nrounds = 2";

/// A stack with a workload of its own, without a capacity.
fn stack(target: &str, workload: &str) -> Run {
    run(&both(), &[target], workload)
}

/// A local memcached before another memcached; the values are larger than a small memcached takes.
fn local(target: &str) -> Run {
    real(&[target], "keys = 50\nrequests = 400\ndata-size = '30000'")
}

fn hits(run: &Run) -> (u64, u64) {
    let tiers = &cell(run, &run.targets[0].url, Operation::Get).tiers;
    (tiers[0].hits, tiers[1].hits)
}

fn reads(run: &Run) -> u64 {
    cell(run, &run.targets[0].url, Operation::Get).counts.ops
}
