//! Java's caches: the libraries that they call, and the way in which their program is started.

mod caches;
mod options;
mod program;

use std::ffi::OsString;

use larder_store::{Recipe, Role, Source};
use serde_json::Value;

pub(super) use caches::CACHES;
use program::{FOLDER, class_path, prepare};

use super::store::PartFile;
use super::{Keeps, Language, Launch, SILENCE};

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

/// A library that a cache calls, where `setup.sh` puts it. The libraries that it needs lie in a folder beside it.
struct Library {
    /// The scheme of the cache.
    scheme: &'static str,
    jar: Recipe,
    /// The beginning of its packages. A source that imports one of them cannot be compiled without the library.
    package: &'static str,
}

const CAFFEINE: Library =
    library("java+caffeine", "caffeine.jar", "import com.github.benmanes.caffeine.");
const GUAVA: Library = library("java+guava", "guava.jar", "import com.google.common.");
const EHCACHE: Library = library("java+ehcache", "ehcache.jar", "import org.ehcache.");
const HAZELCAST: Library = library("java+hazelcast", "hazelcast.jar", "import com.hazelcast.");
const SPYMEMCACHED: Library = library("java+memcached", "spymemcached.jar", "import net.spy.");
const LETTUCE: Library = library("java+lettuce", "lettuce.jar", "import io.lettuce.");
const JEDIS: Library = library("java+jedis", "jedis.jar", "import redis.clients.");
/// The program calls it by Java's own interfaces, and imports nothing of it.
const PGJDBC: Library = library("java+postgresql", "postgresql.jar", "import org.postgresql.");

const LIBRARIES: [&Library; 8] =
    [&CAFFEINE, &GUAVA, &EHCACHE, &HAZELCAST, &SPYMEMCACHED, &LETTUCE, &JEDIS, &PGJDBC];

const fn library(scheme: &'static str, jar: &'static str, package: &'static str) -> Library {
    let source = Source::Setup(FOLDER);
    Library { scheme, jar: Recipe { source, ..Recipe::new(Role::Library, jar, "") }, package }
}

/// The bytes of heap beyond the plan, and the step to which the heap is rounded up.
const HEAP: u64 = 256 << 20;
const HEAP_STEP: u64 = 64 << 20;

/// The memory of the virtual machine beside its heap: classes, compiled code, stacks, the collector's notes.
const BESIDE_HEAP: u64 = 96 << 20;

/// The packages that Hazelcast asks to be opened to it.
const FOR_HAZELCAST: [&str; 7] = [
    "--add-modules=java.se",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.management/sun.management=ALL-UNNAMED",
    "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
];

/// The collector is the virtual machine's default on several processors, set here so that every machine uses it. The
/// heap has its full size from the start, because a change of size would disturb a measurement. Its pages take memory
/// only once they are touched. The virtual machine leaves no temporary file, and its messages go to standard error.
fn arguments(launch: &Launch<'_>) -> Vec<OsString> {
    let held =
        launch.parts.iter().map(EntryMemory::of).fold(EntryMemory::default(), EntryMemory::and);
    let heap = heap_bytes(launch.plan_bytes.saturating_add(held.on_heap)) >> 20;
    let mut arguments: Vec<OsString> =
        ["-XX:+UseG1GC", "-XX:-UsePerfData", "-XX:+DisplayVMOutputToStderr"]
            .map(OsString::from)
            .into();
    arguments.extend([format!("-Xms{heap}m").into(), format!("-Xmx{heap}m").into()]);
    if held.beside > 0 {
        let beside = held.beside.div_ceil(HEAP_STEP).saturating_add(1).saturating_mul(HEAP_STEP);
        arguments.push(format!("-XX:MaxDirectMemorySize={}m", beside >> 20).into());
    }
    if launch.parts.iter().any(|part| part.cache == "hazelcast") {
        arguments.extend(FOR_HAZELCAST.map(OsString::from));
    }
    arguments.extend(["-cp".into(), class_path(launch.home), "larder.Main".into()]);
    arguments
}

/// The bytes of heap for a plan of this many bytes.
fn heap_bytes(plan_bytes: u64) -> u64 {
    HEAP.saturating_add(plan_bytes).div_ceil(HEAP_STEP).saturating_mul(HEAP_STEP)
}

fn memory_bytes(plan_bytes: u64) -> u64 {
    heap_bytes(plan_bytes).saturating_add(BESIDE_HEAP)
}

/// The memory for the entries of a cache inside the virtual machine, in bytes.
#[derive(Debug, Clone, Copy, Default)]
struct EntryMemory {
    on_heap: u64,
    /// Memory outside the heap that the cache takes for itself.
    beside: u64,
}

impl EntryMemory {
    /// The entries of a cache: as many as it may hold, or all of the plan where these are fewer. The collector needs a
    /// quarter more, and a copy in a near cache or a backup counts once more.
    fn of(part: &PartFile<'_>) -> Self {
        let is_inside = CACHES
            .iter()
            .any(|cache| cache.name == part.cache && matches!(cache.keeps, Keeps::Memory { .. }));
        if !is_inside {
            return Self::default();
        }
        let option = |name: &str| part.options.get(name);
        let size = option("size").and_then(Value::as_u64);
        if option("tier").is_some_and(|tier| tier == "offheap") {
            return Self { on_heap: 0, beside: size.unwrap_or(HEAP) };
        }
        // A plan asks for twice the room of its entries.
        let all = part.room_bytes.map(|room| room / 2);
        let held = size.into_iter().chain(all).min().unwrap_or(HEAP);
        let is_near = option("near").is_some_and(|near| near == true);
        let backups = option("backups").and_then(Value::as_u64).unwrap_or(0);
        let copies = 1 + u64::from(is_near) + backups;
        Self { on_heap: (held / 4).saturating_mul(5).saturating_mul(copies), beside: 0 }
    }

    fn and(self, other: Self) -> Self {
        Self {
            on_heap: self.on_heap.saturating_add(other.on_heap),
            beside: self.beside.saturating_add(other.beside),
        }
    }
}
