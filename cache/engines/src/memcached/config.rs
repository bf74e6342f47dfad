//! Options of `memcached:`.

use std::time::Duration;

use larder_store::{ByteSize, Catalog, Error, Result, Span, StoreUrl, Via};
use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use super::{SCHEME, larder};

pub(super) const MIB: u64 = 1 << 20;

/// memcached's default for its largest slab chunk, in bytes.
pub(super) const CHUNK_MAX: u64 = 512 << 10;

/// The smallest chunk of larger items, in bytes. With smaller chunks a server composes every larger value of many
/// pieces; no real server is run like that.
const CHUNK_MIN: u64 = 64 << 10;

/// The smallest item limit that memcached takes, in bytes.
const ITEM_MIN: u64 = 1 << 10;

/// The largest item limit that `larder serve` takes, in bytes.
const ITEM_MAX_OF_LARDER: u64 = 1 << 30;

/// Options that say how a server is started, and so mean nothing for one that runs already.
const FOR_MANAGED: [&str; 16] = [
    "server",
    "store",
    "m",
    "extstore",
    "item_size",
    "i",
    "server_threads",
    "max_connections",
    "nodes",
    "socket",
    "w_batch",
    "r_batch",
    "column",
    "flush",
    "support_xa",
    "buffer_pool",
];

/// Options that only the memcached plugin of MySQL has, and those that it has not.
const FOR_INNODB: [&str; 6] =
    ["w_batch", "r_batch", "column", "flush", "support_xa", "buffer_pool"];
const NOT_FOR_INNODB: [&str; 7] =
    ["extstore", "item_size", "i", "server_threads", "nodes", "socket", "distribution"];

/// Options that twemproxy does not let a user choose, and those of memcached alone.
const NOT_FOR_TWEMPROXY: [&str; 2] = ["distribution", "extstore"];

/// Options that only `larder serve` has, and those that it has not.
const FOR_LARDER: [&str; 1] = ["store"];
const NOT_FOR_LARDER: [&str; 1] = ["extstore"];

/// The smallest file of an extstore that has room for its pages, in bytes, and the largest item that fits into one of its
/// write buffers.
const EXTSTORE_MIN: u64 = 64 * MIB;
const EXTSTORE_ITEM_MAX: u64 = 4 * MIB;

/// The pages of an extstore, in bytes: memcached's own default, and the smallest that hold two write buffers.
const EXTSTORE_PAGE: u64 = 64 * MIB;
const EXTSTORE_PAGE_MIN: u64 = 8 * MIB;

/// The widest VARCHAR: a row of MySQL has 65,535 bytes, and its other columns need some of them.
const VARCHAR_MAX: u32 = 65_000;

/// The widest column: a MEDIUMBLOB.
const COLUMN_MAX: u32 = (1 << 24) - 1;

/// The smallest buffer pool of InnoDB, in bytes.
const BUFFER_POOL_MIN: u64 = 5 * MIB;

