//! Options of `mysql:`.

use std::str::FromStr;
use std::time::Duration;

use larder_store::{ByteSize, Error, Result, Span, StoreUrl, Via};
use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use super::SCHEME;

const MIB: u64 = 1 << 20;

/// The longest packet that any server takes.
const LONGEST_PACKET: u64 = 1 << 30;

/// The smallest buffer pool that every server takes.
const SMALLEST_POOL: u64 = 5 * MIB;

/// Options of the start of a server, which mean nothing for a server that runs already.
const FOR_MANAGED: [&str; 5] = ["flush", "buffer_pool", "packet", "server", "tls"];

/// Options of trust in a server, which mean nothing for a server that larder starts.
const FOR_NAMED: [&str; 2] = ["ssl-mode", "ssl-ca"];

/// The start of the server, where the URL names none, and the connections to it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MysqlConfig {
    /// The moment at which a server that is started brings a write to the disk, as its
    /// `innodb_flush_log_at_trx_commit`. `1`: before the write is acknowledged. `2`: to the system before that, and
    /// to the disk once a second. `0`: to both once a second.
    pub(super) flush: Flush,
    /// Memory for pages of tables that a server which is started may take, as its `innodb_buffer_pool_size`. Pages that
    /// do not fit are read from its files.
    pub(super) buffer_pool: ByteSize,
    /// The longest request or row that a server which is started takes, as its `max_allowed_packet`; a value is a
    /// little shorter.
    pub(super) packet: ByteSize,
    /// The server that is started: `mariadb` or `mysql`.
    pub(super) server: MysqlProgram,
    /// `on`: the server that is started listens on a Unix socket instead of a port of 127.0.0.1. A path: the socket of
    /// a server that runs already, for which the URL names user and database: `mysql://user@localhost/db`.
    pub(super) socket: SocketOption,
    /// Encrypt the connections to a server that is started, which gets a certificate of its own.
    pub(super) tls: bool,
    /// The encryption of connections to a server that runs already. `DISABLED`: never. `PREFERRED`: where the server
    /// can. `REQUIRED`: with any certificate. `VERIFY_CA`: with a certificate of a trusted authority.
    /// `VERIFY_IDENTITY`: with a certificate of a trusted authority for this host. Connections over a socket are not
    /// encrypted.
    #[serde(rename = "ssl-mode")]
    #[schemars(with = "String")]
    pub(super) ssl_mode: SslMode,
    /// File with the certificates, in PEM, of authorities to trust beside the public ones, which the client library
    /// always trusts. `VERIFY_CA` accepts a certificate of any of them.
    #[serde(rename = "ssl-ca")]
    pub(super) ssl_ca: Option<String>,
    /// Name of the table. A missing table is made; the store that made it drops it again, if it is empty then and no
    /// other store has it open.
    pub(super) namespace: String,
    /// The longest silence of a server before the operation fails.
    pub(super) timeout: Span,
    /// The link between the client and the server. With `delay:2ms` a relay makes every round trip 2 ms longer, as if
    /// the server were that far away. A new connection takes some delays more. With `delay:2ms,rate:20m` answers also
    /// come at no more than 20 MiB a second on a connection.
    pub(super) via: Option<Via>,
}

/// When a write reaches the disk, in MySQL's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub(super) enum Flush {
    #[serde(rename = "0")]
    Late,
    #[default]
    #[serde(rename = "1")]
    Each,
    #[serde(rename = "2")]
    ToSystem,
}

impl Flush {
    /// The setting's number in MySQL.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Late => "0",
            Self::Each => "1",
            Self::ToSystem => "2",
        }
    }
}

/// The server that is started, as the URL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum MysqlProgram {
    #[default]
    Mariadb,
    Mysql,
}

/// Whether the server is on a socket of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub(super) enum SocketOption {
    #[default]
    Off,
    On,
    At(String),
}

impl TryFrom<String> for SocketOption {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "on" | "true" | "yes" | "1" => Ok(Self::On),
            "off" | "false" | "no" | "0" => Ok(Self::Off),
            path if path.starts_with('/') => Ok(Self::At(text)),
            _ => Err(format!("`{text}` is not on, off or the path of a socket from the root")),
        }
    }
}

impl From<SocketOption> for String {
    fn from(socket: SocketOption) -> Self {
        match socket {
            SocketOption::Off => "off".into(),
            SocketOption::On => "on".into(),
            SocketOption::At(path) => path,
        }
    }
}

