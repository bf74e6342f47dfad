//! The address of the server, and the beginning of a connection to it.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use larder_store::{Error, Result, StoreUrl};
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::config::{PostgresqlConfig, SslMode};
use super::{SCHEME, tls};
use crate::network::{self, Place};

/// The port of a server whose URL names none. The name of a Unix socket has the port too.
pub(super) const DEFAULT_PORT: u16 = 5432;

/// The folder of the socket of Debian's server, in which Debian's libpq looks for it.
const SOCKET_FOLDER: &str = "/run/postgresql";

/// The address of the server, the beginning of connections to it, and the settings of sessions.
#[derive(Clone)]
pub(super) struct Peer {
    place: Place,
    /// The driver's configuration: the destination of connections (which may be a relay), the login, and whether TLS is
    /// used.
    driver: Config,
    tls: MakeRustlsConnect,
    /// The first statement of each connection.
    greeting: String,
    /// The longest time of an operation, or of the beginning of a connection.
    timeout: Duration,
    delay_proxy: Option<SocketAddr>,
}

/// The destination of a server for the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// A port of a host.
    Tcp(String, u16),
    /// The folder of a socket of this machine, and the port in the socket's name.
    Unix(PathBuf, u16),
}

/// The login at a server, and the database.
#[derive(Clone)]
pub(super) struct Login {
    /// `None` means the user of this process.
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    /// `None` means the database with the user's name.
    pub(super) database: Option<String>,
}

impl Login {
    /// The login in a URL.
    fn of(url: &StoreUrl) -> Result<Self> {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let database = url.path().trim_start_matches('/');
        if database.contains('/') {
            let reason = format!(
                "`{database}` is not the name of a database; the folder of a socket is written \
                 postgresql:///database?host={SOCKET_FOLDER}"
            );
            return Err(Error::InvalidUrl { url: url.to_string(), reason });
        }
        Ok(Self {
            user: url.user().and_then(given),
            password: url.password().map(ToOwned::to_owned),
            database: given(database),
        })
    }
}

impl Peer {
    /// The server that a URL names; `None` for a managed server.
    pub(super) fn from_url(url: &StoreUrl, config: &PostgresqlConfig) -> Result<Option<Self>> {
        let Some(host) = Host::from_url(url, config)? else { return Ok(None) };
        let is_unix = matches!(host, Host::Unix(..));
        if is_unix && config.sslmode >= SslMode::Require {
            let reason = "option `sslmode`: a socket of this machine takes no TLS".into();
            return Err(Error::InvalidOptions { engine: SCHEME, reason });
        }
        let encryption = match config.sslmode {
            _ if is_unix => tokio_postgres::config::SslMode::Disable,
            SslMode::Disable => tokio_postgres::config::SslMode::Disable,
            SslMode::Prefer => tokio_postgres::config::SslMode::Prefer,
            _ => tokio_postgres::config::SslMode::Require,
        };
        let peer = Self::new(&host, &Login::of(url)?, tls::connector(config)?, encryption, config);
        Ok(Some(peer))
    }

    /// A server at `host`.
    pub(super) fn new(
        host: &Host,
        login: &Login,
        tls: MakeRustlsConnect,
        encryption: tokio_postgres::config::SslMode,
        config: &PostgresqlConfig,
    ) -> Self {
        let timeout = config.timeout.0;
        let mut driver = Config::new();
        match host {
            Host::Tcp(host, port) => driver.host(host).port(*port),
            Host::Unix(folder, port) => driver.host_path(folder).port(*port),
        };
        driver.ssl_mode(encryption);
        if let Some(user) = &login.user {
            driver.user(user);
        }
        if let Some(password) = &login.password {
            driver.password(password);
        }
        if let Some(database) = &login.database {
            driver.dbname(database);
        }
        let greeting = greeting(config);
        Self { place: host.place(), driver, tls, greeting, timeout, delay_proxy: None }
    }

