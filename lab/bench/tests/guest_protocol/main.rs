//! The promises of every guest's program over its pipe: `docs/guests.md`, case by case.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod ends;
mod failures;
mod phases;
mod verification;

use std::process::ExitCode;

use larder_bench::guest;
use larder_bench::guest::protocol::{HandPhase, HandPlan, Program, Step};
use larder_engines::ENGINES;
use larder_report::Operation;
use larder_store::{Catalog, StoreUrl};
use larder_testkit::{compile_java_fast, nightly_if, trial_where};
use libtest_mimic::Arguments;
use serde_json::Value as Json;

const CATALOG: Catalog = ENGINES.with_guests(guest::GUESTS);

/// A language that has guests.
struct Language {
    name: &'static str,
    /// The way of sharing work.
    shares: Shares,
}

/// The way in which a language shares the work of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shares {
    /// By forked processes.
    Processes,
    Threads,
}

/// Another language needs one more line.
const LANGUAGES: &[Language] = &[
    Language { name: "go", shares: Shares::Threads },
    Language { name: "java", shares: Shares::Threads },
    Language { name: "node", shares: Shares::Processes },
    Language { name: "perl", shares: Shares::Processes },
    Language { name: "php", shares: Shares::Processes },
    Language { name: "python", shares: Shares::Processes },
    Language { name: "ruby", shares: Shares::Processes },
];

/// Caches that keep entries for all processes, with each option that changes how.
const KEEPING: &[&str] = &[
    "go+bigcache:",
    "go+freecache:",
    "go+lru:",
    "go+map:",
    "go+map:?kind=mutex",
    "go+memcached:",
    "go+redis:",
    "java+memcached:",
    "java+postgresql:",
    "node+ioredis:?style=callback",
    "node+memjs:",
    "perl+fastmmap:",
    "perl+larder:",
    "perl+fastmmap:?compressor=zlib",
    "perl+filecache:",
    "perl+filecache:?connect=operation",
    "perl+memcached:",
    "perl+memcached:?connect=operation",
    "perl+memcached:?nowait=on",
    "perl+mmap:",
    "perl+mmap:?strings=off",
    "perl+tiered:fastmmap:|mmap:|filecache:",
    "perl+tiered:mmap:|memcached:",
    "php+apcu:",
    "php+file:?depth=2",
    "php+memcache:",
    "php+memcache:?connect=operation",
    "php+memcache:?chunk_size=1m&compress_threshold=100",
    "php+memcached:",
    "php+memcached:?binary_protocol=on&distribution=ketama",
    "php+memcached:?compression=on",
    "php+memcached:?connect=operation",
    "php+mongodb:",
    "php+redis:",
    "php+symfony:?adapter=chain",
    "php+larder:",
    "php+tiered:apcu:|file:",
    "php+tiered:apcu:|memcached:",
    "python+diskcache:",
    "python+larder:",
    "python+diskcache:?shards=3&timeout=60s",
    "python+memcached:",
    "python+memcached:?connect=operation&ignore_exc=on",
    "python+memcached:?nodes=2",
    "python+memcached:?noreply=on",
    "ruby+dalli:",
    "ruby+dalli:?connect=operation&raw=off",
    "ruby+filestore:",
    "ruby+larder:",
    "ruby+tiered:filestore:|dalli:",
];

/// A case for a language.
type Case = fn(&'static Language);

/// A case for a cache.
type CacheCase = fn(&'static str);

/// The guests whose libraries the run of a change installs.
const OF_EVERY_CHANGE: [&str; 2] = ["perl+filecache:", "perl+memcached:"];

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    // SAFETY: no other thread runs yet.
    unsafe { compile_java_fast() };
    let cases = [verification::CASES, phases::CASES, failures::CASES, ends::CASES].concat();
    let of_languages = LANGUAGES.iter().flat_map(|language| {
        cases.iter().map(move |(name, case): &(&str, Case)| {
            let (is_there, case) = (|| opens(&language.memcached()), *case);
            let name = format!("{}::{name}", language.name);
            let trial = trial_where(is_there, &name, move || case(language));
            nightly_if(language.name != "perl", trial)
        })
    });
    let of_caches = KEEPING.iter().flat_map(|url| {
        phases::OF_CACHES.iter().map(move |(name, case): &(&str, CacheCase)| {
            let trial = trial_where(|| opens(url), &format!("{url}::{name}"), move || case(url));
            nightly_if(!OF_EVERY_CHANGE.iter().any(|kind| url.starts_with(kind)), trial)
        })
    });
    let trials = of_languages.chain(of_caches).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Whether a target can be opened here.
fn opens(url: &str) -> Result<(), String> {
    CATALOG.open(&StoreUrl::parse(url).unwrap()).map(drop).map_err(|error| error.to_string())
}

impl Language {
    /// Its client of memcached, with a server of its own.
    fn memcached(&self) -> String {
        let client = match self.name {
            "node" => "memjs",
            "ruby" => "dalli",
            _ => "memcached",
        };
        format!("{}+{client}:", self.name)
    }

    /// Its program with a cache that keeps entries.
    fn keeping(&self) -> Program {
        Program::start(&self.memcached(), &CATALOG).unwrap()
    }

    /// Its program with the cache that keeps nothing and returns the last set value.
    fn replaying(&self) -> Program {
        Program::start(&format!("{}+null:", self.name), &CATALOG).unwrap()
    }
}

/// Stores a value by a command.
fn store(program: &mut Program, key: &[u8], value: &[u8]) {
    let answer = program.ask(&format!("set {} {} -", key.len(), value.len()), &[key, value]);
    assert_eq!(answer.unwrap()["stored"], true);
}

/// Removes a value by a command, and returns whether the value was there.
fn remove(program: &mut Program, key: &[u8]) -> bool {
    let answer = program.ask(&format!("delete {}", key.len()), &[key]).unwrap();
    answer["found"].as_bool().unwrap()
}

/// Runs the phases of a plan, and returns the results of each process, by phase.
fn run(program: &mut Program, plan: &HandPlan, phases: usize, processes: usize) -> Vec<Vec<Json>> {
    program.load(plan).unwrap();
    let phase = |phase| {
        let answer = program.ask(&format!("run {phase}"), &[]).unwrap();
        assert_eq!(answer["ran"], phase, "{answer}");
        (0..processes).map(|process| program.counts(phase, process).unwrap().clone()).collect()
    };
    (0..phases).map(phase).collect()
}

/// The results of one process with one operation in one phase.
fn run_one(
    program: &mut Program,
    mut plan: HandPlan,
    operation: Operation,
    steps: Vec<Step>,
) -> Json {
    let phase = plan.phase(HandPhase::new(&[operation], steps));
    let ran = run(program, &plan, phase + 1, 1);
    ran[phase][0]["operations"][operation.as_str()].clone()
}

/// These counts of an operation.
fn counts(of: &Json, names: &[&str]) -> Vec<u64> {
    names
        .iter()
        .map(|name| of[*name].as_u64().unwrap_or_else(|| panic!("{name} of {of}")))
        .collect()
}

/// The number of latencies.
fn latencies(of: &Json) -> u64 {
    of["latencies"].as_array().unwrap().iter().map(|pair| pair[1].as_u64().unwrap()).sum()
}
