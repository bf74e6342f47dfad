//! `redis:` against real servers, alone and in a cluster, plain and encrypted; and against peers that misbehave.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod cluster;
mod killed;
mod leases;
mod peer;
mod pipeline;
mod protocol;
mod server;
#[path = "../session_support/mod.rs"]
mod session_support;
mod support;
mod tls;
mod wire;

use std::process::ExitCode;

use larder_engines::ENGINES;
use larder_testkit::run_waiting;

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    larder_testkit::hold_if_asked(&ENGINES);
    let trials = [
        server::trials(),
        cluster::trials(),
        tls::trials(),
        wire::trials(),
        killed::trials(),
        leases::trials(),
        pipeline::trials(),
        protocol::trials(),
    ];
    let trials = trials.into_iter().flatten().collect();
    run_waiting(trials)
}
