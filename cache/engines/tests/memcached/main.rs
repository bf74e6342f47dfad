//! `memcached:` against real servers.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod batches;
mod limits;
#[path = "../memcached_support/mod.rs"]
mod memcached_support;
mod nodes;
mod reported;
#[path = "../session_support/mod.rs"]
mod session_support;
mod wires;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::ExitCode;

use larder_store::Store;
use libtest_mimic::Arguments;

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    let modules = [limits::trials, nodes::trials, wires::trials, batches::trials, reported::trials];
    let trials = modules.into_iter().flat_map(|trials| trials()).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Bytes that differ along the value, so that a misplaced part is noticed.
fn bytes(len: usize) -> Vec<u8> {
    (0..=250_u8).cycle().take(len).collect()
}

/// The addresses of a store's nodes.
fn nodes(store: &dyn Store) -> Vec<String> {
    store.info().settings["nodes"].split(", ").map(String::from).collect()
}

/// The line that a server answers to a request of one line, over a connection of its own.
fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("{request}\r\n").as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line.trim_end().into()
}
