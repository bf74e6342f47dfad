//! The caches of Node.js: their abilities, and their options under the names of their packages.

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use larder_host::{disk, managed};
use larder_store::{
    ByteSize, Durability, Engine, Error, Medium, Reach, Recipe, Result, Role, Source, Span,
    StoreUrl,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::interpreter::{Interpreter, schema_of};
use super::options::{self, Nothing, bytes, options_of, seconds};
use super::{Abilities, Cache, Keeps, Language, Launch, SILENCE};

const NODE: Language = Language {
    name: "node",
    interpreter: ENVIRONMENT,
    arguments,
    prepare,
    program: include!(concat!(env!("OUT_DIR"), "/node.rs")),
    memory_bytes: |plan_bytes| plan_bytes.saturating_add(BESIDE_PLAN),
    silence: SILENCE,
    is_shared: false,
};

/// The folder of installed packages, beside a program and in the user's data.
const PACKAGES: &str = "node_modules";

/// Node.js with the packages that its caches call. Where it is there, every guest runs in it, so that the floor has the
/// same interpreter.
const ENVIRONMENT: Recipe =
    Recipe { source: Source::Setup("node"), ..Recipe::new(Role::Interpreter, "bin/node", "") };

/// Any Node.js: enough for a cache without a package.
const ANY: Recipe = Recipe::new(Role::Interpreter, "node", "nodejs");

/// The memory of a program beside its plan: V8, its compiled code, and garbage that is not collected yet.
const BESIDE_PLAN: u64 = 128 << 20;

/// The limit of V8's heap beyond the plan and the entries.
const HEAP: u64 = 2 << 30;

/// The most bytes of heap for a byte of an entry: keyv keeps a value as text in base64, beside the garbage of its
/// making.
const HEAP_FACTOR: u64 = 4;

/// An engine of Node.js, with the fields that most of them share.
const fn engine(scheme: &'static str, recipes: &'static [Recipe]) -> Engine {
    options::engine(scheme, Medium::Memory, recipes)
}

/// The abilities of a cache in the memory of its process.
const MEMORY: Abilities = Abilities { touch: true, batch: true, ..options::IN_PROCESS };

/// The caches of Node.js, in the order of the documentation.
pub(super) const CACHES: &[Cache] = &[
    Cache {
        engine: Engine {
            summary: "Node.js: keeps nothing, the floor under every measurement in Node.js",
            example: "node+null:?style=await",
            medium: Medium::Nothing,
            options: schema_of::<Null>,
            ..engine("node+null", &[ANY])
        },
        language: &NODE,
        name: "null",
        keeps: Keeps::Nothing,
        can: Abilities { ttl_resolution: Duration::from_secs(1), ..MEMORY },
        options: options_of::<Null>,
    },
    Cache {
        engine: Engine {
            summary: "Node.js: a Map with an expiry time beside each value; unbounded",
            example: "node+map:",
            ..engine("node+map", &[ANY])
        },
        language: &NODE,
        name: "map",
        keeps: Keeps::Memory { shared: false },
        can: Abilities { batch: false, ..MEMORY },
        options: options_of::<Nothing>,
    },
    Cache {
        engine: Engine {
            summary: "Node.js: lru-cache, an exact LRU in the memory of the process",
            example: "node+lru-cache:?maxSize=64m",
            capacity_option: Some("maxSize"),
            options: schema_of::<LruCache>,
            ..engine("node+lru-cache", &[ENVIRONMENT, ANY])
        },
        language: &NODE,
        name: "lru-cache",
        keeps: Keeps::Memory { shared: false },
        can: Abilities { batch: false, evicts: true, bound: Some("maxSize"), ..MEMORY },
        options: lru_cache,
    },
    Cache {
        engine: Engine {
            summary: "Node.js: node-cache, a table in the memory of the process; it evicts nothing, and clones values",
            example: "node+node-cache:?useClones=off",
            options: schema_of::<NodeCache>,
            ..engine("node+node-cache", &[ENVIRONMENT, ANY])
        },
        language: &NODE,
        name: "node-cache",
        keeps: Keeps::Memory { shared: false },
        can: MEMORY,
        options: options_of::<NodeCache>,
    },
    Cache {
        engine: Engine {
            summary: "Node.js: Keyv on a Map in the memory of the process, with promises; unbounded",
            example: "node+keyv:?serialization=off",
            options: schema_of::<Keyv>,
            ..engine("node+keyv", &[ENVIRONMENT, ANY])
        },
        language: &NODE,
        name: "keyv",
        keeps: Keeps::Memory { shared: false },
        can: MEMORY,
        options: options_of::<Keyv>,
    },
    Cache {
        engine: Engine {
            summary: "Node.js: memjs, by promises or callbacks; takes the options of `memcached:` too, which starts the servers",
            example: "node+memjs:?style=callback&m=64m",
            capacity_option: Some("m"),
            options: schema_of::<Memjs>,
            ..engine("node+memjs", &[ENVIRONMENT, ANY])
        },
        language: &NODE,
        name: "memjs",
        keeps: Keeps::Servers {
            scheme: "memcached",
            of_client: &["connect", "protocol"],
            follows: &[],
            limits: false,
            count: true,
        },
        can: Abilities {
            ttl_resolution: Duration::from_secs(1),
            batch: false,
            reach: Reach::Network,
            durability: Durability::OsCache,
            ..MEMORY
        },
        options: options_of::<Memjs>,
    },
    Cache {
        engine: Engine {
            summary: "Node.js: ioredis, by promises or callbacks; takes the options of `redis:` too, which starts the servers",
            example: "node+ioredis:?style=callback&memory=64m",
            capacity_option: Some("memory"),
            options: schema_of::<Ioredis>,
            ..engine("node+ioredis", &[ENVIRONMENT, ANY])
        },
        language: &NODE,
        name: "ioredis",
        keeps: Keeps::Servers {
            scheme: "redis",
            of_client: &["connect"],
            follows: &["db", "tls", "ca", "insecure"],
            limits: false,
            count: true,
        },
        can: Abilities { reach: Reach::Network, durability: Durability::OsCache, ..MEMORY },
        options: options_of::<Ioredis>,
    },
];

/// V8's own limit of its heap follows the memory of the machine, and a program that reaches it is killed. A larger limit
/// costs nothing until it is needed. The program collects garbage before it says that a plan is loaded.
fn arguments(launch: &Launch<'_>) -> Vec<OsString> {
    let room = launch.parts.iter().filter_map(|part| part.room_bytes).fold(0, u64::saturating_add);
    let heap = room.saturating_mul(HEAP_FACTOR).saturating_add(launch.plan_bytes);
    let heap = heap.saturating_add(HEAP) >> 20;
    let limit = format!("--max-old-space-size={heap}");
    vec!["--expose-gc".into(), limit.into(), launch.home.join("guest.js").into()]
}

/// Puts the packages beside the program, where Node.js looks for them.
fn prepare(engine: &'static str, home: &Path, _: &Interpreter) -> Result<()> {
    let packages = managed::data_folder().map(|data| data.join("node").join(PACKAGES));
    let Some(packages) = packages.filter(|packages| packages.is_dir()) else { return Ok(()) };
    let link = home.join(PACKAGES);
    symlink(packages, &link).map_err(|error| disk::io_error(engine, "linking", &link, error))
}

/// Checks the options of `node+lru-cache:`, because the package takes a 0 for no bound.
fn lru_cache(engine: &'static str, url: &StoreUrl) -> Result<Value> {
    let LruCache { max, maxSize, .. } = url.options(engine)?;
    let unbounded = match (max, maxSize) {
        (Some(0), _) => "max",
        (_, Some(ByteSize(0))) => "maxSize",
        _ => return options_of::<LruCache>(engine, url),
    };
    let reason = format!("{unbounded} is 0, which holds no entry; write 1 or more");
    Err(Error::InvalidOptions { engine, reason })
}

/// Options of `node+null:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Null {
    /// The way in which a call answers: `sync`, at once; `await`, by a promise; `callback`, by a call. The floor is that
    /// of `sync`.
    style: AnyStyle,
}

