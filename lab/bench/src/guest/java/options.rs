//! Options of Java's caches, under the names of their libraries where these have one.

use larder_store::{ByteSize, Error, Result, Span, StoreUrl};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::options::{Connect, bytes, options_of, seconds};

/// The smallest size of a cache in the virtual machine.
const LEAST: u64 = 64 << 10;

const USUAL: ByteSize = ByteSize(64 << 20);

/// Reads options, and refuses a size that leaves no room for entries.
pub(super) fn sized<T: DeserializeOwned + Serialize>(
    engine: &'static str,
    url: &StoreUrl,
) -> Result<Value> {
    let options = options_of::<T>(engine, url)?;
    match options.get("size").and_then(Value::as_u64) {
        Some(size) if size < LEAST => Err(Error::SizeTooSmall {
            engine,
            option: "size",
            size: ByteSize(size),
            least: ByteSize(LEAST),
        }),
        _ => Ok(options),
    }
}

/// Checks the options of `java+guava:`.
pub(super) fn guava(engine: &'static str, url: &StoreUrl) -> Result<Value> {
    let Guava { concurrency, .. } = url.options(engine)?;
    if !(1..=256).contains(&concurrency) {
        let reason = format!("concurrency is {concurrency}; write 1 to 256");
        return Err(Error::InvalidOptions { engine, reason });
    }
    sized::<Guava>(engine, url)
}

/// Checks the options of `java+ehcache:`, which counts entries on the heap only.
pub(super) fn ehcache(engine: &'static str, url: &StoreUrl) -> Result<Value> {
    let Ehcache { tier, entries, .. } = url.options(engine)?;
    match (tier, entries) {
        (Tier::Offheap, Some(entries)) => {
            let reason =
                format!("entries is {entries} with tier=offheap, which is bounded by size");
            Err(Error::InvalidOptions { engine, reason })
        }
        _ => sized::<Ehcache>(engine, url),
    }
}

/// Checks the options of `java+hazelcast:`, whose map has at most six backups.
pub(super) fn hazelcast(engine: &'static str, url: &StoreUrl) -> Result<Value> {
    let Hazelcast { members, backups, partitions, near_entries, .. } = url.options(engine)?;
    let reason = if !(1..=8).contains(&members) {
        format!("members is {members}; write 1 to 8")
    } else if backups > 6 {
        format!("backups is {backups}; write 0 to 6")
    } else if partitions == 0 {
        "partitions is 0; write 271".to_owned()
    } else if near_entries == 0 {
        "near_entries is 0; a near cache holds at least 1".to_owned()
    } else {
        return sized::<Hazelcast>(engine, url);
    };
    Err(Error::InvalidOptions { engine, reason })
}

/// Options of `java+caffeine:`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Caffeine {
    /// Bytes that keys, values and 150 bytes for each entry may take before entries are dropped: the `maximumWeight`.
    #[serde(serialize_with = "bytes")]
    size: Option<ByteSize>,
    /// The thread that drops entries: `pool`, a thread of Java's common pool, which may be late; or `caller`, the thread
    /// that stores, which keeps the size exactly.
    executor: Executor,
}

impl Default for Caffeine {
    fn default() -> Self {
        Self { size: Some(USUAL), executor: Executor::default() }
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Executor {
    #[default]
    Pool,
    Caller,
}

/// Options of `java+guava:`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Guava {
    /// Bytes that keys, values and 150 bytes for each entry may take before entries are dropped: the `maximumWeight`.
    #[serde(serialize_with = "bytes")]
    size: Option<ByteSize>,
    /// The `concurrencyLevel`: each of this many segments, rounded up to a power of two, has a lock and an equal part of
    /// the size. With 1 the cache is an exact LRU.
    concurrency: u16,
    /// The one expiry of all entries. Without it: no expiry.
    #[serde(serialize_with = "seconds")]
    expire_after_write: Option<Span>,
}

impl Default for Guava {
    fn default() -> Self {
        Self { size: Some(USUAL), concurrency: 4, expire_after_write: None }
    }
}

/// Options of `java+ehcache:`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Ehcache {
    /// Bytes that entries may take before some are dropped. The library walks through each object on the heap to count
    /// its bytes. Outside the heap the size is rounded up to whole megabytes.
    #[serde(serialize_with = "bytes")]
    size: Option<ByteSize>,
    /// The place of the entries: `heap`, as objects; or `offheap`, as bytes that are copied at every access.
    tier: Tier,
    /// Bound the heap by this number of entries instead of `size`, so that no object is walked through.
    entries: Option<u32>,
}

