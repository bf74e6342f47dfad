//! Ports for servers that cannot choose one themselves: another process may take a free port before the server does.

use std::net::{Ipv4Addr, TcpListener};

use larder_store::{Error, Result};

/// The error of a server for a port that is in use, in the words of the C library.
pub(super) const IN_USE: &str = "Address already in use";

/// The number of free ports that are tried.
const ATTEMPTS: usize = 10;

/// A port of 127.0.0.1 that is free now.
pub fn free_port(engine: &'static str) -> Result<u16> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr());
    port.map(|address| address.port()).map_err(|source| Error::Io {
        engine,
        what: "looking for a free port of 127.0.0.1".into(),
        source,
    })
}

/// Starts a server on a free port, and again on another port where another process has taken it meanwhile. The server's
/// [last words](super::last_words) reveal that. Other errors are returned.
pub fn on_free_port<T>(mut start: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..ATTEMPTS {
        match start() {
            Err(Error::Unavailable { what, .. }) if what.contains(IN_USE) => {}
            done => return done,
        }
    }
    start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_not_looked_for_in_vain() {
        let mut n_attempts = 0;
        let failed = on_free_port(|| -> Result<()> {
            n_attempts += 1;
            let what = if n_attempts == 2 { "is not installed" } else { IN_USE };
            Err(Error::Unavailable { engine: "test", what: what.into(), source: None })
        });
        assert!(failed.is_err() && n_attempts == 2);
    }
}
