//! The meaning of a time: the waiting of callers, the work of the load generator, or a time beyond the histogram's
//! range.

use larder_report::{Severity, Stalls};

use crate::case::{Case, NOTHING, made, made_up, memcached, small};
use crate::frozen;

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "EXCLUDED-TIME",
        severity: Severity::Warn,
        fires_on: "a server that is frozen for two seconds",
        trips: || frozen::run("duration = '4s'"),
        words: &[
            "time lost in stalls of more than 100 ms: ",
            "; p99",
            " for requests that arrive at the same mean rate whatever the target does; a closed loop counts a stall \
             once",
        ],
        silent_on: "a store that stands still for less than a hundredth of its time",
        silent: || {
            made_up(made(&["map:"]), |cell| {
                for sample in &mut cell.samples {
                    (sample.wall_s, sample.stalls) =
                        (60.0, Some(Stalls { count: 1, ns: 500_000_000 }));
                }
            })
        },
        needs: memcached,
    },
    Case {
        id: "GEN-BOUND",
        severity: Severity::Warn,
        fires_on: "a cache that answers sooner than a thread wakes",
        trips: || crate::support::run(&larder_engines::ENGINES, &["moka:"], PACED),
        words: &["operations began ", " late at p99 although their thread was free, which is "],
        silent_on: "a loop that works all the time because the cache is inside of it",
        silent: || small(&["moka:"]),
        needs: NOTHING,
    },
    Case {
        id: "CLIPPED",
        severity: Severity::Warn,
        fires_on: "operations that would have taken longer than an hour",
        // The figures are made up, because such an operation takes an hour.
        trips: || made_up(made(&["map:"]), |cell| cell.counts.clipped = 3),
        words: &["3 of ", " operations took more than an hour and count as one hour"],
        silent_on: "operations that are over soon",
        silent: || made(&["map:"]),
        needs: NOTHING,
    },
];

/// So few that each operation waits for its time.
const PACED: &str = "rounds = 2\nkeys = 100\nrate = 500\noperations = 'get'";
