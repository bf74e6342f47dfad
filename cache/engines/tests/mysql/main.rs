//! `mysql:` against real servers: managed, external, encrypted, killed, silent.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[path = "../session_support/batches.rs"]
mod batches;
mod foreign;
mod killed;
mod managed;
#[path = "../session_support/mod.rs"]
mod session_support;
mod support;
mod tls;
mod trouble;
mod wire;

use std::process::ExitCode;

use larder_engines::ENGINES;
use libtest_mimic::Arguments;

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    larder_testkit::hold_if_asked(&ENGINES);
    let trials = [
        managed::trials(),
        foreign::trials(),
        trouble::trials(),
        wire::trials(),
        tls::trials(),
        killed::trials(),
    ];
    let trials = larder_testkit::nightly(trials.into_iter().flatten()).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
