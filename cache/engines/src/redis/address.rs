//! The address of a node, and the greeting of a connection to it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use larder_host::delay_proxy::DelayProxy;
use larder_host::tls;
use larder_store::{Error, Result, StoreUrl};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::SCHEME;
use super::config::{RedisConfig, Resp};
use crate::authorities;
use crate::network::{self, Place};
use crate::socket::Encryption;

/// The port of a node whose URL names none.
pub(super) const DEFAULT_PORT: u16 = 6379;

/// The address of a node, and the greeting of a connection to it.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// The address of the node itself; connections may go to a relay before it.
    place: Place,
    delay_proxy: Option<Place>,
    hello: Arc<Hello>,
    /// The encryption of connections, if they are encrypted.
    encryption: Option<Encryption>,
}

/// The greeting of a connection, the same to every node of a URL.
#[derive(Debug, Clone)]
pub(super) struct Greeting {
    hello: Arc<Hello>,
    /// The terms of encrypted connections, if they are encrypted.
    tls: Option<Arc<ClientConfig>>,
    /// The relay before each node, by the node's address as a person writes it; empty without relays.
    delay_proxies: Vec<(String, SocketAddr)>,
}

/// What a new connection tells a node.
#[derive(Debug, Default, Clone)]
pub(super) struct Hello {
    pub(super) login: Option<Login>,
    /// The number of the database.
    pub(super) db: u32,
    pub(super) resp: Resp,
}

/// A password, with the name of its user if there is one.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) user: Option<String>,
    pub(super) password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Greeting {
    /// The greeting that a URL and its options ask for. Servers that are started have an authority of their own
    /// ([`Self::trusting`]).
    pub(super) fn from_url(url: &StoreUrl, config: &RedisConfig) -> Result<Self> {
        let invalid = |reason: String| Error::InvalidUrl { url: url.to_string(), reason };
        let has_hosts = !url.hosts().is_empty();
        let db = match url.path().trim_matches('/') {
            path if has_hosts && !path.is_empty() => path.parse().map_err(|_| {
                invalid(format!(
                    "`{path}` is not the number of a database; write redis://h1:6379/0"
                ))
            })?,
            _ => config.db,
        };
        let login = match (url.user().filter(|user| !user.is_empty()), url.password()) {
            (Some(_), None) => {
                return Err(invalid("a user without a password; write user:password@".into()));
            }
            (user, Some(password)) => {
                Some(Login { user: user.map(Into::into), password: password.into() })
            }
            (None, None) => None,
        };
        let authorities =
            config.ca.as_deref().map(|path| authorities::read(SCHEME, "ca", path)).transpose()?;
        let tls = if config.is_encrypted() && has_hosts {
            Some(tls::without_resumption(SCHEME, authorities.as_deref(), config.insecure)?)
        } else {
            None
        };
        let hello = Arc::new(Hello { login, db, resp: config.resp });
        Ok(Self { hello, tls: tls.map(Arc::new), delay_proxies: Vec::new() })
    }

    /// The same greeting on encrypted connections, where only this authority is trusted.
    pub(super) fn trusting(mut self, authority: &str) -> Result<Self> {
        let tls = tls::without_resumption(SCHEME, Some(authority.as_bytes()), false)?;
        self.tls = Some(Arc::new(tls));
        Ok(self)
    }

    /// The same greeting, with a relay before each of these nodes; no other node is reached.
    pub(super) fn through<'a>(
        mut self,
        nodes: impl IntoIterator<Item = &'a Arc<Node>>,
        delay_proxy: &DelayProxy,
    ) -> Self {
        let shown = nodes.into_iter().map(ToString::to_string);
        self.delay_proxies = shown.zip(delay_proxy.addresses().iter().copied()).collect();
        self
    }

    /// The relay before a node; `None` without relays.
    fn delay_proxy_of(&self, shown: &str) -> Result<Option<SocketAddr>> {
        let delay_proxy = self.delay_proxies.iter().find(|(node, _)| node == shown);
        match delay_proxy {
            Some((_, delay_proxy)) => Ok(Some(*delay_proxy)),
            None if self.delay_proxies.is_empty() => Ok(None),
            None => Err(Error::Unavailable {
                engine: SCHEME,
                what: format!(
                    "{shown} joined the cluster after the relay was started; start again"
                ),
                source: None,
            }),
        }
    }

    /// The number of the database.
    pub(super) fn db(&self) -> u32 {
        self.hello.db
    }
}

impl Node {
    /// The nodes that a URL names; empty for a managed server.
    pub(super) fn from_url(
        url: &StoreUrl,
        config: &RedisConfig,
        greeting: &Greeting,
    ) -> Result<Vec<Self>> {
        let invalid = |reason: String| Error::InvalidUrl { url: url.to_string(), reason };
        match (url.hosts(), url.path()) {
            ([], "" | "/") => Ok(Vec::new()),
            ([], _) if config.is_encrypted() => {
                Err(invalid("a socket of this machine takes no TLS".into()))
            }
            ([], path) => Self::unix(path, greeting).map(|node| vec![node]),
            (hosts, _) => hosts
                .iter()
                .map(|host| {
                    let (host, port) = network::host_and_port(url, host, DEFAULT_PORT)?;
                    Self::tcp(host, port, greeting)
                })
                .collect(),
        }
    }