/// The start of servers, where the URL names none, and the connections to servers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MemcachedConfig {
    /// The server that is started. `memcached`: memcached itself. `innodb`: MySQL 5.6 of 2013 (GPL v2, no longer
    /// maintained) with its memcached plugin, which keeps values in a column of a table. `twemproxy`: `nodes` memcached
    /// and a proxy before them that places the keys. `larder`: Larder's own `larder serve`, over the store of `store`.
    pub(super) server: MemcachedProgram,
    /// Of `server=larder`: the store behind the server. An engine alone, such as `memory`, `mmap` or `lmdb`, is a
    /// temporary store with the size of `m`. Options of the store may stand beside it: `store=lmdb&sync=group`. A URL may
    /// have them itself, with `&` as `%26` and `|` as `%7C`: `store=lmdb:/var/lib/cache?sync=group%26size=1g`.
    pub(super) store: String,
    /// Options of the store that stand beside it.
    #[serde(skip)]
    pub(super) store_options: Vec<(String, String)>,
    /// Memory for the items of each server that is started, as memcached's -m: `64m`, `1g`. A bare number below
    /// 65536 is mebibytes, as for memcached itself. With `server=larder`: the size of a new store, if the store takes a
    /// size and its URL names none.
    pub(super) m: ByteSize,
    /// Size of the file in which memcached keeps values that `m` has no room for, as its `ext_path`: `1g`. It lies in the
    /// server's temporary folder (`TMPDIR`). Keys, and values below 512 bytes, stay in memory.
    pub(super) extstore: Option<ByteSize>,
    /// Largest item, key and header included, of a server that is started, as memcached's -I. Also `i`. With
    /// `server=larder`: the largest value.
    #[serde(alias = "i")]
    pub(super) item_size: ByteSize,
    /// Worker threads of each server that is started, as memcached's -t.
    pub(super) server_threads: u16,
    /// Connections that each server that is started takes at once, as memcached's -c, which counts
    /// some files of the server too; by default 1024.
    pub(super) max_connections: Option<u32>,
    /// The number of servers that are started. They share the keys like any pool of that size.
    pub(super) nodes: u16,
    /// Start servers on a Unix socket instead of a port of 127.0.0.1.
    pub(super) socket: bool,
    /// Encrypt the connections, as `memcacheds://` does too. A server that is started gets a certificate of its own.
    pub(super) tls: Option<bool>,
    /// File with the certificates, in PEM, of the authorities to trust instead of this system's.
    pub(super) ca: Option<String>,
    /// Take any certificate. A host in between can then read and change everything.
    pub(super) insecure: bool,
    /// The protocol: `text`, `meta`, or `auto`: meta where every server speaks it (memcached 1.6.13 and later, and
    /// `larder serve` over a store that knows the remaining TTL). Only meta tells the remaining TTL, and has versions.
    pub(super) protocol: Protocol,
    /// `session` keeps connections; `operation` opens a connection for every operation and closes it afterwards.
    pub(super) connect: Connect,
    /// The longest silence of a server before the operation fails.
    pub(super) timeout: Span,
    /// Of `server=innodb`: how many writes of a connection are committed together (`daemon_memcached_w_batch_size`).
    /// With more than one, a write is acknowledged before its commit. A refused write, such as an `add` of an existing
    /// key, undoes the writes of its batch.
    pub(super) w_batch: u32,
    /// Of `server=innodb`: after how many reads of a connection its transaction is renewed
    /// (`daemon_memcached_r_batch_size`).
    pub(super) r_batch: u32,
    /// Of `server=innodb`: characters of the column for values, a VARCHAR; 1024 as shipped. A longer value is silently
    /// cut short, and acknowledged. More than 65000 makes the column a MEDIUMBLOB, which takes as much as the protocol:
    /// 1 MiB.
    pub(super) column: u32,
    /// Of `server=innodb`: when the log reaches the disk (`innodb_flush_log_at_trx_commit`). `1`: at each commit. `2`:
    /// once a second, and the system's cache at each commit. `0`: both once a second.
    pub(super) flush: u8,
    /// Of `server=innodb`: commits in two phases (`innodb_support_xa`), as MySQL does by default; `false` spares a commit that
    /// also goes to a binary log a flush of InnoDB's. The server that is started has no such log.
    pub(super) support_xa: bool,
    /// Of `server=innodb`: memory for pages (`innodb_buffer_pool_size`). Without it: `m`.
    pub(super) buffer_pool: Option<ByteSize>,
    /// The link between the client and the servers. With `delay:2ms` a relay makes every round trip 2 ms longer, as if
    /// the servers were that far away. A new connection takes one delay more. With `delay:2ms,rate:20m` answers also
    /// come at no more than 20 MiB a second on a connection.
    pub(super) via: Option<Via>,
    /// The placement of keys on servers: `ketama` (libmemcached's weighted ketama, the usual meaning of the word in
    /// clients) or `ketama_unweighted` (libmemcached's other ketama, with MD5).
    pub(super) distribution: Distribution,
}

/// The server that is started, as the URL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum MemcachedProgram {
    #[default]
    Memcached,
    Innodb,
    Twemproxy,
    Larder,
}

impl MemcachedProgram {
    /// The server as the option names it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Memcached => "memcached",
            Self::Innodb => "innodb",
            Self::Twemproxy => "twemproxy",
            Self::Larder => "larder",
        }
    }

    /// Whether the server may speak the meta protocol.
    pub(super) fn may_speak_meta(self) -> bool {
        matches!(self, Self::Memcached | Self::Larder)
    }
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

