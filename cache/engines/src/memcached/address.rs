//! The address of a node.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use larder_host::destination::Destination;
use larder_protocol::ketama::DEFAULT_PORT;
use larder_store::{Error, Result, StoreUrl};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::SCHEME;
use crate::network;
use crate::socket::{Encryption, Socket};

/// The bytes of requests in a record of TLS, with those around them.
const PACKET_LEN: usize = RECORD_LEN - 64;

/// The longest record of TLS: [`Node::packet_len`] has the reason.
pub(super) const RECORD_LEN: usize = 8 * 1024;

/// The address of a node, and the name by which the pool places keys on the node.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// The address of the node itself.
    address: Destination,
    /// The address as a person writes it.
    shown: String,
    /// The relay before the node, if any.
    delay_proxy: Option<Destination>,
    /// The encryption of connections, if they are encrypted.
    encryption: Option<Encryption>,
    /// The node's host as ketama hashes it: in the spelling of the pool's clients.
    pub(super) pool_host: String,
    /// The node's port as ketama hashes it; 0 for a socket.
    pub(super) pool_port: u16,
}

impl Node {
    /// The nodes that a URL names; empty for a managed server. With `tls`, connections to them are encrypted.
    pub(super) fn from_url(url: &StoreUrl, tls: Option<&Arc<ClientConfig>>) -> Result<Vec<Self>> {
        let invalid =
            |reason: &str| Error::InvalidUrl { url: url.to_string(), reason: reason.into() };
        if url.user().is_some() {
            return Err(invalid("memcached takes no user here"));
        }
        match (url.hosts(), url.path()) {
            ([], "") => Ok(Vec::new()),
            ([], _) if tls.is_some() => Err(invalid("a socket of this machine takes no TLS")),
            ([], path) => Ok(vec![Self::unix(path)]),
            (hosts, "" | "/") => hosts
                .iter()
                .map(|host| {
                    let (host, port) = network::host_and_port(url, host, DEFAULT_PORT)?;
                    Self::tcp(host, port, tls)
                })
                .collect(),
            _ => Err(invalid("hosts and a path; write hosts, or memcached:///path/to.sock")),
        }
    }

    /// A node on a socket of this machine.
    pub(super) fn unix(path: &str) -> Self {
        let address = Destination::Unix(path.into());
        Self {
            address,
            shown: path.into(),
            delay_proxy: None,
            encryption: None,
            pool_host: path.into(),
            pool_port: 0,
        }
    }

    /// A node on a port of a host. With `tls`, connections to it are encrypted, and it needs a certificate for the host.
    pub(super) fn tcp(host: &str, port: u16, tls: Option<&Arc<ClientConfig>>) -> Result<Self> {
        let address = Destination::Tcp(network::resolved(SCHEME, host, port)?);
        let shown = network::join_port(host, port);
        let encryption = |config: &Arc<ClientConfig>| {
            let name =
                ServerName::try_from(host.to_owned()).map_err(|_| Error::InvalidOptions {
                    engine: SCHEME,
                    reason: format!(
                        "option `tls`: no certificate can be for `{host}`; write its name"
                    ),
                })?;
            Ok(Encryption { config: Arc::clone(config), name })
        };
        let encryption = tls.map(encryption).transpose()?;
        let (pool_host, pool_port) = (host.into(), port);
        Ok(Self { address, shown, delay_proxy: None, encryption, pool_host, pool_port })
    }

    /// Opens a connection, which is not counted.
    pub(super) fn connect(&self, timeout: Duration) -> io::Result<Socket> {
        Socket::connect(self.reached_at(), self.encryption.as_ref(), timeout)
    }

    /// The most bytes of several requests that the node takes at once, if there is such a limit; a longer request stands
    /// alone.
    ///
    /// memcached 1.6 waits for more bytes although its library of TLS still has some, those of a record that it has not
    /// read to the end. It reads a value to its end and no further, and a command as far as its buffer of 16 KiB goes. So no
    /// record may have the end of one request and the beginning of the next, unless the record has both as a whole.
    pub(super) fn packet_len(&self) -> Option<usize> {
        self.encryption.as_ref().map(|_| PACKET_LEN)
    }

    /// Whether connections to the node are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.encryption.is_some()
    }

    /// The same node, reached through a relay. The relay does not change the placement of keys.
    pub(super) fn through(&self, delay_proxy: SocketAddr) -> Self {
        Self { delay_proxy: Some(Destination::Tcp(vec![delay_proxy])), ..self.clone() }
    }

    /// The address to which connections go.
    pub(super) fn reached_at(&self) -> &Destination {
        self.delay_proxy.as_ref().unwrap_or(&self.address)
    }

    /// The address of the node itself, even with a relay before it.
    pub(super) fn destination(&self) -> &Destination {
        &self.address
    }

    /// Whether the node is on this machine for certain.
    pub(super) fn is_local(&self) -> bool {
        network::is_local(&self.address)
    }
}

impl fmt::Display for Node {
    /// `host:port`, or the path of a socket.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_hosts_or_a_socket() {
        let nodes = |url: &str| Node::from_url(&StoreUrl::parse(url).unwrap(), None);
        assert!(nodes("memcached:").unwrap().is_empty());
        assert_eq!(nodes("memcached:///run/x.sock").unwrap()[0].to_string(), "/run/x.sock");
        let pool = nodes("memcached://127.0.0.1,[::1]:5").unwrap();
        let shown: Vec<String> = pool.iter().map(Node::to_string).collect();
        assert_eq!(shown, ["127.0.0.1:11211", "[::1]:5"]);
        assert!(pool.iter().all(Node::is_local));
        assert!(nodes("memcached://localhost").unwrap()[0].is_local());
        assert!(!nodes("memcached://192.0.2.1").unwrap()[0].is_local());
        for (url, needle) in [
            ("memcached://127.0.0.1/x", "hosts and a path"),
            ("memcached://me@127.0.0.1", "no user"),
            ("memcached://a:b", "write h1:11211"),
        ] {
            let error = nodes(url).unwrap_err().to_string();
            assert!(error.contains(needle), "{url}: {error}");
        }
    }
}
