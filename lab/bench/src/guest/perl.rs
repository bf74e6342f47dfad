//! Perl's caches: their abilities, and their options under the names of their modules.

use std::time::Duration;

use larder_store::{ByteSize, Durability, Engine, Medium, Mount, Reach, Recipe, Role, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::interpreter::schema_of;
use super::options::{self, Connect, Nothing, bytes, options_of, seconds};
use super::{Abilities, Cache, Keeps, Language, SILENCE, as_it_is, as_the_plan, library};

const PERL: Language = Language {
    name: "perl",
    interpreter: needs("perl"),
    arguments: |launch| vec![launch.home.join("guest.pl").into()],
    prepare: as_it_is,
    program: include!(concat!(env!("OUT_DIR"), "/perl.rs")),
    memory_bytes: as_the_plan,
    silence: SILENCE,
    is_shared: false,
};

/// Perl, and the package of a cache.
const fn needs(package: &'static str) -> Recipe {
    Recipe::new(Role::Interpreter, "perl", package)
}

/// An engine of Perl, with the fields that most of them share.
const fn engine(scheme: &'static str, recipes: &'static [Recipe]) -> Engine {
    options::engine(scheme, Medium::Files, recipes)
}

/// The abilities of a cache in files with TTLs of whole seconds.
const FILES: Abilities = Abilities {
    ttl: true,
    ttl_resolution: Duration::from_secs(1),
    touch: false,
    batch: false,
    evicts: false,
    reach: Reach::Host,
    durability: Durability::OsCache,
    bound: None,
    size: None,
    takes: &[],
};

/// Perl's caches, in the order of the documentation.
pub(super) const CACHES: &[Cache] = &[
    Cache {
        engine: Engine {
            summary: "Perl: keeps nothing, the floor under every measurement in Perl",
            example: "perl+null:",
            medium: Medium::Nothing,
            ..engine("perl+null", &[PERL.interpreter])
        },
        language: &PERL,
        name: "null",
        keeps: Keeps::Nothing,
        can: Abilities {
            touch: true,
            batch: true,
            reach: Reach::Process,
            durability: Durability::Volatile,
            ..FILES
        },
        options: options_of::<Nothing>,
    },
    Cache {
        engine: Engine {
            summary: "Perl: Cache::FileCache, one file for each key in folders by its hash",
            example: "perl+filecache:/var/tmp?cache_depth=2",
            options: schema_of::<FileCache>,
            ..engine("perl+filecache", &[needs("libcache-cache-perl")])
        },
        language: &PERL,
        name: "filecache",
        keeps: Keeps::Files,
        can: FILES,
        options: options_of::<FileCache>,
    },
    Cache {
        engine: Engine {
            summary: "Perl: Cache::Mmap, buckets in one file that processes map and lock",
            example: "perl+mmap:/dev/shm?size=64m&bucketsize=64k",
            options: schema_of::<Mmap>,
            ..engine("perl+mmap", &[needs("libcache-mmap-perl")])
        },
        language: &PERL,
        name: "mmap",
        keeps: Keeps::Files,
        // All entries have the same time to live.
        can: Abilities {
            ttl: false,
            evicts: true,
            bound: Some("bucketsize"),
            size: Some("size"),
            takes: &["buckets", "bucketsize"],
            ..FILES
        },
        options: options_of::<Mmap>,
    },
    Cache {
        engine: Engine {
            summary: "Perl: Cache::FastMmap, pages in one file that processes map and lock, in C",
            example: "perl+fastmmap:/dev/shm?size=64m&page_size=256k",
            options: schema_of::<FastMmap>,
            ..engine("perl+fastmmap", &[needs("libcache-fastmmap-perl")])
        },
        language: &PERL,
        name: "fastmmap",
        keeps: Keeps::Files,
        can: Abilities {
            evicts: true,
            bound: Some("page_size"),
            size: Some("size"),
            takes: &["cache_size"],
            ..FILES
        },
        options: options_of::<FastMmap>,
    },
    Cache {
        engine: Engine {
            summary: "Perl: Cache::Memcached::Fast; takes the options of `memcached:` too, which starts the servers",
            example: "perl+memcached:?connect=operation&m=64m",
            medium: Medium::Memory,
            capacity_option: Some("m"),
            connections_option: None,
            options: schema_of::<PerlMemcached>,
            ..engine("perl+memcached", &[needs("libcache-memcached-fast-perl")])
        },
        language: &PERL,
        name: "memcached",
        keeps: Keeps::Servers {
            scheme: "memcached",
            of_client: &["connect", "protocol"],
            follows: &[],
            limits: false,
            count: true,
        },
        can: Abilities { touch: true, batch: true, reach: Reach::Network, ..FILES },
        options: options_of::<PerlMemcached>,
    },
    library::cache(
        &PERL,
        "perl+larder",
        "Perl: Larder's own package, on its segment cache in a file that processes share",
        "perl+larder:/dev/shm?size=64m",
        &[needs("libffi-platypus-perl"), library::FOR_C],
    ),
    Cache {
        engine: Engine {
            summary: "Perl: a stack of the caches above; a hit is stored in all nearer tiers, where its TTL begins \
                      again",
            example: "perl+tiered:fastmmap:/dev/shm?size=4m|memcached:",
            medium: Medium::Tiers,
            options: schema_of::<Tiered>,
            ..engine("perl+tiered", &[PERL.interpreter])
        },
        language: &PERL,
        name: "tiered",
        keeps: Keeps::Tiers,
        can: FILES,
        options: options_of::<Tiered>,
    },
];

/// Options of `perl+filecache:`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct FileCache {
    /// `session`: one cache object in each process. `operation`: a new one for every operation.
    connect: Connect,
    /// Levels of folders above each file.
    cache_depth: u8,
    /// Time to live of values that are set without a TTL. Without it: for ever.
    #[serde(serialize_with = "seconds")]
    default_expires_in: Option<Span>,
    /// Remove expired entries at a set, if the last removal was `auto_purge_interval` ago.
    auto_purge_on_set: bool,
    /// Remove expired entries at a get, if the last removal was `auto_purge_interval` ago.
    auto_purge_on_get: bool,
    /// The interval at which expired entries are removed. Without it: never.
    #[serde(serialize_with = "seconds")]
    auto_purge_interval: Option<Span>,
    /// A file system in memory, mounted for the cache on a new folder in its path: `tmpfs:1g`, `tmpfs` or `ramfs`.
    #[serde(skip_serializing)]
    mount: Option<Mount>,
}

