//! The address of a server, and the beginning of a connection to it.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use larder_store::{Error, Result, StoreUrl};
use mysql::{Opts, OptsBuilder, SslOpts};

use super::SCHEME;
use super::config::{MysqlConfig, SocketOption, SslMode, names_server};
use crate::authorities;
use crate::network::{self, Place};

/// The port of a server whose URL names none.
const DEFAULT_PORT: u16 = 3306;

/// The address of a server, the account, and the options of a connection.
#[derive(Clone)]
pub(super) struct Address {
    place: Place,
    /// The relay before the server, if any.
    delay_proxy: Option<SocketAddr>,
    user: String,
    password: Option<String>,
    database: String,
    tls: SslMode,
    authorities: Option<PathBuf>,
    timeout: Duration,
    /// The longest packet that the server takes, once that is known.
    packet_len: Option<usize>,
}

impl Address {
    /// The server that a URL names; `None` for a managed server.
    pub(super) fn from_url(url: &StoreUrl, config: &MysqlConfig) -> Result<Option<Self>> {
        let invalid = |reason: String| Error::InvalidUrl { url: url.to_string(), reason };
        let user = url.user().filter(|user| !user.is_empty());
        if !names_server(url) {
            if user.is_some() || url.password().is_some() {
                return Err(invalid(
                    "a server that larder starts has an account of its own; name a host, or leave out the user".into(),
                ));
            }
            return Ok(None);
        }
        let place = match (&config.socket, url.hosts()) {
            (SocketOption::At(path), _) => Place::Unix(path.into()),
            (_, [host]) => {
                let (host, port) = network::host_and_port(url, host, DEFAULT_PORT)?;
                Place::Tcp(host.into(), port)
            }
            (_, []) => {
                return Err(invalid("no host; write mysql://user:password@host/database".into()));
            }
            _ => {
                return Err(invalid(
                    "several hosts; name the one server that has the table".into(),
                ));
            }
        };
        let database = url.path().trim_matches('/');
        if database.is_empty() || database.contains('/') {
            return Err(invalid(
                "no database to make a table in; write mysql://user:password@host/database".into(),
            ));
        }
        let user = user
            .ok_or_else(|| invalid("no user; write mysql://user:password@host/database".into()))?;
        // The library would accept a file without a certificate.
        if let Some(path) = &config.ssl_ca {
            authorities::read(SCHEME, "ssl-ca", path)?;
        }
        Ok(Some(Self {
            tls: if place.is_unix() { SslMode::Disabled } else { config.ssl_mode },
            place,
            delay_proxy: None,
            user: user.into(),
            password: url.password().map(String::from),
            database: database.into(),
            authorities: config.ssl_ca.as_ref().map(PathBuf::from),
            timeout: config.timeout.0,
            packet_len: None,
        }))
    }

    /// A managed server with this account and database; with TLS where there is an authority to trust.
    pub(super) fn managed(
        place: Place,
        account: &str,
        password: &str,
        authorities: Option<PathBuf>,
        timeout: Duration,
    ) -> Self {
        Self {
            place,
            delay_proxy: None,
            user: account.into(),
            password: Some(password.into()),
            database: account.into(),
            tls: if authorities.is_some() { SslMode::VerifyIdentity } else { SslMode::Disabled },
            authorities,
            timeout,
            packet_len: None,
        }
    }

    /// The same server, reached through a relay.
    pub(super) fn through(mut self, delay_proxy: SocketAddr) -> Self {
        self.delay_proxy = Some(delay_proxy);
        self
    }

    /// The same server, with the results of the introspection: preferred encryption is now required or disabled, and no
    /// connection asks for the longest packet again.
    pub(super) fn settled(mut self, is_encrypted: bool, packet_len: usize) -> Self {
        self.packet_len = Some(packet_len);
        if self.tls == SslMode::Preferred {
            self.tls = if is_encrypted { SslMode::Required } else { SslMode::Disabled };
        }
        self
    }

