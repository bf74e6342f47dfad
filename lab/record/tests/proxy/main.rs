//! The proxy between clients and servers: real ones, and peers whose bytes a test decides.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(
    clippy::format_collect,
    clippy::items_after_statements,
    reason = "tests show what they send where they send it"
)]

mod captures;
mod certificates;
mod ends;
mod passing;
mod setup;
mod transcripts;
mod writing;

use std::process::ExitCode;

use larder_store::Recipe;
use larder_testkit::{MEMCACHED, has_program, run_waiting, trial_where};
use libtest_mimic::Trial;

/// The needs of a test.
type Need = fn() -> Result<(), String>;
/// A need, the sentence that a test states, and the test.
type Case = (Need, &'static str, fn());

const CASES: &[&[Case]] = &[
    captures::CASES,
    certificates::CASES,
    ends::CASES,
    passing::CASES,
    transcripts::CASES,
    writing::CASES,
];

const NOTHING: Need = || Ok(());
const WITH_MEMCACHED: Need = || has_program(&MEMCACHED);
const REDIS_SERVER: Recipe = Recipe::server("redis-server", "redis-server");
const WITH_REDIS: Need = || has_program(&REDIS_SERVER);

fn main() -> ExitCode {
    let cases = CASES.iter().copied().flatten();
    let trials: Vec<Trial> = cases.map(|(need, name, run)| trial_where(need, name, *run)).collect();
    run_waiting(trials)
}
