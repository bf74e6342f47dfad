//! A server that is stopped for two seconds in the middle of a phase.

use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use larder_bench::{Event, Observer};
use larder_engines::ENGINES;
use larder_report::Run;
use larder_store::{Store, StoreUrl};
use larder_testkit::{PATIENCE, signal, within};

use crate::support;

/// How long the server is stopped.
const FROZEN: Duration = Duration::from_secs(2);

/// A run of a memcached that is stopped and continued while it answers gets. Its one target is that server, by address.
pub(crate) fn run(workload: &str) -> Run {
    let server = ENGINES.open(&StoreUrl::parse("memcached:").unwrap()).unwrap();
    let target = format!("memcached://{}?timeout=60s", server.info().addresses[0]);
    let freezer = Freezer { server, thread: Mutex::default() };
    let workload = format!("rounds = 1\nkeys = 100\noperations = 'get'\n{workload}");
    let run = support::observed(&ENGINES, &[&target], &workload, &freezer).run;
    freezer.thread.into_inner().unwrap().expect("a turn began").join().unwrap();
    run
}

/// Stops the server of this store once, when it answers the first get of the first turn.
struct Freezer {
    server: Arc<dyn Store>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Observer for Freezer {
    fn notice(&self, event: Event<'_>) {
        if let Event::Turn { .. } = event {
            self.thread.lock().unwrap().get_or_insert_with(|| {
                let (server, before) = (Arc::clone(&self.server), n_gets(&*self.server));
                thread::spawn(move || {
                    assert!(within(PATIENCE, || n_gets(&*server) > before), "no gets");
                    let pid = server.info().server_pids[0];
                    signal(pid, libc::SIGSTOP);
                    thread::sleep(FROZEN);
                    signal(pid, libc::SIGCONT);
                })
            });
        }
    }
}

fn n_gets(server: &dyn Store) -> u64 {
    let stats = server.stats().unwrap();
    stats.hits.unwrap() + stats.misses.unwrap()
}
