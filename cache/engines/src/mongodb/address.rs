//! The addresses of the servers, and their form for the driver.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use larder_host::destination::Destination;
use larder_store::{Error, Result, StoreUrl};
use mongodb::options::{
    Acknowledgment, ClientOptions, ServerAddress, ServerMonitoringMode, Tls, TlsOptions,
};

use super::config::{self, DEFAULT_NAME, MongodbConfig};
use super::{SCHEME, errors, link};
use crate::network;

/// The port of a server whose URL names no port.
pub(super) const DEFAULT_PORT: u16 = 27017;

/// The target of a session: where the servers are, and where the entries are in them.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// As the driver wants to know it.
    pub(super) options: ClientOptions,
    /// Where the servers are, as a person writes it; connections may go to a relay before them.
    pub(super) peer: String,
    /// The database.
    pub(super) database: String,
    /// The collection in it.
    pub(super) collection: String,
    /// The longest time of an operation.
    pub(super) timeout: Duration,
}

impl Target {
    /// The servers that a URL names.
    pub(super) fn named(url: &StoreUrl, config: &MongodbConfig) -> Result<Self> {
        Self::parsed(url, config, &connection_string(url, config)?)
    }

    /// A server that was started, with the file of the only authority to trust where it is encrypted.
    pub(super) fn started(
        url: &StoreUrl,
        config: &MongodbConfig,
        port: u16,
        authority: Option<&str>,
    ) -> Result<Self> {
        let mut target = Self::parsed(url, config, &format!("mongodb://127.0.0.1:{port}/"))?;
        target.options.direct_connection = Some(true);
        if let Some(authority) = authority {
            let mut tls = TlsOptions::default();
            tls.ca_file_path = Some(authority.into());
            target.options.tls = Some(Tls::Enabled(tls));
        }
        Ok(target)
    }

    fn parsed(url: &StoreUrl, config: &MongodbConfig, text: &str) -> Result<Self> {
        let timeout = config.timeout.0;
        let runtime = link::runtime()?;
        let parsed = runtime.block_on(async {
            tokio::time::timeout(timeout, async { ClientOptions::parse(text).await }).await
        });
        let peer = url.hosts().join(",");
        let mut options = match parsed {
            Ok(Ok(options)) => options,
            Ok(Err(error)) => {
                let reason = errors::masked(&errors::message(&error), url.password());
                return Err(errors::unusable(&error, reason));
            }
            Err(_) => return Err(Error::Timeout { engine: SCHEME, peer, after: timeout }),
        };
        // By these defaults an operation ends within its time, and the driver does not repeat it.
        let half = timeout / 2;
        options.server_selection_timeout.get_or_insert(half);
        options.connect_timeout.get_or_insert(half);
        options.retry_reads.get_or_insert(false);
        options.retry_writes.get_or_insert(false);
        // Each session has its own driver. Polling takes one more connection for each to watch the server, not two.
        options.server_monitoring_mode.get_or_insert(ServerMonitoringMode::Poll);
        set_write_concern(&mut options, config)?;
        if config.via.is_some() {
            options.direct_connection = Some(true);
        }
        let peer = shown(&options.hosts);
        Ok(Self {
            options,
            peer,
            database: database(url)?,
            collection: config.collection.clone(),
            timeout,
        })
    }

    /// The same target, with its one server reached at another address.
    pub(super) fn through(mut self, delay_proxy: SocketAddr) -> Self {
        self.options.hosts = vec![ServerAddress::Tcp {
            host: delay_proxy.ip().to_string(),
            port: Some(delay_proxy.port()),
        }];
        self
    }

    /// Where connections go, as a person writes it.
    pub(super) fn addresses(&self) -> Vec<String> {
        self.options.hosts.iter().map(|host| shown(std::slice::from_ref(host))).collect()
    }

    /// Where a relay to the one server leads.
    pub(super) fn destinations(&self) -> Result<Vec<Destination>> {
        self.options.hosts.iter().map(destination).collect()
    }

    /// Whether every server is on this machine for certain.
    pub(super) fn is_local(&self) -> bool {
        let mut hosts = self.options.hosts.iter().map(destination);
        hosts.all(|host| host.is_ok_and(|host| network::is_local(&host)))
    }

    /// Whether connections are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        matches!(self.options.tls, Some(Tls::Enabled(_)))
    }
}

/// Where a host is.
pub(super) fn destination(host: &ServerAddress) -> Result<Destination> {
    match host {
        ServerAddress::Tcp { host, port } => {
            let port = port.unwrap_or(DEFAULT_PORT);
            network::resolved(SCHEME, host, port).map(Destination::Tcp)
        }
        ServerAddress::Unix { path } => Ok(Destination::Unix(path.clone())),
        other => Err(Error::Unavailable {
            engine: SCHEME,
            what: format!("{other}: neither a host nor a socket"),
            source: None,
        }),
    }
}

/// Hosts as a person writes them.
fn shown(hosts: &[ServerAddress]) -> String {
    let shown: Vec<String> = hosts
        .iter()
        .map(|host| match host {
            ServerAddress::Tcp { host, port } => {
                network::join_port(host, port.unwrap_or(DEFAULT_PORT))
            }
            other => other.to_string(),
        })
        .collect();
    shown.join(",")
}

