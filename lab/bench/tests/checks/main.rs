//! Every check fires on a case made to trip it, and stays silent on a similar sound case.
//!
//! A [`Case`] has both halves, so that no check has one of them alone. The first trial fails where a check has no case,
//! or a case no check. The files group the cases by theme: returned values, room, time, tiers, and the comparability of
//! two targets.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod case;
mod connections;
mod cost;
mod failing_servers;
#[path = "../support/frozen.rs"]
mod frozen;
mod machine;
mod pair;
mod parity;
mod requests;
mod room;
mod rounds;
#[path = "../support/mod.rs"]
mod support;
mod tiers;
mod time;
mod updates;
mod values;
mod versions;

use std::collections::BTreeSet;
use std::process::ExitCode;

use larder_analysis::check::CHECKS;
use larder_testkit::{nightly, trial_where};
use libtest_mimic::Arguments;

use case::{Case, NOTHING};

/// The cases of every theme.
const THEMES: &[&[Case]] = &[
    values::CASES,
    updates::CASES,
    room::CASES,
    cost::CASES,
    requests::CASES,
    connections::CASES,
    time::CASES,
    rounds::CASES,
    tiers::CASES,
    parity::CASES,
    machine::CASES,
    versions::CASES,
];

fn main() -> ExitCode {
    let mut trials =
        vec![trial_where(NOTHING, "every check has its cases, and every case a check", complete)];
    let themes = THEMES.iter().copied().flatten().flat_map(Case::trials);
    let others = [cost::of_a_multiget(), parity::of_a_stand_in()];
    // Each case compares real targets, some for seconds.
    trials.extend(nightly(themes.chain(others).chain(failing_servers::trials())));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn complete() {
    let of_cases: BTreeSet<&str> = THEMES.iter().copied().flatten().map(|case| case.id).collect();
    let of_checks: BTreeSet<&str> = CHECKS.iter().map(|check| check.about().id).collect();
    assert_eq!(of_checks.len(), CHECKS.len(), "two checks have one name");
    let without: Vec<_> = of_checks.difference(&of_cases).collect();
    assert!(without.is_empty(), "no case for {without:?}");
    let unknown: Vec<_> = of_cases.difference(&of_checks).collect();
    assert!(unknown.is_empty(), "no check for the cases of {unknown:?}");
}