    /// The same server, reached through a relay. A certificate must still be for the host of the URL.
    pub(super) fn through(mut self, delay_proxy: SocketAddr) -> Self {
        let host = match &self.place {
            Place::Tcp(host, _) => host.clone(),
            Place::Unix(_) => delay_proxy.ip().to_string(),
        };
        let mut driver = Config::new();
        driver.host(host).hostaddr(delay_proxy.ip()).port(delay_proxy.port());
        driver.ssl_mode(self.driver.get_ssl_mode());
        if let Some(user) = self.driver.get_user() {
            driver.user(user);
        }
        if let Some(password) = self.driver.get_password() {
            driver.password(password);
        }
        if let Some(database) = self.driver.get_dbname() {
            driver.dbname(database);
        }
        self.driver = driver;
        self.delay_proxy = Some(delay_proxy);
        self
    }

    /// The driver's configuration.
    pub(super) fn driver(&self) -> (&Config, MakeRustlsConnect) {
        (&self.driver, self.tls.clone())
    }

    /// The first statement of each connection.
    pub(super) fn greeting(&self) -> &str {
        &self.greeting
    }

    /// The longest time of an operation, or of the beginning of a connection.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The number of round trips of a connection until its first answer: one to ask for TLS and two for TLS itself,
    /// four for the login, one for the greeting.
    pub(super) fn round_trips(&self) -> u32 {
        match self.driver.get_ssl_mode() {
            tokio_postgres::config::SslMode::Disable => 5,
            _ => 8,
        }
    }

    /// The address to which connections go, as a person writes it.
    pub(super) fn reached_at(&self) -> String {
        self.delay_proxy
            .map_or_else(|| self.place.to_string(), |delay_proxy| delay_proxy.to_string())
    }

    /// The address of the server itself, even with a relay before it.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Whether the server is on a socket of this machine, with no relay before it.
    pub(super) fn is_unix(&self) -> bool {
        self.place.is_unix() && self.delay_proxy.is_none()
    }
}

/// The settings of a session. The server's time limit ends a statement that the client has already given up.
fn greeting(config: &PostgresqlConfig) -> String {
    let timeout = config.timeout.0.as_millis().min(i32::MAX.unsigned_abs().into());
    let limit = format!("SET statement_timeout = {timeout}");
    match config.synchronous_commit {
        Some(setting) => format!("{limit}; SET synchronous_commit = {}", setting.as_str()),
        None => limit,
    }
}

/// The socket of a server with this port.
pub(super) fn socket_in(folder: &Path, port: u16) -> PathBuf {
    folder.join(socket_file(port))
}

/// The name of the socket of a server with this port.
pub(super) fn socket_file(port: u16) -> String {
    format!(".s.PGSQL.{port}")
}

impl Host {
    /// The address that a URL names: a host before its path, `?host=` behind it, or only a database; `None` for a
    /// managed server. A folder may stand for a host, as in libpq.
    fn from_url(url: &StoreUrl, config: &PostgresqlConfig) -> Result<Option<Self>> {
        let invalid = |reason: String| Error::InvalidUrl { url: url.to_string(), reason };
        let port = config.port.unwrap_or(DEFAULT_PORT);
        let host = match (url.hosts(), &config.host) {
            ([], _) if url.path().is_empty() => return Ok(None),
            ([], None) => return Ok(Some(Self::Unix(SOCKET_FOLDER.into(), port))),
            ([], Some(host)) | ([host], _) => host,
            (hosts, _) => {
                let n = hosts.len();
                return Err(invalid(format!("{n} hosts are {n} databases; name one host")));
            }
        };
        if host.starts_with('/') {
            let (folder, own_port) = match host.rsplit_once(':') {
                Some((folder, port)) => (folder, port.parse().ok()),
                None => (host.as_str(), Some(port)),
            };
            let port = own_port
                .ok_or_else(|| invalid(format!("`{host}` has no port; write %2Frun:5432")))?;
            return Ok(Some(Self::Unix(folder.into(), port)));
        }
        let (host, port) = network::host_and_port(url, host, port)?;
        Ok(Some(Self::Tcp(host.into(), port)))
    }

