//! Java's caches: their abilities, their options, and the compilation of their program.

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
use larder_store::{
    Durability, Engine, Error, Medium, PerProcess, Reach, Recipe, Result, Role, Source, Span,
};
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

/// The clients, where `setup.sh` puts them. The libraries that they need lie in a folder beside them.
const SPYMEMCACHED: Recipe = jar("spymemcached.jar");
const PGJDBC: Recipe = jar("postgresql.jar");

const fn jar(program: &'static str) -> Recipe {
    Recipe { source: Source::Setup("java"), ..Recipe::new(Role::Library, program, "") }
}

/// The folder of the compiled program, inside the folder of its sources.
const CLASSES: &str = "classes";

/// The sources that cannot be compiled without their client.
const WITH_SPYMEMCACHED: [&str; 2] = ["MemcachedCache.java", "SpyLogger.java"];

/// The longest time for the compiler, which takes two seconds on an idle machine.
const COMPILING: Duration = Duration::from_mins(2);

/// The bytes of heap beyond the plan, and the step to which the heap is rounded up.
const HEAP: u64 = 256 << 20;
const HEAP_STEP: u64 = 64 << 20;

/// The memory of the virtual machine beside its heap: classes, compiled code, stacks, the collector's notes.
const BESIDE_HEAP: u64 = 96 << 20;

/// An engine of Java, with the fields that most of them share.
const fn engine(scheme: &'static str, recipes: &'static [Recipe]) -> Engine {
    options::engine(scheme, Medium::Nothing, recipes)
}

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
            connections_option: None,
            options: schema_of::<JavaMemcached>,
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
        options: options_of::<JavaMemcached>,
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

/// The collector is the virtual machine's default on several processors, set here so that every machine uses it. The
/// heap has its full size from the start, because a change of size would disturb a measurement. Its pages take memory
/// only once they are touched. The virtual machine leaves no temporary file, and its messages go to standard error.
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

/// The bytes of heap for a plan of this many bytes.
fn heap_bytes(plan_bytes: u64) -> u64 {
    HEAP.saturating_add(plan_bytes).div_ceil(HEAP_STEP).saturating_mul(HEAP_STEP)
}

fn memory_bytes(plan_bytes: u64) -> u64 {
    heap_bytes(plan_bytes).saturating_add(BESIDE_HEAP)
}

/// The folder of the clients and their libraries.
fn jars() -> Option<PathBuf> {
    Some(managed::data_folder()?.join("java").join("lib"))
}

/// Compiles the program once for each virtual machine that the stores of this process use. An older virtual machine
/// cannot run the classes of a newer compiler.
fn prepare(engine: &'static str, home: &Path, interpreter: &Interpreter) -> Result<()> {
    static COMPILED: PerProcess<Mutex<BTreeMap<PathBuf, ScratchDir>>> = PerProcess::new();
    let client = [("java+memcached", &SPYMEMCACHED), ("java+postgresql", &PGJDBC)];
    if let Some((_, client)) = client.iter().find(|(scheme, _)| *scheme == engine) {
        managed::find(engine, client)?;
    }
    let mut compiled = COMPILED.get().lock().unwrap_or_else(PoisonError::into_inner);
    let folder = match compiled.entry(interpreter.program.clone()) {
        Entry::Occupied(folder) => folder.into_mut(),
        Entry::Vacant(none) => none.insert(compile(engine, home, &interpreter.program)?),
    };
    let link = home.join(CLASSES);
    symlink(folder.path().join(CLASSES), &link)
        .map_err(|error| disk::io_error(engine, "linking", &link, error))
}

/// Compiles the program into a new folder, without the sources whose client is missing.
fn compile(engine: &'static str, home: &Path, java: &Path) -> Result<ScratchDir> {
    // `PATH` may have only a link to one of several installed versions.
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
struct JavaMemcached {
    /// `session`: one client object in each thread. `operation`: a new client and connections for every operation.
    connect: Connect,
    /// The protocol that the client speaks.
    protocol: Protocol,
    /// The way in which keys are spread over several servers: `modulo` by the remainder of their hash; `ketama` by the
    /// client's own ring, which differs from the rings of other clients.
    hashing: Hashing,
    /// The longest wait for an answer. Without it: 2.5s, the client's own limit.
    #[serde(serialize_with = "seconds")]
    timeout: Option<Span>,
}

/// Options of `java+postgresql:`, beside those of `postgresql:`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Postgresql {
    /// `session`: one connection in each thread, with prepared statements. `operation`: a new one for every operation.
    connect: Connect,
    /// The longest time of a statement. Without it: 5s.
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
