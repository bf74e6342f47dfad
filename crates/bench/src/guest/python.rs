//! Python's caches: what they are, what they can do, and their options by the names of their packages.

use std::time::Duration;

use larder_store::{
    ByteSize, Durability, Engine, Error, Medium, Mount, Reach, Recipe, Result, Role, Source, Span,
    StoreUrl,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::interpreter::schema_of;
use super::options::{self, Connect, Nothing, bytes, options_of, seconds};
use super::{Abilities, Cache, Keeps, Language, SILENCE, as_it_is, as_the_plan};

const PYTHON: Language = Language {
    name: "python",
    interpreter: ENVIRONMENT,
    arguments: |launch| vec![launch.home.join("guest.py").into()],
    prepare: as_it_is,
    program: include!(concat!(env!("OUT_DIR"), "/python.rs")),
    memory_bytes: as_the_plan,
    silence: SILENCE,
    is_shared: false,
};

/// Python with the packages that its caches call, in an environment of its own. Where it is, everything runs in it, so that
/// the floor is that of the same interpreter.
const ENVIRONMENT: Recipe =
    Recipe { source: Source::Setup("python"), ..Recipe::new(Role::Interpreter, "bin/python3", "") };

/// Any Python: enough for what calls no package, or one that the user has installed.
const ANY: Recipe = Recipe::new(Role::Interpreter, "python3", "python3");

/// An engine of Python with what most of them have in common.
const fn engine(scheme: &'static str, recipes: &'static [Recipe]) -> Engine {
    options::engine(scheme, Medium::Memory, recipes)
}

/// The abilities of a cache in the memory of its process.
const MEMORY: Abilities = Abilities {
    ttl: true,
    ttl_resolution: Duration::from_millis(1),
    touch: true,
    batch: false,
    evicts: false,
    reach: Reach::Process,
    durability: Durability::Volatile,
    bound: None,
    size: None,
    takes: &[],
};

/// Python's caches, in the order of the documentation.
pub(super) const CACHES: &[Cache] = &[
    Cache {
        engine: Engine {
            summary: "Python: keeps nothing, the floor under every measurement in Python",
            example: "python+null:",
            medium: Medium::Nothing,
            ..engine("python+null", &[ANY])
        },
        language: &PYTHON,
        name: "null",
        keeps: Keeps::Nothing,
        can: Abilities { ttl_resolution: Duration::from_secs(1), batch: true, ..MEMORY },
        options: options_of::<Nothing>,
    },
    Cache {
        engine: Engine {
            summary: "Python: a dict, with the end of its time beside each value; without bound",
            example: "python+dict:",
            ..engine("python+dict", &[ANY])
        },
        language: &PYTHON,
        name: "dict",
        keeps: Keeps::Memory { shared: false },
        can: MEMORY,
        options: options_of::<Nothing>,
    },
    Cache {
        engine: Engine {
            summary: "Python: diskcache, SQLite with large values in files beside it, shared by processes",
            example: "python+diskcache:/var/tmp?eviction_policy=least-recently-used&shards=8",
            medium: Medium::Files,
            options: schema_of::<DiskCache>,
            ..engine("python+diskcache", &[ENVIRONMENT, ANY])
        },
        language: &PYTHON,
        name: "diskcache",
        keeps: Keeps::Files,
        can: Abilities {
            evicts: true,
            size: Some("size_limit"),
            takes: &["size_limit"],
            reach: Reach::Host,
            durability: Durability::OsCache,
            ..MEMORY
        },
        options: disk_cache,
    },
    Cache {
        engine: Engine {
            summary: "Python: pymemcache; takes the options of `memcached:` too, which starts the servers",
            example: "python+memcached:?connect=operation&m=64m",
            capacity_option: Some("m"),
            options: schema_of::<Memcached>,
            ..engine("python+memcached", &[ENVIRONMENT, ANY])
        },
        language: &PYTHON,
        name: "memcached",
        keeps: Keeps::Servers {
            scheme: "memcached",
            of_client: &["connect", "protocol"],
            follows: &[],
            limits: false,
            count: true,
        },
        can: Abilities {
            ttl_resolution: Duration::from_secs(1),
            batch: true,
            reach: Reach::Network,
            durability: Durability::OsCache,
            ..MEMORY
        },
        options: options_of::<Memcached>,
    },
];

/// Options of `python+diskcache:`, of which the package would take whatever it is given.
fn disk_cache(engine: &'static str, url: &StoreUrl) -> Result<Value> {
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
struct DiskCache {
    /// The bytes that it should hold in all before it culls; otherwise 1g, the package's own, or twice all keys and values of a
    /// comparison where that is more.
    #[serde(serialize_with = "bytes")]
    size_limit: Option<ByteSize>,
    /// The entries that go first when there is no room: `none`, `least-recently-stored`, `least-recently-used` or
    /// `least-frequently-used`. The last two write at every get.
    eviction_policy: EvictionPolicy,
    /// Entries that one set removes at most.
    cull_limit: u32,
    /// Hits and misses are counted, which is a write at every get.
    statistics: bool,
    /// Entries have an index by their tag, of which Larder gives them none.
    tag_index: bool,
    /// Folders over which keys are spread, each with a database of its own: with more than one the package's `FanoutCache`.
    /// Its time-outs, which it tells as misses or as values that were not stored, are errors here.
    shards: u32,
    /// Values from this size on are files.
    #[serde(serialize_with = "bytes")]
    disk_min_file_size: Option<ByteSize>,
    /// How long a write waits for another one; otherwise 60s, and 10ms with shards.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
    /// The writes that SQLite waits for: 0 for nothing, 1 for the disk at a checkpoint, 2 for the disk at every write.
    sqlite_synchronous: u8,
    /// A file system in memory that is mounted for it on a new folder in its path: `tmpfs:1g`, `tmpfs` or `ramfs`.
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
struct Memcached {
    /// `session`: one client object a process; `operation`: a new one, and a new connection, for every operation.
    connect: Connect,
    /// Sends each request at once, without waiting for more.
    no_delay: bool,
    /// How long an answer may take; for ever where nobody says.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
    /// How long a connection may take to be made; as long as the system takes where nobody says.
    #[serde(serialize_with = "seconds")]
    connect_timeout: Option<Span>,
    /// Sets do not wait for their answer, so that nobody knows what was stored: the package's own default, and off here.
    noreply: bool,
    /// Failures of a get are told as misses by the package; Larder tells them apart all the same.
    ignore_exc: bool,
}
