//! The sides of a comparison: the floor, Larder's server over two stores, and the peers of this machine.
//!
//! Each side is a process of its own, so that its CPU time is its own. The floor and Larder's server are this
//! program, started again with a first argument that is no cell.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use larder_engines::ENGINES;
use larder_host::managed::{Server, free_port, is_program, on_free_port};
use larder_host::scratch::ScratchDir;
use larder_server::{Address, Listeners, Settings};
use larder_store::{Error, StoreUrl};

use crate::cells::Cell;
use crate::client::{Client, Figures, fill};
use crate::process::stay_on;
use crate::traffic::Traffic;
use crate::{Result, echo};

/// The first arguments of the processes that are this program.
const BE_LARDER: &str = "--be-larder";
const BE_ECHO: &str = "--be-echo";

/// The name of the servers in messages and folders.
const NAME: &str = "serve";

/// The time that a server has to begin.
const BEGIN: Duration = Duration::from_secs(30);

/// The folder for the file of `mmap:` and for all configurations: it lies in memory.
const IN_MEMORY: &str = "/dev/shm";

/// The peers: the name, the program, and the variable of the environment that may name the program's file.
const PEERS: [(Kind, &str, &str); 3] = [
    (Kind::Memcached, "memcached", "LARDER_MEMCACHED"),
    (Kind::Pogocache, "pogocache", "LARDER_POGOCACHE"),
    (Kind::Segcache, "pelikan_segcache_rs", "LARDER_SEGCACHE"),
];

/// The server of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The floor.
    Echo,
    /// Larder's server over `memory:`, and over `mmap:`.
    Memory,
    Mmap,
    Memcached,
    Pogocache,
    /// Pelikan's segment cache.
    Segcache,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo floor",
            Self::Memory => "larder memory:",
            Self::Mmap => "larder mmap:",
            Self::Memcached => "memcached",
            Self::Pogocache => "pogocache",
            Self::Segcache => "pelikan segcache",
        }
    }

    pub(crate) fn is_larder(self) -> bool {
        matches!(self, Self::Memory | Self::Mmap)
    }

    pub(crate) fn is_peer(self) -> bool {
        !self.is_larder() && self != Self::Echo
    }
}

/// A kind of server, and its program.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) kind: Kind,
    file: PathBuf,
}

/// The floor, the servers that are there, and a line for each peer that is missing.
pub(crate) fn programs() -> Result<(Program, Vec<Program>, Vec<String>)> {
    let own = std::env::current_exe()?;
    let [floor, memory, mmap] =
        [Kind::Echo, Kind::Memory, Kind::Mmap].map(|kind| Program { kind, file: own.clone() });
    let mut found = vec![memory, mmap];
    let mut missing = Vec::new();
    for (kind, program, variable) in PEERS {
        let named = std::env::var_os(variable).filter(|file| !file.is_empty()).map(PathBuf::from);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut files = std::env::split_paths(&path).map(|folder| folder.join(program));
        match named.or_else(|| files.find(|file| is_program(file))) {
            Some(file) if is_program(&file) => {
                let file = std::path::absolute(file)?;
                found.push(Program { kind, file });
            }
            Some(file) => missing.push(format!("{variable} names no program: {}", file.display())),
            None => {
                missing.push(format!("{program} is not on PATH, and {variable} does not name it"));
            }
        }
    }
    Ok((floor, found, missing))
}

/// A running server with all keys.
pub(crate) struct Side<'a> {
    pub(crate) kind: Kind,
    server: Server,
    address: SocketAddr,
    traffic: &'a Traffic,
}

impl<'a> Side<'a> {
    /// Starts a server for the cell on these processors.
    pub(crate) fn start(
        program: &Program,
        cell: &Cell,
        traffic: &'a Traffic,
        processors: [&[usize]; 2],
    ) -> Result<Self> {
        let [of_server, of_client] = processors;
        // A program inherits the processors of the thread that starts it.
        stay_on(of_server.iter().copied());
        let started = on_free_port(|| {
            let port = free_port(NAME)?;
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let directory = ScratchDir::create_in(NAME, &folder())?;
            let command = program.command(cell, traffic, port, directory.path())?;
            let mut server = Server::start(NAME, command, directory, None)?.without_grace();
            server.answer(BEGIN, || TcpStream::connect(address).ok())?;
            Ok((server, address))
        });
        stay_on(of_client.iter().copied());
        let (server, address) = started?;
        if program.kind != Kind::Echo {
            fill(traffic, address).map_err(|error| format!("{}: {error}", program.kind.name()))?;
        }
        Ok(Self { kind: program.kind, server, address, traffic })
    }

