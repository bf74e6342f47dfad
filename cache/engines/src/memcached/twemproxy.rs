//! Starts twemproxy before a pool of memcached.
//!
//! Sessions connect only to the proxy, which places the keys on the servers behind it and keeps one connection to each.
//! The proxy passes on the commands about keys, and closes the connection of a client that asks for statistics or a
//! flush. Both of these go to the servers themselves.

use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use larder_host::destination::Destination;
use larder_host::managed::{self, Account, Server};
use larder_host::scratch::ScratchDir;
use larder_store::{Error, Result};

use super::address::Node;
use super::config::MemcachedConfig;
use super::managed::{START, Started, start_nodes};
use super::{SCHEME, TWEMPROXY, introspection};
use crate::network::{self, SOCKET_FILE};

/// The file of the proxy's configuration.
const CONFIG_FILE: &str = "twemproxy.yml";

/// Starts the pool and the proxy, and waits until the proxy answers.
pub(super) fn start(config: &MemcachedConfig) -> Result<Started> {
    let program = managed::find(SCHEME, &TWEMPROXY)?;
    let (pool, behind): (Vec<Server>, Vec<Node>) = start_nodes(config)?.into_iter().unzip();
    let (proxy, node) = managed::on_free_port(|| start_proxy(&program, config, &behind))?;
    let mut servers = vec![proxy];
    servers.extend(pool);
    let settings = vec![("hash", "fnv1a_64".into()), ("distribution", "ketama".into())];
    let version = version(&program).unwrap_or_else(|| "twemproxy".into());
    let version = Some(version);
    Ok(Started { servers, nodes: vec![node], behind, version, settings, ..Started::default() })
}

fn start_proxy(
    program: &Path,
    config: &MemcachedConfig,
    behind: &[Node],
) -> Result<(Server, Node)> {
    let directory = ScratchDir::create(SCHEME)?;
    let account = Account::for_server(&["nutcracker", "memcache", "nobody"], directory.path());
    let (node, listen) = if config.socket {
        network::socket_path(SCHEME, directory.path())?;
        let path = directory.path().join(SOCKET_FILE).display().to_string();
        (Node::unix(&path), path)
    } else {
        let port = managed::free_port(SCHEME)?;
        (Node::tcp(&Ipv4Addr::LOCALHOST.to_string(), port, None)?, format!("127.0.0.1:{port}"))
    };
    let io = |source| Error::Io { engine: SCHEME, what: format!("writing {CONFIG_FILE}"), source };
    let text = configuration(&listen, config, behind);
    fs::write(directory.path().join(CONFIG_FILE), text).map_err(io)?;
    let mut command = Command::new(program);
    // The proxy's statistics cannot be turned off, and would be open to every host.
    command.args([
        "-c",
        CONFIG_FILE,
        "-a",
        "127.0.0.1",
        "-s",
        &managed::free_port(SCHEME)?.to_string(),
    ]);
    if let Some(account) = &account {
        account.run(&mut command);
    }
    let server = Server::start(SCHEME, command, directory, account.as_ref());
    let mut server = server?.without_grace();
    let asked = Arc::new(node.clone());
    server.answer(START, || introspection::answers(&asked, config.timeout.0).then_some(()))?;
    Ok((server, node))
}

/// The configuration of the proxy. Keys are placed by the names of the servers, which are the same in every run, and
/// not by their ports. A server that does not answer stays in the pool: its keys fail, and no other server gets them.
fn configuration(listen: &str, config: &MemcachedConfig, behind: &[Node]) -> String {
    let mut text = format!(
        "larder:\n  listen: {listen}\n  hash: fnv1a_64\n  distribution: ketama\n  auto_eject_hosts: false\n  \
         timeout: {}\n  servers:\n",
        config.timeout.0.as_millis()
    );
    for (node, number) in behind.iter().zip(1..) {
        let at = match node.reached_at() {
            Destination::Unix(path) => path.display().to_string(),
            Destination::Tcp(_) => node.to_string(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    - {at}:1 node{number}");
    }
    text
}

/// The name and version that the program reports: `This is nutcracker-0.5.0`.
fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let version = text.split("nutcracker-").nth(1)?.split_whitespace().next()?;
    Some(format!("twemproxy {version}"))
}
