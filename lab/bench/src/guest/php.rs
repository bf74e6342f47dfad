//! PHP's caches: their abilities, and their options under the names of their extensions.

mod symfony;

use std::ffi::OsString;
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
use super::store::PartFile;
use super::{Abilities, Cache, Keeps, Language, Launch, SILENCE, as_it_is, as_the_plan, library};

const PHP: Language = Language {
    name: "php",
    interpreter: needs("php-cli"),
    arguments,
    prepare: as_it_is,
    program: include!(concat!(env!("OUT_DIR"), "/php.rs")),
    memory_bytes: as_the_plan,
    silence: SILENCE,
    is_shared: false,
};

/// The smallest number that APCu takes as bytes; it takes a smaller number as MiB.
const LEAST_SHARED: u64 = 1 << 20;

/// The settings of PHP. As in a web server, opcache is on, and its JIT is off as in PHP's default. Opcache compiles a
/// program however new its files are. PHP's complaints go to standard error, as the guest's do.
const SETTINGS: &[&str] = &[
    "memory_limit=-1",
    "display_errors=stderr",
    "display_startup_errors=1",
    "html_errors=0",
    "log_errors=0",
    "opcache.enable=1",
    "opcache.enable_cli=1",
    "opcache.file_update_protection=0",
    // As on every server in production. Symfony's cache checks keys in an assertion.
    "zend.assertions=-1",
];

/// The arguments of PHP, with the settings that its extensions take only at the start.
fn arguments(launch: &Launch<'_>) -> Vec<OsString> {
    let own = SETTINGS.iter().map(|setting| (*setting).to_owned());
    let of_parts = launch.parts.iter().flat_map(of_extension);
    let settings = own.chain(of_parts).flat_map(|setting| ["-d".into(), setting.into()]);
    settings.chain([launch.home.join("guest.php").into()]).collect()
}

