//! PHP's caches: what they are, what they can do, and their options by the names of their extensions.

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
use super::{Abilities, Cache, Keeps, Language, Launch, SILENCE, as_it_is, as_the_plan};

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

/// The least memory that APCu takes a number of bytes for: a smaller one is one of MiB to it.
const LEAST_SHARED: u64 = 1 << 20;

/// The arguments of PHP. As in a web server, opcache is on and its JIT as PHP has it, which is off; and a program is
/// compiled by it however new its files are. What PHP complains of goes where the guest's complaints go.
const SETTINGS: &[&str] = &[
    "memory_limit=-1",
    "display_errors=stderr",
    "display_startup_errors=1",
    "html_errors=0",
    "log_errors=0",
    "opcache.enable=1",
    "opcache.enable_cli=1",
    "opcache.file_update_protection=0",
];

/// PHP with the settings that can be given to its extensions only before it begins.
fn arguments(launch: &Launch<'_>) -> Vec<OsString> {
    let own = SETTINGS.iter().map(|setting| (*setting).to_owned());
    let of_parts = launch.parts.iter().flat_map(of_extension);
    let settings = own.chain(of_parts).flat_map(|setting| ["-d".into(), setting.into()]);
    settings.chain([launch.home.join("guest.php").into()]).collect()
}

