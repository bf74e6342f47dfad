//! Real clients of memcached with `larder serve`: the program of each client uses all that the client offers.
//!
//! Each program runs against a store in memory, against stores in files, and against the real memcached, which judges the
//! program. A program prints its differences, or `OK`, and its exit code tells which.
//!
//! A trial without its client shows as ignored, with the command that installs the client. `./setup.sh --with clients`
//! installs the clients that no engine of Larder needs.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod programs;
mod proxy;
mod servers;

use std::process::ExitCode;

use larder_engines::ENGINES;
use larder_testkit::{has_program, trial_where};
use libtest_mimic::Arguments;

use programs::{Client, Need, PROGRAMS, Protocol};
use servers::{Larder, Real};

/// The protocols that `larder serve` speaks. A client of another protocol is held against memcached only.
const SERVED: &[Protocol] = &[Protocol::Text, Protocol::Binary];

/// A server, its need, and the run of a client's program against it.
type Judged = (&'static str, Need, fn(&Client));

const SERVERS: &[Judged] = &[
    ("larder", || Ok(()), with_memory),
    ("larder_with_storage_threads", || Ok(()), with_files),
    ("larder_over_lmdb", || Ok(()), |client| over("lmdb:", client)),
    ("larder_over_lmdb_group", || Ok(()), |client| over("lmdb:?sync=group", client)),
    (MEMCACHED, memcached, with_memcached),
];
const MEMCACHED: &str = "memcached";

/// The trials at a time. Their programs mostly wait for entries to expire, so these may be more than the processors.
const AT_ONCE: usize = 4;

fn main() -> ExitCode {
    let mut trials = proxy::trials();
    for client in PROGRAMS {
        for (server, need, run) in SERVERS {
            if *server == MEMCACHED || SERVED.contains(&client.protocol) {
                let need = || need().and_then(|()| (client.needs)());
                let name = format!("{}::{server}", client.name);
                trials.push(trial_where(need, &name, || run(client)));
            }
        }
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_ONCE);
    libtest_mimic::run(&arguments, larder_testkit::nightly(trials).collect()).exit_code()
}

fn with_memory(client: &Client) {
    over("memory:", client);
}

fn over(url: &str, client: &Client) {
    passes(client, &Larder::start(url).address);
}

fn with_files(client: &Client) {
    let folder = tempfile::tempdir().unwrap();
    let larder = Larder::start(&format!("file:{}", folder.path().display()));
    passes(client, &larder.address);
}

fn with_memcached(client: &Client) {
    passes(client, &Real::start().address());
}

fn memcached() -> Result<(), String> {
    has_program(&ENGINES.find(MEMCACHED).unwrap().recipes[0])
}

/// Runs the program of a client, which must find no difference.
fn passes(client: &Client, address: &str) {
    let ran = (client.command)(address).output().unwrap();
    let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    assert!(ran.status.success(), "{}: {}\n{said}", client.name, ran.status);
}