/// The life of a connection, as the URL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Connect {
    #[default]
    Session,
    Operation,
}

/// The placement of keys, as the URL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Distribution {
    #[default]
    Ketama,
    KetamaUnweighted,
}

impl Default for MemcachedConfig {
    /// The servers' own defaults, and libmemcached's timeout.
    fn default() -> Self {
        Self {
            server: MemcachedProgram::Memcached,
            store: "memory".into(),
            store_options: Vec::new(),
            m: ByteSize(64 * MIB),
            extstore: None,
            item_size: ByteSize(MIB),
            server_threads: 4,
            max_connections: None,
            nodes: 1,
            socket: false,
            tls: None,
            ca: None,
            insecure: false,
            protocol: Protocol::Auto,
            connect: Connect::Session,
            timeout: Span(Duration::from_secs(5)),
            w_batch: 1,
            r_batch: 1,
            column: 1024,
            flush: 1,
            support_xa: true,
            buffer_pool: None,
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
    pub(super) fn from_url(url: &StoreUrl, catalog: &Catalog) -> Result<Self> {
        let invalid = |reason: String| Error::InvalidOptions { engine: SCHEME, reason };
        let store_options = larder::options_behind(url, catalog);
        let is_own = |name: &str| store_options.iter().all(|(of_store, _)| of_store != name);
        let url = &url.for_engine(url.scheme(), is_own);
        let mut config = Self { store_options, ..url.options(SCHEME)? };
        let names_servers = !url.hosts().is_empty() || !url.path().is_empty();
        if let Some(name) = FOR_MANAGED.iter().find(|name| url.option(name).is_some())
            && names_servers
        {
            return Err(invalid(format!(
                "option `{name}` is for servers that larder starts; leave out the host, or the option"
            )));
        }
        config.check_trust(url, names_servers)?;
        if let Some(mebibytes) = url.option("m").and_then(|text| text.parse::<u16>().ok()) {
            config.m = ByteSize(u64::from(mebibytes) * MIB);
        }
        if config.m.0 == 0 {
            return Err(invalid("option `m`: 0 is no memory for items; write 64m".into()));
        }
        if !(1..=64).contains(&config.nodes) {
            return Err(invalid(format!("option `nodes`: {} is not 1 to 64", config.nodes)));
        }
        if config.max_connections == Some(0) {
            let reason = "option `max_connections`: 0 connections reach no server; write 1024";
            return Err(invalid(reason.into()));
        }
        config.check_item_size()?;
        config.check_extstore()?;
        config.check_server(url)?;
        if config.timeout.0.is_zero() {
            return Err(invalid("option `timeout`: 0s leaves no time to answer; write 5s".into()));
        }
        Ok(config)
    }

    /// Refuses a largest item that the server to start does not take, or takes only in pieces.
    fn check_item_size(&self) -> Result<()> {
        let refuse = |reason: String| Err(Error::InvalidOptions { engine: SCHEME, reason });
        let ByteSize(item_size) = self.item_size;
        if self.server == MemcachedProgram::Larder {
            if !(ITEM_MIN..=ITEM_MAX_OF_LARDER).contains(&item_size) {
                return refuse(format!("option `item_size`: {item_size} is not 1 KiB to 1 GiB"));
            }
        } else if item_size != whole_chunks(item_size) {
            return refuse(format!(
                "option `item_size`: {item_size} makes memcached cut items into chunks of {}; write {}k",
                self.chunk_max(),
                whole_chunks(item_size) / ITEM_MIN
            ));
        }
        Ok(())
    }

    /// Refuses a file of memcached's extstore that has no room for its pages, or for the largest item.
    fn check_extstore(&self) -> Result<()> {
        match self.extstore {
            Some(size) if size.0 < EXTSTORE_MIN => Err(Error::SizeTooSmall {
                engine: SCHEME,
                option: "extstore",
                size,
                least: ByteSize(EXTSTORE_MIN),
            }),
            Some(_) if self.item_size.0 > EXTSTORE_ITEM_MAX => {
                let (size, most) = (self.item_size, ByteSize(EXTSTORE_ITEM_MAX));
                let reason =
                    format!("option `item_size`: {size} > {most}, which `extstore` takes at most");
                Err(Error::InvalidOptions { engine: SCHEME, reason })
            }
            _ => Ok(()),
        }
    }

    /// Refuses options that the server to start does not have.
    fn check_server(&self, url: &StoreUrl) -> Result<()> {
        let refuse = |reason: String| Err(Error::InvalidOptions { engine: SCHEME, reason });
        let is_innodb = self.server == MemcachedProgram::Innodb;
        let has_not: &[&[&str]] = match self.server {
            MemcachedProgram::Memcached => &[&FOR_INNODB, &FOR_LARDER],
            MemcachedProgram::Innodb => &[&NOT_FOR_INNODB, &FOR_LARDER],
            MemcachedProgram::Twemproxy => &[&FOR_INNODB, &FOR_LARDER, &NOT_FOR_TWEMPROXY],
            MemcachedProgram::Larder => &[&FOR_INNODB, &NOT_FOR_LARDER],
        };
        let mut has_not = has_not.iter().copied().flatten();
        if let Some(name) = has_not.find(|name| url.option(name).is_some()) {
            let server = self.server.as_str();
            return refuse(format!(
                "option `{name}` means nothing for server={server}; leave it out"
            ));
        }
        if !self.server.may_speak_meta() && self.protocol == Protocol::Meta {
            let server = self.server.as_str();
            return refuse(format!("option `protocol`: server={server} speaks text only"));
        }
        if self.server == MemcachedProgram::Larder && self.server_threads == 0 {
            return refuse("option `server_threads`: 0 threads answer nobody; write 4".into());
        }
        if !is_innodb {
            return Ok(());
        }
        for (name, number) in [("w_batch", self.w_batch), ("r_batch", self.r_batch)] {
            if !(1..=1 << 30).contains(&number) {
                return refuse(format!("option `{name}`: {number} is not 1 to {}", 1 << 30));
            }
        }
        if !(1..=COLUMN_MAX).contains(&self.column) {
            return refuse(format!("option `column`: {} is not 1 to {COLUMN_MAX}", self.column));
        }
        if self.flush > 2 {
            return refuse(format!("option `flush`: {} is not 0, 1 or 2", self.flush));
        }
        match self.buffer_pool {
            Some(size) if size.0 < BUFFER_POOL_MIN => Err(Error::SizeTooSmall {
                engine: SCHEME,
                option: "buffer_pool",
                size,
                least: ByteSize(BUFFER_POOL_MIN),
            }),
            _ => Ok(()),
        }
    }

    /// Whether the column for values cuts long values short.
    pub(super) fn cuts_values(&self) -> bool {
        self.column <= VARCHAR_MAX
    }

    /// Bytes of the buffer pool of InnoDB.
    pub(super) fn buffer_pool_bytes(&self) -> u64 {
        self.buffer_pool.unwrap_or(self.m).0.max(BUFFER_POOL_MIN)
    }

    /// The largest slab chunk with which memcached takes this item limit: the chunk must divide the limit, and a page.
    pub(super) fn chunk_max(&self) -> u64 {
        match self.item_size.0 {
            0 => 0,
            bytes => (1 << bytes.trailing_zeros()).min(CHUNK_MAX),
        }
    }

    /// The settings of memcached's extstore, for a file of this path, as memcached's -o takes them. Its pages are an eighth of
    /// the file at most, because it writes to some, and keeps others free.
    pub(super) fn extstore(&self, path: &str) -> Option<String> {
        let size = self.extstore?.0;
        let page = 1_u64 << (size / 8).clamp(EXTSTORE_PAGE_MIN, EXTSTORE_PAGE).ilog2();
        let (page, size) = (page / MIB, size / MIB);
        Some(format!("ext_page_size={page},ext_path={path}:{size}m"))
    }

    /// `m` as memcached takes it.
    pub(super) fn memory_mib(&self) -> u64 {
        self.m.0.div_ceil(MIB)
    }
}

/// The next item limit whose chunks are not too small: a power of two that is one chunk, or a multiple of the smallest
/// chunk.
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
        MemcachedConfig::from_url(&StoreUrl::parse(url).unwrap(), &Catalog::new(&[]))
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
    fn an_extstore_has_pages_enough_to_write_and_to_free_some() {
        for (size, pages) in [("64m", 8), ("100m", 12), ("300m", 9), ("1g", 16), ("3000m", 46)] {
            let config = read(&format!("memcached:?extstore={size}")).unwrap();
            let settings = config.extstore("file").unwrap();
            let number = |name: &str| -> u64 {
                let at = settings.find(name).unwrap() + name.len();
                settings[at..].split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
            };
            let (page, all) = (number("ext_page_size="), number("ext_path=file:"));
            assert_eq!(all / page, pages, "{settings}");
        }
        assert_eq!(read("memcached:").unwrap().extstore("file"), None);
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
    fn a_wrong_option_is_refused_with_a_remedy() {
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
            ("memcached:?extstore=32m", "extstore"),
            ("memcached:?extstore=1g&item_size=8m", "8 MiB > 4 MiB"),
            ("memcached:?server=larder&extstore=1g", "means nothing for server=larder"),
            ("memcached:?max_connections=0", "0 connections reach no server"),
            ("memcached://h1?max_connections=9", "is for servers that larder starts"),
            ("memcached:?timeout=0", "write 5s"),
            (
                "memcached:?server=mysql",
                "`mysql` is not one of memcached, innodb, twemproxy, larder",
            ),
            ("memcached:?store=mmap", "`store` means nothing for server=memcached"),
            ("memcached://h1?store=mmap", "option `store` is for servers that larder starts"),
            ("memcached:?server=larder&flush=1", "`flush` means nothing for server=larder"),
            ("memcached:?server=larder&tls=on", "server=larder has none"),
            ("memcached:?server=larder&item_size=2g", "2147483648 is not 1 KiB to 1 GiB"),
            ("memcached:?server=larder&server_threads=0", "write 4"),
            (
                "memcached://h1?server=twemproxy",
                "option `server` is for servers that larder starts",
            ),
            ("memcached:?column=4096", "`column` means nothing for server=memcached"),
            ("memcached:?server=innodb&nodes=2", "`nodes` means nothing for server=innodb"),
            ("memcached:?server=innodb&column=16777216", "16777216 is not 1 to 16777215"),
            ("memcached:?server=innodb&tls=on", "server=innodb has none"),
            ("memcacheds:?server=twemproxy", "server=twemproxy has none"),
            ("memcacheds:?socket=on", "takes no TLS"),
            ("memcacheds://h1?tls=off", "this scheme is encrypted"),
            ("memcacheds:?ca=/x.pem", "option `ca` is for servers that the URL names"),
            ("memcached://h1?insecure=on", "write `memcacheds://`"),
            ("memcacheds://h1?ca=/x.pem&insecure=on", "leave out one"),
            ("memcached:?server=innodb&column=0", "0 is not 1 to 16777215"),
            ("memcached:?server=innodb&w_batch=0", "option `w_batch`: 0 is not 1 to"),
            ("memcached:?server=innodb&flush=3", "3 is not 0, 1 or 2"),
            ("memcached:?server=innodb&support_xa=2", "support_xa"),
            ("memcached:?support_xa=false", "`support_xa` means nothing for server=memcached"),
            ("memcached:?server=innodb&buffer_pool=1m", "1 MiB < 5 MiB"),
            ("memcached:?server=innodb&protocol=meta", "server=innodb speaks text only"),
            ("memcached:?server=twemproxy&protocol=meta", "server=twemproxy speaks text only"),
            (
                "memcached:?server=twemproxy&w_batch=2",
                "`w_batch` means nothing for server=twemproxy",
            ),
            ("memcached:?server=twemproxy&distribution=ketama", "`distribution` means nothing"),
            ("memcached:?protocol=binary", "not one of auto, text, meta"),
            (
                "memcached:?memory=1g",
                "unknown option `memory`; known: server, store, m, extstore, i, item_size",
            ),
        ] {
            let error = read(url).unwrap_err().to_string();
            assert!(error.contains(needle), "{url}: {error}");
        }
    }
}