/// The settings of the extension that a cache is in, whose options have its names.
fn of_extension(part: &PartFile<'_>) -> Vec<String> {
    let (switch, prefix) = match part.cache {
        "apcu" => ("apc.enable_cli=1", "apc"),
        // It is off on the command line otherwise.
        "xcache" => ("xcache.test=1", "xcache"),
        _ => return Vec::new(),
    };
    let options = part.options.as_object().into_iter().flatten();
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

/// PHP, and the package that brings what a cache of it is.
const fn needs(package: &'static str) -> Recipe {
    Recipe::new(Role::Interpreter, "php", package)
}

/// An engine of PHP with what most of them have in common.
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
            summary: "PHP: XCache, as APCu, where a PHP has it; its last release is for PHP 5.6",
            example: "php+xcache:?var_size=64m",
            capacity_option: Some("var_size"),
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
            options: schema_of::<Memcached>,
            ..engine("php+memcached", &[needs("php-memcached")])
        },
        language: &PHP,
        name: "memcached",
        keeps: SERVERS,
        can: Abilities { touch: true, reach: Reach::Network, ..MEMORY },
        options: options_of::<Memcached>,
    },
    Cache {
        engine: Engine {
            summary: "PHP: the extension memcache, which needs no library; takes the options of `memcached:` too, which starts the servers",
            example: "php+memcache:?chunk_size=8k&m=64m",
            capacity_option: Some("m"),
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
            summary: "PHP: a file for each key, written beside its place and renamed",
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
    Cache {
        engine: Engine {
            summary: "PHP: the caches above one behind the other; a hit is stored in all that are nearer, where its TTL begins anew",
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

/// XCache, which no package of Debian has brought since PHP 7.
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
    /// Size of the memory, at least 1m; in a comparison one that takes all keys and values. PHP's own default is 32m.
    #[serde(serialize_with = "bytes")]
    shm_size: Option<ByteSize>,
    /// How many entries the table is made for. PHP's own default is 4096; in a comparison of more the chains are long.
    entries_hint: Option<u32>,
    /// Where it is full, only what is older than this is dropped, as long as that makes room; without it everything is.
    #[serde(serialize_with = "seconds")]
    ttl: Option<Span>,
    /// How long what was removed while somebody read it may stay.
    #[serde(serialize_with = "seconds")]
    gc_ttl: Option<Span>,
    /// Refuses to store a key again that somebody else has stored within the last second.
    slam_defense: Option<bool>,
}

/// Less than APCu takes for a number of bytes it would take for one of MiB.
fn apcu(engine: &'static str, url: &StoreUrl) -> Result<Value> {
    let Apcu { shm_size, .. } = url.options(engine)?;
    match shm_size {
        Some(ByteSize(size)) if size < LEAST_SHARED => {
            let reason = format!(
                "option `shm_size`: {} is less than APCu's least, 1m; write shm_size=1m or more",
                ByteSize(size)
            );
            Err(Error::InvalidOptions { engine, reason })
        }
        _ => options_of::<Apcu>(engine, url),
    }
}

/// Options of `php+xcache:`: the settings `xcache.*` of PHP.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "XCache's own names of settings")]
struct Xcache {
    /// Size of the memory; in a comparison one that takes all keys and values. XCache's own default is none at all.
    #[serde(serialize_with = "bytes")]
    var_size: Option<ByteSize>,
    /// Into how many parts it is divided, each with its lock.
    var_count: Option<u32>,
    /// Slots of the table.
    var_slots: Option<u32>,
    /// Time to live of what is set without one; for ever where nobody says.
    #[serde(serialize_with = "seconds")]
    var_ttl: Option<Span>,
    /// The longest time to live.
    #[serde(serialize_with = "seconds")]
    var_maxttl: Option<Span>,
    /// How often what has expired is removed.
    #[serde(serialize_with = "seconds")]
    var_gc_interval: Option<Span>,
}

/// Options of `php+memcached:`, beside those of `memcached:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Memcached {
    /// `session`: one client object a process; `operation`: a new one, and a new connection, for every operation.
    connect: Connect,
    /// Speak the binary protocol and not the text.
    binary_protocol: Option<bool>,
    /// Send what is small at once.
    tcp_nodelay: Option<bool>,
    /// Compress values of 2000 bytes and more, as the extension does by itself. Off here, so that caches are compared and
    /// not codecs.
    compression: bool,
    /// How keys are spread over the servers; the extension's own way is `modula`.
    distribution: Option<Distribution>,
    /// How long a connection may take to be made; the extension's own limit is 4 s.
    #[serde(serialize_with = "seconds")]
    connect_timeout: Option<Span>,
    /// How long an answer may take; the extension's own limit is 5 s.
    #[serde(serialize_with = "seconds")]
    poll_timeout: Option<Span>,
}

/// Options of `php+memcache:`, beside those of `memcached:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Memcache {
    /// `session`: one client object a process; `operation`: a new one, and a new connection, for every operation.
    connect: Connect,
    /// How much is sent at once; a set of more may wait for 40 ms. The extension's own default is 32k; in its version 2 it
    /// was 8k.
    #[serde(serialize_with = "bytes")]
    chunk_size: Option<ByteSize>,
    /// Values from this size on are compressed; none where nobody says. The extension's own default is 20000 bytes.
    #[serde(serialize_with = "bytes")]
    compress_threshold: Option<ByteSize>,
    /// How keys are spread over the servers; the extension's own way is `consistent`.
    hash_strategy: Option<HashStrategy>,
    /// How long a connection or an answer may take, in whole seconds; the extension's own limit is 1 s.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
}

/// Options of `php+mongodb:`, beside those of `mongodb:`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(non_snake_case, reason = "MongoDB's own names of options")]
struct Mongodb {
    /// Whether a set waits until the server has taken it, `1`, or not, `0`, as the driver of 2011 did.
    w: Acknowledged,
    /// Whether a write is in the journal on the disk before it is acknowledged.
    journal: Option<bool>,
    /// How long an answer may take, in milliseconds.
    socketTimeoutMS: u32,
}

impl Default for Mongodb {
    fn default() -> Self {
        Self { w: Acknowledged::One, journal: None, socketTimeoutMS: 5000 }
    }
}

/// The guest speaks to servers as they are found: nobody has told it a name and a password.
fn mongodb(engine: &'static str, url: &StoreUrl) -> Result<Value> {
    let invalid = |reason: &str| Error::InvalidOptions { engine, reason: reason.into() };
    if url.user().is_some() {
        return Err(invalid("it speaks to servers that want no user; use `mongodb:` for others"));
    }
    let options = options_of::<Mongodb>(engine, url)?;
    if options["w"] == "0" && options["journal"] == true {
        return Err(invalid(
            "option `w`: nobody waits for the journal with w=0; write w=1, or leave out `journal`",
        ));
    }
    Ok(options)
}

/// Options of `php+file:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct File {
    /// Folders above each file, by its hash, at most 4; with none, all files lie in one.
    depth: u8,
    /// `checked`: a file is written beside its place and renamed, and a write that fails is an error; `unchecked`: a file is
    /// written under its own name, and nobody looks at whether it was, as many a script does. A reader that comes meanwhile
    /// finds a part of the value. A full file system leaves empty files, which are read as nothing.
    writes: Writes,
    /// A file system in memory that is mounted for it on a new folder in its path: `tmpfs:1g`, `tmpfs` or `ramfs`.
    #[serde(skip_serializing)]
    mount: Option<Mount>,
}

/// Whether a program looks at what became of a file that it wrote.
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