/// The encryption of connections, in the words of MySQL's own clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) enum SslMode {
    Disabled,
    #[default]
    Preferred,
    Required,
    VerifyCa,
    VerifyIdentity,
}

impl SslMode {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Disabled, "DISABLED"),
        (Self::Preferred, "PREFERRED"),
        (Self::Required, "REQUIRED"),
        (Self::VerifyCa, "VERIFY_CA"),
        (Self::VerifyIdentity, "VERIFY_IDENTITY"),
    ];

    /// The mode as MySQL's own clients write it.
    pub(super) fn as_str(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether the client checks the certificate.
    pub(super) fn verifies(self) -> bool {
        matches!(self, Self::VerifyCa | Self::VerifyIdentity)
    }
}

impl TryFrom<String> for SslMode {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<SslMode> for String {
    fn from(mode: SslMode) -> Self {
        mode.as_str().into()
    }
}

impl FromStr for SslMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().find(|(_, name)| name.eq_ignore_ascii_case(text));
        known.map(|(mode, _)| *mode).ok_or_else(|| {
            let names = Self::ALL.map(|(_, name)| name).join(", ");
            format!("`{text}` is not one of {names}")
        })
    }
}

impl Default for MysqlConfig {
    /// The durability and the buffer pool of a server by default, and the packet of MySQL 8, four times MariaDB's.
    fn default() -> Self {
        Self {
            flush: Flush::Each,
            buffer_pool: ByteSize(128 * MIB),
            packet: ByteSize(64 * MIB),
            server: MysqlProgram::Mariadb,
            socket: SocketOption::Off,
            tls: false,
            ssl_mode: SslMode::Preferred,
            ssl_ca: None,
            namespace: "larder".into(),
            timeout: Span(Duration::from_secs(5)),
            via: None,
        }
    }
}

pub(super) fn schema() -> Schema {
    schema_for!(MysqlConfig)
}

impl MysqlConfig {
    /// The options of a URL, checked against each other and against whether it names a server.
    pub(super) fn from_url(url: &StoreUrl) -> Result<Self> {
        let config: Self = url.options(SCHEME)?;
        config.check(url).map_err(|reason| Error::InvalidOptions { engine: SCHEME, reason })?;
        Ok(config)
    }

