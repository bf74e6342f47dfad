//! Java's caches, with their abilities.

use std::time::Duration;

use larder_store::{Durability, Engine, Medium, Reach, Recipe};

use super::super::interpreter::schema_of;
use super::super::options::{self, Nothing, options_of};
use super::super::{Abilities, Cache, Keeps};
use super::options::{
    Caffeine, Ehcache, Guava, Hazelcast, Jedis, Lettuce, Memcached, Postgresql, ehcache, guava,
    hazelcast, sized,
};
use super::{CAFFEINE, EHCACHE, GUAVA, HAZELCAST, JAVA, JEDIS, LETTUCE, PGJDBC, SPYMEMCACHED};

/// An engine of Java, with the fields that most of them share.
const fn engine(scheme: &'static str, recipes: &'static [Recipe]) -> Engine {
    options::engine(scheme, Medium::Nothing, recipes)
}

const MILLISECOND: Duration = Duration::from_millis(1);

/// The abilities of the null cache, on which those of the other caches are based.
const ALL: Abilities = Abilities {
    ttl: true,
    ttl_resolution: Duration::from_secs(1),
    touch: true,
    batch: true,
    evicts: false,
    reach: Reach::Process,
    durability: Durability::Volatile,
    bound: None,
    size: None,
    takes: &[],
};

/// The abilities of a cache in the virtual machine that makes room by dropping entries.
const LOCAL: Abilities =
    Abilities { ttl_resolution: MILLISECOND, batch: false, evicts: true, ..ALL };

/// The setting with the bytes that a cache holds, where it rounds its size or has another bound.
const CAPACITY: &[&str] = &["capacity_bytes"];

/// The servers behind both clients of Redis. Their clients follow them in a database, and refuse what they cannot do.
const REDIS: Keeps = Keeps::Servers {
    scheme: "redis",
    of_client: &["connect", "timeout", "ttl_left"],
    follows: &["db", "tls", "via"],
    limits: false,
    count: true,
};

