//! Go's caches: their abilities, their options under the names of their packages, and the compilation of their program.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use larder_host::disk;
use larder_host::managed;
use larder_host::scratch::ScratchDir;
use larder_store::{
    ByteSize, Engine, Error, Medium, PerProcess, Reach, Recipe, Result, Role, Source, Span,
    StoreUrl,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::interpreter::{Interpreter, schema_of};
use super::options::{self, Nothing, bytes, options_of, seconds};
use super::{Abilities, COMPILED, Cache, Keeps, Language, SILENCE, as_the_plan};

const GO: Language = Language {
    name: "go",
    interpreter: COMPILER,
    arguments: |_| Vec::new(),
    prepare,
    program: include!(concat!(env!("OUT_DIR"), "/go.rs")),
    memory_bytes: as_the_plan,
    silence: SILENCE,
    is_shared: false,
};

/// The `go` command that compiles the program. `setup.sh` brings it, with the modules and a compiled program.
const COMPILER: Recipe =
    Recipe { source: Source::Setup(FOLDER), ..Recipe::new(Role::Interpreter, "bin/go", "") };

/// The extra of `setup.sh`. Its folder has the sources that it has compiled, their modules, and the program.
const FOLDER: &str = "go";
const SOURCES: &str = "src";
const MODULES: &str = "vendor";
const PROGRAM: &str = "larder-go";

/// The longest time for the compiler. The first time, it also compiles the standard library.
const COMPILING: Duration = Duration::from_mins(10);

/// An engine of Go, with the fields that most of them share.
const fn engine(scheme: &'static str) -> Engine {
    options::engine(scheme, Medium::Memory, &[COMPILER])
}

/// The abilities of a cache in the memory of the program, which all its goroutines share.
const MEMORY: Abilities = Abilities { evicts: true, ..options::IN_PROCESS };

/// The abilities of a client of servers.
const CLIENT: Abilities =
    Abilities { touch: true, batch: true, evicts: false, reach: Reach::Network, ..MEMORY };

const IN_MEMORY: Keeps = Keeps::Memory { shared: true };

/// Go's caches, in the order of the documentation.
pub(super) const CACHES: &[Cache] = &[
    Cache {
        engine: Engine {
            summary: "Go: keeps nothing, the floor under every measurement in Go",
            example: "go+null:",
            medium: Medium::Nothing,
            ..engine("go+null")
        },
        language: &GO,
        name: "null",
        keeps: Keeps::Nothing,
        can: Abilities {
            ttl_resolution: Duration::from_secs(1),
            touch: true,
            batch: true,
            evicts: false,
            ..MEMORY
        },
        options: options_of::<Nothing>,
    },
    Cache {
        engine: Engine {
            summary: "Go: a sync.Map, or a map with a mutex, with an expiry time beside each value; unbounded",
            example: "go+map:?kind=mutex",
            options: schema_of::<Map>,
            ..engine("go+map")
        },
        language: &GO,
        name: "map",
        keeps: IN_MEMORY,
        can: Abilities { touch: true, evicts: false, ..MEMORY },
        options: options_of::<Map>,
    },
    Cache {
        engine: Engine {
            summary: "Go: golang-lru, an exact LRU behind one mutex, by bytes",
            example: "go+lru:?size=64m",
            capacity_option: Some("size"),
            options: schema_of::<Lru>,
            ..engine("go+lru")
        },
        language: &GO,
        name: "lru",
        keeps: IN_MEMORY,
        can: Abilities { ttl: false, bound: Some("size"), takes: &["size"], ..MEMORY },
        options: options_of::<Lru>,
    },
    Cache {
        engine: Engine {
            summary: "Go: ristretto, which decides behind its callers whether to keep an entry",
            example: "go+ristretto:?max_cost=64m",
            capacity_option: Some("max_cost"),
            options: schema_of::<Ristretto>,
            ..engine("go+ristretto")
        },
        language: &GO,
        name: "ristretto",
        keeps: IN_MEMORY,
        can: Abilities { bound: Some("max_cost"), takes: &["max_cost"], ..MEMORY },
        options: options_of::<Ristretto>,
    },
    Cache {
        engine: Engine {
            summary: "Go: otter, which keeps what is read often or lately",
            example: "go+otter:?maximum_weight=64m",
            capacity_option: Some("maximum_weight"),
            options: schema_of::<Otter>,
            ..engine("go+otter")
        },
        language: &GO,
        name: "otter",
        keeps: IN_MEMORY,
        can: Abilities {
            touch: true,
            bound: Some("maximum_weight"),
            takes: &["maximum_weight"],
            ..MEMORY
        },
        options: options_of::<Otter>,
    },
    Cache {
        engine: Engine {
            summary: "Go: theine, which keeps what is read often or lately",
            example: "go+theine:?maxsize=64m",
            capacity_option: Some("maxsize"),
            options: schema_of::<Theine>,
            ..engine("go+theine")
        },
        language: &GO,
        name: "theine",
        keeps: IN_MEMORY,
        can: Abilities { bound: Some("maxsize"), takes: &["maxsize"], ..MEMORY },
        options: options_of::<Theine>,
    },
    Cache {
        engine: Engine {
            summary: "Go: freecache, rings of bytes that the garbage collector does not look into",
            example: "go+freecache:?size=64m",
            capacity_option: Some("size"),
            options: schema_of::<Freecache>,
            ..engine("go+freecache")
        },
        language: &GO,
        name: "freecache",
        keeps: IN_MEMORY,
        can: Abilities {
            ttl_resolution: Duration::from_secs(1),
            touch: true,
            batch: true,
            bound: Some("longest_entry"),
            takes: &["size"],
            ..MEMORY
        },
        options: options_of::<Freecache>,
    },
    Cache {
        engine: Engine {
            summary: "Go: bigcache, queues of bytes that the garbage collector does not look into",
            example: "go+bigcache:?hard_max_cache_size=64m&shards=256",
            capacity_option: Some("hard_max_cache_size"),
            options: schema_of::<Bigcache>,
            ..engine("go+bigcache")
        },
        language: &GO,
        name: "bigcache",
        keeps: IN_MEMORY,
        can: Abilities {
            ttl: false,
            bound: Some("longest_entry"),
            takes: &["hard_max_cache_size"],
            ..MEMORY
        },
        options: bigcache,
    },
    Cache {
        engine: Engine {
            aliases: &["go+gomemcache"],
            summary: "Go: gomemcache; takes the options of `memcached:` too, which starts the servers",
            example: "go+memcached:?max_idle_conns=2&m=64m",
            capacity_option: Some("m"),
            options: schema_of::<Gomemcache>,
            ..engine("go+memcached")
        },
        language: &GO,
        name: "memcached",
        keeps: Keeps::Servers {
            scheme: "memcached",
            of_client: &["connect", "protocol"],
            follows: &[],
            limits: false,
            count: true,
        },
        can: Abilities { ttl_resolution: Duration::from_secs(1), ..CLIENT },
        options: options_of::<Gomemcache>,
    },
    Cache {
        engine: Engine {
            summary: "Go: go-redis; takes the options of `redis:` too, which starts the servers",
            example: "go+redis:?server=valkey&pool_size=4",
            capacity_option: Some("memory"),
            options: schema_of::<GoRedis>,
            ..engine("go+redis")
        },
        language: &GO,
        name: "redis",
        keeps: Keeps::Servers {
            scheme: "redis",
            of_client: &["connect"],
            follows: &["ca", "db", "insecure", "tls"],
            limits: false,
            count: true,
        },
        can: CLIENT,
        options: options_of::<GoRedis>,
    },
];

/// The folder of the extra of `setup.sh`.
fn brought() -> Option<PathBuf> {
    Some(managed::data_folder()?.join(FOLDER))
}

/// Links the program that `setup.sh` has compiled, if its sources are these. Otherwise the program is compiled once for
/// each `go` that the stores of this process use, before anything is measured.
fn prepare(engine: &'static str, home: &Path, interpreter: &Interpreter) -> Result<()> {
    static PROGRAMS: PerProcess<Mutex<BTreeMap<PathBuf, ScratchDir>>> = PerProcess::new();
    let link = home.join(COMPILED);
    let linked = |program: &Path| {
        symlink(program, &link).map_err(|error| disk::io_error(engine, "linking", &link, error))
    };
    let of_setup = brought().filter(|folder| !interpreter.is_named && is_current(folder));
    if let Some(folder) = of_setup {
        return linked(&folder.join(PROGRAM));
    }
    let mut programs = PROGRAMS.get().lock().unwrap_or_else(PoisonError::into_inner);
    let folder = match programs.entry(interpreter.program.clone()) {
        Entry::Occupied(folder) => folder.into_mut(),
        Entry::Vacant(none) => none.insert(compile(engine, home, &interpreter.program)?),
    };
    linked(&folder.path().join(PROGRAM))
}

/// Whether `setup.sh` has compiled the sources that this Larder has.
fn is_current(folder: &Path) -> bool {
    folder.join(PROGRAM).is_file() && GO.has_sources_in(&folder.join(SOURCES))
}

/// Compiles the program into a new folder, with the modules that `setup.sh` has brought and without a network.
fn compile(engine: &'static str, home: &Path, go: &Path) -> Result<ScratchDir> {
    let modules = brought().map(|folder| folder.join(SOURCES).join(MODULES));
    let same_modules = |modules: &PathBuf| {
        let theirs = modules.with_file_name("go.mod");
        fs::read(theirs)
            .is_ok_and(|theirs| fs::read(home.join("go.mod")).is_ok_and(|own| own == theirs))
    };
    let modules = modules.filter(same_modules).ok_or_else(|| Error::Unavailable {
        engine,
        what: format!(
            "the modules of Go's guests are missing or older: {}",
            COMPILER.source.command()
        ),
        source: None,
    })?;
    let link = home.join(MODULES);
    symlink(&modules, &link).map_err(|error| disk::io_error(engine, "linking", &link, error))?;
    let folder = ScratchDir::create(engine)?;
    let mut command = Command::new(go);
    command.arg("-C").arg(home);
    command.args(["build", "-mod=vendor", "-trimpath", "-buildvcs=false", "-o"]);
    command.arg(folder.path().join(PROGRAM)).arg(".");
    // No setting of the user's own programs changes this one.
    for (name, text) in [
        ("CGO_ENABLED", "0"),
        ("GOFLAGS", ""),
        ("GOPROXY", "off"),
        ("GOTOOLCHAIN", "local"),
        ("GOWORK", "off"),
    ] {
        command.env(name, text);
    }
    managed::run(engine, command, &folder, None, COMPILING)?;
    Ok(folder)
}

/// Checks the options of `go+bigcache:`, because the package stops the program at some values.
fn bigcache(engine: &'static str, url: &StoreUrl) -> Result<Value> {
    let Bigcache { shards, .. } = url.options(engine)?;
    if let Some(shards) = shards.filter(|shards| !shards.is_power_of_two()) {
        let reason = format!("shards is {shards}; write a power of two");
        return Err(Error::InvalidOptions { engine, reason });
    }
    options_of::<Bigcache>(engine, url)
}

/// Options of `go+map:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Map {
    /// `sync`: a `sync.Map`. `mutex` or `rwmutex`: a map behind a lock of that name.
    kind: Kind,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Sync,
    Mutex,
    Rwmutex,
}

