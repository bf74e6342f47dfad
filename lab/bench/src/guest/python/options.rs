//! Options of Python's caches, under the names of their packages.

use larder_store::{ByteSize, Error, Mount, Result, Span, StoreUrl};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::options::{Connect, bytes, options_of, seconds};

/// The smallest size of a cache in the memory of its process.
const LEAST: ByteSize = ByteSize(4 << 10);

const USUAL: ByteSize = ByteSize(64 << 20);

/// Reads options, and refuses a size that leaves no room for entries.
pub(super) fn sized<T: DeserializeOwned + Serialize>(
    engine: &'static str,
    url: &StoreUrl,
) -> Result<Value> {
    let options = options_of::<T>(engine, url)?;
    match options.get("size").and_then(Value::as_u64) {
        Some(size) if size < LEAST.0 => {
            let size = ByteSize(size);
            Err(Error::SizeTooSmall { engine, option: "size", size, least: LEAST })
        }
        _ => Ok(options),
    }
}

/// Checks the options of `python+lru_cache:`.
pub(super) fn lru_cache(engine: &'static str, url: &StoreUrl) -> Result<Value> {
    let LruCache { maxsize, entry, .. } = url.options(engine)?;
    let reason = if maxsize == Some(0) {
        "maxsize is 0; write at least 1"
    } else if entry == Some(ByteSize(0)) {
        "entry is 0; write the bytes of a usual key and its value"
    } else {
        return sized::<LruCache>(engine, url);
    };
    Err(Error::InvalidOptions { engine, reason: reason.into() })
}

/// Options of `python+cachetools:`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CacheTools {
    /// Bytes that values and 300 bytes for each entry may take before entries are dropped: the `maxsize`.
    #[serde(serialize_with = "bytes")]
    size: Option<ByteSize>,
    /// The entries that make room: the least recently used (`lru`), the least frequently used (`lfu`), the oldest (`fifo`), or
    /// any (`rr`). Only `lru` has TTLs.
    policy: Policy,
}

impl Default for CacheTools {
    fn default() -> Self {
        Self { size: Some(USUAL), policy: Policy::Lru }
    }
}

/// Options of `python+cachebox:`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CacheBox {
    /// Bytes that keys, values and 180 bytes for each entry may take before entries are dropped: the `maxsize`.
    #[serde(serialize_with = "bytes")]
    size: Option<ByteSize>,
    /// The entries that make room: the least recently used (`lru`), the least frequently used (`lfu`), the oldest (`fifo`), or
    /// any (`rr`). Without it: `lru`, and in a workload with TTLs the entry that expires first, because no other policy of the
    /// package has TTLs.
    policy: Option<Policy>,
}

impl Default for CacheBox {
    fn default() -> Self {
        Self { size: Some(USUAL), policy: None }
    }
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Policy {
    Lru,
    Lfu,
    Fifo,
    Rr,
}

/// Options of `python+lru_cache:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LruCache {
    /// The most entries. Without it: as many as fit into `size`, or no bound.
    maxsize: Option<u32>,
    /// Bytes from which the number of entries follows.
    #[serde(serialize_with = "bytes")]
    size: Option<ByteSize>,
    /// The bytes of one entry in `size`. Without it: those of the largest key and value of a comparison.
    #[serde(serialize_with = "bytes")]
    entry: Option<ByteSize>,
}

/// Options of `python+pylibmc:`, beside those of `memcached:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PyLibMc {
    /// `session`: one client object in each process. `operation`: a new client and connections for every operation.
    connect: Connect,
    /// The protocol that the client speaks.
    protocol: Protocol,
    /// The way in which keys are spread over several servers: `modulo` by the remainder of their hash; `ketama` by a ring.
    hashing: Hashing,
    /// Send each request at once, without waiting for more.
    no_delay: bool,
    /// The longest wait for an answer. Without it: 5s, libmemcached's own limit.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Protocol {
    #[default]
    Text,
    Binary,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Hashing {
    #[default]
    Modulo,
    Ketama,
}

/// Options of `python+redis:`, beside those of `redis:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Redis {
    /// `session`: one client object in each process. `operation`: a new client and connection for every operation.
    connect: Connect,
    /// The longest wait for an answer. Without it: 5s, the package's own limit.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
    /// The longest time of a new connection. Without it: 5s, the package's own limit.
    #[serde(serialize_with = "seconds")]
    connect_timeout: Option<Span>,
}

