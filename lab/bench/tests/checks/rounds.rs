//! Conditions that give figures of rounds a meaning: alike, and long enough.

use larder_report::{Severity, Trend};
use larder_testkit::stores;

use crate::case::{Case, NOTHING, made, made_up, real};
use crate::support::run;

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "ORDER",
        severity: Severity::Warn,
        fires_on: "a store that grows slower from round to round",
        trips: || {
            run(
                &stores::ENGINES,
                &["faulty:?fault=slow-down", "faulty:?fault=spin&micros=100"],
                ROUNDS,
            )
        },
        words: &["its rate fell by ", "(Kendall's tau -", ") over 10 rounds"],
        silent_on: "a target that changes a little, and a target whose change is not sure",
        silent: || {
            made_up(made(&["map:", "map:?name=other"]), |cell| {
                let (tau, p, change) =
                    if cell.target == "map:" { (0.9, 0.0001, 1.04) } else { (0.4, 0.02, 0.5) };
                cell.trend = Some(Trend { tau, p, change });
            })
        },
        needs: NOTHING,
    },
    Case {
        id: "ORDER",
        severity: Severity::Warn,
        fires_on: "a drift that all targets have in common",
        trips: || {
            run(
                &stores::ENGINES,
                &["faulty:?fault=slow-down", "faulty:?fault=slow-down&name=other"],
                ROUNDS,
            )
        },
        words: &[
            "the rates of all 2 targets fell, by ",
            "over 10 rounds",
            "the cause is the machine",
        ],
        silent_on: "too few rounds to tell",
        silent: || run(&stores::ENGINES, &["faulty:?fault=slow-down"], "keys = 20\nrounds = 5"),
        needs: NOTHING,
    },
    Case {
        id: "TOO-SHORT",
        severity: Severity::Warn,
        fires_on: "rounds of one operation",
        trips: || {
            made_up(made(&["map:"]), |cell| {
                cell.samples.iter_mut().for_each(|sample| sample.wall_s = 100e-6);
                (cell.ops_per_s, cell.ops_per_s_ci95) = (Some(10e3), Some([8e3, 12e3]));
            })
        },
        words: &["a round took ", ", and its rate is known to ±"],
        silent_on: "rounds of some milliseconds with operations enough for every percentile",
        silent: || {
            made_up(run(&stores::ENGINES, &["map:"], "keys = 6000\nrounds = 2"), |cell| {
                cell.samples.iter_mut().for_each(|sample| sample.wall_s = 5e-3);
                (cell.ops_per_s, cell.ops_per_s_ci95) = (Some(10e3), Some([8e3, 12e3]));
            })
        },
        needs: NOTHING,
    },
    Case {
        id: "TOO-SHORT",
        severity: Severity::Note,
        fires_on: "operations too few for a percentile",
        trips: || run(&stores::ENGINES, &["faulty:?fault=spin"], "keys = 600\nrounds = 2"),
        words: &[
            "not shown: p99.9 of 2 of 2 cells, which needs 10000 timed requests; the fewest are 1200",
        ],
        silent_on: "a target that keeps nothing, however short its rounds are",
        silent: || {
            run(
                &larder_engines::ENGINES,
                &["null:"],
                "keys = 20\nrequests = 20000\noperations = 'get'\nrounds = 2",
            )
        },
        needs: NOTHING,
    },
    Case {
        id: "TOO-SHORT",
        severity: Severity::Note,
        fires_on: "reads of which few hit",
        // 24000 reads, of which every tenth hits.
        trips: || real(&["moka:?size=1m"], FEW_HIT),
        words: &[
            "not shown: p99.9 of 1 of 1 cell, which needs 10000 timed requests; the fewest are ",
            " with the expected outcome; other misses are not timed",
        ],
        silent_on: "as many reads, all of which hit",
        silent: || real(&["moka:"], FEW_HIT),
        needs: NOTHING,
    },
    Case {
        id: "TOO-SHORT",
        severity: Severity::Note,
        fires_on: "few requests of many keys each",
        trips: || real(&["moka:"], &format!("{MANY}\nmultiget = 1000")),
        words: &[
            "not shown: p99.9 of 1 of 1 cell, which needs 10000 timed requests; the fewest are 80, each of many keys",
        ],
        silent_on: "many requests of few keys each",
        silent: || real(&["moka:"], &format!("{MANY}\nmultiget = 2")),
        needs: NOTHING,
    },
];

/// Reads at random among ten times as many keys as a cache of 1 MiB holds.
const FEW_HIT: &str = "keys = 8000\nrequests = 12000\noperations = 'get'\nkey-pattern = 'uniform'";
/// 80000 keys in two rounds.
const MANY: &str = "keys = 5000\noperations = 'get'\nrequests = 40000";

const ROUNDS: &str = "keys = 20\nrounds = 10";