    fn check(&self, url: &StoreUrl) -> Result<(), String> {
        let given =
            |names: &[&'static str]| names.iter().copied().find(|name| url.option(name).is_some());
        if names_server(url) {
            if let Some(name) = given(&FOR_MANAGED) {
                let instead = if name == "tls" { "write `ssl-mode`" } else { "leave out the host" };
                return Err(format!(
                    "option `{name}` is for servers that larder starts; {instead}, or leave out the option"
                ));
            }
            if self.socket == SocketOption::On {
                return Err(
                    "option `socket`: name the path of the socket, or leave out the host".into()
                );
            }
        } else {
            if let Some(name) = given(&FOR_NAMED) {
                return Err(format!(
                    "option `{name}` is for servers that the URL names; name a host, or leave out the option"
                ));
            }
            if matches!(self.socket, SocketOption::At(_)) {
                return Err(
                    "option `socket`: name user and database too: mysql://user@localhost/database"
                        .into(),
                );
            }
        }
        self.check_values()?;
        self.check_encryption()
    }

    fn check_values(&self) -> Result<(), String> {
        if self.timeout.0.is_zero() {
            return Err("option `timeout`: 0s leaves no time to answer; write 5s".into());
        }
        if self.buffer_pool.0 < SMALLEST_POOL {
            let smallest = ByteSize(SMALLEST_POOL);
            return Err(format!("option `buffer_pool`: {} < {smallest}", self.buffer_pool));
        }
        if !(MIB..=LONGEST_PACKET).contains(&self.packet.0) {
            let (smallest, largest) = (ByteSize(MIB), ByteSize(LONGEST_PACKET));
            return Err(format!("option `packet`: {} is not {smallest} to {largest}", self.packet));
        }
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        // The longest name of a table is 64.
        let name = &self.namespace;
        if !(1..=64).contains(&name.len()) || !name.chars().all(letter) {
            return Err(format!(
                "option `namespace`: `{name}` is not 1 to 64 letters, digits, `_` or `-`"
            ));
        }
        Ok(())
    }

    fn check_encryption(&self) -> Result<(), String> {
        if self.socket != SocketOption::Off && (self.tls || self.ssl_mode > SslMode::Preferred) {
            return Err("option `socket`: a socket of this machine takes no TLS".into());
        }
        if self.ssl_ca.is_some() && !self.ssl_mode.verifies() {
            return Err("option `ssl-ca` is for verified certificates; write ssl-mode=VERIFY_CA or VERIFY_IDENTITY"
                .into());
        }
        if self.via.is_some() && self.ssl_mode == SslMode::VerifyIdentity {
            return Err("option `via`: a certificate is for the name of its server, and a relay has another name; \
                        write ssl-mode=VERIFY_CA, or leave out `via`"
                .into());
        }
        Ok(())
    }
}

/// Whether a URL names a server that runs already.
pub(super) fn names_server(url: &StoreUrl) -> bool {
    !url.hosts().is_empty() || !matches!(url.path(), "" | "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<MysqlConfig> {
        MysqlConfig::from_url(&StoreUrl::parse(url).unwrap())
    }

    #[test]
    fn a_mode_may_be_written_in_small_letters() {
        for (text, mode) in [
            ("DISABLED", SslMode::Disabled),
            ("preferred", SslMode::Preferred),
            ("Required", SslMode::Required),
            ("VERIFY_CA", SslMode::VerifyCa),
            ("verify_identity", SslMode::VerifyIdentity),
        ] {
            let config = read(&format!("mysql://h1/x?ssl-mode={text}")).unwrap();
            assert_eq!(config.ssl_mode, mode, "{text}");
        }
        assert_eq!(read("mysql://h1/x").unwrap().ssl_mode, SslMode::Preferred);
    }

    #[test]
    fn a_flush_is_counted_as_mysql_counts_it() {
        for flush in [Flush::Late, Flush::Each, Flush::ToSystem] {
            let config = read(&format!("mysql:?flush={}", flush.as_str())).unwrap();
            assert_eq!(config.flush, flush);
        }
        assert_eq!(read("mysql:").unwrap().flush, Flush::Each);
    }

    #[test]
    fn a_socket_is_asked_for_or_named() {
        for (url, socket) in [
            ("mysql:", SocketOption::Off),
            ("mysql:?socket", SocketOption::On),
            ("mysql:?socket=off", SocketOption::Off),
            ("mysql://me@localhost/x?socket=/run/s", SocketOption::At("/run/s".into())),
            ("mysql:///x?socket=/run/s", SocketOption::At("/run/s".into())),
        ] {
            assert_eq!(read(url).unwrap().socket, socket, "{url}");
        }
    }

    #[test]
    fn a_wrong_option_is_refused_with_a_remedy() {
        for (url, needle) in [
            ("mysql://h1/x?flush=2", "option `flush` is for servers that larder starts"),
            ("mysql://h1/x?tls=on", "write `ssl-mode`"),
            ("mysql:///x?buffer_pool=1g", "option `buffer_pool` is for servers that larder starts"),
            ("mysql:?ssl-mode=REQUIRED", "option `ssl-mode` is for servers that the URL names"),
            ("mysql://h1/x?socket=on", "name the path of the socket"),
            ("mysql:?socket=/run/s", "name user and database too"),
            ("mysql:?socket=run/s", "`run/s` is not on, off or the path of a socket"),
            ("mysql:?socket=on&tls=on", "takes no TLS"),
            ("mysql://h1/x?socket=/run/s&ssl-mode=REQUIRED", "takes no TLS"),
            ("mysql://h1/x?ssl-mode=on", "`on` is not one of DISABLED, PREFERRED, REQUIRED"),
            ("mysql://h1/x?ssl-ca=/x.pem", "write ssl-mode=VERIFY_CA or VERIFY_IDENTITY"),
            ("mysql://h1/x?ssl-mode=VERIFY_IDENTITY&via=delay:2ms", "a relay has another"),
            ("mysql:?timeout=0", "write 5s"),
            ("mysql:?buffer_pool=1m", "1 MiB < 5 MiB"),
            ("mysql:?packet=2g", "2 GiB is not 1 MiB to 1 GiB"),
            ("mysql:?namespace=a%60b", "`a`b` is not 1 to 64 letters"),
            ("mysql:?flush=3", "`3` is not one of 0, 1, 2"),
            ("mysql:?size=1g", "unknown option `size`; known: flush, buffer_pool"),
        ] {
            let error = read(url).unwrap_err().to_string();
            assert!(error.contains(needle), "{url}: {error}");
        }
    }
}
