//! `larder serve` over a store of files, and its end by SIGKILL.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_host::managed::Group;
use larder_testkit::PATIENCE;
use signal_hook::consts::SIGKILL;

use crate::client::Client;

/// The interval between attempts to connect, and between looks at the end of a process.
const LOOK: Duration = Duration::from_micros(100);

/// The arguments of all servers.
#[derive(Debug)]
pub(crate) struct Place {
    folder: PathBuf,
    url: String,
    pub(crate) port: u16,
}

impl Place {
    /// A store in a folder, and a port that stays free between two servers.
    pub(crate) fn new(folder: &Path, scheme: &str, options: &str) -> Self {
        let url = format!("{scheme}:{}?{options}", folder.join("cache").display());
        Self { folder: folder.into(), url, port: port() }
    }

    /// Starts a server at the port.
    pub(crate) fn start(&self) -> Server {
        self.start_at("server", &["-p", &self.port.to_string()])
    }

    /// Starts a server that nobody asks and that is not killed: the file stays open, and the next server at the port is
    /// not alone when it opens the file.
    pub(crate) fn start_neighbour(&self) -> Server {
        let socket = self.folder.join("socket");
        let server = self.start_at("neighbour", &["-s", socket.to_str().unwrap()]);
        server.wait_for(|| socket.exists().then_some(()));
        server
    }

    fn start_at(&self, name: &str, at: &[&str]) -> Server {
        let log = self.folder.join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_larder"));
        command.args(["serve", &self.url, "-t", "2"]).args(at);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log).unwrap());
        Server { group: Group::spawn(&mut command).unwrap(), log }
    }
}

/// A server that runs. Dropping it kills the server.
#[derive(Debug)]
pub(crate) struct Server {
    group: Group,
    log: PathBuf,
}

impl Server {
    /// The first connection that the server accepts.
    pub(crate) fn connect(&self, port: u16) -> Client {
        self.wait_for(|| Client::connect(port).ok())
    }

    fn wait_for<T>(&self, mut what: impl FnMut() -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(what) = what() {
                return what;
            }
            assert_eq!(self.group.ended(), None, "{}", self.told());
            assert!(began.elapsed() < PATIENCE, "no server after {PATIENCE:?}: {}", self.told());
            sleep(LOOK);
        }
    }

    /// Kills the server, and waits until the process has gone. A server that has ended by itself has failed.
    pub(crate) fn kill(self) {
        assert_eq!(self.group.ended(), None, "{}", self.told());
        self.group.signal(SIGKILL);
        let ended = loop {
            match self.group.ended() {
                Some(ended) => break ended,
                None => sleep(LOOK),
            }
        };
        assert_eq!(ended, format!("signal {SIGKILL}"), "{}", self.told());
    }

    /// The messages of the server.
    fn told(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// A free port below those that the system gives to connections, and to servers that ask for any port. So no process is
/// given the port while no server has it.
fn port() -> u16 {
    let from = u16::try_from(std::process::id() % 10_000).unwrap();
    let mut ports = (0..10_000).map(|more| 20_000 + (from + more) % 10_000);
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    ports.find(is_free).expect("a free port")
}
