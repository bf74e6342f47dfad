//! Starts memcached, and the proxy before it or a server in its place.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use larder_host::managed::{self, Account, Server};
use larder_host::place::Place;
use larder_host::scratch::ScratchDir;
use larder_protocol::ketama::DEFAULT_PORT;
use larder_store::{ByteSize, Catalog, Error, Result, StoreUrl};
use rustls::ClientConfig;

use super::address::Node;
use super::config::{CHUNK_MAX, MIB, MemcachedConfig, MemcachedProgram};
use super::store_probe::StoreAbilities;
use super::{RECIPE, SCHEME, encryption, innodb, introspection, larder, twemproxy};
use crate::certificate::Certificates;
use crate::network::{self, SOCKET_FILE};

/// The longest wait for a memcached's first answer; it takes some milliseconds.
pub(super) const START: Duration = Duration::from_secs(10);

/// The file to which a memcached writes its port.
pub(super) const PORT_FILE: &str = "port";

/// The file of a memcached's extstore.
const EXTSTORE_FILE: &str = "extstore";

/// The files of the server's certificate and of its key, with TLS.
const SERVER_FILE: &str = "server.pem";
const KEY_FILE: &str = "key.pem";

/// The processes that were started.
#[derive(Debug, Default)]
pub(super) struct Started {
    /// All processes; a process that depends on others comes first, and so ends first.
    pub(super) servers: Vec<Server>,
    /// The nodes to which sessions connect.
    pub(super) nodes: Vec<Node>,
    /// The nodes that are introspected and emptied, where sessions connect to others.
    pub(super) behind: Vec<Node>,
    /// An addition to the version number that servers report.
    pub(super) version: Option<String>,
    /// Settings that no server reports.
    pub(super) settings: Vec<(&'static str, String)>,
    /// The files and folders of the values, if they lie on a disk.
    pub(super) data: Vec<PathBuf>,
    /// Directories beside those of the servers, which vanish after the servers have ended.
    pub(super) places: Vec<Place>,
    /// The facts that an entry has shown of the store behind a `larder serve`.
    pub(super) store_abilities: Option<StoreAbilities>,
}

/// Starts the servers that the options name, and waits until they answer.
pub(super) fn start(
    config: &MemcachedConfig,
    url: &StoreUrl,
    catalog: &Catalog,
) -> Result<Started> {
    match config.server {
        MemcachedProgram::Memcached => {
            let (servers, nodes): (Vec<Server>, _) = start_nodes(config)?.into_iter().unzip();
            let files = servers.iter().map(|server| server.directory().join(EXTSTORE_FILE));
            let data = files.filter(|_| config.extstore.is_some()).collect();
            let settings = config.extstore.map(|size| ("extstore", size.to_string()));
            let settings = settings.into_iter().collect();
            Ok(Started { servers, nodes, settings, data, ..Started::default() })
        }
        MemcachedProgram::Innodb => innodb::start(config),
        MemcachedProgram::Twemproxy => twemproxy::start(config),
        MemcachedProgram::Larder => larder::start(config, url, catalog),
    }
}

/// Starts as many memcached as the options ask for.
pub(super) fn start_nodes(config: &MemcachedConfig) -> Result<Vec<(Server, Node)>> {
    let certificates = config.is_encrypted().then(|| Certificates::make(SCHEME)).transpose()?;
    let certificates = certificates.as_ref();
    let tls = certificates
        .map(|certificates| encryption::client(Some(certificates.authority.as_bytes()), false));
    let tls = tls.transpose()?;
    let servers = (0..config.nodes).map(|_| launch(config, certificates));
    let servers: Vec<Server> = servers.collect::<Result<_>>()?;
    let nodes = servers.into_iter().zip(0..).map(|(mut server, number)| {
        let path = server.directory().to_owned();
        let mut node = server.answer(START, || {
            let node =
                if config.socket { socket_node(&path) } else { port_node(&path, tls.as_ref())? };
            introspection::answers(&Arc::new(node.clone()), config.timeout.0).then_some(node)
        })?;
        place_in_pool(&mut node, number);
        Ok((server, node))
    });
    nodes.collect()
}

/// Gives a node the place in its pool that goes with its number.
///
/// The node's real name differs from run to run. Under this name the node has the same keys in every run: those of
/// 127.0.0.1:11211, 127.0.0.1:11212 … in a pool.
pub(super) fn place_in_pool(node: &mut Node, number: u16) {
    node.pool_host = Ipv4Addr::LOCALHOST.to_string();
    node.pool_port = DEFAULT_PORT + number;
}

fn launch(config: &MemcachedConfig, certificates: Option<&Certificates>) -> Result<Server> {
    let (memory, least) = (config.memory_mib() * MIB, config.item_size.0.saturating_mul(2));
    if memory < least {
        let (memory, least) = (config.m, ByteSize(least));
        let reason = format!("option `m`: {memory} < {least}, twice `item_size`");
        return Err(Error::InvalidOptions { engine: SCHEME, reason });
    }
    let directory = ScratchDir::create(SCHEME)?;
    let account = Account::for_server(&["memcache", "nobody"], directory.path());
    let mut command = Command::new(managed::find(SCHEME, &RECIPE)?);
    command
        .args(["-m", &config.memory_mib().to_string()])
        .args(["-I", &config.item_size.0.to_string()])
        .args(["-t", &config.server_threads.to_string()])
        .args(["-U", "0"]);
    if let Some(connections) = config.max_connections {
        command.args(["-c", &connections.to_string()]);
    }
    let chunk = config.chunk_max();
    if chunk < CHUNK_MAX {
        command.args(["-o", &format!("slab_chunk_max={chunk}")]);
    }
    let file = directory.path().join(EXTSTORE_FILE);
    if let Some(extstore) = config.extstore(&file.to_string_lossy()) {
        command.args(["-o", &extstore]);
    }
    if let Some(account) = &account {
        command.args(["-u", &account.name]);
    }
    if let Some(Certificates { server, key, .. }) = certificates {
        for (name, text) in [(SERVER_FILE, server), (KEY_FILE, key)] {
            let path = directory.path().join(name);
            managed::write_private(SCHEME, &path, text, account.as_ref())?;
        }
        let files = format!("ssl_chain_cert={SERVER_FILE},ssl_key={KEY_FILE}");
        command.args(["-Z", "-o", &files]);
    }
    if config.socket {
        let path = network::socket_path(SCHEME, directory.path())?;
        command.arg("-s").arg(path);
    } else {
        // Port -1 is any free one.
        command.args(["-l", "127.0.0.1", "-p", "-1"]);
        command.env("MEMCACHED_PORT_FILENAME", directory.path().join(PORT_FILE));
    }
    // The entries of a memcached end with it in any case.
    Server::start(SCHEME, command, directory, account.as_ref()).map(Server::without_grace)
}

/// The node of a server on a socket in this directory.
pub(super) fn socket_node(directory: &Path) -> Node {
    Node::unix(&directory.join(SOCKET_FILE).to_string_lossy())
}

/// The node of a server that has written its port, as `TCP INET: 34879`.
pub(super) fn port_node(directory: &Path, tls: Option<&Arc<ClientConfig>>) -> Option<Node> {
    let text = std::fs::read_to_string(directory.join(PORT_FILE)).ok()?;
    let port = text.lines().find_map(|line| line.strip_prefix("TCP INET: ")?.parse().ok())?;
    Node::tcp(&Ipv4Addr::LOCALHOST.to_string(), port, tls).ok()
}