/// The settings of a cache's extension, which have the names of the cache's options.
fn of_extension(part: &PartFile<'_>) -> Vec<String> {
    let (switch, prefix) = match part.cache {
        "apcu" | "symfony" => ("apc.enable_cli=1", "apc"),
        // Without this setting, XCache is off on the command line.
        "xcache" => ("xcache.test=1", "xcache"),
        _ => return Vec::new(),
    };
    let options = part.options.as_object().into_iter().flatten();
    let is_known =
        |name: &str| part.cache != symfony::SYMFONY.name || symfony::OF_APCU.contains(&name);
    let options = options.filter(|(name, _)| is_known(name));
    let given = options.filter_map(|(name, value)| {
        let value = match value {
            Value::Null => return None,
            Value::Bool(on) => u64::from(*on).to_string(),
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        Some(format!("{prefix}.{name}={value}"))
    });
    std::iter::once(switch.to_owned()).chain(given).collect()
}

/// The cache that a URL asks for, where an option decides about the abilities of a cache.
pub(super) fn chosen(cache: &'static Cache, url: &StoreUrl) -> &'static Cache {
    symfony::with_adapter(cache, url)
}

/// PHP, and the package of a cache.
const fn needs(package: &'static str) -> Recipe {
    Recipe::new(Role::Interpreter, "php", package)
}

/// An engine of PHP, with the fields that most of them share.
const fn engine(scheme: &'static str, recipes: &'static [Recipe]) -> Engine {
    options::engine(scheme, Medium::Memory, recipes)
}

/// The abilities of a cache in memory with TTLs of whole seconds.
const MEMORY: Abilities = Abilities {
    ttl: true,
    ttl_resolution: Duration::from_secs(1),
    touch: false,
    batch: true,
    evicts: true,
    reach: Reach::Host,
    durability: Durability::Volatile,
    bound: None,
    size: None,
    takes: &[],
};

/// PHP's caches, in the order of the documentation.
pub(super) const CACHES: &[Cache] = &[
    Cache {
        engine: Engine {
            summary: "PHP: keeps nothing, the floor under every measurement in PHP",
            example: "php+null:",
            medium: Medium::Nothing,
            ..engine("php+null", &[PHP.interpreter])
        },
        language: &PHP,
        name: "null",
        keeps: Keeps::Nothing,
        can: Abilities { touch: true, evicts: false, reach: Reach::Process, ..MEMORY },
        options: options_of::<Nothing>,
    },
    Cache {
        engine: Engine {
            summary: "PHP: APCu, a table in memory that forked processes share; empties itself when it is full",
            example: "php+apcu:?shm_size=64m",
            capacity_option: Some("shm_size"),
            connections_option: None,
            options: schema_of::<Apcu>,
            ..engine("php+apcu", &[needs("php-apcu")])
        },
        language: &PHP,
        name: "apcu",
        keeps: Keeps::Memory { shared: true },
        can: Abilities { bound: Some("shm_size"), ..MEMORY },
        options: apcu,
    },
    Cache {
        engine: Engine {
            summary: "PHP: XCache, like APCu, where PHP has the extension; its last release is for PHP 5.6",
            example: "php+xcache:?var_size=64m",
            capacity_option: Some("var_size"),
            connections_option: None,
            options: schema_of::<Xcache>,
            ..engine("php+xcache", &[XCACHE])
        },
        language: &PHP,
        name: "xcache",
        keeps: Keeps::Memory { shared: true },
        can: Abilities { batch: false, ..MEMORY },
        options: options_of::<Xcache>,
    },
    Cache {
        engine: Engine {
            summary: "PHP: the extension memcached, on libmemcached; takes the options of `memcached:` too, which starts the servers",
            example: "php+memcached:?connect=operation&m=64m",
            capacity_option: Some("m"),
            connections_option: None,
            options: schema_of::<PhpMemcached>,
            ..engine("php+memcached", &[needs("php-memcached")])
        },
        language: &PHP,
        name: "memcached",
        keeps: SERVERS,
        can: Abilities { touch: true, reach: Reach::Network, ..MEMORY },
        options: options_of::<PhpMemcached>,
    },
    Cache {
        engine: Engine {
            summary: "PHP: the extension memcache, which needs no library; takes the options of `memcached:` too, which starts the servers",
            example: "php+memcache:?chunk_size=8k&m=64m",
            capacity_option: Some("m"),
            connections_option: None,
            options: schema_of::<Memcache>,
            ..engine("php+memcache", &[needs("php-memcache")])
        },
        language: &PHP,
        name: "memcache",
        keeps: SERVERS,
        can: Abilities { reach: Reach::Network, ..MEMORY },
        options: options_of::<Memcache>,
    },
    Cache {
        engine: Engine {
            summary: "PHP: the extension redis (phpredis); takes the options of `redis:` too, which starts the servers",
            example: "php+redis:?connect=operation&memory=64m",
            capacity_option: Some("memory"),
            connections_option: None,
            options: schema_of::<Redis>,
            ..engine("php+redis", &[needs("php-redis")])
        },
        language: &PHP,
        name: "redis",
        keeps: Keeps::Servers {
            scheme: "redis",
            of_client: &["connect"],
            follows: &["db"],
            limits: false,
            count: true,
        },
        can: Abilities {
            ttl_resolution: Duration::from_millis(1),
            touch: true,
            reach: Reach::Network,
            ..MEMORY
        },
        options: options_of::<Redis>,
    },
    Cache {
        engine: Engine {
            summary: "PHP: the extension mongodb; takes the options of `mongodb:` too, which starts a server",
            example: "php+mongodb:?w=0",
            medium: Medium::Files,
            options: schema_of::<Mongodb>,
            ..engine("php+mongodb", &[needs("php-mongodb")])
        },
        language: &PHP,
        name: "mongodb",
        keeps: Keeps::Servers {
            scheme: "mongodb",
            of_client: &["w", "journal"],
            follows: &[],
            limits: false,
            count: false,
        },
        can: Abilities {
            ttl_resolution: Duration::from_millis(1),
            touch: true,
            evicts: false,
            reach: Reach::Network,
            ..MEMORY
        },
        options: mongodb,
    },
    Cache {
        engine: Engine {
            summary: "PHP: a file for each key, written under another name and renamed",
            example: "php+file:/dev/shm?depth=2",
            medium: Medium::Files,
            options: schema_of::<File>,
            ..engine("php+file", &[PHP.interpreter])
        },
        language: &PHP,
        name: "file",
        keeps: Keeps::Files,
        can: Abilities {
            ttl_resolution: Duration::from_millis(1),
            batch: false,
            evicts: false,
            durability: Durability::OsCache,
            ..MEMORY
        },
        options: options_of::<File>,
    },
    symfony::SYMFONY,
    library::cache(
        &PHP,
        "php+larder",
        "PHP: Larder's own package by FFI, on its segment cache in a file that processes share",
        "php+larder:/dev/shm?size=64m",
        &[PHP.interpreter, library::FOR_C],
    ),
    Cache {
        engine: Engine {
            summary: "PHP: a stack of the caches above; a hit is stored in all nearer tiers, where its TTL begins \
                      again",
            example: "php+tiered:apcu:?shm_size=4m|memcached:",
            medium: Medium::Tiers,
            ..engine("php+tiered", &[PHP.interpreter])
        },
        language: &PHP,
        name: "tiered",
        keeps: Keeps::Tiers,
        can: MEMORY,
        options: options_of::<Nothing>,
    },
];

/// XCache, which has had no package in Debian since PHP 7.
const XCACHE: Recipe =
    Recipe { source: Source::Page("https://github.com/lighttpd/xcache"), ..needs("php-cli") };

/// The servers behind both extensions for memcached.
const SERVERS: Keeps = Keeps::Servers {
    scheme: "memcached",
    of_client: &["connect", "protocol"],
    follows: &[],
    limits: false,
    count: true,
};

/// Options of `php+apcu:`: the settings `apc.*` of PHP.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Apcu {
    /// Size of the memory, at least 1m. In a comparison it fits all keys and values by default; PHP's default is 32m.
    #[serde(serialize_with = "bytes")]
    shm_size: Option<ByteSize>,
    /// The number of entries that the table is made for. Without it: 4096, PHP's own default. More make long chains.
    entries_hint: Option<u32>,
    /// A full cache drops only entries older than this, if that makes room. Without it: a full cache drops all entries.
    #[serde(serialize_with = "seconds")]
    ttl: Option<Span>,
    /// The longest stay of an entry that was removed while a process read it.
    #[serde(serialize_with = "seconds")]
    gc_ttl: Option<Span>,
    /// Refuse to store a key that another process has stored within the last second.
    slam_defense: Option<bool>,
}

/// Refuses a `shm_size` so small that APCu would take the number of bytes as MiB.
fn apcu(engine: &'static str, url: &StoreUrl) -> Result<Value> {
    let Apcu { shm_size, .. } = url.options(engine)?;
    match shm_size {
        Some(ByteSize(size)) if size < LEAST_SHARED => {
            Err(Error::InvalidOptions { engine, reason: too_little_shared(size) })
        }
        _ => options_of::<Apcu>(engine, url),
    }
}

/// The reason why a memory of this many bytes is refused.
fn too_little_shared(size: u64) -> String {
    format!(
        "option `shm_size`: {} is less than APCu's least, 1m; write shm_size=1m or more",
        ByteSize(size)
    )
}

/// Options of `php+xcache:`: the settings `xcache.*` of PHP.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "XCache's own names of settings")]
struct Xcache {
    /// Size of the memory. In a comparison it fits all keys and values by default; XCache's own default is 0.
    #[serde(serialize_with = "bytes")]
    var_size: Option<ByteSize>,
    /// The number of parts of the memory, each with a lock of its own.
    var_count: Option<u32>,
    /// Slots of the table.
    var_slots: Option<u32>,
    /// Time to live of values that are set without a TTL. Without it: for ever.
    #[serde(serialize_with = "seconds")]
    var_ttl: Option<Span>,
    /// The longest time to live.
    #[serde(serialize_with = "seconds")]
    var_maxttl: Option<Span>,
    /// The interval at which expired entries are removed.
    #[serde(serialize_with = "seconds")]
    var_gc_interval: Option<Span>,
}

/// Options of `php+memcached:`, beside those of `memcached:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct PhpMemcached {
    /// `session`: one client object in each process. `operation`: a new client and connection for every operation.
    connect: Connect,
    /// Speak the binary protocol instead of the text protocol.
    binary_protocol: Option<bool>,
    /// Send small requests at once.
    tcp_nodelay: Option<bool>,
    /// Compress values of 2000 bytes and more, as the extension does by default. Off here, so that a run compares
    /// caches and not codecs.
    compression: bool,
    /// The way in which keys are spread over the servers. Without it: `modula`, the extension's own way.
    distribution: Option<Distribution>,
    /// The longest time of a new connection. Without it: 4s, the extension's own limit.
    #[serde(serialize_with = "seconds")]
    connect_timeout: Option<Span>,
    /// The longest wait for an answer. Without it: 5s, the extension's own limit.
    #[serde(serialize_with = "seconds")]
    poll_timeout: Option<Span>,
}

