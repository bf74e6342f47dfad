//! Python's caches, with their abilities.

mod options;

use std::time::Duration;

use larder_store::{Durability, Engine, Medium, Reach, Recipe, Role, Source};

use super::interpreter::schema_of;
use super::options::{Nothing, engine as engine_of, options_of};
use super::{Abilities, Cache, Keeps, Language, SILENCE, as_it_is, as_the_plan, library};
use options::{
    CacheBox, CacheTools, DiskCache, LruCache, Memcached, PyLibMc, Redis, disk_cache, lru_cache,
    sized,
};

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
    engine_of(scheme, Medium::Memory, recipes)
}

/// The abilities of a cache in the memory of its process.
const MEMORY: Abilities = Abilities { touch: true, ..super::options::IN_PROCESS };

/// The servers behind both clients of memcached.
const MEMCACHED: Keeps = Keeps::Servers {
    scheme: "memcached",
    of_client: &["connect", "protocol"],
    follows: &[],
    limits: false,
    count: true,
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
            summary: "Python: cachetools, an LRU; LFU, FIFO or random by an option",
            example: "python+cachetools:?size=64m&policy=lfu",
            capacity_option: Some("size"),
            options: schema_of::<CacheTools>,
            ..engine("python+cachetools", &[ENVIRONMENT, ANY])
        },
        language: &PYTHON,
        name: "cachetools",
        keeps: Keeps::Memory { shared: false },
        can: Abilities { evicts: true, ..MEMORY },
        options: sized::<CacheTools>,
    },
    Cache {
        engine: Engine {
            summary: "Python: functools.lru_cache, an exact LRU by the number of its entries",
            example: "python+lru_cache:?maxsize=10000",
            capacity_option: Some("size"),
            options: schema_of::<LruCache>,
            ..engine("python+lru_cache", &[ANY])
        },
        language: &PYTHON,
        name: "lru_cache",
        keeps: Keeps::Memory { shared: false },
        can: Abilities {
            ttl: false,
            touch: false,
            evicts: true,
            takes: &["maxsize", "entry_bytes"],
            ..MEMORY
        },
        options: lru_cache,
    },
    Cache {
        engine: Engine {
            summary: "Python: cachebox, written in Rust; an LRU, or LFU, FIFO or random by an option",
            example: "python+cachebox:?size=64m&policy=lfu",
            capacity_option: Some("size"),
            options: schema_of::<CacheBox>,
            ..engine("python+cachebox", &[ENVIRONMENT, ANY])
        },
        language: &PYTHON,
        name: "cachebox",
        keeps: Keeps::Memory { shared: false },
        can: Abilities { evicts: true, ..MEMORY },
        options: sized::<CacheBox>,
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
            options: schema_of::<Memcached>,
            ..engine("python+memcached", &[ENVIRONMENT, ANY])
        },
        language: &PYTHON,
        name: "memcached",
        keeps: MEMCACHED,
        can: Abilities {
            ttl_resolution: Duration::from_secs(1),
            batch: true,
            reach: Reach::Network,
            durability: Durability::OsCache,
            ..MEMORY
        },
        options: options_of::<Memcached>,
    },
    Cache {
        engine: Engine {
            summary: "Python: pylibmc; takes the options of `memcached:` too, which starts the servers",
            example: "python+pylibmc:?protocol=binary&m=64m",
            capacity_option: Some("m"),
            connections_option: None,
            options: schema_of::<PyLibMc>,
            ..engine("python+pylibmc", &[ENVIRONMENT, ANY])
        },
        language: &PYTHON,
        name: "pylibmc",
        keeps: MEMCACHED,
        can: Abilities {
            ttl_resolution: Duration::from_secs(1),
            batch: true,
            reach: Reach::Network,
            durability: Durability::OsCache,
            ..MEMORY
        },
        options: options_of::<PyLibMc>,
    },
    Cache {
        engine: Engine {
            summary: "Python: redis-py; takes the options of `redis:` too, which starts the servers",
            example: "python+redis:?memory=64m",
            capacity_option: Some("memory"),
            options: schema_of::<Redis>,
            ..engine("python+redis", &[ENVIRONMENT, ANY])
        },
        language: &PYTHON,
        name: "redis",
        keeps: Keeps::Servers {
            scheme: "redis",
            of_client: &["connect", "timeout", "ttl_left"],
            follows: &["db", "tls", "via"],
            limits: false,
            count: true,
        },
        can: Abilities { batch: true, reach: Reach::Network, ..MEMORY },
        options: options_of::<Redis>,
    },
    library::cache(
        &PYTHON,
        "python+larder",
        "Python: Larder's own package, on its segment cache in a file that processes share",
        "python+larder:/dev/shm?size=64m",
        &[ENVIRONMENT, ANY, library::FOR_PYTHON],
    ),
];
