//! Serves one of the servers with a fault on loopback until its standard input ends:
//! `cargo run -p larder-testkit --example trap -- nodelete`, then, as it prints, `larder compare` with its URL.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for a person")]

use std::io;
use std::process::ExitCode;

use larder_testkit::traps::{self, TRAPS, TrapServer};

fn main() -> ExitCode {
    let names: Vec<&str> = TRAPS.iter().map(|trap| trap.name).collect();
    let Some(trap) = std::env::args().nth(1).and_then(|name| traps::find(&name)) else {
        eprintln!("name one of: {}", names.join(", "));
        return ExitCode::from(2);
    };
    let server = match TrapServer::start(trap.fault) {
        Ok(server) => server,
        Err(error) => {
            eprintln!("no port of 127.0.0.1 could be opened: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{}: {:?} on port {}; Enter ends it", trap.name, trap.fault, server.address().port());
    println!("larder compare '{}' 'memcached:?protocol=text&name=real'", server.url("bad"));
    // The end of the input ends it too, and so does an input that cannot be read.
    let _ = io::stdin().read_line(&mut String::new());
    ExitCode::SUCCESS
}
