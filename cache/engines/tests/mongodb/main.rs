//! `mongodb:` against a server of its protocol, plain and encrypted, that is stopped, killed and started again.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod killed;
mod server;
#[path = "../session_support/mod.rs"]
mod session_support;
mod support;
mod tls;
mod wire;

use std::process::ExitCode;

use larder_engines::ENGINES;
use libtest_mimic::Arguments;

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    larder_testkit::hold_if_asked(&ENGINES);
    // SAFETY: no other thread runs yet.
    unsafe { larder_testkit::compile_java_fast() };
    let trials = [server::trials(), tls::trials(), wire::trials(), killed::trials()];
    let trials = larder_testkit::nightly(trials.into_iter().flatten()).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
