//! The library as programs of each language have it: installed, and called by programs of that language.
//!
//! A language is a module with its trials. The programs use files, a real memcached, and stacks of both.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod c;
mod perl;
mod php;
mod place;
mod ruby;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let interpreted = [perl::trials(), php::trials(), ruby::trials()].into_iter().flatten();
    let trials = c::trials().into_iter().chain(larder_testkit::nightly(interpreted)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
