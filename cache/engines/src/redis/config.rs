//! Options of `redis:`.

use std::time::Duration;

use larder_store::{ByteSize, Error, Result, Span, StoreUrl, Via};
use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use super::SCHEME;

const MIB: u64 = 1 << 20;

/// Options of the start of a server, which mean nothing for a server that runs already.
const FOR_MANAGED: [&str; 8] = [
    "memory",
    "policy",
    "appendonly",
    "nodes",
    "socket",
    "server",
    "io_threads",
    "max_connections",
];

/// Options of trust in a server, which mean nothing for a server that larder starts.
const FOR_NAMED: [&str; 2] = ["ca", "insecure"];

/// The start of servers, where the URL names none, and the connections to servers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RedisConfig {
    /// Memory that each server that is started may take, as its `maxmemory`; `0` is no limit.
    pub(super) memory: ByteSize,
    /// The entries that make room on a server that is started, as its `maxmemory-policy`.
    pub(super) policy: Policy,
    /// Whether a server that is started logs its writes to a file: `no`; `everysec`, synced to the disk once a second;
    /// or `always`, synced before each answer.
    pub(super) appendonly: AppendOnly,
    /// The number of servers that are started. Several servers are a cluster, over which the slots are spread evenly.
    pub(super) nodes: u16,
    /// Start the server on a Unix socket instead of a port of 127.0.0.1.
    pub(super) socket: bool,
    /// The server that is started: `redis`, or `valkey`, which `valkey:` starts too.
    pub(super) server: Option<RedisProgram>,
    /// Threads that read and write the sockets of a server that is started, as its `io-threads`.
    pub(super) io_threads: u16,
    /// Connections that a server that is started takes at once, as its `maxclients`; by default 10000.
    pub(super) max_connections: Option<u32>,
    /// Encrypt the connections, as `rediss://` and `valkeys://` do too. A server that is started gets a certificate of
    /// its own.
    pub(super) tls: Option<bool>,
    /// File with the certificates, in PEM, of the authorities to trust instead of this system's.
    pub(super) ca: Option<String>,
    /// Take any certificate. A host in between can then read and change everything.
    pub(super) insecure: bool,
    /// The number of the database, where the URL has no path for it.
    pub(super) db: u32,
    /// The version of the protocol: `2`, or `3`, which came with Redis 6. Larder does the same by both.
    pub(super) resp: Resp,
    /// `session` keeps connections; `operation` opens a connection for every operation and closes it afterwards.
    pub(super) connect: Connect,
    /// The longest silence of a server before the operation fails.
    pub(super) timeout: Span,
    /// Tell the rest of each TTL with its value: a script reads both in one step, which costs the server more than a `GET`. Tiers
    /// above then keep no entry for longer than the server does, and may have a time of `grace`. There are no pipelined reads.
    pub(super) ttl_left: bool,
    /// The link between the client and the servers. With `delay:2ms` a relay makes every round trip 2 ms longer, as if
    /// the servers were that far away. A new connection takes one delay more. With `delay:2ms,rate:20m` answers also
    /// come at no more than 20 MiB a second on a connection.
    pub(super) via: Option<Via>,
}

/// The entries that make room, in the words of Redis and of the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Policy {
    #[default]
    AllkeysLru,
    AllkeysLfu,
    AllkeysRandom,
    VolatileLru,
    VolatileLfu,
    VolatileRandom,
    VolatileTtl,
    Noeviction,
}

impl Policy {
    /// The policy as Redis names it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::AllkeysLru => "allkeys-lru",
            Self::AllkeysLfu => "allkeys-lfu",
            Self::AllkeysRandom => "allkeys-random",
            Self::VolatileLru => "volatile-lru",
            Self::VolatileLfu => "volatile-lfu",
            Self::VolatileRandom => "volatile-random",
            Self::VolatileTtl => "volatile-ttl",
            Self::Noeviction => "noeviction",
        }
    }
}

/// When writes are logged, as the URL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum AppendOnly {
    #[default]
    No,
    Everysec,
    Always,
}

/// The server that is started, as the URL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum RedisProgram {
    Redis,
    Valkey,
}

/// The version of the protocol, as the URL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub(super) enum Resp {
    #[default]
    #[serde(rename = "2")]
    Two,
    #[serde(rename = "3")]
    Three,
}

/// The life of a connection, as the URL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Connect {
    #[default]
    Session,
    Operation,
}

impl Default for RedisConfig {
    /// The memory of a memcached, the policy of a cache, the timeout of the other servers.
    fn default() -> Self {
        Self {
            memory: ByteSize(64 * MIB),
            policy: Policy::AllkeysLru,
            appendonly: AppendOnly::No,
            nodes: 1,
            socket: false,
            server: None,
            io_threads: 1,
            max_connections: None,
            tls: None,
            ca: None,
            insecure: false,
            db: 0,
            resp: Resp::Two,
            connect: Connect::Session,
            timeout: Span(Duration::from_secs(5)),
            ttl_left: false,
            via: None,
        }
    }
}

pub(super) fn schema() -> Schema {
    schema_for!(RedisConfig)
}