/// Checks the options of `python+diskcache:`, because the package takes any value.
pub(super) fn disk_cache(engine: &'static str, url: &StoreUrl) -> Result<Value> {
    let DiskCache { shards, sqlite_synchronous, .. } = url.options(engine)?;
    let out_of_range = if shards == 0 {
        "shards is 0; a cache has at least 1".to_owned()
    } else if sqlite_synchronous > 2 {
        format!("sqlite_synchronous is {sqlite_synchronous}; write 0, 1 or 2")
    } else {
        return options_of::<DiskCache>(engine, url);
    };
    Err(Error::InvalidOptions { engine, reason: out_of_range })
}

/// Options of `python+diskcache:`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DiskCache {
    /// The bytes that the cache holds before it culls entries. Without it: 1g, the package's own default, or twice all
    /// keys and values of a comparison where that is more.
    #[serde(serialize_with = "bytes")]
    size_limit: Option<ByteSize>,
    /// The entries that make room: `none`, `least-recently-stored`, `least-recently-used` or `least-frequently-used`.
    /// The last two write at every get.
    eviction_policy: EvictionPolicy,
    /// The most entries that one set removes.
    cull_limit: u32,
    /// Count hits and misses, which is a write at every get.
    statistics: bool,
    /// Index entries by their tag. Larder gives entries no tags.
    tag_index: bool,
    /// Folders that keys are spread over, each with a database of its own. More than one folder is the package's
    /// `FanoutCache`. It reports time-outs as misses or as values that were not stored; here they are errors.
    shards: u32,
    /// Values from this size on are kept in files.
    #[serde(serialize_with = "bytes")]
    disk_min_file_size: Option<ByteSize>,
    /// The longest wait of a write for another write. Without it: 60s, or 10ms with shards.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
    /// The moments at which SQLite waits for the disk: `0` never, `1` at a checkpoint, `2` at every write.
    sqlite_synchronous: u8,
    /// A file system in memory, mounted for the cache on a new folder in its path: `tmpfs:1g`, `tmpfs` or `ramfs`.
    #[serde(skip_serializing)]
    mount: Option<Mount>,
}

impl Default for DiskCache {
    fn default() -> Self {
        Self {
            size_limit: None,
            eviction_policy: EvictionPolicy::default(),
            cull_limit: 10,
            statistics: false,
            tag_index: false,
            shards: 1,
            disk_min_file_size: Some(ByteSize(32 << 10)),
            timeout: None,
            sqlite_synchronous: 1,
            mount: None,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum EvictionPolicy {
    None,
    #[default]
    LeastRecentlyStored,
    LeastRecentlyUsed,
    LeastFrequentlyUsed,
}

/// Options of `python+memcached:`, beside those of `memcached:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Memcached {
    /// `session`: one client object in each process. `operation`: a new client and connection for every operation.
    connect: Connect,
    /// Send each request at once, without waiting for more.
    no_delay: bool,
    /// The longest wait for an answer. Without it: for ever.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
    /// The longest time of a new connection. Without it: as long as the system allows.
    #[serde(serialize_with = "seconds")]
    connect_timeout: Option<Span>,
    /// Do not wait for the answers to sets, so that it is unknown which values were stored. The package's own default
    /// is on; here it is off.
    noreply: bool,
    /// The package reports a failure of a get as a miss. Larder still tells them apart.
    ignore_exc: bool,
}

#[cfg(test)]
mod tests {
    use super::super::super::find;
    use super::*;

    #[test]
    fn sizes_and_numbers_that_leave_no_room_are_refused() {
        for (url, words) in [
            ("python+cachetools:?size=1k", "option `size`"),
            ("python+cachebox:?policy=best", "best"),
            ("python+lru_cache:?maxsize=0", "maxsize is 0; write at least 1"),
            ("python+lru_cache:?entry=0", "entry is 0"),
        ] {
            let url = StoreUrl::parse(url).unwrap();
            let cache = find(url.scheme()).unwrap();
            let said = (cache.options)(cache.engine.scheme, &url).unwrap_err().to_string();
            assert!(said.contains(words) && !said.contains('\n'), "{said}");
        }
    }
}
