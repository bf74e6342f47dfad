//! `postgresql:` against real servers: managed and external, with and without TLS, stopped and killed.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[path = "../session_support/batches.rs"]
mod batches;
mod foreign;
mod full;
mod killed;
mod managed;
mod peer;
#[path = "../session_support/mod.rs"]
mod session_support;
mod stopped;
mod tls;
mod wire;

use std::process::ExitCode;

use larder_engines::ENGINES;
use larder_testkit::{POSTGRES, Random, has_program, run_waiting, trial_where};
use libtest_mimic::Trial;

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    larder_testkit::hold_if_asked(&ENGINES);
    full::fill_if_asked();
    let trials = [
        managed::trials(),
        foreign::trials(),
        wire::trials(),
        tls::trials(),
        full::trials(),
        stopped::trials(),
        killed::trials(),
    ];
    let trials = trials.into_iter().flatten().collect();
    run_waiting(trials)
}

/// A trial that needs a real PostgreSQL.
fn trial(name: &str, run: fn()) -> Trial {
    trial_where(|| has_program(&POSTGRES), name, run)
}

/// Bytes that do not compress and do not repeat.
fn bytes(len: usize) -> Vec<u8> {
    Random::new(len as u64).bytes(len)
}
