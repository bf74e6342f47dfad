//! A memcached that a test starts, stops, kills and starts again.

use std::fs;
use std::net::TcpStream;
use std::process::Command;

use larder_host::managed::{Account, Server, find};
use larder_host::scratch::ScratchDir;
use larder_store::Recipe;

use crate::PATIENCE;

/// The server of this helper.
pub const MEMCACHED: Recipe = Recipe::server("memcached", "memcached");

/// A memcached, on 127.0.0.1 unless a test says otherwise.
#[derive(Debug)]
pub struct Memcached {
    /// Its port.
    pub port: u16,
    /// Dropping it ends the server.
    server: Server,
}

impl Memcached {
    /// Starts on a free port, which memcached chooses: of two servers that are told one port, one would answer for both.
    pub fn start() -> Self {
        Self::start_on("-1")
    }

    /// Starts on this port.
    pub fn start_on(port: &str) -> Self {
        Self::start_at("127.0.0.1", port)
    }

    /// Starts at this address and port. Of an address that others reach, the network is the test's own.
    pub fn start_at(listen: &str, port: &str) -> Self {
        let directory = ScratchDir::create("test").expect("a directory for memcached");
        let port_file = directory.path().join("port");
        let mut command = Command::new(find("test", &MEMCACHED).expect("memcached is installed"));
        command.args(["-l", listen, "-m", "64", "-c", "100", "-p", port]);
        command.env("MEMCACHED_PORT_FILENAME", &port_file);
        // As root, memcached changes to an account of its own.
        let account = Account::for_server(&["nobody"], directory.path());
        let name = account.as_ref().map_or("root", |account| account.name.as_str());
        command.args(["-u", name]);
        let server = Server::start("test", command, directory, account.as_ref());
        let mut server = server.expect("memcached starts").without_grace();
        let port = || {
            let text = fs::read_to_string(&port_file).ok()?;
            text.lines().find_map(|line| line.strip_prefix("TCP INET: ")?.parse().ok())
        };
        let port = server.answer(PATIENCE, port).expect("memcached tells its port");
        Self { port, server }
    }

    /// Its address.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// A connection to it.
    pub fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(("127.0.0.1", self.port)).expect("memcached answers");
        client.set_nodelay(true).expect("a socket has this option");
        client
    }
}
