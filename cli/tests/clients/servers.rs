//! The servers: `larder serve`, and the real memcached.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use larder_engines::ENGINES;
use larder_store::{Store, StoreUrl};

/// A `larder serve` on a port of 127.0.0.1. Dropping it kills the server.
#[derive(Debug)]
pub(crate) struct Larder {
    child: Child,
    pub(crate) address: String,
}

impl Larder {
    /// Serves the store of a URL on a port that the system chooses.
    pub(crate) fn start(url: &str) -> Self {
        Self::start_at(url, "127.0.0.1:0")
    }

    /// Serves the store of a URL at an address.
    pub(crate) fn start_at(url: &str, address: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_larder"))
            .args(["serve", url, "-l", address])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        // The line is `larder: serving URL on ADDRESS`.
        let address = line.trim_end().rsplit_once(" on ").expect(&line).1.to_owned();
        Self { child, address }
    }

    /// Kills the server, so that its clients see their connections reset.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Larder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A real memcached. Dropping it ends the server.
pub(crate) struct Real(Arc<dyn Store>);

impl Real {
    pub(crate) fn start() -> Self {
        Self(ENGINES.open(&StoreUrl::parse("memcached:").unwrap()).unwrap())
    }

    pub(crate) fn address(&self) -> String {
        self.0.info().addresses[0].clone()
    }
}
