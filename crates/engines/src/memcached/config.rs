//! Options of `memcached:`.

use std::time::Duration;

use larder_store::{ByteSize, Error, Result, Span, StoreUrl, Via};
use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use super::SCHEME;

const MIB: u64 = 1 << 20;

/// memcached's largest slab chunk, in bytes, unless it is told another.
pub(super) const CHUNK_MAX: u64 = 512 << 10;

/// The smallest chunk of larger items, in bytes: out of smaller ones a server puts every larger value together, piece by
/// piece, and is none that anybody runs.
const CHUNK_MIN: u64 = 64 << 10;

/// The smallest item limit that memcached takes, in bytes.
const ITEM_MIN: u64 = 1 << 10;

/// Options that say how a server is started, and so mean nothing for one that runs already.
const FOR_MANAGED: [&str; 6] = ["m", "item_size", "i", "server_threads", "nodes", "socket"];

/// How the servers are started, where none is named, and how they are spoken to.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MemcachedConfig {
    /// Memory for the items of each server that is started, as memcached's -m: `64m`, `1g`. A bare number below
    /// 65536 is mebibytes, as for memcached itself.
    pub(super) m: ByteSize,
    /// Largest item, key and header included, of a server that is started, as memcached's -I. Also `i`.
    #[serde(alias = "i")]
    pub(super) item_size: ByteSize,
    /// Worker threads of each server that is started, as memcached's -t.
    pub(super) server_threads: u16,
    /// How many servers are started. They share the keys like any pool of that size.
    pub(super) nodes: u16,
    /// Start servers on a Unix socket instead of a port of 127.0.0.1.
    pub(super) socket: bool,
    /// The protocol: `text`, `meta`, or `auto`: meta where every server speaks it (memcached 1.6.10 and later).
    /// Only meta tells the remaining TTL.
    pub(super) protocol: Protocol,
    /// `session` keeps connections; `operation` opens one for every operation and closes it after it.
    pub(super) connect: Connect,
    /// How long a server may stay silent before the operation fails.
    pub(super) timeout: Span,
    /// What stands between the client and the servers: `delay:2ms` is a relay by which every round trip takes so much
    /// longer, and a new connection one more, as if the servers were so far away.
    pub(super) via: Option<Via>,
    /// Which server has a key: `ketama` (libmemcached's weighted ketama, what most clients mean by the word) or
    /// `ketama_unweighted` (its other one, with MD5).
    pub(super) distribution: Distribution,
}

/// The protocol, as the URL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Protocol {
    #[default]
    Auto,
    Text,
    Meta,
}

/// How long a connection lives, as the URL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Connect {
    #[default]
    Session,
    Operation,
}

/// How keys are placed, as the URL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Distribution {
    #[default]
    Ketama,
    KetamaUnweighted,
}

impl Default for MemcachedConfig {
    /// memcached's own defaults, and libmemcached's timeout.
    fn default() -> Self {
        Self {
            m: ByteSize(64 * MIB),
            item_size: ByteSize(MIB),
            server_threads: 4,
            nodes: 1,
            socket: false,
            protocol: Protocol::Auto,
            connect: Connect::Session,
            timeout: Span(Duration::from_secs(5)),
            via: None,
            distribution: Distribution::Ketama,
        }
    }
}

pub(super) fn schema() -> Schema {
    schema_for!(MemcachedConfig)
}