impl Default for Ehcache {
    fn default() -> Self {
        Self { size: Some(USUAL), tier: Tier::default(), entries: None }
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tier {
    #[default]
    Heap,
    Offheap,
}

/// Options of `java+hazelcast:`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Hazelcast {
    /// Bytes that the entries of all members may take before some are dropped, in whole megabytes of each member.
    #[serde(serialize_with = "bytes")]
    size: Option<ByteSize>,
    /// Members of the cluster, all in one program. Each holds its part of the keys; threads ask the first.
    members: u8,
    /// Copies of each entry on other members, which take room beside `size`. The library's own default is 1.
    backups: u8,
    /// Parts into which the keys are spread. A set drops at most one entry, and only from the part of its key, so a cache
    /// with few entries in each part may hold more than its size.
    partitions: u16,
    /// Keep values that were read as objects in the asking member, too. Such a cache has no TTLs, because a near cache
    /// answers entries beyond theirs.
    near: bool,
    /// The entries of the near cache, the least recently used of which make room.
    near_entries: u32,
}

impl Default for Hazelcast {
    fn default() -> Self {
        Self {
            size: Some(USUAL),
            members: 1,
            backups: 0,
            partitions: 271,
            near: false,
            near_entries: 10_000,
        }
    }
}

/// Options of `java+lettuce:`, beside those of `redis:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Lettuce {
    /// `session`: one connection in each thread. `operation`: a new connection for every operation.
    connect: Connect,
    /// The longest wait for an answer. Without it: 5s; the client's own limit is a minute.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
}

/// Options of `java+jedis:`, beside those of `redis:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Jedis {
    /// `session`: one client with its pool in each thread. `operation`: a new client for every operation.
    connect: Connect,
    /// The longest wait for an answer. Without it: 2s, the client's own limit.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
}

/// Options of `java+memcached:`, beside those of `memcached:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Memcached {
    /// `session`: one client object in each thread. `operation`: a new client and connections for every operation.
    connect: Connect,
    /// The protocol that the client speaks.
    protocol: Protocol,
    /// The way in which keys are spread over several servers: `modulo` by the remainder of their hash; `ketama` by the
    /// client's own ring, which differs from the rings of other clients.
    hashing: Hashing,
    /// The longest wait for an answer. Without it: 2.5s, the client's own limit.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
}

/// Options of `java+postgresql:`, beside those of `postgresql:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Postgresql {
    /// `session`: one connection in each thread, with prepared statements. `operation`: a new one for every operation.
    connect: Connect,
    /// The longest time of a statement. Without it: 5s.
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

#[cfg(test)]
mod tests {
    use super::super::super::find;
    use super::*;

    #[test]
    fn sizes_and_numbers_that_leave_no_room_are_refused() {
        for (url, words) in [
            ("java+caffeine:?size=1k", "option `size`"),
            ("java+ehcache:?tier=disk", "disk"),
            ("java+ehcache:?tier=offheap&entries=5", "bounded by size"),
            ("java+guava:?concurrency=0", "concurrency is 0; write 1 to 256"),
            ("java+hazelcast:?members=0", "members is 0; write 1 to 8"),
            ("java+hazelcast:?backups=7", "backups is 7; write 0 to 6"),
            ("java+hazelcast:?partitions=0", "partitions is 0"),
            ("java+hazelcast:?near_entries=0", "near_entries is 0"),
        ] {
            let url = StoreUrl::parse(url).unwrap();
            let cache = find(url.scheme()).unwrap();
            let said = (cache.options)(cache.engine.scheme, &url).unwrap_err().to_string();
            assert!(said.contains(words) && !said.contains('\n'), "{said}");
        }
    }
}
