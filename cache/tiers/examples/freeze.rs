//! The times of reads while the lowest tier freezes, dies and comes back.
//!
//! `cargo run --release -p larder-tiers --example freeze` starts a memcached, and reads through a stack above it: keys of
//! L1, and keys that only the memcached could have. It prints the times of both for each state of the memcached.

#![expect(clippy::unwrap_used, reason = "an example without what it needs has failed")]
#![expect(clippy::print_stdout, reason = "the figures")]

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use larder_engines::ENGINES;
use larder_host::scratch::ScratchDir;
use larder_store::{Counter, SetOptions, StoreUrl};
use larder_testkit::{Memcached, signal};
use larder_tiers::{Cap, Config, Tiers};

const THREADS: usize = 4;
const KEYS: usize = 100;
const SOFT: Duration = Duration::from_millis(50);
const STATES: [(&str, Duration); 4] = [
    ("sound", Duration::from_secs(5)),
    ("frozen", Duration::from_secs(10)),
    ("gone", Duration::from_secs(5)),
    ("back", Duration::from_secs(5)),
];
/// The pause between two pairs of reads, so that the threads do not wait for processors.
const PAUSE: Duration = Duration::from_micros(500);

/// The times of the reads of one thread: for each state those of keys of L1, and those of other keys.
type Times = [[Vec<Duration>; 2]; STATES.len()];

fn main() {
    larder_host::delay_proxy::serve_if_asked();
    let folder = ScratchDir::create("freeze").unwrap();
    let server = Memcached::start();
    let open = |url: String| ENGINES.open(&StoreUrl::parse(&url).unwrap()).unwrap();
    let near = open(format!("mmap:{}?size=4m", folder.path().join("near").display()));
    let far = open(format!("memcached://{}?breaker=5", server.address()));
    let counters = || far.counters().unwrap();
    let config = Config { l1_ttl: Cap(None), soft_timeout: Cap(Some(SOFT)), ..Config::default() };
    let store = Tiers::new(vec![near, std::sync::Arc::clone(&far)], &config).unwrap();
    let mut session = store.open_session().unwrap();
    for n in 0..KEYS {
        let key = format!("near:{n}");
        larder_store::Session::set(&mut session, key.as_bytes(), b"value", &SetOptions::default())
            .unwrap();
    }
    let state = AtomicUsize::new(0);
    let mut probes = Vec::new();
    let times: Vec<Times> = scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| read(&store, &state))).collect();
        let (port, mut server) = (server.port.to_string(), Some(server));
        for (n, (name, time)) in STATES.into_iter().enumerate() {
            match (name, &server) {
                ("frozen", Some(server)) => signal(server.pid(), libc::SIGSTOP),
                ("gone", _) => server = None,
                ("back", _) => server = Some(Memcached::start_on(&port)),
                _ => {}
            }
            state.store(n, Ordering::SeqCst);
            sleep(time);
            probes.push(count(&counters(), "breaker_probes"));
        }
        state.store(STATES.len(), Ordering::SeqCst);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let load = fs::read_to_string("/proc/loadavg").unwrap();
    println!(
        "{THREADS} threads, soft_timeout={} ms, load average {}",
        SOFT.as_millis(),
        load.trim()
    );
    println!("L2      keys of  reads    p50        p99.9      longest    probes");
    for (n, (name, _)) in STATES.iter().enumerate() {
        for (kind, of) in ["L1", "L2"].into_iter().enumerate() {
            let of_threads = times.iter().flat_map(|times| times[n][kind].iter().copied());
            let mut all: Vec<Duration> = of_threads.collect();
            all.sort_unstable();
            let at = |per_mille: usize| ms(all[(all.len() - 1) * per_mille / 1000]);
            let before = if n > 0 { probes[n - 1] } else { 0 };
            println!(
                "{name:7} {of:8} {:<8} {:<10} {:<10} {:<10} {}",
                all.len(),
                at(500),
                at(999),
                at(1000),
                probes[n] - before
            );
        }
    }
}

/// Reads until the end, a key of L1 and another in turn.
fn read(store: &Tiers, state: &AtomicUsize) -> Times {
    let (mut session, mut value) = (store.open_session().unwrap(), Vec::new());
    let mut times = Times::default();
    for n in (0..KEYS).cycle() {
        for (kind, of) in ["near", "absent"].into_iter().enumerate() {
            let (key, begun) = (format!("{of}:{n}"), Instant::now());
            let Some(times) = times.get_mut(state.load(Ordering::SeqCst)) else { return times };
            larder_store::Session::get(&mut session, key.as_bytes(), &mut value).unwrap();
            times[kind].push(begun.elapsed());
        }
        sleep(PAUSE);
    }
    times
}

fn ms(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1000.0)
}

fn count(counters: &[Counter], name: &str) -> u64 {
    counters.iter().find(|counter| counter.name == name).unwrap().value
}
