//! What a loss of power costs: each class of durability is held to its promise.
//!
//! A program changes keys of a store under a layer that writes down each change of a file and each sync (`cut.c`). The
//! journal is then cut at random places. For each cut the test makes files as a disk could have kept them (`disk.rs`),
//! opens the store, and holds the keys against what the program had been told (`promise.rs`).
//!
//! `LARDER_POWER=200` makes this many cuts in each case. A fault leaves its files and its journal, and names the settings
//! that make the same cuts of this journal again: `LARDER_POWER_SEED` and `LARDER_POWER_AGAIN`.

#![expect(clippy::unwrap_used, reason = "a step that fails fails the test")]
#![expect(clippy::print_stdout, reason = "so that the figures can be read")]

mod contents;
mod disk;
mod image;
mod journal;
mod judgement;
mod promise;
mod reading;
mod run;
mod simulation;
mod values;
mod work;

use std::fmt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use larder_engines::ENGINES;
use larder_store::Engine;
use larder_testkit::{has_program, trial_where};
use libtest_mimic::{Arguments, Trial};

use promise::{Book, Promise};
use run::{Cut, Run};

/// A store, and its promise.
#[derive(Clone, Copy)]
struct Case {
    scheme: &'static str,
    options: &'static str,
    promise: Promise,
    /// The smallest pieces that the disk may write or lose as a whole.
    piece_len: usize,
    /// The longest pause between two changes of a thread.
    pause: Duration,
}

/// The store keeps its promise where a disk tears pages.
const SECTOR: usize = 512;
/// The store relies on whole pages, as BerkeleyDB's manual says of its own.
const PAGE: usize = 4096;

const SHORTLY: Duration = Duration::from_micros(500);
const LONGER: Duration = Duration::from_millis(5);

/// LMDB's checkpoint is a copy that gets this name.
const UP_TO_COPY: Promise = Promise::UpToCheckpoint("checkpoint.mdb");

const CASES: &[Case] = &[
    case("file", "sync=on", Promise::Everything, SECTOR, SHORTLY),
    case("lmdb", "sync=each", Promise::Everything, SECTOR, SHORTLY),
    case("lmdb", "sync=group", Promise::Everything, SECTOR, SHORTLY),
    // A new file is as long as its map, for a moment.
    case("lmdb", "sync=nosync&checkpoint=20ms&size=4m&map_size=8m", UP_TO_COPY, SECTOR, LONGER),
    case("sqlite", "sync=full", Promise::Everything, SECTOR, SHORTLY),
    case("sqlite", "sync=normal", Promise::UpToCheckpoint("store"), SECTOR, SHORTLY),
    case("bdb", "sync=group", Promise::Everything, PAGE, SHORTLY),
    case("bdb", "sync=group&type=hash", Promise::Everything, PAGE, SHORTLY),
    case("bdb", "sync=nosync&checkpoint=10ms", Promise::UpToCheckpoint("entries.db"), PAGE, LONGER),
    case("redb", "sync=group", Promise::Everything, SECTOR, SHORTLY),
    case("redb", "checkpoint=10ms", Promise::UpToCheckpoint("store"), SECTOR, LONGER),
    case("fjall", "sync=group", Promise::Everything, SECTOR, SHORTLY),
    case("fjall", "checkpoint=10ms", Promise::UpToCheckpoint("0.jnl"), SECTOR, LONGER),
];

/// A store that promises nothing, held to a promise that it cannot keep.
const UNSYNCED: Case = case(
    "lmdb",
    "sync=nosync&checkpoint=0s&size=4m&map_size=8m",
    Promise::Everything,
    SECTOR,
    SHORTLY,
);

const fn case(
    scheme: &'static str,
    options: &'static str,
    promise: Promise,
    piece_len: usize,
    pause: Duration,
) -> Case {
    Case { scheme, options, promise, piece_len, pause }
}

/// The cuts of a case in the short form.
const SHORT: usize = 20;

/// This many cuts are made of one run of the program.
const CUTS_OF_A_RUN: usize = 20;

/// This many cuts find a fault where there is one in most of them.
const ENOUGH: usize = 20;