impl Default for FileCache {
    fn default() -> Self {
        Self {
            connect: Connect::default(),
            cache_depth: 3,
            default_expires_in: None,
            auto_purge_on_set: false,
            auto_purge_on_get: false,
            auto_purge_interval: None,
            mount: None,
        }
    }
}

/// Options of `perl+mmap:`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Mmap {
    /// The bytes that the cache should hold, which give the number of buckets. In a comparison it is the size of all
    /// keys and values, unless it is given.
    #[serde(serialize_with = "bytes")]
    size: Option<ByteSize>,
    /// Number of buckets. Without it: as many as `size` needs.
    buckets: Option<u32>,
    /// Size of a bucket. Without it: room for the largest value.
    #[serde(serialize_with = "bytes")]
    bucketsize: Option<ByteSize>,
    /// Buckets begin at a multiple of this size. Without it: of the system's page.
    #[serde(serialize_with = "bytes")]
    pagesize: Option<ByteSize>,
    /// Time to live of every entry. Without it: for ever.
    #[serde(serialize_with = "seconds")]
    expiry: Option<Span>,
    /// `on`: values are stored as they are. `off`: each value goes through Storable, as a reference.
    strings: bool,
    /// A file system in memory, mounted for the cache on a new folder in its path: `tmpfs:1g`, `tmpfs` or `ramfs`.
    #[serde(skip_serializing)]
    mount: Option<Mount>,
}

impl Default for Mmap {
    fn default() -> Self {
        Self {
            size: None,
            buckets: None,
            bucketsize: None,
            pagesize: None,
            expiry: None,
            strings: true,
            mount: None,
        }
    }
}

/// Options of `perl+fastmmap:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct FastMmap {
    /// The bytes that the cache should hold, which give the number of pages. In a comparison it is the size of all keys
    /// and values, unless it is given.
    #[serde(serialize_with = "bytes")]
    size: Option<ByteSize>,
    /// Size of a page, from 4k to 1m. Without it: room for the largest value.
    #[serde(serialize_with = "bytes")]
    page_size: Option<ByteSize>,
    /// Number of pages. Without it: as many as `size` needs.
    num_pages: Option<u32>,
    /// Time to live of values that are set without a TTL. Without it: for ever.
    #[serde(serialize_with = "seconds")]
    expire_time: Option<Span>,
    /// The library that compresses values. Without it: values are not compressed.
    compressor: Option<Compressor>,
    /// A file system in memory, mounted for the cache on a new folder in its path: `tmpfs:1g`, `tmpfs` or `ramfs`.
    #[serde(skip_serializing)]
    mount: Option<Mount>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Compressor {
    Zlib,
    Lz4,
    Snappy,
}

/// Options of `perl+memcached:`, beside those of `memcached:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct PerlMemcached {
    /// `session`: one client object in each process. `operation`: a new client and connection for every operation.
    connect: Connect,
    /// Compress values from this size on. Without it: never.
    #[serde(serialize_with = "bytes")]
    compress_threshold: Option<ByteSize>,
    /// The client does not send values above this size. Without it: 1m, the module's own limit.
    #[serde(serialize_with = "bytes")]
    max_size: Option<ByteSize>,
    /// The longest time of a new connection.
    #[serde(serialize_with = "seconds")]
    connect_timeout: Option<Span>,
    /// The longest wait for an answer.
    #[serde(serialize_with = "seconds")]
    io_timeout: Option<Span>,
    /// Points of each server on the ring. Without it: keys are spread in the module's older way.
    ketama_points: Option<u32>,
    /// Do not wait for the answer to a set whose caller ignores it.
    nowait: bool,
    /// Values that are marked as text come back as text.
    utf8: bool,
}

/// Options of `perl+tiered:`, behind its last tier.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Tiered {
    /// Drop each hit of the nearest tier, ask the next tier and fill the nearest again. This repeats the mistake of
    /// article A003's third stack.
    l1_drops_hits: bool,
}
