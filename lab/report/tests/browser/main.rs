//! `report.html` in a real browser, a headless Chromium: the reader's view, actions and safety.
//!
//! Without Chromium every trial shows as ignored with the package that brings it; `LARDER_REQUIRE=all` in the
//! environment makes that a failure. With `LARDER_SCREENSHOTS=DIR` the trials leave pictures there for a person to look
//! at.

mod charts;
mod chromium;
mod diff;
mod driver;
mod index;
mod info;
mod largest;
mod loads;
mod looks;
#[path = "../made_up/mod.rs"]
mod made_up;
mod page;
mod plain;
mod probes;
mod reader;
mod webdriver;

use std::process::ExitCode;

use crate::made_up::MADE_UP;
use crate::page::report;
use larder_testkit::{nightly_if, trial_where};
use libtest_mimic::{Arguments, Trial};

/// The sentence that a trial states, and the trial.
type Case = (&'static str, fn());

const CASES: &[&[Case]] = &[
    driver::CASES,
    loads::CASES,
    charts::CASES,
    reader::CASES,
    plain::CASES,
    largest::CASES,
    index::CASES,
    info::CASES,
    diff::CASES,
];

/// The runs whose looks every change tries: together they have each part of a report.
const LOOKS: [&str; 4] = ["sweep", "missing-cells", "twelve-targets", "article"];

fn main() -> ExitCode {
    if std::env::var_os(driver::HOLD).is_some() {
        driver::hold();
    }
    let cases = CASES.iter().copied().flatten();
    let cases = cases.map(|(name, run)| trial_where(chromium::installed, name, *run));
    let looks = MADE_UP.iter().map(|(name, run)| {
        let sentence = format!("a_run_reads_well_everywhere::{name}");
        let look = || looks::reads_well(name, &report(&run()));
        let trial = trial_where(chromium::installed, &sentence, look);
        nightly_if(!LOOKS.contains(name), trial)
    });
    let trials: Vec<Trial> = cases.chain(looks).collect();
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    chromium::stop();
    conclusion.exit_code()
}