/// Options of `php+memcache:`, beside those of `memcached:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Memcache {
    /// `session`: one client object in each process. `operation`: a new client and connection for every operation.
    connect: Connect,
    /// The bytes that are sent at once; a larger set may wait for 40 ms. Without it: 32k, the extension's own default,
    /// which was 8k in version 2.
    #[serde(serialize_with = "bytes")]
    chunk_size: Option<ByteSize>,
    /// Compress values from this size on. Without it: never. The extension's own default is 20000 bytes.
    #[serde(serialize_with = "bytes")]
    compress_threshold: Option<ByteSize>,
    /// The way in which keys are spread over the servers. Without it: `consistent`, the extension's own way.
    hash_strategy: Option<HashStrategy>,
    /// The longest time of a new connection or an answer, in whole seconds. Without it: 1s, the extension's own limit.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
}

/// Options of `php+redis:`, beside those of `redis:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Redis {
    /// `session`: one client object in each process. `operation`: a new client and connection for every operation.
    connect: Connect,
    /// The longest time of a new connection. Without it: 5s; the extension itself would wait for as long as the system
    /// does.
    #[serde(serialize_with = "seconds")]
    connect_timeout: Option<Span>,
    /// The longest wait for an answer. Without it: 5s; the extension itself would wait for a minute.
    #[serde(serialize_with = "seconds")]
    read_timeout: Option<Span>,
}