fn main() -> ExitCode {
    if work::work_if_asked() || reading::read_if_asked() {
        return ExitCode::SUCCESS;
    }
    let asked = |name| std::env::var(name).ok().map(|text| text.parse().expect(name));
    let n_cuts = asked("LARDER_POWER").map_or(SHORT, |n: u64| usize::try_from(n).unwrap());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let seed = asked("LARDER_POWER_SEED").unwrap_or_else(now);
    let mut trials = Vec::new();
    for case in CASES.iter().filter(|case| case.is_built()) {
        let name = format!("{case}::keeps_its_promise");
        trials.push(trial(case, &name, move || keeps(case, seed, n_cuts)));
        let name = format!("{case}::is_found_to_fail_on_a_disk_that_ignores_syncs");
        trials.push(trial(case, &name, move || fails(case, seed, true)));
    }
    if UNSYNCED.is_built() {
        let name = format!("{UNSYNCED}::is_found_to_lose_changes");
        trials.push(trial(&UNSYNCED, &name, move || fails(&UNSYNCED, seed, false)));
    }
    let own = simulation::trials().into_iter().chain(judgement::trials());
    let trials = own.chain(larder_testkit::nightly(trials)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(case: &'static Case, name: &str, run: impl FnOnce() + Send + 'static) -> Trial {
    trial_where(|| case.can_run(), name, run)
}

impl Case {
    /// Whether this build has the engine.
    fn is_built(&self) -> bool {
        ENGINES.find(self.scheme).is_ok_and(Engine::is_built)
    }

    /// The need of a trial: the library of the engine, and a compiler for the layer.
    fn can_run(&self) -> Result<(), String> {
        let engine = ENGINES.find(self.scheme).map_err(|error| error.to_string())?;
        let compiler = Command::new("cc").arg("--version").output();
        compiler.map_err(|error| format!("cc: {error}"))?;
        engine.recipes.iter().try_for_each(has_program)
    }

    fn url(&self, folder: &Path) -> String {
        format!("{}:{}/store?{}", self.scheme, folder.display(), self.options)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:?{}", self.scheme, self.options)
    }
}

/// The store keeps its promise at all cuts.
fn keeps(case: &Case, seed: u64, n_cuts: usize) {
    let began = Instant::now();
    let mut figures = Figures::default();
    for first in (0..n_cuts).step_by(CUTS_OF_A_RUN) {
        let run = Run::new(case, seed + first as u64);
        let events = journal::read(&run.journal);
        let book = Book::new(&events, case.promise);
        figures.changes += book.n_acknowledged(events.len());
        figures.checkpoints += book.n_checkpoints(events.len());
        for n in first..n_cuts.min(first + CUTS_OF_A_RUN) {
            let cut = Cut::new(case, &events, seed, n, false);
            match run.judge(&book, &cut) {
                Ok(lost) => figures.add(book.n_acknowledged(cut.place), lost),
                Err(fault) => run.fail(&cut, seed, &fault),
            }
        }
    }
    println!("{case}, seed {seed}, {:.1?}: {figures}", began.elapsed());
    assert!(figures.due > 0, "no cut came after a change");
    if let Promise::UpToCheckpoint(_) = case.promise {
        assert!(figures.checkpoints > 1, "the runs were too short for checkpoints");
    }
}

/// What came of the cuts of a case.
#[derive(Default)]
struct Figures {
    /// The acknowledged changes and the checkpoints of all runs.
    changes: usize,
    checkpoints: usize,
    cuts: usize,
    /// The changes that were acknowledged before a cut, and how many of them the store did not have.
    due: usize,
    lost: usize,
    most: usize,
}

impl Figures {
    fn add(&mut self, due: usize, lost: usize) {
        self.cuts += 1;
        self.due += due;
        self.lost += lost;
        self.most = self.most.max(lost);
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { changes, checkpoints, cuts, due, lost, most } = self;
        write!(
            f,
            "{cuts} cuts of {changes} changes with {checkpoints} checkpoints: {lost} of {due} acknowledged changes \
             lost, at most {most} in a cut"
        )
    }
}

/// The test finds a fault: the store does not promise this much, or the disk does not keep its own promise.
fn fails(case: &Case, seed: u64, ignores_syncs: bool) {
    let run = Run::new(case, seed);
    let events = journal::read(&run.journal);
    let book = Book::new(&events, case.promise);
    let cuts = (0..).map(|n| Cut::new(case, &events, seed, n, ignores_syncs));
    // A store that was not used yet has nothing to lose.
    let cuts = cuts.filter(|cut| !book.is_unused(cut.place)).take(ENOUGH);
    let fault = cuts.map(|cut| run.judge(&book, &cut)).find_map(Result::err);
    if let Some(fault) = &fault {
        println!("{case}, seed {seed}: {fault}");
    }
    assert!(fault.is_some(), "{case}, seed {seed}: {ENOUGH} cuts found no fault");
}