    /// The options for the library.
    pub(super) fn opts(&self, tls: SslMode) -> Opts {
        // A wait for a lock ends with "busy" a second before the client gives up. MariaDB counts in parts of a second,
        // and also ends a statement that the client gives up.
        let lock_wait = self.timeout.as_secs().saturating_sub(1).max(1);
        let init = format!(
            "SET NAMES binary, autocommit = 1, sql_mode = 'STRICT_ALL_TABLES', \
             innodb_lock_wait_timeout = {lock_wait}, lock_wait_timeout = {lock_wait} \
             /*M!100101 , max_statement_time = {} */",
            self.timeout.as_secs_f64()
        );
        let mut builder = OptsBuilder::new()
            .user(Some(&self.user))
            .pass(self.password.as_deref())
            .db_name(Some(&self.database))
            .read_timeout(Some(self.timeout))
            .write_timeout(Some(self.timeout))
            .tcp_connect_timeout(Some(self.timeout))
            // A switch to another socket would measure another path than the one that the URL names.
            .prefer_socket(false)
            // An external server need not know which program connects.
            .connect_attrs(None::<std::collections::HashMap<String, String>>)
            .stmt_cache_size(0)
            .max_allowed_packet(self.packet_len)
            .init(vec![init]);
        builder = match (&self.place, self.delay_proxy) {
            (_, Some(delay_proxy)) => builder
                .ip_or_hostname(Some(delay_proxy.ip().to_string()))
                .tcp_port(delay_proxy.port()),
            (Place::Tcp(host, port), None) => builder.ip_or_hostname(Some(host)).tcp_port(*port),
            (Place::Unix(path), None) => builder.socket(Some(path.to_string_lossy())),
        };
        if tls != SslMode::Disabled {
            let mut ssl = SslOpts::default()
                .with_danger_accept_invalid_certs(!tls.verifies())
                .with_danger_skip_domain_validation(tls != SslMode::VerifyIdentity);
            if let Some(file) = &self.authorities {
                ssl = ssl.with_root_cert_path(Some(file.clone()));
            }
            builder = builder.ssl_opts(ssl);
        }
        builder.into()
    }

    /// The encryption of connections.
    pub(super) fn tls(&self) -> SslMode {
        self.tls
    }

    /// The longest silence of the server.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The database that has the table.
    pub(super) fn database(&self) -> &str {
        &self.database
    }

    /// Whether the server is on a socket and no relay is before it.
    pub(super) fn is_unix(&self) -> bool {
        self.delay_proxy.is_none() && self.place.is_unix()
    }

    /// The address of the server itself, even with a relay before it.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The address to which connections go, as a person writes it.
    pub(super) fn reached_at(&self) -> String {
        self.delay_proxy.map_or_else(|| self.to_string(), |delay_proxy| delay_proxy.to_string())
    }
}

impl fmt::Display for Address {
    /// `host:port`, or the path of a socket.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.fmt(f)
    }
}

impl fmt::Debug for Address {
    /// All but the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("place", &self.place)
            .field("delay_proxy", &self.delay_proxy)
            .field("user", &self.user)
            .field("database", &self.database)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Result<Option<Address>> {
        let url = StoreUrl::parse(url)?;
        Address::from_url(&url, &MysqlConfig::from_url(&url)?)
    }

    #[test]
    fn a_url_names_a_host_or_a_socket_and_a_database() {
        assert!(address("mysql:").unwrap().is_none());
        assert!(address("mysql:?socket=on").unwrap().is_none());
        let server = address("mysql://me:s%40crt@127.0.0.1/cache").unwrap().unwrap();
        assert_eq!((server.to_string().as_str(), server.database()), ("127.0.0.1:3306", "cache"));
        assert!(server.place().is_local() && !server.is_unix());
        let opts = server.opts(server.tls());
        assert_eq!((opts.get_user(), opts.get_pass()), (Some("me"), Some("s@crt")));
        assert!(opts.get_ssl_opts().is_some());
        let server = address("mariadb://me@[::1]:5/x").unwrap().unwrap();
        assert_eq!(server.to_string(), "[::1]:5");
        let server = address("mysql://me@localhost/x?socket=/run/s").unwrap().unwrap();
        assert_eq!((server.to_string().as_str(), server.is_unix()), ("/run/s", true));
        assert!(server.opts(server.tls()).get_ssl_opts().is_none());
        for (url, needle) in [
            ("mysql://h1/x", "no user; write mysql://user:password@host/database"),
            ("mysql://me@h1", "no database to make a table in"),
            ("mysql://me@h1/a/b", "no database to make a table in"),
            ("mysql://me@h1,h2/x", "several hosts"),
            ("mysql://me@a:b/x", "write h1:3306"),
            ("mysql:///x", "no host"),
            ("mysql://me:pw@", "an account of its own"),
        ] {
            let error = address(url).unwrap_err().to_string();
            assert!(error.contains(needle), "{url}: {error}");
        }
    }

    #[test]
    fn no_password_is_shown() {
        let server = address("mysql://me:s%40crt@h1/x").unwrap().unwrap();
        let shown = format!("{server} {server:?}");
        assert!(shown.contains("me") && !shown.contains("crt"), "{shown}");
    }
}