/// Options of `go+lru:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Lru {
    /// The bytes of keys and values that it holds. In a comparison it fits all of them by default; otherwise 64m.
    #[serde(serialize_with = "bytes")]
    size: Option<ByteSize>,
}

/// Options of `go+ristretto:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Ristretto {
    /// The bytes of keys and values that it holds. In a comparison it fits all of them by default; otherwise 64m.
    #[serde(serialize_with = "bytes")]
    max_cost: Option<ByteSize>,
    /// The counters of how often keys are used. Without it: ten for every 256 bytes of `max_cost`.
    num_counters: Option<u32>,
    /// Count the package's own bytes of each entry in `max_cost` too. The package's own default is on; here it is off,
    /// so that all caches hold the same entries.
    internal_cost: bool,
    /// Wait after each set until it is decided whether the entry stays.
    wait: bool,
    /// Leave a set undone that a full buffer drops: it is a failure. Without it, the set waits until the buffer is empty.
    drops: bool,
}

/// Options of `go+otter:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Otter {
    /// The bytes of keys and values that it holds. In a comparison it fits all of them by default; otherwise 64m.
    #[serde(serialize_with = "bytes")]
    maximum_weight: Option<ByteSize>,
}

/// Options of `go+theine:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Theine {
    /// The bytes of keys and values that it holds. In a comparison it fits all of them by default; otherwise 64m.
    #[serde(serialize_with = "bytes")]
    maxsize: Option<ByteSize>,
}

