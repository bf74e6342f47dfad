//! Options of `postgresql:`.

use std::time::Duration;

use larder_store::{ByteSize, Error, Result, Span, StoreUrl, Via};
use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use super::SCHEME;

/// Options of the start of a server, which mean nothing for a server that runs already.
const FOR_MANAGED: [&str; 4] = ["fsync", "shared_buffers", "socket", "tls"];

/// Options of the address of a server and of trust in it, which mean nothing for a server that larder starts.
const FOR_NAMED: [&str; 4] = ["host", "port", "sslmode", "sslrootcert"];

/// PostgreSQL keeps names of up to 63 bytes whole; the names of the objects beside the table are longer than its own.
const MAX_NAMESPACE_LEN: usize = 48;

/// The least that the server takes as its `shared_buffers`.
const MIN_SHARED_BUFFERS: ByteSize = ByteSize(128 << 10);

/// The start of the server, where the URL names none, the connections to it, and the table.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PostgresqlConfig {
    /// The kind of the table. `unlogged`: its entries are lost when the server ends other than by a shutdown. `logged`:
    /// its entries are in the write-ahead log before they are acknowledged, as far as `synchronous_commit` and `fsync`
    /// say. An existing table must be of the kind that is asked for here.
    pub(super) table: Persistence,
    /// Name of the table. A missing table is made; the store that made it drops it again, if it is empty in the end. A
    /// table with other columns is left alone.
    pub(super) namespace: String,
    /// The moment at which a write of a logged table is acknowledged, as the `synchronous_commit` of the sessions.
    /// `on`: when the log is on the disk. `off`: before that, so that a crash costs the writes of less than a second.
    /// `local`, `remote_write` and `remote_apply` are for servers with standbys. Without it: the server's own setting.
    pub(super) synchronous_commit: Option<SynchronousCommit>,
    /// Whether a server that is started waits for the disk at all, as its `fsync`. With `off`, a loss of power may cost
    /// the whole database.
    pub(super) fsync: bool,
    /// Memory in which a server that is started keeps pages, as its `shared_buffers`. The pages are in the system's cache
    /// too.
    pub(super) shared_buffers: ByteSize,
    /// Start the server on a Unix socket instead of a port of 127.0.0.1.
    pub(super) socket: bool,
    /// Encrypt the connections to a server that is started, which gets a certificate of its own.
    pub(super) tls: bool,
    /// The host, or the folder of its Unix socket, where the URL has no host before its path, as libpq writes it:
    /// `postgresql:///database?host=/run/postgresql`.
    pub(super) host: Option<String>,
    /// The port, where the URL has no host with a port before its path. The name of a Unix socket has the port too.
    pub(super) port: Option<u16>,
    /// Whether connections to a server that the URL names are encrypted, as libpq names it. `disable`: never. `prefer`:
    /// where the server can. `require`: always, without a look at the certificate, unless `sslrootcert` is given.
    /// `verify-ca`: with a certificate of a known authority. `verify-full`: with a certificate of a known authority for
    /// this host.
    pub(super) sslmode: SslMode,
    /// File with the certificates, in PEM, of the authorities to trust instead of this system's.
    pub(super) sslrootcert: Option<String>,
    /// The longest time of the server for an operation, or to accept a session, before the operation fails.
    pub(super) timeout: Span,
    /// The link between the client and the server. With `delay:2ms` a relay makes every round trip 2 ms longer, as if
    /// the server were that far away. A new connection takes one delay more. With `delay:2ms,rate:20m` answers also
    /// come at no more than 20 MiB a second on a connection.
    pub(super) via: Option<Via>,
}

/// The kind of the table, as the URL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Persistence {
    #[default]
    Unlogged,
    Logged,
}

impl Persistence {
    /// The kind as the URL names it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Unlogged => "unlogged",
            Self::Logged => "logged",
        }
    }
}

/// When a write is acknowledged, in the words of PostgreSQL and of the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum SynchronousCommit {
    On,
    Off,
    Local,
    RemoteWrite,
    RemoteApply,
}

impl SynchronousCommit {
    /// The setting as PostgreSQL names it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Local => "local",
            Self::RemoteWrite => "remote_write",
            Self::RemoteApply => "remote_apply",
        }
    }
}

/// The encryption of connections and their trust, in the words of libpq and of the URL.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SslMode {
    Disable,
    #[default]
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl Default for PostgresqlConfig {
    /// The defaults of PostgreSQL, and a table that suits a cache.
    fn default() -> Self {
        Self {
            table: Persistence::Unlogged,
            namespace: "larder".into(),
            synchronous_commit: None,
            fsync: true,
            shared_buffers: ByteSize(128 << 20),
            socket: false,
            tls: false,
            host: None,
            port: None,
            sslmode: SslMode::Prefer,
            sslrootcert: None,
            timeout: Span(Duration::from_secs(5)),
            via: None,
        }
    }
}

pub(super) fn schema() -> Schema {
    schema_for!(PostgresqlConfig)
}

