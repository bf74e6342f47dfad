//! A memcached that a test starts, kills and starts again.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use larder_host::managed::{Account, Server, find};
use larder_host::scratch::ScratchDir;
use larder_store::Recipe;
use larder_testkit::{PATIENCE, within};

/// The server of these tests.
pub(crate) const MEMCACHED: Recipe = Recipe::server("memcached", "memcached");

/// A memcached on 127.0.0.1.
#[derive(Debug)]
pub(crate) struct Memcached {
    pub(crate) port: u16,
    /// Dropping it ends the server.
    _server: Server,
}

impl Memcached {
    /// Starts on a free port, which memcached chooses: of two servers that are told one port, one would answer for both.
    pub(crate) fn start() -> Self {
        Self::start_on("-1")
    }

    /// Starts on this port.
    pub(crate) fn start_on(port: &str) -> Self {
        let directory = ScratchDir::create("test").unwrap();
        let port_file = directory.path().join("port");
        let mut command = Command::new(find("test", &MEMCACHED).unwrap());
        command.args(["-l", "127.0.0.1", "-m", "64", "-c", "100", "-p", port]);
        command.env("MEMCACHED_PORT_FILENAME", &port_file);
        // As root, memcached changes to an account of its own.
        let account = Account::for_server(&["nobody"], directory.path());
        let name = account.as_ref().map_or("root", |account| account.name.as_str());
        command.args(["-u", name]);
        let server = Server::start("test", command, directory, account.as_ref()).unwrap();
        let mut server = server.without_grace();
        let port = || {
            let text = fs::read_to_string(&port_file).ok()?;
            text.lines().find_map(|line| line.strip_prefix("TCP INET: ")?.parse().ok())
        };
        let port = server.answer(PATIENCE, port).unwrap();
        Self { port, _server: server }
    }

    /// Its address, as the view shows it.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// A connection to it.
    pub(crate) fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        client.set_nodelay(true).unwrap();
        client
    }
}

/// Waits until the server of this connection has so many, this one among them.
pub(crate) fn until_connected(client: &mut TcpStream, n_connections: u32) {
    let is_met = || {
        client.write_all(b"stats\r\n").unwrap();
        let stats = until_end(client);
        let (_, rest) = stats.split_once("STAT curr_connections ").unwrap();
        rest.split_once('\r').unwrap().0.parse::<u32>().unwrap() == n_connections
    };
    assert!(within(PATIENCE, is_met));
}

/// Reads an answer with its last line `END`.
fn until_end(client: &mut TcpStream) -> String {
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while !answer.ends_with(b"END\r\n") {
        let len = client.read(&mut piece).unwrap();
        assert!(len > 0, "memcached ended the connection");
        answer.extend_from_slice(&piece[..len]);
    }
    String::from_utf8(answer).unwrap()
}