    /// One turn of the cell.
    ///
    /// # Errors
    ///
    /// An answer is wrong, or a server other than a peer has lost a key.
    pub(crate) fn run(&self, cell: Cell, time: Duration) -> Result<Figures> {
        let done = Client::connect(cell, self.traffic, self.address)
            .and_then(|client| client.run(self.server.pid(), time))
            // A peer may evict before it is full, and the report then tells its misses.
            .and_then(|figures| match figures.n_misses {
                n if n > 0 && !self.kind.is_peer() => Err(format!("{n} keys have no value").into()),
                _ => Ok(figures),
            });
        done.map_err(|error| format!("{cell}, {}: {error}", self.kind.name()).into())
    }
}

/// The folder for a server's files.
fn folder() -> PathBuf {
    let folder = PathBuf::from(IN_MEMORY);
    if folder.is_dir() { folder } else { std::env::temp_dir() }
}

impl Program {
    /// The command line of a server on this port, with room for all keys twice.
    fn command(
        &self,
        cell: &Cell,
        traffic: &Traffic,
        port: u16,
        folder: &Path,
    ) -> larder_store::Result<Command> {
        let mib = (64 + 2 * traffic.n_keys * (traffic.value_bytes + 100) / (1 << 20)).to_string();
        let (port, threads) = (port.to_string(), cell.threads.to_string());
        let mut command = Command::new(&self.file);
        match self.kind {
            Kind::Echo => {
                let [value, keys] =
                    [cell.value_bytes, cell.keys_a_request()].map(|number| number.to_string());
                command.args([BE_ECHO, &port, &value, &keys]);
            }
            Kind::Memory => {
                command.args([BE_LARDER, &port, &threads, &format!("memory:?size={mib}m")]);
            }
            Kind::Mmap => {
                let url = format!("mmap:{}?size={mib}m", folder.join("cache").display());
                command.args([BE_LARDER, &port, &threads, &url]);
            }
            Kind::Memcached => {
                // Its classes of sizes need spare room. Root must name a user, and all others may.
                let fixed = ["-l", "127.0.0.1", "-U", "0", "-m", "1024", "-u", "root"];
                command.args(fixed).args(["-p", &port, "-t", &threads]);
            }
            Kind::Pogocache => {
                let fixed = ["-h", "127.0.0.1", "--maxmemory", "1024mb", "--evict", "no"];
                command.args(fixed).args(["-p", &port, "--threads", &threads]);
            }
            Kind::Segcache => {
                let file = folder.join("segcache.toml");
                std::fs::write(&file, segcache(&port, &threads)).map_err(|source| {
                    let what = format!("writing {}", file.display());
                    Error::Io { engine: NAME, what, source }
                })?;
                command.arg(file);
            }
        }
        Ok(command)
    }
}

/// The configuration of Pelikan's segment cache. Its port for administration is any free one.
fn segcache(port: &str, threads: &str) -> String {
    let admin = free_port(NAME).unwrap_or(0);
    format!(
        "[admin]\nhost = \"127.0.0.1\"\nport = \"{admin}\"\n\
         [server]\nhost = \"127.0.0.1\"\nport = \"{port}\"\n\
         [worker]\nthreads = {threads}\n\
         [seg]\nhash_power = 20\nheap_size = {}\nsegment_size = {}\n",
        1_u64 << 30,
        1 << 20
    )
}

/// Serves, where the arguments say that this process is a server.
pub(crate) fn serve_if_asked(arguments: &[String]) -> Option<Result<()>> {
    match arguments {
        [kind, port, threads, url] if kind == BE_LARDER => Some(larder(port, threads, url)),
        [kind, port, value, keys] if kind == BE_ECHO => {
            Some((|| echo::serve(port.parse()?, value.parse()?, keys.parse()?))())
        }
        _ => None,
    }
}

fn larder(port: &str, threads: &str, url: &str) -> Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse()?));
    let threads: NonZero<usize> = threads.parse()?;
    let settings = Settings { threads, ..Settings::default() };
    let listeners = Listeners::bind(&[Address::Tcp(address)], settings.backlog, Vec::new())?;
    let store = ENGINES.open(&StoreUrl::parse(url)?)?;
    Ok(larder_server::Server::start(store, listeners, settings)?.run()?)
}
