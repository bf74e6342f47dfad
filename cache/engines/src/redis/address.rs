//! The address of a node, and the beginning of a connection to it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use larder_host::delay_proxy::DelayProxy;
use larder_host::tls;
use larder_store::{Error, Result, StoreUrl};
use redis::io::tcp::TcpSettings;
use redis::{Client, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo, TlsCertificates};
use rustls::ClientConfig;

use super::SCHEME;
use super::config::RedisConfig;
use crate::authorities;
use crate::network::{self, Place};

/// The port of a node whose URL names none.
pub(super) const DEFAULT_PORT: u16 = 6379;

/// The address of a node, and the beginning of a connection to it.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// The library's client: the destination of connections, and their first commands.
    client: Client,
    /// The address of the node itself; connections may go to a relay before it.
    place: Place,
    /// The certificates that are trusted, if connections are encrypted.
    tls: Option<Arc<TrustedCertificates>>,
}

/// The beginning of a connection, the same to every node of a URL.
#[derive(Debug, Clone)]
pub(super) struct Greeting {
    redis: RedisConnectionInfo,
    tls: Option<Arc<TrustedCertificates>>,
    /// The relay before each node, by the node's address as a person writes it; empty without relays.
    delay_proxies: Vec<(String, SocketAddr)>,
}

/// The certificates that a connection trusts.
#[derive(Debug)]
pub(super) struct TrustedCertificates {
    /// Certificates of authorities, in PEM; without them, this system's authorities.
    authorities: Option<Vec<u8>>,
    /// Whether every certificate is trusted.
    anybody: bool,
    /// The system's authorities in PEM, once they are needed: they take time to read.
    of_system: OnceLock<Vec<u8>>,
    /// The terms of connections that are not the library's, once one is opened.
    client: OnceLock<Arc<ClientConfig>>,
}

impl TrustedCertificates {
    fn new(authorities: Option<Vec<u8>>, anybody: bool) -> Arc<Self> {
        Arc::new(Self { authorities, anybody, of_system: OnceLock::new(), client: OnceLock::new() })
    }

    /// The trusted authorities for the library, which without them would read some at each connection.
    fn in_pem(&self) -> Vec<u8> {
        match &self.authorities {
            Some(pem) => pem.clone(),
            None if self.anybody => Vec::new(),
            None => self.of_system.get_or_init(authorities::of_system_in_pem).clone(),
        }
    }

    /// The terms of a connection that is not the library's.
    pub(super) fn client(&self) -> Result<Arc<ClientConfig>> {
        if let Some(client) = self.client.get() {
            return Ok(Arc::clone(client));
        }
        let made = tls::without_resumption(SCHEME, self.authorities.as_deref(), self.anybody)?;
        Ok(Arc::clone(self.client.get_or_init(|| Arc::new(made))))
    }
}

impl Greeting {
    /// The greeting that a URL and its options ask for.
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
        // An external server need not know the library's name and version.
        let mut redis = RedisConnectionInfo::default().set_db(db.into()).set_skip_set_lib_name();
        match (url.user().filter(|user| !user.is_empty()), url.password()) {
            (Some(_), None) => {
                return Err(invalid("a user without a password; write user:password@".into()));
            }
            (Some(user), Some(password)) => {
                redis = redis.set_username(user).set_password(password);
            }
            (None, Some(password)) => redis = redis.set_password(password),
            (None, None) => {}
        }
        let authorities =
            config.ca.as_deref().map(|path| authorities::read(SCHEME, "ca", path)).transpose()?;
        let tls =
            config.is_encrypted().then(|| TrustedCertificates::new(authorities, config.insecure));
        Ok(Self { redis, tls, delay_proxies: Vec::new() })
    }

    /// The same greeting, where only this authority is trusted.
    pub(super) fn trusting(mut self, authority: String) -> Self {
        self.tls = Some(TrustedCertificates::new(Some(authority.into()), false));
        self
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
    pub(super) fn db(&self) -> i64 {
        self.redis.db()
    }
}

