//! `larder top` as its user sees it: real servers, real sockets, a real terminal.
//!
//! The view runs in a second process, which is this binary again. An environment variable gives it its task. A test
//! without memcached shows as ignored; with `LARDER_REQUIRE=all` in the environment it fails instead.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(clippy::print_stderr, reason = "how a second process tells its error")]

mod load;
mod once;
mod process;
mod screen;
mod server;

use std::process::ExitCode;

use larder_testkit::{has_program, trial_where};
use libtest_mimic::{Arguments, Trial};

/// The needs of a test.
type Need = fn() -> Result<(), String>;
/// A need, the sentence that a test states, and the test.
type Case = (Need, &'static str, fn());

/// A test that needs no program.
const NOTHING: Need = || Ok(());

/// A memcached that can be started.
const MEMCACHED: Need = || has_program(&larder_testkit::MEMCACHED);

fn main() -> ExitCode {
    if let Some(exit) = process::run_if_asked() {
        return exit;
    }
    let cases = [once::CASES, screen::CASES].into_iter().flatten();
    let trials: Vec<Trial> = cases.map(|(need, name, run)| trial_where(need, name, *run)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