    fn place(&self) -> Place {
        match self {
            Self::Tcp(host, port) => Place::Tcp(host.clone(), *port),
            Self::Unix(folder, port) => Place::Unix(socket_in(folder, *port)),
        }
    }
}

impl fmt::Display for Peer {
    /// The address of the server, as a person writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.fmt(f)
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer")
            .field("place", &self.place)
            .field("driver", &self.driver)
            .field("timeout", &self.timeout)
            .field("delay_proxy", &self.delay_proxy)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(url: &str) -> Result<Option<Peer>> {
        let url = StoreUrl::parse(url)?;
        Peer::from_url(&url, &PostgresqlConfig::from_url(&url)?)
    }

    #[test]
    fn a_url_names_a_server_as_libpq_writes_it() {
        assert!(peer("postgresql:").unwrap().is_none());
        for (url, shown, database) in [
            ("postgresql://h1", "h1:5432", None),
            ("postgres://h1:6000/mydb", "h1:6000", Some("mydb")),
            ("postgresql://[::1]/", "[::1]:5432", None),
            ("postgresql:///mydb", "/run/postgresql/.s.PGSQL.5432", Some("mydb")),
            ("postgresql:///mydb?host=/tmp&port=5433", "/tmp/.s.PGSQL.5433", Some("mydb")),
            ("postgresql:///mydb?host=h2&port=5433", "h2:5433", Some("mydb")),
            ("postgresql://%2Ftmp/mydb", "/tmp/.s.PGSQL.5432", Some("mydb")),
            ("postgresql://%2Ftmp:5433/mydb", "/tmp/.s.PGSQL.5433", Some("mydb")),
        ] {
            let peer = peer(url).unwrap().unwrap();
            assert_eq!((peer.to_string().as_str(), peer.driver.get_dbname()), (shown, database));
        }
        assert!(peer("postgresql://127.0.0.1").unwrap().unwrap().place().is_local());
        assert!(!peer("postgresql://192.0.2.1").unwrap().unwrap().place().is_local());
        assert!(peer("postgresql:///x").unwrap().unwrap().is_unix());
    }

    #[test]
    fn a_password_is_for_the_server_alone() {
        let peer = peer("postgresql://me:s%40crt@h1/x").unwrap().unwrap();
        assert_eq!(peer.driver.get_user(), Some("me"));
        assert_eq!(peer.driver.get_password(), Some(&b"s@crt"[..]));
        let relayed = peer.clone().through("127.0.0.1:7".parse().unwrap());
        assert_eq!(relayed.driver.get_password(), Some(&b"s@crt"[..]));
        assert_eq!(
            (relayed.to_string(), relayed.reached_at()),
            ("h1:5432".into(), "127.0.0.1:7".into())
        );
        assert!(!format!("{peer:?} {relayed:?} {peer}").contains("s@crt"));
    }

    #[test]
    fn a_wrong_server_is_refused_with_a_remedy() {
        for (url, needle) in [
            ("postgresql://h1,h2/x", "2 hosts are 2 databases"),
            ("postgresql://a:b/x", "write h1:5432"),
            ("postgresql:/run/postgresql", "the folder of a socket is written"),
            ("postgresql:///x?host=/tmp&sslmode=require", "takes no TLS"),
            ("postgresql://h1?sslmode=verify-ca&sslrootcert=/nowhere.pem", "reading /nowhere.pem"),
            (
                "postgresql://h1?sslmode=verify-ca&sslrootcert=/dev/null",
                "no certificate in /dev/null",
            ),
        ] {
            let error = peer(url).unwrap_err().to_string();
            assert!(error.contains(needle), "{url}: {error}");
        }
    }
}
