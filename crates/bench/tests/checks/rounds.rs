//! What rounds must be for their figures to say something: alike, and long enough.

use larder_report::Severity;
use larder_testkit::stores;

use crate::case::{Case, NOTHING, real};
use crate::support::run;

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "ORDER",
        severity: Severity::Warn,
        fires_on: "a store that grows slower from round to round",
        trips: || run(&stores::ENGINES, &["tires:", "spins:?micros=100"], ROUNDS),
        words: &["its rate fell by ", "(Kendall's tau -", "p < 0.001) over 10 rounds"],
        silent_on: "stores that do not",
        silent: || run(&stores::ENGINES, &["spins:?micros=90", "spins:?micros=100"], ROUNDS),
        needs: NOTHING,
    },
    Case {
        id: "ORDER",
        severity: Severity::Warn,
        fires_on: "a drift that all targets have in common",
        trips: || run(&stores::ENGINES, &["tires:", "tires:?name=other"], ROUNDS),
        words: &["the rates of all 2 targets fell, by ", "over 10 rounds", "that is the machine"],
        silent_on: "too few rounds to tell",
        silent: || run(&stores::ENGINES, &["tires:"], "keys = 20\nrounds = 5"),
        needs: NOTHING,
    },
    Case {
        id: "TOO-SHORT",
        severity: Severity::Warn,
        fires_on: "rounds of one operation",
        // Each takes another time by design, so that few of them cannot be known well.
        trips: || run(&stores::ENGINES, &["sleeps:?micros=100&spread=900"], "keys = 1\nrounds = 6"),
        words: &["a round took ", ", and its rate is known to ±"],
        silent_on: "rounds of some milliseconds with operations enough for every percentile",
        silent: || run(&stores::ENGINES, &["map:"], "keys = 6000\nrounds = 2"),
        needs: NOTHING,
    },
    Case {
        id: "TOO-SHORT",
        severity: Severity::Note,
        fires_on: "operations too few for a percentile",
        trips: || run(&stores::ENGINES, &["spins:"], "keys = 600\nrounds = 2"),
        words: &[
            "not shown: p99.9 of 2 of 2 cells, which takes 10000 timed requests; the fewest are 1200",
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
        // 24000 reads, of which every tenth finds something.
        trips: || real(&["moka:?size=1m"], FEW_HIT),
        words: &[
            "not shown: p99.9 of 1 of 1 cell, which takes 10000 timed requests; the fewest are ",
            " that found what they should; other misses are not timed",
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
            "not shown: p99.9 of 1 of 1 cell, which takes 10000 timed requests; the fewest are 80, each of many keys",
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
