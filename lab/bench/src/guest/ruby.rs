//! Ruby's caches: their abilities, and their options under the names of their libraries.

use std::time::Duration;

use larder_store::{
    ByteSize, Durability, Engine, Medium, Mount, Reach, Recipe, Role, Source, Span,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::interpreter::schema_of;
use super::options::{self, Connect, Nothing, bytes, options_of, seconds};
use super::{Abilities, Cache, Keeps, Language, SILENCE, as_it_is, as_the_plan, library};

const RUBY: Language = Language {
    name: "ruby",
    interpreter: WITH_LIBRARIES,
    arguments: |launch| vec![launch.home.join("guest.rb").into()],
    prepare: as_it_is,
    program: include!(concat!(env!("OUT_DIR"), "/ruby.rs")),
    memory_bytes: as_the_plan,
    silence: SILENCE,
    is_shared: false,
};

/// The Ruby for which the libraries of its caches were brought.
const WITH_LIBRARIES: Recipe =
    Recipe { source: Source::Setup("ruby"), ..Recipe::new(Role::Interpreter, "bin/ruby", "") };

/// Any Ruby: enough for a cache without a library, or with one that the user has installed.
const ANY: Recipe = Recipe::new(Role::Interpreter, "ruby", "ruby");

/// An engine of Ruby, with the fields that most of them share.
const fn engine(scheme: &'static str, recipes: &'static [Recipe]) -> Engine {
    options::engine(scheme, Medium::Memory, recipes)
}

/// The abilities of a cache in the memory of its process.
const MEMORY: Abilities = options::IN_PROCESS;

/// Ruby's caches, in the order of the documentation.
pub(super) const CACHES: &[Cache] = &[
    Cache {
        engine: Engine {
            summary: "Ruby: keeps nothing, the floor under every measurement in Ruby",
            example: "ruby+null:",
            medium: Medium::Nothing,
            ..engine("ruby+null", &[ANY])
        },
        language: &RUBY,
        name: "null",
        keeps: Keeps::Nothing,
        can: Abilities {
            ttl_resolution: Duration::from_secs(1),
            touch: true,
            batch: true,
            ..MEMORY
        },
        options: options_of::<Nothing>,
    },
    Cache {
        engine: Engine {
            summary: "Ruby: a Hash with an expiry time beside each value; unbounded",
            example: "ruby+hash:",
            ..engine("ruby+hash", &[ANY])
        },
        language: &RUBY,
        name: "hash",
        keeps: Keeps::Memory { shared: false },
        can: Abilities { touch: true, ..MEMORY },
        options: options_of::<Nothing>,
    },
    Cache {
        engine: Engine {
            summary: "Ruby: ActiveSupport's MemoryStore; once it is full, the least recently used quarter makes room",
            example: "ruby+memorystore:?size=64m",
            capacity_option: Some("size"),
            connections_option: None,
            options: schema_of::<MemoryStore>,
            ..engine("ruby+memorystore", &[WITH_LIBRARIES, ANY])
        },
        language: &RUBY,
        name: "memorystore",
        keeps: Keeps::Memory { shared: false },
        can: Abilities { evicts: true, bound: Some("largest_entry"), ..MEMORY },
        options: options_of::<MemoryStore>,
    },
    Cache {
        engine: Engine {
            summary: "Ruby: ActiveSupport's FileStore, one file for each key in folders by its hash",
            example: "ruby+filestore:/var/tmp",
            medium: Medium::Files,
            options: schema_of::<FileStore>,
            ..engine("ruby+filestore", &[WITH_LIBRARIES, ANY])
        },
        language: &RUBY,
        name: "filestore",
        keeps: Keeps::Files,
        can: Abilities { reach: Reach::Host, durability: Durability::OsCache, ..MEMORY },
        options: options_of::<FileStore>,
    },
    Cache {
        engine: Engine {
            summary: "Ruby: Dalli; takes the options of `memcached:` too, which starts the servers",
            example: "ruby+dalli:?raw=off&m=64m",
            capacity_option: Some("m"),
            connections_option: None,
            options: schema_of::<Dalli>,
            ..engine("ruby+dalli", &[WITH_LIBRARIES, ANY])
        },
        language: &RUBY,
        name: "dalli",
        keeps: Keeps::Servers {
            scheme: "memcached",
            of_client: &["connect", "protocol"],
            follows: &[],
            limits: false,
            count: true,
        },
        can: Abilities {
            ttl_resolution: Duration::from_secs(1),
            touch: true,
            batch: true,
            reach: Reach::Network,
            ..MEMORY
        },
        options: options_of::<Dalli>,
    },
    library::cache(
        &RUBY,
        "ruby+larder",
        "Ruby: Larder's own package, on its segment cache in a file that processes share",
        "ruby+larder:/dev/shm?size=64m",
        &[WITH_LIBRARIES, ANY, library::FOR_RUBY],
    ),
    Cache {
        engine: Engine {
            summary: "Ruby: a stack of the caches above; a hit is stored in all nearer tiers, where its TTL begins \
                      again",
            example: "ruby+tiered:memorystore:?size=4m|dalli:",
            medium: Medium::Tiers,
            ..engine("ruby+tiered", &[WITH_LIBRARIES, ANY])
        },
        language: &RUBY,
        name: "tiered",
        keeps: Keeps::Tiers,
        can: MEMORY,
        options: options_of::<Nothing>,
    },
];

/// Options of `ruby+memorystore:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct MemoryStore {
    /// The bytes of keys and values, and 240 for each entry, that the store holds before it drops entries. In a
    /// comparison it fits all keys and values by default; the store's own default is 32m.
    #[serde(serialize_with = "bytes")]
    size: Option<ByteSize>,
    /// The longest time in which one set drops entries. Without it: 2s, the store's own limit.
    #[serde(serialize_with = "seconds")]
    max_prune_time: Option<Span>,
}

/// Options of `ruby+filestore:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct FileStore {
    /// Compress larger values, as the store does by default. Off here, so that a run compares caches and not codecs.
    compression: bool,
    /// With `compression`, the size from which on values are compressed. Without it: 1k, the store's own limit.
    #[serde(serialize_with = "bytes")]
    compress_threshold: Option<ByteSize>,
    /// A file system in memory, mounted for the cache on a new folder in its path: `tmpfs:1g`, `tmpfs` or `ramfs`.
    #[serde(skip_serializing)]
    mount: Option<Mount>,
}

/// Options of `ruby+dalli:`, beside those of `memcached:`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Dalli {
    /// `session`: one client object in each process. `operation`: a new client and connection for every operation.
    connect: Connect,
    /// Values are stored as they are. `off`: each goes through Marshal, as by the client's own default.
    raw: bool,
    /// Compress values of 4k and more, as the client does by default. Off here, so that a run compares caches and not
    /// codecs.
    compression: bool,
    /// The longest time of a new connection, or wait for an answer. Without it: 1s, the client's own limit.
    #[serde(serialize_with = "seconds")]
    socket_timeout: Option<Span>,
    /// The time for which a failed server is not asked again. Without it: 30s, the client's own.
    #[serde(serialize_with = "seconds")]
    down_retry_delay: Option<Span>,
}

impl Default for Dalli {
    fn default() -> Self {
        Self {
            connect: Connect::default(),
            raw: true,
            compression: false,
            socket_timeout: None,
            down_retry_delay: None,
        }
    }
}