/// Options of `go+freecache:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Freecache {
    /// The bytes of its rings, at least 512k; an entry takes at most a 1024th of them. In a comparison it fits all keys
    /// and values by default; otherwise 64m.
    #[serde(serialize_with = "bytes")]
    size: Option<ByteSize>,
}

/// Options of `go+bigcache:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Bigcache {
    /// The bytes of its queues, rounded up to whole mebibytes. In a comparison it fits all keys and values by default;
    /// otherwise 64m.
    #[serde(serialize_with = "bytes")]
    hard_max_cache_size: Option<ByteSize>,
    /// Queues that keys are spread over, a power of two. Without it: up to 1024, so that each has room for 16 of the
    /// largest entries.
    shards: Option<u32>,
    /// The life time of all entries. Without it: for ever.
    #[serde(serialize_with = "seconds")]
    life_window: Option<Span>,
}

/// Options of `go+memcached:`, beside those of `memcached:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Gomemcache {
    /// The connections that stay open between operations. Without it: one for each goroutine. The package's own default
    /// is 2.
    max_idle_conns: Option<u32>,
    /// The longest wait for an answer. Without it: 500ms, the package's own limit.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
}

/// Options of `go+redis:`, beside those of `redis:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct GoRedis {
    /// The most connections to each server. Without it: 10 for each processor, the package's own limit.
    pool_size: Option<u32>,
    /// The version of Redis' protocol, 2 or 3. Without it: 3.
    protocol: Option<u8>,
    /// The longest wait for an answer. Without it: 3s, the package's own limit.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
}
