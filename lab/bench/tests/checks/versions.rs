//! Differences within one run that make its figures hard to compare: several versions, builds and machines.

use larder_analysis::check::run_all;
use larder_report::{MergedSlice, Run, Severity, Slice};

use crate::case::{Case, NOTHING, made};

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "VERSION-PARITY",
        severity: Severity::Warn,
        fires_on: "a larder built for debugging, as tests are",
        trips: || made(&["map:"]),
        words: &["this larder was built for debugging", "build it with --release"],
        silent_on: "a larder built for use",
        silent: || judged(released()),
        needs: debugging,
    },
    Case {
        id: "VERSION-PARITY",
        severity: Severity::Note,
        fires_on: "one engine in two versions",
        trips: || judged(in_versions("1.6.18", "1.6.38")),
        words: &["map has several versions in this run: 1.6.18 (map:) and 1.6.38 (b)"],
        silent_on: "one version of it, and another server that speaks its protocol",
        silent: || judged(in_versions("1.6.18", "5.6.14 InnoDB memcached plugin")),
        needs: NOTHING,
    },
    Case {
        id: "VERSION-PARITY",
        severity: Severity::Warn,
        fires_on: "slices of two kernels, two days apart",
        trips: || {
            let mut run = put_together();
            run.slices[2].environment.kernel = Some("9.9".into());
            run.slices[2].started = "2026-11-23T20:00:00Z".into();
            run.slices[1].versions.insert("map:".into(), Some("2".into()));
            judged(run)
        },
        words: &[
            "the 3 slices of this run are not alike",
            "kernel 6.1 (1, 2) and 9.9 (3)",
            "version of map: 1 (1, 3) and 2 (2)",
            "the slices began 2 days apart",
        ],
        silent_on: "slices of machines that are alike",
        silent: || {
            let mut run = put_together();
            // The part of the memory that a kernel reserves, the load and the time of day differ on every machine.
            run.slices[2].environment.memory_bytes = Some(25_210_000_000);
            run.slices[2].environment.load = Some(2.0);
            run.slices[2].started = "2026-11-21T23:00:00Z".into();
            judged(run)
        },
        needs: NOTHING,
    },
];

/// The findings of checks on a run that a case has changed.
fn judged(run: Run) -> Run {
    Run { checks: run_all(&run), ..run }
}

fn released() -> Run {
    let mut run = made(&["map:", "map:?name=b"]);
    run.environment.build = "release".into();
    run
}

fn in_versions(one: &str, other: &str) -> Run {
    let mut run = released();
    for (target, version) in run.targets.iter_mut().zip([one, other]) {
        target.version = Some(version.into());
    }
    run
}

/// A run merged from three slices on one kind of machine.
fn put_together() -> Run {
    let mut run = released();
    run.environment.kernel = Some("6.1".into());
    run.environment.memory_bytes = Some(25_200_000_000);
    let part = |number| MergedSlice {
        slice: Slice { number, of: 3, rounds: 9, plan: "a plan".into() },
        started: "2026-11-21T20:00:00Z".into(),
        larder: run.larder.clone(),
        environment: run.environment.clone(),
        versions: [("map:".to_owned(), Some("1".to_owned()))].into(),
    };
    run.slices = (1..=3).map(part).collect();
    run
}

fn debugging() -> Result<(), String> {
    if cfg!(debug_assertions) { Ok(()) } else { Err("the tests are built for use".into()) }
}
