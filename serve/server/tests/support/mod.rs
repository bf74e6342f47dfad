//! A server within the test, and clients of few words.

#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]

pub mod binary;
pub mod transcript;

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::num::NonZero;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use larder_engines::ENGINES;
use larder_server::{Address, Listeners, Order, Remote, Server, Settings};
use larder_store::{Capabilities, Result, Session, Stats, Store, StoreInfo, StoreUrl, Waits};

/// The time within which every answer comes.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// A server that ends with the test.
pub struct Serving {
    pub address: SocketAddr,
    pub remote: Remote,
    thread: Option<JoinHandle<std::result::Result<(), larder_server::Error>>>,
}

/// The store behind a URL.
pub fn store(url: &str) -> Arc<dyn Store> {
    ENGINES.open(&StoreUrl::parse(url).unwrap()).unwrap()
}

/// A store in memory whose writes are left to storage threads, while event loops answer its reads.
#[derive(Debug)]
struct Lasting(Arc<dyn Store>);

impl Store for Lasting {
    fn info(&self) -> StoreInfo {
        self.0.info()
    }

    fn capabilities(&self) -> Capabilities {
        let (reads_wait, writes_wait) = (Waits::Seldom, Waits::Disk);
        Capabilities { reads_wait, writes_wait, ..self.0.capabilities() }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        self.0.session()
    }

    fn stats(&self) -> Result<Stats> {
        self.0.stats()
    }
}

/// A store whose requests are shared out between event loops and storage threads.
pub fn lasting() -> Arc<dyn Store> {
    Arc::new(Lasting(store("memory:?size=64m")))
}

/// Settings for one thread on a port that the system chooses.
pub fn settings() -> Settings {
    Settings { threads: NonZero::new(2).unwrap(), ..Settings::default() }
}

impl Serving {
    pub fn start(url: &str, settings: Settings) -> Self {
        Self::of(store(url), settings)
    }

    pub fn of(store: Arc<dyn Store>, settings: Settings) -> Self {
        Self::at(&Address::Tcp((Ipv4Addr::LOCALHOST, 0).into()), store, settings).unwrap()
    }

    /// A server at an address.
    pub fn at(
        address: &Address,
        store: Arc<dyn Store>,
        settings: Settings,
    ) -> std::result::Result<Self, larder_server::Error> {
        let listeners = Listeners::bind(std::slice::from_ref(address), 1024, Vec::new())?;
        let server = Server::start(store, listeners, settings)?;
        let address = server.addresses()[0].socket_address();
        let address = address.unwrap_or((Ipv4Addr::LOCALHOST, 0).into());
        let remote = server.remote();
        let thread = std::thread::spawn(move || server.run());
        Ok(Self { address, remote, thread: Some(thread) })
    }

    pub fn client(&self) -> Client {
        Client::connect(self.address)
    }

    /// Ends the server, and waits until it has ended.
    pub fn stop(mut self) -> std::result::Result<(), larder_server::Error> {
        self.remote.give(Order::End);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.remote.give(Order::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A connection.
pub struct Client(pub BufReader<TcpStream>);

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(socket))
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// The next line, without its end; empty at the end of the connection.
    pub fn line(&mut self) -> String {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line).unwrap();
        String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned()
    }

    /// The first line of the answer to a request.
    pub fn ask(&mut self, request: &str) -> String {
        self.send(format!("{request}\r\n").as_bytes());
        self.line()
    }

    /// Stores a value.
    pub fn set(&mut self, key: &str, value: &[u8]) -> String {
        self.send(format!("set {key} 0 0 {}\r\n", value.len()).as_bytes());
        self.send(value);
        self.send(b"\r\n");
        self.line()
    }

    /// The value under a key.
    pub fn get(&mut self, key: &str) -> Option<Vec<u8>> {
        let header = self.ask(&format!("get {key}"));
        if header == "END" {
            return None;
        }
        let len = header.rsplit(' ').next().unwrap().parse::<usize>().expect(&header);
        let mut value = vec![0; len + "\r\nEND\r\n".len()];
        self.0.read_exact(&mut value).unwrap();
        value.truncate(len);
        Some(value)
    }

    /// Whether the server has ended the connection without a further answer.
    pub fn is_ended(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => rest.is_empty(),
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }

    /// A number of `stats`.
    pub fn stat(&mut self, name: &str) -> u64 {
        self.number("stats", name)
    }

    /// A number of `stats settings`.
    pub fn settings(&mut self, name: &str) -> u64 {
        self.number("stats settings", name)
    }

    fn number(&mut self, request: &str, name: &str) -> u64 {
        self.send(format!("{request}\r\n").as_bytes());
        let mut found = None;
        loop {
            let line = self.line();
            if line == "END" {
                return found.unwrap();
            }
            if let Some(value) = line.strip_prefix(&format!("STAT {name} ")) {
                found = value.parse().ok();
            }
        }
    }
}
