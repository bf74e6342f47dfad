//! One client is told to load a value, and stores it on condition of the version that it was told.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::net::SocketAddr;
use std::process::ExitCode;

use larder_engines::ENGINES;
use larder_testkit::{has_program, trial_where};
use libtest_mimic::{Arguments, Trial};
use support::{Client, Serving, settings, store};

type Check = fn(SocketAddr);

const CHECKS: &[(&str, Check)] = &[
    ("the_winner_stores_once", |address| {
        let (mut winner, mut other) = (Client::connect(address), Client::connect(address));
        let version = version_of(&mut winner, "mg key c N30", "W");
        assert_eq!(other.ask("mg key s N30"), "HD s0 Z");
        assert_eq!(set_if(&mut winner, version), "HD");
        assert_eq!(other.ask("mg key s N30"), "HD s5");
        assert_eq!(set_if(&mut other, version), "EX");
    }),
    ("a_change_voids_the_lease", |address| {
        let (mut winner, mut other) = (Client::connect(address), Client::connect(address));
        let version = version_of(&mut winner, "mg key c N30", "W");
        assert_eq!(other.set("key", b"newer"), "STORED");
        assert_eq!(set_if(&mut winner, version), "EX");
        assert_eq!(other.get("key").as_deref(), Some(&b"newer"[..]));
    }),
    ("a_lease_may_be_given_back", |address| {
        let (mut winner, mut other) = (Client::connect(address), Client::connect(address));
        let version = version_of(&mut winner, "mg key c N30", "W");
        assert_eq!(winner.ask(&format!("md key C{version}")), "HD");
        version_of(&mut other, "mg key c N30", "W");
    }),
    ("a_stale_value_has_one_who_loads_it", |address| {
        let (mut winner, mut other) = (Client::connect(address), Client::connect(address));
        assert_eq!(winner.set("key", b"older"), "STORED");
        assert_eq!(winner.ask("md key I T30"), "HD");
        let version = version_of(&mut winner, "mg key c", "X W");
        assert_eq!(other.ask("mg key s"), "HD s5 Z X");
        assert_eq!(set_if(&mut winner, version), "HD");
        assert_eq!(other.ask("mg key s"), "HD s5");
    }),
];

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for (name, check) in CHECKS {
        trials.push(Trial::test(format!("{name}::larder"), || {
            check(Serving::start("memory:?size=16m", settings()).address);
            let folder = tempfile::tempdir().unwrap();
            let url = format!("mmap:{}?size=16m", folder.path().join("cache").display());
            check(Serving::start(&url, settings()).address);
            Ok(())
        }));
        trials.push(trial_where(memcached, &format!("{name}::memcached"), || {
            let store = store("memcached:");
            check(store.info().addresses[0].parse().unwrap());
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn memcached() -> Result<(), String> {
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}

/// The version in an answer with these flags behind it.
fn version_of(client: &mut Client, request: &str, flags: &str) -> u64 {
    let answer = client.ask(request);
    let (version, rest) = answer.strip_prefix("HD c").expect(&answer).split_once(' ').unwrap();
    assert_eq!(rest, flags);
    version.parse().unwrap()
}

fn set_if(client: &mut Client, version: u64) -> String {
    client.send(format!("ms key 5 C{version}\r\nvalue\r\n").as_bytes());
    client.line()
}