    /// A node on a socket of this machine.
    pub(super) fn unix(path: &str, greeting: &Greeting) -> Result<Self> {
        Self::at(Place::Unix(path.into()), greeting)
    }

    /// A node on a port of a host.
    pub(super) fn tcp(host: &str, port: u16, greeting: &Greeting) -> Result<Self> {
        Self::at(Place::Tcp(host.into(), port), greeting)
    }

    fn at(place: Place, greeting: &Greeting) -> Result<Self> {
        let encryption = match (&place, &greeting.tls) {
            (Place::Tcp(host, _), Some(config)) => {
                let name = ServerName::try_from(host.clone()).map_err(|_| {
                    let reason =
                        format!("option `tls`: no certificate can be for `{host}`; write its name");
                    Error::InvalidOptions { engine: SCHEME, reason }
                })?;
                Some(Encryption { config: Arc::clone(config), name })
            }
            _ => None,
        };
        let delay_proxy = greeting.delay_proxy_of(&place.to_string())?;
        let delay_proxy =
            delay_proxy.map(|address| Place::Tcp(address.ip().to_string(), address.port()));
        Ok(Self { place, delay_proxy, hello: Arc::clone(&greeting.hello), encryption })
    }

    /// What a new connection tells the node.
    pub(super) fn hello(&self) -> &Hello {
        &self.hello
    }

    /// The same node, to which connections speak this version of the protocol.
    pub(super) fn speaking(&self, resp: Resp) -> Self {
        Self { hello: Arc::new(Hello { resp, ..Hello::clone(&self.hello) }), ..self.clone() }
    }

    /// The encryption of connections, if they are encrypted.
    pub(super) fn encryption(&self) -> Option<&Encryption> {
        self.encryption.as_ref()
    }

    /// The address of the node itself.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The address to which connections go.
    pub(super) fn reached_at(&self) -> &Place {
        self.delay_proxy.as_ref().unwrap_or(&self.place)
    }

    /// The same node, with another greeting.
    pub(super) fn greeted(&self, greeting: &Greeting) -> Result<Self> {
        Self::at(self.place.clone(), greeting)
    }

    /// The node's host and port, unless it is on a socket.
    pub(super) fn host_and_port(&self) -> Option<(&str, u16)> {
        match &self.place {
            Place::Tcp(host, port) => Some((host, *port)),
            Place::Unix(_) => None,
        }
    }

    /// The node's host, unless it is on a socket.
    pub(super) fn host(&self) -> Option<&str> {
        self.host_and_port().map(|(host, _)| host)
    }

    /// Whether connections to the node are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.encryption.is_some()
    }
}

impl fmt::Display for Node {
    /// `host:port`, or the path of a socket.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(url: &str) -> Result<Vec<Node>> {
        let url = StoreUrl::parse(url)?;
        let config = RedisConfig::from_url(&url)?;
        Node::from_url(&url, &config, &Greeting::from_url(&url, &config)?)
    }

    #[test]
    fn a_url_names_hosts_or_a_socket_and_a_database() {
        assert!(nodes("redis:").unwrap().is_empty());
        assert!(nodes("redis://:secret@").unwrap().is_empty());
        let node = &nodes("redis://me:s%40crt@/run/x.sock?db=3").unwrap()[0];
        assert_eq!((node.to_string().as_str(), node.hello().db), ("/run/x.sock", 3));
        let login = Login { user: Some("me".into()), password: "s@crt".into() };
        assert_eq!(node.hello().login, Some(login));
        assert!(!format!("{node:?}").contains("s@crt"));
        let pool = nodes("rediss://127.0.0.1,[::1]:5").unwrap();
        let shown: Vec<String> = pool.iter().map(Node::to_string).collect();
        assert_eq!(shown, ["127.0.0.1:6379", "[::1]:5"]);
        assert!(pool.iter().all(|node| node.place().is_local() && node.is_encrypted()));
        assert!(nodes("redis://localhost").unwrap()[0].place().is_local());
        assert!(!nodes("redis://192.0.2.1").unwrap()[0].place().is_local());
        assert_eq!(nodes("redis://h1/2").unwrap()[0].hello().db, 2);
        for (url, needle) in [
            ("redis://h1/x", "`x` is not the number of a database"),
            ("redis://me@h1", "a user without a password"),
            ("redis://a:b", "write h1:6379"),
            ("redis:///run/x.sock?tls=on", "takes no TLS"),
        ] {
            let error = nodes(url).unwrap_err().to_string();
            assert!(error.contains(needle), "{url}: {error}");
        }
    }
}
