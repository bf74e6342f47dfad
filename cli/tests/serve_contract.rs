//! The contract suite on `larder serve`, through the client of `memcached:`: what holds for a store must hold for it
//! behind the server, as far as the protocols tell.

use std::process::ExitCode;

use larder_engines::ENGINES;
use larder_testkit::Urls;

/// A store that an event loop calls itself, and one that storage threads call.
const CHANGE: &[&str] = &[
    "memcached:?server=larder&protocol=meta",
    "memcached:?server=larder&store=file&protocol=text",
];

/// The same with the other protocol, further stores, and a pool.
const NIGHTLY: &[&str] = &[
    "memcached:?server=larder&protocol=text",
    "memcached:?server=larder&store=mmap&protocol=text",
    "memcached:?server=larder&store=mmap&protocol=meta",
    "memcached:?server=larder&store=file&protocol=meta",
    "memcached:?server=larder&store=lmdb&socket=on&nodes=2",
];

fn main() -> ExitCode {
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("LARDER_PROGRAM", env!("CARGO_BIN_EXE_larder")) };
    larder_host::delay_proxy::serve_if_asked();
    let urls = Urls { change: CHANGE, nightly: NIGHTLY, ..Urls::default() };
    larder_testkit::contract(&ENGINES, &urls)
}