impl RedisConfig {
    /// The options of a URL, checked against each other and against whether it names a server.
    pub(super) fn from_url(url: &StoreUrl) -> Result<Self> {
        let invalid = |reason: String| Err(Error::InvalidOptions { engine: SCHEME, reason });
        let mut config: Self = url.options(SCHEME)?;
        let names_servers = !url.hosts().is_empty() || !url.path().is_empty();
        let given =
            |names: &[&'static str]| names.iter().copied().find(|name| url.option(name).is_some());
        match (given(&FOR_MANAGED), given(&FOR_NAMED)) {
            (Some(name), _) if names_servers => {
                return invalid(format!(
                    "option `{name}` is for servers that larder starts; leave out the host, or the option"
                ));
            }
            (_, Some(name)) if !names_servers => {
                return invalid(format!(
                    "option `{name}` is for servers that the URL names; name a host, or leave out the option"
                ));
            }
            _ => {}
        }
        if matches!(url.scheme(), "rediss" | "valkeys") {
            if config.tls == Some(false) {
                return invalid("option `tls`: this scheme is encrypted; write `redis:`".into());
            }
            config.tls = Some(true);
        }
        if matches!(url.scheme(), "valkey" | "valkeys") {
            config.server.get_or_insert(RedisProgram::Valkey);
        }
        if !config.is_encrypted() && given(&FOR_NAMED).is_some() {
            return invalid("options `ca` and `insecure` are for TLS; write `rediss://`".into());
        }
        if config.insecure && config.ca.is_some() {
            return invalid(
                "option `insecure` takes any certificate, so `ca` has no effect; leave out one of them"
                    .into(),
            );
        }
        if !(1..=64).contains(&config.nodes) {
            return invalid(format!("option `nodes`: {} is not 1 to 64", config.nodes));
        }
        if config.nodes > 1 && (config.socket || config.db > 0) {
            return invalid("option `nodes`: a cluster has neither sockets nor databases".into());
        }
        if config.socket && config.is_encrypted() {
            return invalid("option `socket`: a socket of this machine takes no TLS".into());
        }
        if !(1..=128).contains(&config.io_threads) {
            return invalid(format!("option `io_threads`: {} is not 1 to 128", config.io_threads));
        }
        if config.max_connections == Some(0) {
            return invalid(
                "option `max_connections`: 0 connections reach no server; write 10000".into(),
            );
        }
        if config.timeout.0.is_zero() {
            return invalid("option `timeout`: 0s leaves no time to answer; write 5s".into());
        }
        Ok(config)
    }

    /// Whether connections are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.tls == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<RedisConfig> {
        RedisConfig::from_url(&StoreUrl::parse(url).unwrap())
    }

    #[test]
    fn policies_are_named_as_redis_names_them() {
        for policy in [Policy::AllkeysLru, Policy::VolatileTtl, Policy::Noeviction] {
            let config = read(&format!("redis:?policy={}", policy.as_str())).unwrap();
            assert_eq!(config.policy, policy);
        }
    }

    #[test]
    fn the_scheme_decides_the_encryption_and_the_server_to_start() {
        for (url, encrypted, server) in [
            ("redis:", false, None),
            ("redis:?tls=on", true, None),
            ("rediss:", true, None),
            ("valkey:", false, Some(RedisProgram::Valkey)),
            ("valkeys:", true, Some(RedisProgram::Valkey)),
            ("valkey:?server=redis", false, Some(RedisProgram::Redis)),
        ] {
            let config = read(url).unwrap();
            assert_eq!((config.is_encrypted(), config.server), (encrypted, server), "{url}");
        }
    }

    #[test]
    fn an_authority_may_be_named_where_strangers_are_refused() {
        let config = read("rediss://h1?ca=/x.pem&insecure=off").unwrap();
        assert!(config.ca.is_some() && !config.insecure);
    }

    #[test]
    fn a_wrong_option_is_refused_with_a_remedy() {
        for (url, needle) in [
            ("redis://h1?memory=64m", "option `memory` is for servers that larder starts"),
            ("redis:///run/x.sock?nodes=3", "option `nodes` is for servers that larder starts"),
            ("rediss:?ca=/x.pem", "option `ca` is for servers that the URL names"),
            ("redis://h1?insecure=on", "write `rediss://`"),
            ("rediss://h1?ca=/x.pem&insecure=on", "leave out one"),
            ("rediss://h1?tls=off", "this scheme is encrypted"),
            ("redis:?nodes=0", "0 is not 1 to 64"),
            ("redis:?max_connections=0", "0 connections reach no server"),
            ("redis:?nodes=3&socket=on", "neither sockets nor databases"),
            ("rediss:?socket=on", "takes no TLS"),
            ("redis:?io_threads=0", "0 is not 1 to 128"),
            ("redis:?timeout=0", "write 5s"),
            ("redis:?policy=lru", "not one of allkeys-lru, "),
            ("redis:?maxmemory=1g", "unknown option `maxmemory`; known: memory, policy"),
        ] {
            let error = read(url).unwrap_err().to_string();
            assert!(error.contains(needle), "{url}: {error}");
        }
    }
}
