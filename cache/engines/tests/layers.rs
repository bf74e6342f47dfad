//! Layers around a real memcached that is frozen for a while.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_engines::ENGINES;
use larder_store::{Error, Recipe, SetOptions, Store, StoreUrl};
use larder_testkit::{PATIENCE, has_program, signal, trial_where};
use libtest_mimic::Arguments;

const MEMCACHED: Recipe = Recipe::server("memcached", "memcached");

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    let name = "a_breaker_rests_while_memcached_is_frozen";
    let trial = trial_where(|| has_program(&MEMCACHED), name, frozen);
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}

fn signal_servers(store: &dyn Store, number: libc::c_int) {
    store.info().server_pids.iter().for_each(|pid| signal(*pid, number));
}

fn counter(store: &dyn Store, name: &str) -> u64 {
    // The server's own counters cannot be asked while it is frozen; those of the layers can once it goes on.
    store.counters().unwrap().iter().find(|counter| counter.name == name).unwrap().value
}

fn frozen() {
    let url = "memcached:?timeout=200ms&breaker=3,probe:300ms&retry=2&metrics=on";
    let store = ENGINES.open(&StoreUrl::parse(url).unwrap()).unwrap();
    let session = &mut *store.session().unwrap();
    let begun = Instant::now();
    // A busy machine may be silent for as long as the timeout.
    while session.set(b"k", b"value", &SetOptions::default()).is_err() {
        assert!(begun.elapsed() < PATIENCE);
    }
    signal_servers(&*store, libc::SIGSTOP);
    let (mut failed, mut refused) = (0, 0);
    let begun = Instant::now();
    // Until the breaker has refused calls and some probe has failed too.
    while failed < 3 || refused < 100 {
        match session.get(b"k", &mut Vec::new()) {
            Err(error) if error.is_not_made() => refused += 1,
            Err(error) => {
                assert!(matches!(error, Error::Timeout { .. } | Error::Unavailable { .. }));
                failed += 1;
            }
            // The signal may arrive late.
            Ok(_) => assert!(failed == 0 && begun.elapsed() < PATIENCE),
        }
        assert!(begun.elapsed() < PATIENCE, "{failed} failed, {refused} were refused");
    }
    assert_eq!(store.info().settings["breaker_state"], "open");
    signal_servers(&*store, libc::SIGCONT);
    let mut value = Vec::new();
    let begun = Instant::now();
    while store.info().settings["breaker_state"] != "closed" {
        let told = session.get(b"k", &mut value);
        assert!(begun.elapsed() < PATIENCE, "{told:?}");
        assert!(!told.as_ref().is_ok_and(Option::is_none) && (told.is_err() || value == b"value"));
        if told.is_err() {
            sleep(Duration::from_millis(5));
        }
    }
    assert!(counter(&*store, "breaker_opened") >= 1 && counter(&*store, "breaker_probes") >= 1);
    assert!(counter(&*store, "breaker_refused") >= 100);
    assert!(counter(&*store, "read_errors") >= 103);
}