/// Options of `php+mongodb:`, beside those of `mongodb:`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(non_snake_case, reason = "MongoDB's own names of options")]
struct Mongodb {
    /// `1`: a set waits until the server has taken it. `0`: a set does not wait, as in the driver of 2011.
    w: Acknowledged,
    /// Whether a write is in the journal on the disk before it is acknowledged.
    journal: Option<bool>,
    /// The longest wait for an answer, in milliseconds.
    socketTimeoutMS: u32,
}

impl Default for Mongodb {
    fn default() -> Self {
        Self { w: Acknowledged::One, journal: None, socketTimeoutMS: 5000 }
    }
}

/// Refuses a user in the URL, because the guest gets neither a name nor a password.
fn mongodb(engine: &'static str, url: &StoreUrl) -> Result<Value> {
    let invalid = |reason: &str| Error::InvalidOptions { engine, reason: reason.into() };
    if url.user().is_some() {
        return Err(invalid(
            "this guest has no user and password; use `mongodb:` for servers that need them",
        ));
    }
    let options = options_of::<Mongodb>(engine, url)?;
    if options["w"] == "0" && options["journal"] == true {
        return Err(invalid(
            "option `w`: a write with w=0 waits for no journal; write w=1, or leave out `journal`",
        ));
    }
    Ok(options)
}

/// Options of `php+file:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct File {
    /// Levels of folders above each file, by its hash, at most 4. With 0 all files lie in one folder.
    depth: u8,
    /// `checked`: a file is written beside its place and renamed, and a failed write is an error. `unchecked`: a file
    /// is written under its own name without a check, as in many scripts. A concurrent reader may then find a part of a
    /// value. A full file system leaves empty files, which are read as no value.
    writes: Writes,
    /// A file system in memory, mounted for the cache on a new folder in its path: `tmpfs:1g`, `tmpfs` or `ramfs`.
    #[serde(skip_serializing)]
    mount: Option<Mount>,
}

/// Whether a program checks the files that it writes.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Writes {
    #[default]
    Checked,
    Unchecked,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Distribution {
    Modula,
    Consistent,
    Ketama,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum HashStrategy {
    Standard,
    Consistent,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
enum Acknowledged {
    #[serde(rename = "0")]
    Zero,
    #[serde(rename = "1")]
    One,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_shared_memory_than_apcu_takes_is_refused() {
        let options = |url: &str| apcu("php+apcu", &StoreUrl::parse(url).unwrap());
        let refused = options("php+apcu:?shm_size=64k").unwrap_err().to_string();
        let words =
            "option `shm_size`: 64 KiB is less than APCu's least, 1m; write shm_size=1m or more";
        assert!(refused.contains(words), "{refused}");
        assert_eq!(options("php+apcu:?shm_size=1m").unwrap()["shm_size"], 1 << 20);
        assert_eq!(options("php+apcu:").unwrap()["shm_size"], Value::Null);
    }
}