/// Java's caches, in the order of the documentation.
pub(in super::super) const CACHES: &[Cache] = &[
    Cache {
        engine: Engine {
            summary: "Java: keeps nothing, the floor under every measurement in Java",
            example: "java+null:",
            ..engine("java+null", &[JAVA.interpreter])
        },
        language: &JAVA,
        name: "null",
        keeps: Keeps::Nothing,
        can: ALL,
        options: options_of::<Nothing>,
    },
    Cache {
        engine: Engine {
            summary: "Java: a ConcurrentHashMap with a deadline beside each value; unbounded",
            example: "java+map:",
            medium: Medium::Memory,
            ..engine("java+map", &[JAVA.interpreter])
        },
        language: &JAVA,
        name: "map",
        keeps: Keeps::Memory { shared: true },
        can: Abilities { evicts: false, ..LOCAL },
        options: options_of::<Nothing>,
    },
    Cache {
        engine: Engine {
            summary: "Java: Caffeine, which drops entries by W-TinyLFU",
            example: "java+caffeine:?size=64m&executor=caller",
            medium: Medium::Memory,
            capacity_option: Some("size"),
            options: schema_of::<Caffeine>,
            ..engine("java+caffeine", &[CAFFEINE.jar, JAVA.interpreter])
        },
        language: &JAVA,
        name: "caffeine",
        keeps: Keeps::Memory { shared: true },
        can: Abilities { bound: Some("largest_bytes"), ..LOCAL },
        options: sized::<Caffeine>,
    },
    Cache {
        engine: Engine {
            summary: "Java: Guava's cache, an LRU in each of its segments; one expiry for all entries",
            example: "java+guava:?size=64m&concurrency=1",
            medium: Medium::Memory,
            capacity_option: Some("size"),
            options: schema_of::<Guava>,
            ..engine("java+guava", &[GUAVA.jar, JAVA.interpreter])
        },
        language: &JAVA,
        name: "guava",
        keeps: Keeps::Memory { shared: true },
        can: Abilities { ttl: false, touch: false, bound: Some("largest_bytes"), ..LOCAL },
        options: guava,
    },
    Cache {
        engine: Engine {
            summary: "Java: Ehcache, on the heap or outside it; samples entries, or goes round like a clock",
            example: "java+ehcache:?tier=offheap&size=64m",
            medium: Medium::Memory,
            capacity_option: Some("size"),
            options: schema_of::<Ehcache>,
            ..engine("java+ehcache", &[EHCACHE.jar, JAVA.interpreter])
        },
        language: &JAVA,
        name: "ehcache",
        keeps: Keeps::Memory { shared: true },
        can: Abilities { takes: CAPACITY, ..LOCAL },
        options: ehcache,
    },
    Cache {
        engine: Engine {
            summary: "Java: a map of Hazelcast inside the program, of one member or several; near cache by an option",
            example: "java+hazelcast:?near=on&members=2",
            medium: Medium::Memory,
            capacity_option: Some("size"),
            options: schema_of::<Hazelcast>,
            ..engine("java+hazelcast", &[HAZELCAST.jar, JAVA.interpreter])
        },
        language: &JAVA,
        name: "hazelcast",
        keeps: Keeps::Memory { shared: true },
        can: Abilities {
            ttl_resolution: Duration::from_secs(1),
            batch: true,
            takes: CAPACITY,
            ..LOCAL
        },
        options: hazelcast,
    },
    Cache {
        engine: Engine {
            summary: "Java: spymemcached; takes the options of `memcached:` too, which starts the servers",
            example: "java+memcached:?protocol=binary&hashing=ketama&m=64m",
            medium: Medium::Memory,
            capacity_option: Some("m"),
            connections_option: None,
            options: schema_of::<Memcached>,
            ..engine("java+memcached", &[SPYMEMCACHED.jar, JAVA.interpreter])
        },
        language: &JAVA,
        name: "memcached",
        keeps: Keeps::Servers {
            scheme: "memcached",
            of_client: &["connect", "protocol"],
            follows: &[],
            limits: true,
            count: true,
        },
        can: Abilities { reach: Reach::Network, ..ALL },
        options: options_of::<Memcached>,
    },
    Cache {
        engine: Engine {
            summary: "Java: Lettuce with synchronous commands; takes the options of `redis:` too, which starts the servers",
            example: "java+lettuce:?memory=64m",
            medium: Medium::Memory,
            capacity_option: Some("memory"),
            options: schema_of::<Lettuce>,
            ..engine("java+lettuce", &[LETTUCE.jar, JAVA.interpreter])
        },
        language: &JAVA,
        name: "lettuce",
        keeps: REDIS,
        can: Abilities { ttl_resolution: MILLISECOND, reach: Reach::Network, ..ALL },
        options: options_of::<Lettuce>,
    },
    Cache {
        engine: Engine {
            summary: "Java: Jedis with its pool of connections; takes the options of `redis:` too, which starts the servers",
            example: "java+jedis:?memory=64m",
            medium: Medium::Memory,
            capacity_option: Some("memory"),
            options: schema_of::<Jedis>,
            ..engine("java+jedis", &[JEDIS.jar, JAVA.interpreter])
        },
        language: &JAVA,
        name: "jedis",
        keeps: REDIS,
        can: Abilities { ttl_resolution: MILLISECOND, reach: Reach::Network, ..ALL },
        options: options_of::<Jedis>,
    },
    Cache {
        engine: Engine {
            summary: "Java: pgJDBC with prepared statements; takes the options of `postgresql:` too, which starts the server",
            example: "java+postgresql:?table=logged&synchronous_commit=off",
            medium: Medium::Files,
            options: schema_of::<Postgresql>,
            ..engine("java+postgresql", &[PGJDBC.jar, JAVA.interpreter])
        },
        language: &JAVA,
        name: "postgresql",
        keeps: Keeps::Servers {
            scheme: "postgresql",
            of_client: &[],
            follows: &[
                "database",
                "namespace",
                "sslmode",
                "sslrootcert",
                "synchronous_commit",
                "tls",
            ],
            limits: false,
            count: false,
        },
        can: Abilities { ttl_resolution: Duration::from_millis(1), reach: Reach::Network, ..ALL },
        options: options_of::<Postgresql>,
    },
];
