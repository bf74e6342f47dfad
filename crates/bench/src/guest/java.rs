//! Java's caches: what they are, what they can do, their options, and how their program becomes one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use larder_host::disk;
use larder_host::managed;
use larder_host::scratch::ScratchDir;
use larder_store::{Durability, Engine, Error, Medium, Reach, Recipe, Result, Role, Source, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::interpreter::{Interpreter, schema_of};
use super::options::{self, Connect, Nothing, options_of, seconds};
use super::{Abilities, Cache, Keeps, Language, Launch, SILENCE};

const JAVA: Language = Language {
    name: "java",
    interpreter: Recipe::new(Role::Interpreter, "java", JDK),
    arguments,
    prepare,
    program: include!(concat!(env!("OUT_DIR"), "/java.rs")),
    memory_bytes,
    silence: SILENCE,
    is_shared: true,
};

/// The package of a virtual machine, with the compiler.
const JDK: &str = "default-jdk-headless";

/// The clients, where `setup.sh` puts them; all that they need lies in a folder beside them.
const SPYMEMCACHED: Recipe = jar("spymemcached.jar");
const PGJDBC: Recipe = jar("postgresql.jar");

const fn jar(program: &'static str) -> Recipe {
    Recipe { source: Source::Setup("java"), ..Recipe::new(Role::Library, program, "") }
}

/// The folder of the compiled program, in that of its sources.
const CLASSES: &str = "classes";

/// The sources that cannot be compiled without their client.
const WITH_SPYMEMCACHED: [&str; 2] = ["MemcachedCache.java", "SpyLogger.java"];

/// How long the compiler may take; on a machine with nothing else to do it is two seconds.
const COMPILING: Duration = Duration::from_mins(2);

/// The heap beside the plan, in bytes, and the step in which it grows.
const HEAP: u64 = 256 << 20;
const HEAP_STEP: u64 = 64 << 20;

/// The memory of the virtual machine beside its heap: classes, compiled code, stacks, the collector's notes.
const BESIDE_HEAP: u64 = 96 << 20;

/// An engine of Java with what most of them have in common.
const fn engine(scheme: &'static str, recipes: &'static [Recipe]) -> Engine {
    options::engine(scheme, Medium::Nothing, recipes)
}

/// The abilities of the null cache, which is the only one.
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

/// Java's caches, in the order of the documentation.
pub(super) const CACHES: &[Cache] = &[
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
            summary: "Java: spymemcached; takes the options of `memcached:` too, which starts the servers",
            example: "java+memcached:?protocol=binary&hashing=ketama&m=64m",
            medium: Medium::Memory,
            capacity_option: Some("m"),
            options: schema_of::<Memcached>,
            ..engine("java+memcached", &[SPYMEMCACHED, JAVA.interpreter])
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
            summary: "Java: pgJDBC with prepared statements; takes the options of `postgresql:` too, which starts the server",
            example: "java+postgresql:?table=logged&synchronous_commit=off",
            medium: Medium::Files,
            options: schema_of::<Postgresql>,
            ..engine("java+postgresql", &[PGJDBC, JAVA.interpreter])
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

/// The collector is the one that the virtual machine takes by itself where there is more than one processor, so that it is
/// the same everywhere. The heap has its full size from the beginning, so that it is not resized while something is measured;
/// its pages are memory from when they are first touched.
/// Nothing of it is left in the system's temporary folder, and what it says goes where its complaints go.
fn arguments(launch: &Launch<'_>) -> Vec<OsString> {
    let heap = heap_bytes(launch.plan_bytes) >> 20;
    let mut classes = launch.home.join(CLASSES).into_os_string();
    if let Some(folder) = jars() {
        classes.push(":");
        classes.push(folder.join("*"));
    }
    let mut arguments: Vec<OsString> =
        ["-XX:+UseG1GC", "-XX:-UsePerfData", "-XX:+DisplayVMOutputToStderr"]
            .map(OsString::from)
            .into();
    arguments.extend([format!("-Xms{heap}m").into(), format!("-Xmx{heap}m").into()]);
    arguments.extend(["-cp".into(), classes, "larder.Main".into()]);
    arguments
}

/// How large the heap is for a plan that takes so many bytes.
fn heap_bytes(plan_bytes: u64) -> u64 {
    HEAP.saturating_add(plan_bytes).div_ceil(HEAP_STEP).saturating_mul(HEAP_STEP)
}

fn memory_bytes(plan_bytes: u64) -> u64 {
    heap_bytes(plan_bytes).saturating_add(BESIDE_HEAP)
}

/// The folder with the clients and what they need.
fn jars() -> Option<PathBuf> {
    Some(managed::data_folder()?.join("java").join("lib"))
}

/// Compiles the program, once for all stores of this process that one virtual machine runs: an older one runs no classes of
/// a newer compiler.
fn prepare(engine: &'static str, home: &Path, interpreter: &Interpreter) -> Result<()> {
    static COMPILED: Mutex<BTreeMap<PathBuf, ScratchDir>> = Mutex::new(BTreeMap::new());
    let client = [("java+memcached", &SPYMEMCACHED), ("java+postgresql", &PGJDBC)];
    if let Some((_, client)) = client.iter().find(|(scheme, _)| *scheme == engine) {
        managed::find(engine, client)?;
    }
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = match compiled.entry(interpreter.program.clone()) {
        Entry::Occupied(folder) => folder.into_mut(),
        Entry::Vacant(none) => none.insert(compile(engine, home, &interpreter.program)?),
    };
    let link = home.join(CLASSES);
    symlink(folder.path().join(CLASSES), &link)
        .map_err(|error| disk::io_error(engine, "linking", &link, error))
}

/// A folder with the compiled program; without what needs a client that is not there.
fn compile(engine: &'static str, home: &Path, java: &Path) -> Result<ScratchDir> {
    // On `PATH` there may be no more than a link to one of several.
    let javac = java.canonicalize().unwrap_or_else(|_| java.into()).with_file_name("javac");
    if !javac.is_file() {
        let what =
            format!("{} is not there: {}", javac.display(), JAVA.interpreter.source.command());
        return Err(Error::Unavailable { engine, what, source: None });
    }
    let has_client = managed::find(engine, &SPYMEMCACHED).is_ok();
    let sources = JAVA.program.iter().map(|(name, _)| *name).filter(|name| {
        has_client || !WITH_SPYMEMCACHED.iter().any(|source| name.ends_with(source))
    });
    let folder = ScratchDir::create(engine)?;
    let mut command = Command::new(javac);
    command.args(["-proc:none", "-encoding", "UTF-8", "-d"]).arg(folder.path().join(CLASSES));
    if let Some(jars) = jars() {
        command.arg("-cp").arg(jars.join("*"));
    }
    command.args(sources.map(|source| home.join(source)));
    managed::run(engine, command, &folder, None, COMPILING)?;
    Ok(folder)
}

/// Options of `java+memcached:`, beside those of `memcached:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Memcached {
    /// `session`: one client object a thread; `operation`: a new one, with new connections, for every operation.
    connect: Connect,
    /// The protocol that is spoken.
    protocol: Protocol,
    /// How keys are spread over several servers: `modulo`, by the rest of their hash; `ketama`, by a ring of the
    /// client's own, which is not that of other clients.
    hashing: Hashing,
    /// How long an answer may take; the client's own limit is 2.5 s.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
}

/// Options of `java+postgresql:`, beside those of `postgresql:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Postgresql {
    /// `session`: one connection a thread, with its statements prepared; `operation`: a new one for every operation.
    connect: Connect,
    /// How long a statement may take; otherwise 5 s.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Protocol {
    #[default]
    Text,
    Binary,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Hashing {
    #[default]
    Modulo,
    Ketama,
}
