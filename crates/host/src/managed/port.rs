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
    use std::process::Command;
    use std::time::Duration;

    use super::*;
    use crate::managed::Server;
    use crate::scratch::ScratchDir;

    /// A server that listens on a port, or fails with PostgreSQL's messages.
    const SERVER: &str = r#"
        use IO::Socket::INET;
        my $listener = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$ARGV[0]", Listen => 1);
        if (!$listener) {
            print "LOG:  could not bind IPv4 address \"127.0.0.1\": $!\n";
            print "HINT:  Is another postmaster already running on port $ARGV[0]?\n";
            print "WARNING:  could not create listen socket for \"127.0.0.1\"\n";
            print "FATAL:  could not create any TCP/IP sockets\nLOG:  database system is shut down\n";
            exit 1;
        }
        $| = 1;
        print "ready\n";
        sleep;
    "#;

    fn start(port: u16) -> Result<Server> {
        let directory = ScratchDir::create("port")?;
        let log = directory.path().join("server.log");
        let mut command = Command::new("perl");
        command.env("LC_ALL", "C").args(["-e", SERVER, &port.to_string()]);
        let mut server = Server::start("test", command, directory, None)?.without_grace();
        server.answer(Duration::from_mins(1), || {
            let log = std::fs::read_to_string(&log).ok()?;
            log.lines().any(|line| line == "ready").then_some(())
        })?;
        Ok(server)
    }

    #[test]
    fn a_port_that_is_held_is_left_for_another() {
        let holder = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let held = holder.local_addr().unwrap().port();
        let mut ports = vec![held, held];
        let mut n_attempts = 0;
        let server = on_free_port(|| {
            n_attempts += 1;
            let port = ports.pop().map_or_else(|| free_port("test"), Ok)?;
            assert!(n_attempts < 3 || port != held);
            start(port)
        });
        assert!(server.is_ok() && n_attempts == 3, "{n_attempts}: {server:?}");
        drop(holder);
    }

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