impl MemcachedConfig {
    /// The options of a URL, checked against each other and against whether it names a server.
    pub(super) fn from_url(url: &StoreUrl) -> Result<Self> {
        let invalid = |reason: String| Error::InvalidOptions { engine: SCHEME, reason };
        let mut config: Self = url.options(SCHEME)?;
        let names_servers = !url.hosts().is_empty() || !url.path().is_empty();
        if let Some(name) = FOR_MANAGED.iter().find(|name| url.option(name).is_some())
            && names_servers
        {
            return Err(invalid(format!(
                "option `{name}` is for servers that larder starts; leave out the host, or the option"
            )));
        }
        if let Some(mebibytes) = url.option("m").and_then(|text| text.parse::<u16>().ok()) {
            config.m = ByteSize(u64::from(mebibytes) * MIB);
        }
        if config.m.0 == 0 {
            return Err(invalid("option `m`: 0 is no memory for items; write 64m".into()));
        }
        if !(1..=64).contains(&config.nodes) {
            return Err(invalid(format!("option `nodes`: {} is not 1 to 64", config.nodes)));
        }
        let ByteSize(item_size) = config.item_size;
        if item_size != whole_chunks(item_size) {
            return Err(invalid(format!(
                "option `item_size`: {item_size} has memcached cut items into chunks of {}; write {}k",
                config.chunk_max(),
                whole_chunks(item_size) / ITEM_MIN
            )));
        }
        if config.timeout.0.is_zero() {
            return Err(invalid("option `timeout`: 0s is no time to answer; write 5s".into()));
        }
        Ok(config)
    }

    /// The largest slab chunk with which memcached takes this item limit: one that divides it, and that divides a page.
    pub(super) fn chunk_max(&self) -> u64 {
        match self.item_size.0 {
            0 => 0,
            bytes => (1 << bytes.trailing_zeros()).min(CHUNK_MAX),
        }
    }

    /// `m` as memcached takes it.
    pub(super) fn memory_mib(&self) -> u64 {
        self.m.0.div_ceil(MIB)
    }
}

/// The next item limit whose chunks are not too small: a power of two that is one chunk, or some of the smallest.
fn whole_chunks(item_size: u64) -> u64 {
    if item_size <= CHUNK_MIN {
        item_size.max(ITEM_MIN).next_power_of_two()
    } else {
        item_size.checked_next_multiple_of(CHUNK_MIN).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<MemcachedConfig> {
        MemcachedConfig::from_url(&StoreUrl::parse(url).unwrap())
    }

    #[test]
    fn memory_reads_as_memcached_and_as_larder_write_it() {
        for (text, mebibytes) in
            [("64", 64), ("1024", 1024), ("64m", 64), ("1g", 1024), ("64k", 1), ("104857601", 101)]
        {
            let config = read(&format!("memcached:?m={text}")).unwrap();
            assert_eq!(config.memory_mib(), mebibytes, "{text}");
        }
    }

    #[test]
    fn an_item_limit_has_chunks_of_a_good_size() {
        for (text, chunk) in [
            ("1k", 1 << 10),
            ("16k", 16 << 10),
            ("64k", 64 << 10),
            ("192k", 64 << 10),
            ("640k", 128 << 10),
            ("1m", CHUNK_MAX),
            ("600m", CHUNK_MAX),
        ] {
            let config = read(&format!("memcached:?item_size={text}")).unwrap();
            assert_eq!(config.chunk_max(), chunk, "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_says_what_would() {
        for (url, needle) in [
            ("memcached://h1?m=64m", "option `m` is for servers that larder starts"),
            ("memcached:///run/x.sock?nodes=2", "option `nodes` is for servers that larder starts"),
            ("memcached:?m=0", "write 64m"),
            ("memcached:?item_size=600000", "cut items into chunks of 64; write 640k"),
            ("memcached:?item_size=1000k", "chunks of 8192; write 1024k"),
            ("memcached:?item_size=1025k", "chunks of 1024; write 1088k"),
            ("memcached:?i=48k", "chunks of 16384; write 64k"),
            ("memcached:?i=0", "write 1k"),
            ("memcached:?nodes=0", "0 is not 1 to 64"),
            ("memcached:?timeout=0", "write 5s"),
            ("memcached:?protocol=binary", "not one of auto, text, meta"),
            ("memcached:?memory=1g", "unknown option `memory`; known: m, i, item_size"),
        ] {
            let error = read(url).unwrap_err().to_string();
            assert!(error.contains(needle), "{url}: {error}");
        }
    }
}