impl PostgresqlConfig {
    /// The options of a URL, checked against each other and against whether it names a server.
    pub(super) fn from_url(url: &StoreUrl) -> Result<Self> {
        let config: Self = url.options(SCHEME)?;
        config.check(url).map_err(|reason| Error::InvalidOptions { engine: SCHEME, reason })?;
        Ok(config)
    }

    fn check(&self, url: &StoreUrl) -> Result<(), String> {
        let names_server = !url.hosts().is_empty() || !url.path().is_empty();
        let given =
            |names: &[&'static str]| names.iter().copied().find(|name| url.option(name).is_some());
        match (given(&FOR_MANAGED), given(&FOR_NAMED)) {
            (Some("tls"), _) if names_server => {
                return Err(
                    "option `tls` is for servers that larder starts; write sslmode=require".into(),
                );
            }
            (Some(name), _) if names_server => {
                return Err(format!(
                    "option `{name}` is for servers that larder starts; leave out the host, or the option"
                ));
            }
            (_, Some(name @ ("host" | "port"))) if !names_server => {
                return Err(format!(
                    "option `{name}` is for a URL that names a database; write postgresql:///database?{name}="
                ));
            }
            (_, Some(name)) if !names_server => {
                return Err(format!(
                    "option `{name}` is for servers that the URL names; name a host, or leave out the option"
                ));
            }
            _ => {}
        }
        if !url.hosts().is_empty()
            && let Some(name @ ("host" | "port")) = given(&FOR_NAMED)
        {
            return Err(format!(
                "option `{name}`: the URL has a host already; leave out one of them"
            ));
        }
        let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let begins = self.namespace.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
        if self.namespace.len() > MAX_NAMESPACE_LEN
            || !begins
            || !self.namespace.chars().all(letter)
            || self.namespace.starts_with("pg_")
        {
            return Err(format!(
                "option `namespace`: `{}` is not 1 to {MAX_NAMESPACE_LEN} small letters, digits or `_`, or begins with a \
                 digit or `pg_`",
                self.namespace
            ));
        }
        if self.socket && self.tls {
            return Err("option `socket`: a socket of this machine takes no TLS".into());
        }
        if self.shared_buffers < MIN_SHARED_BUFFERS {
            let Self { shared_buffers, .. } = self;
            return Err(format!(
                "option `shared_buffers`: {shared_buffers} < {MIN_SHARED_BUFFERS}"
            ));
        }
        if self.sslrootcert.is_some() && matches!(self.sslmode, SslMode::Disable | SslMode::Prefer)
        {
            return Err("option `sslrootcert` is for TLS; write sslmode=verify-full".into());
        }
        if self.timeout.0 < Duration::from_millis(1) {
            let Self { timeout, .. } = self;
            return Err(format!("option `timeout`: {timeout} leaves no time to answer; write 5s"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<PostgresqlConfig> {
        PostgresqlConfig::from_url(&StoreUrl::parse(url).unwrap())
    }

    #[test]
    fn options_are_named_as_postgresql_names_them() {
        let config = read("postgresql:?table=logged&synchronous_commit=remote_write").unwrap();
        assert_eq!(config.table, Persistence::Logged);
        assert_eq!(config.synchronous_commit, Some(SynchronousCommit::RemoteWrite));
        let config = read("postgres://h1/x?sslmode=verify-full&sslrootcert=/x.pem").unwrap();
        assert_eq!(config.sslmode, SslMode::VerifyFull);
        for setting in [SynchronousCommit::On, SynchronousCommit::RemoteApply] {
            let url = format!("postgresql:?synchronous_commit={}", setting.as_str());
            assert_eq!(read(&url).unwrap().synchronous_commit, Some(setting));
        }
    }

    #[test]
    fn a_wrong_option_is_refused_with_a_remedy() {
        for (url, needle) in [
            ("postgresql://h1?socket=on", "option `socket` is for servers that larder starts"),
            ("postgresql://h1?tls=on", "write sslmode=require"),
            ("postgresql:///x?fsync=off", "option `fsync` is for servers that larder starts"),
            ("postgresql:?sslmode=require", "option `sslmode` is for servers that the URL names"),
            ("postgresql:?host=/run/postgresql", "write postgresql:///database?host="),
            ("postgresql://h1/x?host=h2", "the URL has a host already"),
            ("postgresql://h1?sslrootcert=/x.pem", "write sslmode=verify-full"),
            ("postgresql:?socket=on&tls=on", "takes no TLS"),
            ("postgresql:?shared_buffers=64k", "64 KiB < 128 KiB"),
            ("postgresql:?timeout=0", "write 5s"),
            ("postgresql:?table=temporary", "not one of unlogged, logged"),
            ("postgresql:?namespace=A", "`A` is not 1 to 48 small letters"),
            ("postgresql:?namespace=pg_class", "begins with"),
            ("postgresql:?namespace=", "`` is not 1 to 48"),
            ("postgresql:?wal=off", "unknown option `wal`; known: table, namespace"),
        ] {
            let error = read(url).unwrap_err().to_string();
            assert!(error.contains(needle), "{url}: {error}");
        }
    }
}
