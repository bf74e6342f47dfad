//! `larder` as its user runs it: real servers, real signals, real files.
//!
//! A test that needs a server or a privilege shows as ignored, with the reason, where it is missing. With
//! `LARDER_REQUIRE=all` in the environment, the test fails instead.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod advice;
mod asserts;
mod backups;
mod commands;
mod diff;
mod disks;
mod drawn;
mod evictions;
mod foreign;
mod formats;
mod interrupted;
mod limits;
mod memory;
mod output;
mod plurals;
mod progress;
mod record;
mod regions;
mod released;
mod reports;
mod scene;
mod serve;
mod sets;
mod slices;
mod spans;
mod trace_faults;
mod trace_info;
mod traces;
mod usage;

use std::process::{Command, ExitCode};

use larder_engines::ENGINES;
use larder_store::Recipe;
use larder_testkit::{has_perl_modules, has_program, run_waiting, trial_where};
use libtest_mimic::Trial;

/// The needs of a test.
type Need = fn() -> Result<(), String>;
/// A need, the sentence that a test states, and the test.
type Case = (Need, &'static str, fn());

const CASES: &[&[Case]] = &[
    advice::CASES,
    asserts::CASES,
    backups::CASES,
    commands::CASES,
    diff::CASES,
    disks::CASES,
    drawn::CASES,
    evictions::CASES,
    foreign::CASES,
    formats::CASES,
    interrupted::CASES,
    limits::CASES,
    memory::CASES,
    output::CASES,
    plurals::CASES,
    progress::CASES,
    regions::CASES,
    record::CASES,
    released::CASES,
    reports::CASES,
    serve::CASES,
    sets::CASES,
    slices::CASES,
    spans::CASES,
    trace_faults::CASES,
    trace_info::CASES,
    traces::CASES,
    usage::CASES,
];

fn main() -> ExitCode {
    regions::write_if_asked();
    let cases = CASES.iter().copied().flatten();
    let trials: Vec<Trial> = cases.map(|(need, name, run)| trial_where(need, name, *run)).collect();
    run_waiting(trials)
}

/// A test that needs only larder.
const NOTHING: Need = || Ok(());

/// A memcached that can be started.
const MEMCACHED: Need = || has_program(&ENGINES.find("memcached").unwrap().recipes[0]);

/// A Redis that can be started.
const REDIS: Need = || has_program(&ENGINES.find("redis").unwrap().recipes[0]);

/// A PostgreSQL that can be started.
const POSTGRESQL: Need = || has_program(&larder_testkit::POSTGRES);

/// systemd's program that opens sockets for another.
const SYSTEMD: Need = || has_program(&Recipe::server("systemd-socket-activate", "systemd"));

/// Perl, with the module of a cache that needs no server.
const PERL: Need = || has_perl_modules(&["Cache::FileCache"]);

/// Mounts that no other process sees.
const MOUNTS: Need = || {
    let mount = ["--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"];
    let tried = Command::new("unshare").args(mount).output();
    let tried = tried.map_err(|error| format!("unshare: {error}"))?;
    let said = String::from_utf8_lossy(&tried.stderr);
    if tried.status.success() { Ok(()) } else { Err(format!("may not mount: {}", said.trim())) }
};
