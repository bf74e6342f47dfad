//! Cases of checks, their judgement, and the makers of their runs.

use larder_analysis::check::{CHECKS, run_all};
use larder_engines::ENGINES;
use larder_report::{Cell, Run, Severity};
use larder_store::Catalog;
use larder_testkit::{has_program, stores, trial_where};
use libtest_mimic::Trial;

use crate::support::{self, findings};

/// Two runs: a check must fire on the first and be silent on the second.
pub(crate) struct Case {
    /// The check.
    pub(crate) id: &'static str,
    /// The severity of its finding.
    pub(crate) severity: Severity,
    /// The run that trips it, as the end of "fires on …".
    pub(crate) fires_on: &'static str,
    /// The run that trips it.
    pub(crate) trips: fn() -> Run,
    /// The words of one of its findings, with the very figures. All these words are in the same text.
    pub(crate) words: &'static [&'static str],
    /// The run on which the check is silent, as the end of "is silent on …".
    pub(crate) silent_on: &'static str,
    /// The run on which the check is silent, as similar to the other as possible.
    pub(crate) silent: fn() -> Run,
    /// The needs of both runs: a server, a module, a file system.
    pub(crate) needs: fn() -> Result<(), String>,
}

impl Case {
    /// The trials of both runs.
    pub(crate) fn trials(&'static self) -> [Trial; 2] {
        let Self { id, fires_on, silent_on, .. } = self;
        [
            trial_where(self.needs, &format!("{id}: fires on {fires_on}"), || self.must_fire()),
            trial_where(self.needs, &format!("{id}: is silent on {silent_on}"), || {
                self.must_be_silent();
            }),
        ]
    }

    fn must_fire(&self) {
        let Self { id, severity, words, .. } = self;
        let about = CHECKS.iter().map(|check| check.about()).find(|about| about.id == *id).unwrap();
        assert!(about.severities.contains(severity), "{id} is never of severity {severity:?}");
        let run = (self.trips)();
        let found = findings(&run, id);
        assert!(!found.is_empty(), "{id} does not fire: {:#?}", run.checks);
        let says = |text: &str| words.iter().all(|words| text.contains(words));
        let is_meant = found.iter().any(|it| it.severity == *severity && says(&it.text));
        assert!(is_meant, "no finding of severity {severity:?} says {words:?}: {found:#?}");
        assert!(found.iter().all(|it| !it.text.is_empty() && it.advice == about.advice));
    }

    fn must_be_silent(&self) {
        let Self { id, .. } = self;
        let run = (self.silent)();
        // A run that failed has no findings either.
        let figures = run.cells.iter().any(|cell| cell.ops_per_s.is_some());
        assert!(figures, "a run without figures: {:#?}", run.targets);
        let found = findings(&run, id);
        assert!(found.is_empty(), "{id} fires without cause: {found:#?}");
    }
}

/// A few hundred keys, each stored and read once.
const SMALL: &str = "keys = 400\nrounds = 2";

/// A small run of engines made for tests.
pub(crate) fn made(targets: &[&str]) -> Run {
    support::run(&stores::ENGINES, targets, SMALL)
}

/// A run with made-up figures and the findings on them. It also serves checks of figures that a busy machine changes.
pub(crate) fn made_up(mut run: Run, change: impl Fn(&mut Cell)) -> Run {
    run.cells.iter_mut().for_each(change);
    Run { checks: run_all(&run), ..run }
}

/// A small run of real engines.
pub(crate) fn small(targets: &[&str]) -> Run {
    real(targets, "keys = 400")
}

/// Two rounds of real engines, which must all be available.
pub(crate) fn real(targets: &[&str], workload: &str) -> Run {
    let run = support::run(&ENGINES, targets, &format!("rounds = 2\n{workload}"));
    assert!(run.targets.iter().all(|target| target.reason.is_none()), "{:#?}", run.targets);
    run
}

/// The engines and the engines made for tests, in one catalog.
pub(crate) fn both() -> Catalog {
    let both = ENGINES.iter().chain(stores::ENGINES.iter()).copied().collect::<Vec<_>>();
    Catalog::new(both.leak())
}

/// A case without needs.
pub(crate) const NOTHING: fn() -> Result<(), String> = || Ok(());

/// Needs memcached.
pub(crate) fn memcached() -> Result<(), String> {
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}

/// Needs the server of an engine that `?server=` names.
pub(crate) fn server(engine: &str, server: &str) -> Result<(), String> {
    let recipes = ENGINES.find(engine).unwrap().recipes;
    has_program(recipes.iter().find(|recipe| recipe.server == server).unwrap())
}
