//! Python's caches: their abilities, and their options under the names of their packages.

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

/// Python with the packages that its caches call, in an environment of its own. Where the environment exists, every
/// guest runs in it, so that the floor has the same interpreter.
const ENVIRONMENT: Recipe =
    Recipe { source: Source::Setup("python"), ..Recipe::new(Role::Interpreter, "bin/python3", "") };

/// Any Python: enough for a cache without a package, or with one that the user has installed.
const ANY: Recipe = Recipe::new(Role::Interpreter, "python3", "python3");

/// An engine of Python, with the fields that most of them share.
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
            summary: "Python: a dict with an expiry time beside each value; unbounded",
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
            connections_option: None,
            options: schema_of::<PythonMemcached>,
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
        options: options_of::<PythonMemcached>,
    },
];

/// Checks the options of `python+diskcache:`, because the package takes any value.
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
struct PythonMemcached {
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