impl Node {
    /// The nodes that a URL names; empty for a managed server.
    pub(super) fn from_url(url: &StoreUrl, greeting: &Greeting) -> Result<Vec<Self>> {
        let invalid = |reason: String| Error::InvalidUrl { url: url.to_string(), reason };
        match (url.hosts(), url.path()) {
            ([], "" | "/") => Ok(Vec::new()),
            ([], path) => {
                if greeting.tls.is_some() {
                    return Err(invalid("a socket of this machine takes no TLS".into()));
                }
                Self::unix(path, greeting).map(|node| vec![node])
            }
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
        let unusable = |error: redis::RedisError| Error::InvalidOptions {
            engine: SCHEME,
            reason: format!("{place}: {error}"),
        };
        let tcp = |host: String, port| match &greeting.tls {
            None => ConnectionAddr::Tcp(host, port),
            Some(trust) => {
                let insecure = trust.anybody;
                ConnectionAddr::TcpTls { host, port, insecure, tls_params: None }
            }
        };
        let reached_at = match (greeting.delay_proxy_of(&place.to_string())?, &place) {
            (Some(delay_proxy), Place::Tcp(..)) => {
                tcp(delay_proxy.ip().to_string(), delay_proxy.port())
            }
            // A socket takes no TLS.
            (Some(delay_proxy), Place::Unix(_)) => {
                ConnectionAddr::Tcp(delay_proxy.ip().to_string(), delay_proxy.port())
            }
            (None, Place::Tcp(host, port)) => tcp(host.clone(), *port),
            (None, Place::Unix(path)) => ConnectionAddr::Unix(path.clone()),
        };
        let info = reached_at
            .into_connection_info()
            .map_err(unusable)?
            .set_redis_settings(greeting.redis.clone())
            .set_tcp_settings(TcpSettings::default().set_nodelay(true));
        let client = match &greeting.tls {
            Some(trust) => {
                let root_cert = Some(trust.in_pem());
                Client::build_with_tls(info, TlsCertificates { client_tls: None, root_cert })
            }
            None => Client::open(info),
        };
        let client = client.map_err(unusable)?;
        let tls = greeting.tls.as_ref().filter(|_| !place.is_unix()).map(Arc::clone);
        Ok(Self { client, place, tls })
    }

    /// The client that connects to the node.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The authorities that an encrypted connection trusts.
    pub(super) fn tls(&self) -> Option<&TrustedCertificates> {
        self.tls.as_deref()
    }

    /// The address of the node itself.
    pub(super) fn place(&self) -> &Place {
        &self.place
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

    /// The address to which connections go, as a person writes it.
    pub(super) fn reached_at(&self) -> String {
        match self.client.get_connection_info().addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                network::join_port(host, *port)
            }
            _ => self.to_string(),
        }
    }

    /// Whether connections to the node are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        matches!(self.client.get_connection_info().addr(), ConnectionAddr::TcpTls { .. })
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
        let greeting = Greeting::from_url(&url, &RedisConfig::from_url(&url)?)?;
        Node::from_url(&url, &greeting)
    }

    fn settings_of(node: &Node) -> &RedisConnectionInfo {
        node.client.get_connection_info().redis_settings()
    }

    #[test]
    fn a_url_names_hosts_or_a_socket_and_a_database() {
        assert!(nodes("redis:").unwrap().is_empty());
        assert!(nodes("redis://:secret@").unwrap().is_empty());
        let node = &nodes("redis://me:s%40crt@/run/x.sock?db=3").unwrap()[0];
        assert_eq!((node.to_string().as_str(), settings_of(node).db()), ("/run/x.sock", 3));
        let settings = settings_of(node);
        assert_eq!((settings.username(), settings.password()), (Some("me"), Some("s@crt")));
        assert!(!format!("{node:?}").contains("s@crt"));
        let pool = nodes("rediss://127.0.0.1,[::1]:5").unwrap();
        let shown: Vec<String> = pool.iter().map(Node::to_string).collect();
        assert_eq!(shown, ["127.0.0.1:6379", "[::1]:5"]);
        assert!(pool.iter().all(|node| node.place().is_local() && node.is_encrypted()));
        assert!(nodes("redis://localhost").unwrap()[0].place().is_local());
        assert!(!nodes("redis://192.0.2.1").unwrap()[0].place().is_local());
        assert_eq!(settings_of(&nodes("redis://h1/2").unwrap()[0]).db(), 2);
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
