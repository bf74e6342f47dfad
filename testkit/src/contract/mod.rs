//! The contract suite: every case against every URL, as trials of libtest-mimic.
//!
//! A case knows no engine by name. An engine declares its limits in its capabilities. A case beyond them, and every
//! case of an engine that cannot run on this machine, shows as *ignored* with its reason, never as *ok*:
//!
//! - `ignored (no ttl)`: the engine does not promise this;
//! - `ignored (cannot run here: …)`: the engine promises this, but the case did not run. With `LARDER_REQUIRE=all` in
//!   the environment this is a failure.

mod add_replace;
mod append;
mod at_once;
mod cas;
mod case;
mod child;
mod clear;
mod close;
mod delete;
mod errors;
mod eviction;
mod expect;
mod fixture;
mod flags;
mod fork;
mod fork_check;
mod get;
mod get_many;
mod groups;
mod idle_sessions;
mod incr;
mod info;
mod leases;
mod limits;
mod model;
mod namespaces;
mod need;
mod nothing;
mod permits;
mod persistence;
mod pipeline;
mod retrying;
mod sessions;
mod set;
mod set_many;
mod stats;
mod threads;
mod touch;
mod ttl;

use std::num::NonZero;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use larder_store::Catalog;
use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::java::compile_java_fast;
use crate::lane::{is_nightly, nightly};
use crate::require::everything_is_required;
use case::Case;
use fixture::{Fixture, Refusal, Target};
use permits::Semaphore;

/// Every case, in the order of the list.
const CASES: &[&[Case]] = &[
    get::CASES,
    set::CASES,
    add_replace::CASES,
    cas::CASES,
    append::CASES,
    incr::CASES,
    touch::CASES,
    ttl::CASES,
    delete::CASES,
    get_many::CASES,
    set_many::CASES,
    groups::prefix::CASES,
    groups::tags::CASES,
    groups::refusals::CASES,
    groups::together::CASES,
    leases::election::CASES,
    leases::tokens::CASES,
    leases::stale::CASES,
    leases::batches::CASES,
    pipeline::order::CASES,
    pipeline::numbers::CASES,
    pipeline::counts::CASES,
    pipeline::values::CASES,
    pipeline::batches::CASES,
    pipeline::refusals::CASES,
    pipeline::times::CASES,
    pipeline::sessions::CASES,
    pipeline::sending::CASES,
    pipeline::ends::CASES,
    flags::CASES,
    clear::CASES,
    namespaces::CASES,
    sessions::CASES,
    limits::CASES,
    eviction::CASES,
    persistence::CASES,
    close::CASES,
    fork::CASES,
    stats::CASES,
    info::CASES,
    errors::CASES,
    model::CASES,
    nothing::CASES,
];

/// The number of started cases beyond the permits: these cases wait for a TTL.
const WAITING: usize = 32;

/// The URLs that a contract test tries.
#[derive(Debug, Clone, Copy, Default)]
pub struct Urls<'a> {
    /// The URLs that every change tries.
    pub change: &'a [&'a str],
    /// The URLs that only the nightly lane tries.
    pub nightly: &'a [&'a str],
    /// URLs of either list whose server ends when several cases write at once: one case at a time runs on each.
    pub one_by_one: &'a [&'a str],
    /// The cases that need several writing threads, which are ignored on the URLs of `one_by_one`.
    pub together: &'static [&'static str],
}

/// Runs every case on every URL, as the `main` of a test with `harness = false`.
///
/// A trial is named `<url>::<case>`; the arguments of the command line filter and list as usual. The store of a
/// URL is opened by the first of its cases that runs, and is closed before this returns.
pub fn contract(catalog: &Catalog, urls: &Urls<'_>) -> ExitCode {
    if let Some(code) = child::run_if_asked(catalog) {
        return code;
    }
    // SAFETY: this is the whole `main` of a test, which has no other thread yet.
    unsafe { compile_java_fast() };
    let mut arguments = Arguments::from_args();
    // Many cases wait for a disk or a starting program.
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let permits = arguments.test_threads.unwrap_or(2 * processors);
    // A single permit runs the cases one after the other, in the order of the list.
    arguments.test_threads = Some(if permits > 1 { permits + WAITING } else { permits });
    permits::add(permits);
    let required = everything_is_required();
    // Runners with a process for each test (nextest) learn the ignored cases from the list. Otherwise a case finds out
    // when it runs, so that a filter opens only the stores that it names.
    let ask_first = arguments.list || arguments.ignored;
    let trials_of = |url: &&str, ask_first| {
        let target = Arc::new(Target::new(*catalog, url));
        let single = urls.one_by_one.contains(url).then(|| Arc::new(Semaphore::new(1)));
        let trial = |case: &'static Case| {
            let ignored = ask_first && matches!(plan(&target, case, required), Plan::Ignore(_));
            let runner = Runner { target: Arc::clone(&target), single: single.clone() };
            let (name, together) = (format!("{url}::{}", case.name), urls.together);
            Trial::ignorable_test(name, move || runner.try_case(case, together, required))
                .with_ignored_flag(ignored)
        };
        CASES.iter().copied().flatten().map(trial).collect::<Vec<_>>()
    };
    let change = urls.change.iter().flat_map(|url| trials_of(url, ask_first));
    let of_night = urls.nightly.iter().flat_map(|url| trials_of(url, ask_first && is_nightly()));
    let trials = change.chain(nightly(of_night)).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The target of a trial, and whether its cases take turns.