/// Options of `node+lru-cache:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(non_snake_case, reason = "the package's own names of options")]
struct LruCache {
    /// The bytes of keys and values that the cache holds. In a comparison it fits all of them by default, elsewhere 64m.
    #[serde(serialize_with = "bytes")]
    maxSize: Option<ByteSize>,
    /// The number of entries that the cache holds. In a comparison `maxSize` bounds it too.
    max: Option<u32>,
    /// A get begins the TTL again.
    updateAgeOnGet: bool,
}

/// Options of `node+node-cache:`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(non_snake_case, reason = "the package's own names of options")]
struct NodeCache {
    /// Clone each value when it is stored and when it is read, as the package does by default.
    useClones: bool,
    /// The number of entries after which the cache refuses further keys. Without it: no limit.
    maxKeys: Option<u32>,
    /// The interval at which expired entries are removed. Without it: 10m, the package's own default.
    #[serde(serialize_with = "seconds")]
    checkperiod: Option<Span>,
}

impl Default for NodeCache {
    fn default() -> Self {
        Self { useClones: true, maxKeys: None, checkperiod: None }
    }
}

/// Options of `node+keyv:`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Keyv {
    /// Keep each entry as JSON, as the package does by default; its text has a value in base64. `off` keeps the value.
    serialization: bool,
}

impl Default for Keyv {
    fn default() -> Self {
        Self { serialization: true }
    }
}

/// Options of `node+memjs:`, beside those of `memcached:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Memjs {
    /// The way in which the client answers: `await`, by a promise, or `callback`, by a call.
    style: Style,
    /// The longest wait for an answer, in steps of 1 ms. Without it: 500ms, the client's own limit.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
    /// The longest time of a new connection. Without it: twice `timeout`.
    #[serde(serialize_with = "seconds")]
    conntimeout: Option<Span>,
    /// Ask the next server after one has failed, for the client's 60 s.
    failover: bool,
}

/// Options of `node+ioredis:`, beside those of `redis:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(non_snake_case, reason = "the package's own names of options")]
struct Ioredis {
    /// The way in which the client answers: `await`, by a promise, or `callback`, by a call.
    style: Style,
    /// The longest wait for an answer. Without it: for ever, the client's own limit.
    #[serde(serialize_with = "seconds")]
    commandTimeout: Option<Span>,
    /// The longest time of a new connection. Without it: 10s, the client's own limit.
    #[serde(serialize_with = "seconds")]
    connectTimeout: Option<Span>,
    /// New connections that an operation waits for before it fails. Without it: 3. The client's own 20, ever later,
    /// take minutes on a server that is gone.
    maxRetriesPerRequest: Option<u32>,
}

/// The way in which a client answers that has both ways.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Style {
    #[default]
    Await,
    Callback,
}

/// The way in which the null cache answers.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum AnyStyle {
    #[default]
    Sync,
    Await,
    Callback,
}
