//! Guests carry out the same plan as the engines of this process: the counts agree to the last operation.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod agree;
mod caches;
mod limits;
mod mounts;
#[expect(dead_code, reason = "other tests ask for more")]
#[path = "../support/mod.rs"]
mod support;
mod tiers;
mod work;

use std::process::ExitCode;

use larder_bench::guest;
use larder_engines::ENGINES;
use larder_report::{Cell, Run};
use larder_store::{Catalog, Source, StoreUrl};
use larder_testkit::{compile_java_fast, has_perl_modules, has_program};
use libtest_mimic::Arguments;

const CATALOG: Catalog = ENGINES.with_guests(guest::GUESTS);

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    // SAFETY: no other thread runs yet.
    unsafe { compile_java_fast() };
    let modules = [
        agree::trials,
        caches::trials,
        tiers::trials,
        mounts::trials,
        limits::trials,
        work::trials,
    ];
    let trials = modules.into_iter().flat_map(|trials| trials());
    let trials = larder_testkit::nightly(trials).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Needs these modules of Perl.
fn perl() -> Result<(), String> {
    has_perl_modules(&["Cache::FastMmap"])
}

fn memcached() -> Result<(), String> {
    has_perl_modules(&["Cache::FastMmap", "Cache::Memcached::Fast"])?;
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}

/// Needs all programs of Java's guests and of their servers.
fn java() -> Result<(), String> {
    let recipes = ["memcached", "postgresql", "redis"].map(|it| CATALOG.find(it).unwrap().recipes);
    let guests = CATALOG.iter().filter(|engine| engine.scheme.starts_with("java+"));
    let all = recipes.into_iter().map(|recipes| &recipes[..1]).chain(guests.map(|it| it.recipes));
    let mut others = all.flatten().filter(|recipe| recipe.source != Source::Own);
    others.try_for_each(has_program)
}

/// Needs Python's client of memcached, and memcached.
fn pymemcache() -> Result<(), String> {
    let environment = CATALOG.find("python+memcached").unwrap().recipes[0];
    has_program(&environment)?;
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}

/// Whether a target can be opened here.
fn opens(url: &str) -> Result<(), String> {
    CATALOG.open(&StoreUrl::parse(url).unwrap()).map(drop).map_err(|error| error.to_string())
}

fn run(targets: &[&str], workload: &str) -> Run {
    let run = support::run(&CATALOG, targets, &format!("rounds = 2\n{workload}"));
    assert!(run.targets.iter().all(|target| target.reason.is_none()), "{:#?}", run.targets);
    run
}

fn cells<'a>(run: &'a Run, target: &str) -> Vec<&'a Cell> {
    run.cells.iter().filter(|cell| cell.target == target).collect()
}