struct Runner {
    target: Arc<Target>,
    /// The only permit of a target whose cases work one at a time.
    single: Option<Arc<Semaphore>>,
}

impl Runner {
    fn try_case(
        &self,
        case: &'static Case,
        together: &[&str],
        required: bool,
    ) -> Result<Completion, Failed> {
        if self.single.is_some() && together.contains(&case.name) {
            let reason = "its server ends when several threads write";
            return Ok(Completion::ignored_with(reason));
        }
        let _permit = permits::acquire(self.single.as_ref());
        match plan(&self.target, case, required) {
            Plan::Run(fixture) => (case.run)(&fixture).map(|()| Completion::Completed),
            Plan::Ignore(reason) => Ok(Completion::ignored_with(reason)),
            Plan::Fail(reason) => Err(Failed::from(reason)),
        }
    }
}

/// The outcome of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The promise holds.
    Ok,
    /// The case did not run, for this reason.
    Ignored(String),
    /// The promise does not hold.
    Failed(String),
}

/// A case and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The promise of the case, as a sentence.
    pub case: &'static str,
    /// Whether it holds.
    pub outcome: Outcome,
}

/// The cases that [`judge`] runs at once. Most of them wait for a TTL.
const JUDGED_AT_ONCE: usize = 8;

/// Runs cases on one URL and returns the outcomes instead of printing them: for tests of the contract itself. The cases
/// are those of these names, or all without names. Cases that need a second process are left out.
///
/// # Panics
///
/// A name is that of no case.
pub fn judge(catalog: &Catalog, url: &str, names: &[&str]) -> Vec<Report> {
    let target = Arc::new(Target::new(*catalog, url));
    let judged = CASES.iter().copied().flatten().filter(|case| !case.spawns);
    let judged: Vec<&'static Case> =
        judged.filter(|case| names.is_empty() || names.contains(&case.name)).collect();
    assert!(judged.len() >= names.len(), "some of {names:?} are no cases");
    let outcome = |case: &'static Case| match plan(&target, case, false) {
        Plan::Run(fixture) => match (case.run)(&fixture) {
            Ok(()) => Outcome::Ok,
            Err(failed) => Outcome::Failed(failed.message().unwrap_or_default().into()),
        },
        Plan::Ignore(reason) => Outcome::Ignored(reason),
        Plan::Fail(reason) => Outcome::Failed(reason),
    };
    let waiting = Mutex::new(judged.into_iter());
    let reports = Mutex::new(Vec::new());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..JUDGED_AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = next() {
                    let report = Report { case: case.name, outcome: outcome(case) };
                    reports.lock().unwrap_or_else(PoisonError::into_inner).push(report);
                }
            });
        }
    });
    reports.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The plan for a case on a target.
enum Plan {
    Run(Fixture),
    Ignore(String),
    Fail(String),
}

fn plan(target: &Arc<Target>, case: &'static Case, required: bool) -> Plan {
    match target.subject() {
        Ok(subject) => match case.needs.iter().find(|need| !(need.has)(subject)) {
            None => Plan::Run(Fixture::new(Arc::clone(target), case.name)),
            Some(need) => Plan::Ignore(need.otherwise.into()),
        },
        Err(Refusal::Unavailable(reason)) if !required => {
            Plan::Ignore(format!("cannot run here: {reason}"))
        }
        Err(Refusal::Unavailable(reason)) => Plan::Fail(format!(
            "cannot run here, but LARDER_REQUIRE=all wants every engine to: {reason}"
        )),
        Err(Refusal::Failed(reason)) => Plan::Fail(format!("cannot be opened: {reason}")),
    }
}