/// The database that the URL names.
fn database(url: &StoreUrl) -> Result<String> {
    let name = match url.path().trim_start_matches('/') {
        "" => DEFAULT_NAME,
        name => name,
    };
    if name.len() > 63 || name.contains(['/', '\\', '.', ' ', '"', '$', '\0']) {
        let reason = format!("`{name}` is not the name of a database; write mongodb://h1/cache");
        return Err(Error::InvalidUrl { url: url.to_string(), reason });
    }
    Ok(name.into())
}

/// The write concern of everything that is waited for. `w=0` is for plain sets, which do not go through the driver.
fn set_write_concern(options: &mut ClientOptions, config: &MongodbConfig) -> Result<()> {
    let w = config.w.as_deref().filter(|_| config.waits());
    if w == Some("") {
        let reason = "option `w` is empty; write 0, 1, majority or a number".into();
        return Err(Error::InvalidOptions { engine: SCHEME, reason });
    }
    if w.is_none() && config.journal.is_none() && config.wtimeoutMS.is_none() {
        return Ok(());
    }
    let mut concern = options.write_concern.take().unwrap_or_default();
    concern.w = w.map(|w| w.parse::<u32>().map_or_else(|_| w.into(), Acknowledgment::from));
    concern.journal = config.journal;
    concern.w_timeout = config.wtimeoutMS.map(Duration::from_millis);
    options.write_concern = Some(concern);
    Ok(())
}

/// The URL as the driver reads it: the same place, its own options, every part encoded again.
fn connection_string(url: &StoreUrl, config: &MongodbConfig) -> Result<String> {
    let mut text = format!("{}://", url.scheme());
    match (url.user().filter(|user| !user.is_empty()), url.password()) {
        (None, Some(_)) => {
            let reason = "a password without a user; write user:password@".into();
            return Err(Error::InvalidUrl { url: url.to_string(), reason });
        }
        (None, None) => {}
        (Some(user), None) => {
            encode(&mut text, user);
            text.push('@');
        }
        (Some(user), Some(password)) => {
            encode(&mut text, user);
            text.push(':');
            encode(&mut text, password);
            text.push('@');
        }
    }
    for (i, host) in url.hosts().iter().enumerate() {
        let is_socket = host.starts_with('/');
        if !is_socket {
            network::host_and_port(url, host, DEFAULT_PORT)?;
        }
        text.push_str(if i == 0 { "" } else { "," });
        if is_socket {
            encode(&mut text, host);
        } else {
            text.push_str(host);
        }
    }
    text.push('/');
    encode(&mut text, url.path().trim_start_matches('/'));
    let mut separator = '?';
    let tls = config.is_encrypted(url).to_string();
    // First, because the driver refuses `tls` behind an option that means it.
    let says_tls = config.tls.or(config.ssl).map(|_| ("tls", tls.as_str()));
    for (name, value) in says_tls.into_iter().chain(config::driver_options(url)) {
        text.push(separator);
        separator = '&';
        text.push_str(name);
        text.push('=');
        // The driver knows no other switches than these.
        match value {
            "on" | "yes" => text.push_str("true"),
            "off" | "no" => text.push_str("false"),
            value => encode(&mut text, value),
        }
    }
    Ok(text)
}

/// Adds a part of a URL, with every byte that could mean something encoded.
fn encode(text: &mut String, part: &str) {
    for byte in part.bytes() {
        // Writing to a String does not fail.
        let _ = match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'.' | b'_' | b'~' => {
                text.write_char(char::from(byte))
            }
            byte => write!(text, "%{byte:02X}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(url: &str) -> Result<Target> {
        let url = StoreUrl::parse(url)?;
        Target::named(&url, &MongodbConfig::from_url(&url)?)
    }

    #[test]
    fn a_url_names_hosts_a_database_and_a_user() {
        let target =
            named("mongodb://me:s%40c%2Frt@h1,[::1]:5/cache?replicaSet=rs&authSource=x").unwrap();
        assert_eq!((&*target.peer, &*target.database), ("h1:27017,[::1]:5", "cache"));
        let credential = target.options.credential.as_ref().unwrap();
        assert_eq!(credential.username.as_deref(), Some("me"));
        assert_eq!(credential.source.as_deref(), Some("x"));
        assert_eq!(target.options.repl_set_name.as_deref(), Some("rs"));
        assert!(!format!("{credential:?}").contains("s@c/rt"));
        let target = named("mongodb://127.0.0.1?tlsInsecure=on&w=2&journal=on").unwrap();
        assert!(target.is_encrypted() && target.is_local());
        assert_eq!((&*target.database, &*target.collection), ("larder", "larder"));
        let concern = target.options.write_concern.unwrap();
        assert_eq!((concern.w, concern.journal), (Some(2.into()), Some(true)));
        assert_eq!(named("mongodb://%2Frun%2Fm.sock").unwrap().peer, "/run/m.sock");
    }

    #[test]
    fn a_refusal_of_the_driver_is_one_line_without_the_password() {
        for (url, needle) in [
            ("mongodb://a:b", "write h1:27017"),
            ("mongodb://:secret@h1", "a password without a user"),
            ("mongodb://h1/a.b", "`a.b` is not the name of a database"),
            ("mongodb://me:secret@h1?readPreference=secret", "read preference"),
            ("mongodb://h1?retryReads=maybe", "retryReads"),
            ("mongodb://h1?w=", "option `w` is empty"),
            ("mongodb://h1,h2?directConnection=on", "directConnection"),
        ] {
            let error = named(url).unwrap_err().to_string();
            assert!(error.to_lowercase().contains(&needle.to_lowercase()), "{url}: {error}");
            assert!(!error.contains('\n') && !error.contains("secret"), "{error}");
        }
    }
}
