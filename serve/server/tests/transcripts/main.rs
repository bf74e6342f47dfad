//! Each transcript passes on this server and on the real memcached. The test `stores` has other stores.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[path = "../support/mod.rs"]
mod support;

use std::process::ExitCode;

use larder_engines::ENGINES;
use larder_testkit::{has_program, trial_where};
use libtest_mimic::{Arguments, Trial};
use support::transcript::TRANSCRIPTS;
use support::{Serving, lasting, settings, store};

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for transcript in TRANSCRIPTS {
        let name = transcript.name;
        trials.push(Trial::test(format!("{name}::larder"), move || {
            let serving = Serving::start("memory:?size=16m", settings());
            transcript.follow(serving.address);
            Ok(())
        }));
        trials.push(Trial::test(format!("{name}::larder_with_storage_threads"), move || {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("mmap:{}?size=16m", folder.path().join("cache").display());
            let serving = Serving::start(&url, settings());
            transcript.follow(serving.address);
            Ok(())
        }));
        trials.push(Trial::test(format!("{name}::larder_with_both"), move || {
            transcript.follow(Serving::of(lasting(), settings()).address);
            Ok(())
        }));
        trials.push(trial_where(memcached, &format!("{name}::memcached"), move || {
            let store = store("memcached:");
            transcript.follow(store.info().addresses[0].parse().unwrap());
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn memcached() -> Result<(), String> {
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}
