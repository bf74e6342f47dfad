//! Processes that share a cache are killed, stopped and resumed at any instruction. No process may read a wrong value, or one
//! that is older than the last acknowledged one. No process may wait long, except for a stopped one.
//!
//! Workers do every operation of a session, under load, and now and then open the file anew. Beside the cache they share a
//! ledger. Before a change a worker notes there what it begins, and afterwards what was acknowledged. Every few seconds all
//! are killed, and one process opens the file alone.
//!
//! `LARDER_TORTURE=300` takes this many seconds: three fifths for Larder's cache, and the rest for the same with rival caches.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(clippy::print_stdout, reason = "so that the figures can be read")]

mod check;
mod counters;
mod hangs;
mod herd;
mod ledger;
mod lists;
mod loads;
mod own;
mod rivals;
mod run;
mod sampler;
mod sources;
mod stopwatch;
mod strangers;
#[path = "../support/mod.rs"]
mod support;
mod table;
mod values;
mod work;

use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use larder_segment::Options;
use ledger::Tally;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use rivals::RIVALS;
use run::Outcome;

/// The number of working processes.
const WORKERS: usize = 8;

/// The number of keys. One worker changes each key.
const KEYS: usize = 4096;

/// The number of keys whose values are numbers. All workers add to them.
const COUNTERS: usize = 64;

/// A region that is tortured, and the lengths of the values in it.
struct Mode {
    options: Options,
    /// Values of up to this many bytes, plus 24, lie in one record.
    short: u64,
    /// The bytes of an entry of a long list.
    entry: usize,
    /// The keys are of a namespace.
    is_named: bool,
    /// The file lies on a disk.
    is_on_disk: bool,
    /// The region is too large to be filled: what is tried is that each operation has other locks.
    is_roomy: bool,
}

/// Beside the namespace of the keys, or that of nobody, one that is given to one name after the other.
const NAMESPACES: Option<usize> = Some(2);

/// The settings of most regions.
const OPTIONS: Options = Options {
    item: 2048,
    max_value: Some(1 << 20),
    namespaces: NAMESPACES,
    ..Options::of_size(9 << 20)
};

/// Of two partitions.
const TWO: Mode = Mode {
    options: OPTIONS,
    short: 2000,
    entry: 4096,
    is_named: false,
    is_on_disk: false,
    is_roomy: false,
};

/// The regions that are tortured. In all but the last the keys' values do not all fit.
const MODES: [Mode; 4] = [
    TWO,
    // One partition, whose index has to grow. Many values lie in chunks, and are large for a region of this size.
    Mode {
        options: Options { size: 1 << 20, item: 16_000, max_value: None, ..OPTIONS },
        short: 60,
        entry: 1024,
        ..TWO
    },
    // Four partitions on a disk, and keys of a namespace.
    Mode {
        options: Options { size: 17 << 20, item: 4096, ..OPTIONS },
        short: 5300,
        entry: 16_384,
        is_named: true,
        is_on_disk: true,
        ..TWO
    },
    // As many partitions as there can be. The chunks of a value lie in most of them.
    Mode { options: Options { size: 272 << 20, ..OPTIONS }, is_named: true, is_roomy: true, ..TWO },
];

/// The namespace of the keys, where they are of one.
const OWN: &str = "torture";

/// The number of the mode, in the environment of a worker.
const MODE: &str = "LARDER_TORTURE_MODE";

/// The number of the present mode.
static PRESENT: AtomicUsize = AtomicUsize::new(0);

fn mode() -> &'static Mode {
    &MODES[PRESENT.load(Ordering::Relaxed)]
}

/// The seconds of the short form, and of that with each of the others.
const SHORT: u64 = 10;
const SMOKE: u64 = 2;

/// The arguments of a worker: the folder, and its number.
const FOLDER: &str = "LARDER_TORTURE_FOLDER";
const NUMBER: &str = "LARDER_TORTURE_NUMBER";

fn main() -> ExitCode {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let number_of = |name| std::env::var(name).unwrap().parse().unwrap();
        let number = number_of(NUMBER);
        PRESENT.store(number_of(MODE), Ordering::Relaxed);
        work::work(Path::new(&folder), number);
    }
    let asked = std::env::var("LARDER_TORTURE").ok();
    let asked = asked.map(|text| text.parse().expect("LARDER_TORTURE: a number of seconds"));
    let (own, each) = asked.map_or((SHORT, SMOKE), |seconds: u64| (seconds * 3 / 5, seconds / 5));
    let mut arguments = Arguments::from_args();
    // Each trial takes the whole machine.
    arguments.test_threads = Some(1);
    let trials = vec![
        Trial::test("nobody_reads_what_is_wrong_or_old_whoever_is_killed_or_stopped", move || {
            let outcome = own::torture(Duration::from_secs(own));
            OWN_OUTCOME.get_or_init(|| outcome);
            Ok(())
        }),
        Trial::ignorable_test("caches_of_others_are_tortured_the_same_way", move || {
            rivals(Duration::from_secs(each))
        }),
    ];
    libtest_mimic::run(&arguments, larder_testkit::nightly(trials).collect()).exit_code()
}

/// The results of our own cache, for the table.
static OWN_OUTCOME: OnceLock<Outcome> = OnceLock::new();

/// Tortures the rivals that are installed, and prints all results side by side. The test does not ask whether they pass.
fn rivals(each: Duration) -> Result<Completion, Failed> {
    let mut outcomes: Vec<(&str, Outcome)> = Vec::new();
    outcomes.extend(OWN_OUTCOME.get().map(|own| ("Larder mmap", own.clone())));
    let mut missing = Vec::new();
    for rival in &RIVALS {
        if let Err(reason) = (rival.needs)() {
            missing.push(format!("{}: {reason}", rival.name));
            continue;
        }
        let outcome = rivals::torture(rival, each);
        assert!(outcome.kills > 0, "{} was not tortured", rival.name);
        assert!(outcome.count(Tally::Hits) > 0, "{} did nothing", rival.name);
        outcomes.push((rival.name, outcome));
    }
    println!("\n{}", table::all(&outcomes));
    let required = std::env::var("LARDER_REQUIRE").is_ok_and(|what| what == "all");
    match missing.join("; ") {
        none if none.is_empty() => Ok(Completion::Completed),
        missing if required => Err(missing.into()),
        missing => Ok(Completion::ignored_with(missing)),
    }
}

/// Numbers that look random, the same for a seed (xorshift64*, Vigna 2016).
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
}

/// Nanoseconds of the clock that all processes share.
fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes a time to a place for one.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
