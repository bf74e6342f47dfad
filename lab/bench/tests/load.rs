//! Loads from many connections on real servers: every answer is judged, and every request is counted once.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use larder_bench::{Permissions, Plan, Silent, compare};
use larder_engines::ENGINES;
use larder_report::{Counts, Operation, Run, Severity};
use larder_store::{Store, StoreUrl};
use larder_testkit::{has_program, nightly, signal, trial_where, within};
use libtest_mimic::Arguments;
use support::{cell, run, scenario};

/// Connections, and the requests that each has outstanding.
const MANY: &str =
    "connections = 12\npipeline = 8\nthreads = 2\nkeys = 600\ndata-size = 200\nrounds = 1\n";

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    let every_kind = |need: fn() -> Result<(), String>, url: &'static str| {
        let name = format!("every_kind_of_work_gets_right_answers::{url}");
        trial_where(need, &name, move || every_kind(url))
    };
    // Each comparison waits for the next second of memcached's clock.
    let other_ways = ["memcached:?protocol=text&socket=true", "memcached:?nodes=3"];
    let mut trials: Vec<_> = nightly(other_ways.map(|url| every_kind(memcached, url))).collect();
    trials.extend([
        every_kind(memcached, "memcached:?protocol=meta"),
        every_kind(redis, "redis:"),
        trial_where(memcached, "large_values_go_through_narrow_connections", large_values),
        trial_where(memcached, "a_pipeline_of_large_values_is_as_long_as_asked", long_pipeline),
        trial_where(memcached, "a_phase_of_few_operations_has_some_for_every_connection", few_each),
        trial_where(redis, "connections_that_end_in_a_large_write_are_opened_again", cut_off),
        trial_where(memcached, "an_open_loop_begins_every_operation_that_is_due", open_loop),
        trial_where(memcached, "a_killed_server_leaves_exact_counts", killed),
        trial_where(memcached, "a_stopped_run_counts_requests_without_an_answer_as_lost", stopped),
        trial_where(memcached, "idle_connections_and_those_that_come_and_go_are_told", beside),
    ]);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn memcached() -> Result<(), String> {
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}

fn redis() -> Result<(), String> {
    has_program(&ENGINES.find("redis").unwrap().recipes[0])
}

fn every_kind(url: &str) {
    for (work, operations) in [
        ("operations = 'set,get,touch,delete'", &[Operation::Set, Operation::Get][..]),
        ("ratio = '1:1'\nrequests = 30000", &[Operation::Set, Operation::Get]),
        (
            "ratio = '2:5:1'\nrequests = 30000\nkey-pattern = 'zipf:0.99'",
            &[Operation::Set, Operation::Get, Operation::Delete],
        ),
        ("operations = 'set+get+delete'", &[Operation::Set, Operation::Get, Operation::Delete]),
        ("multiget = 7\nmultiset = 5\nrequests = 20000", &[Operation::SetMany, Operation::GetMany]),
        ("on-miss = 'fill'\nrequests = 20000", &[Operation::GetOrSet]),
        (
            "on-miss = 'fill'\nratio = '1:4'\nrequests = 20000",
            &[Operation::Set, Operation::GetOrSet],
        ),
    ] {
        let run = run(&ENGINES, &[url], &format!("{MANY}{work}"));
        for operation in operations {
            let Counts { wrong, errors, lost, stored_misses, failed_fills, ops, .. } =
                cell(&run, url, *operation).counts;
            assert!(ops > 0, "{url} {work} {operation}");
            assert_eq!(
                [wrong, errors, lost, stored_misses, failed_fills],
                [0; 5],
                "{url} {work} {operation}"
            );
        }
        no_errors(&run, &format!("{url} {work}"));
    }
}

fn no_errors(run: &Run, what: &str) {
    let errors = run.checks.iter().filter(|check| check.severity == Severity::Error);
    let texts: Vec<&str> = errors.map(|check| check.text.as_str()).collect();
    assert!(texts.is_empty(), "{what}: {texts:?}");
}

fn large_values() {
    let url = "memcached:";
    let work = "connections = 6\npipeline = 16\nkeys = 120\ndata-size = '100k'\nrounds = 1\n\
                operations = 'set,get'\nrequests = 3000";
    let run = run(&ENGINES, &[url], work);
    let Counts { hits, wrong, errors, .. } = cell(&run, url, Operation::Get).counts;
    assert_eq!((hits, wrong, errors), (3000, 0, 0));
    no_errors(&run, "large values");
}

fn long_pipeline() {
    let url = "memcached:";
    for (connections, pipeline) in [(1, 16), (4, 16)] {
        let work = format!(
            "connections = {connections}\npipeline = {pipeline}\nkeys = 400\ndata-size = '32k'\nrounds = 1\n\
             operations = 'set'"
        );
        let run = run(&ENGINES, &[url], &work);
        let driven = cell(&run, url, Operation::Set).driven.unwrap();
        let asked = connections * pipeline;
        assert_eq!(driven.outstanding_most, asked, "{driven:?}");
        // The beginning and the end of the phase have fewer.
        let mean = driven.outstanding_mean.unwrap();
        assert!(mean > 0.6 * f64::from(u32::try_from(asked).unwrap()), "{driven:?}");
    }
}

fn few_each() {
    let url = "memcached:";
    let work = "connections = 100\npipeline = 4\nkeys = 1000\nrounds = 1\noperations = 'set'";
    let run = run(&ENGINES, &[url], work);
    let cell = cell(&run, url, Operation::Set);
    let driven = cell.driven.unwrap();
    assert_eq!((driven.outstanding_most, cell.counts.ops), (400, 1000), "{driven:?}");
    assert!(driven.answered_per_s.least > 0.0, "{driven:?}");
}

/// Runs sets of large values, and ends every connection once in the middle.
fn cut_off() {
    let own = ENGINES.open(&StoreUrl::parse("redis:?memory=256m").unwrap()).unwrap();
    let address = own.info().addresses[0].clone();
    let url = format!("redis://{address}");
    let work = "connections = 8\npipeline = 16\nkeys = 500\ndata-size = '100k'\nrounds = 1\nratio = '1:0'\n\
                duration = '4s'";
    let plan = Plan::new(&scenario(&[&url], work), true, &ENGINES).unwrap();
    let stop = AtomicBool::new(false);
    let run = std::thread::scope(|scope| {
        scope.spawn(|| {
            let n_items = || own.stats().unwrap().items.unwrap_or(0);
            assert!(within(Duration::from_mins(2), || n_items() == 500));
            std::thread::sleep(Duration::from_secs(1));
            let mut server = TcpStream::connect(&address).unwrap();
            server.write_all(b"CLIENT KILL TYPE normal SKIPME yes\r\n").unwrap();
            server.read_exact(&mut [0; 2]).unwrap();
        });
        let permissions = Permissions { yes: true, ..Permissions::default() };
        compare(&plan, &ENGINES, Vec::new(), permissions, &Silent, &stop).unwrap().run
    });
    let cell = cell(&run, &url, Operation::Set);
    let Counts { ops, errors, lost, .. } = cell.counts;
    // Beside what was outstanding, each connection has one request that it could not send any more.
    assert!(lost > 0 && lost <= 8 * 16 && errors <= lost + 8, "{:?}", cell.counts);
    assert!(ops > 2 * errors, "{:?}", cell.counts);
}

fn open_loop() {
    let url = "memcached:";
    let work = "operations = 'get'\nrate = 4000\narrivals = 'exponential'\nduration = '1s'";
    let run = run(&ENGINES, &[url], &format!("{MANY}{work}"));
    let cell = cell(&run, url, Operation::Get);
    let paced = cell.paced.as_ref().unwrap();
    assert!(cell.counts.ops > 3000, "{:?}", cell.counts);
    assert_eq!(cell.counts.hits, cell.counts.ops);
    assert!(cell.samples.iter().all(|sample| sample.ops_per_s > 0.0), "{paced:?}");
}

/// A memcached that the test may stop and kill. The comparison knows its address only.
struct Server {
    store: Arc<dyn Store>,
    url: String,
}

impl Server {
    fn start() -> Self {
        let store = ENGINES.open(&StoreUrl::parse("memcached:").unwrap()).unwrap();
        let url = format!("memcached://{}", store.info().addresses[0]);
        Self { store, url }
    }

    fn signal(&self, number: libc::c_int) {
        signal(self.store.info().server_pids[0], number);
    }
}

/// Runs reads of a minute, and calls `meddle` once they have begun. It is given the flag that stops the run.
fn meddled_with(server: &Server, meddle: impl FnOnce(&AtomicBool) + Send) -> Run {
    let work = format!("{MANY}ratio = '0:1'\nduration = '60s'");
    let plan = Plan::new(&scenario(&[&server.url], &work), true, &ENGINES).unwrap();
    let stop = AtomicBool::new(false);
    let began = Instant::now();
    let run = std::thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || {
            // The floor and the load come first; the reads last much longer than both.
            assert!(within(Duration::from_mins(2), || n_gets(&server.url) > 20_000));
            meddle(stop);
        });
        let permissions = Permissions::default();
        compare(&plan, &ENGINES, Vec::new(), permissions, &Silent, stop).unwrap().run
    });
    assert!(began.elapsed() < Duration::from_mins(2), "a run without a server has no end");
    run
}

/// The reads that the server has answered.
fn n_gets(url: &str) -> u64 {
    let store = ENGINES.open(&StoreUrl::parse(url).unwrap());
    let stats = store.and_then(|store| store.stats()).unwrap_or_default();
    stats.hits.unwrap_or(0) + stats.misses.unwrap_or(0)
}

fn exact(run: &Run, url: &str) -> Counts {
    let counts = cell(run, url, Operation::Get).counts;
    let Counts { ops, hits, misses, wrong, errors, lost, .. } = counts;
    assert_eq!(ops, hits + misses + wrong + errors, "{counts:?}");
    assert!(hits > 0 && misses == 0 && wrong == 0, "{counts:?}");
    assert!(lost <= errors, "{counts:?}");
    counts
}

fn killed() {
    let server = Server::start();
    let run = meddled_with(&server, |_| server.signal(libc::SIGKILL));
    let counts = exact(&run, &server.url);
    // Every connection had requests outstanding, and lost them. The listening socket of a killed process may be closed
    // last, so a connection may be made again, and lose as many once more.
    assert!((1..=2 * 12 * 8).contains(&counts.lost), "{counts:?}");
}

fn stopped() {
    let server = Server::start();
    let run = meddled_with(&server, |stop| {
        server.signal(libc::SIGSTOP);
        std::thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
    });
    server.signal(libc::SIGCONT);
    let counts = exact(&run, &server.url);
    assert_eq!(counts.lost, 12 * 8, "{counts:?}");
    assert_eq!(counts.errors, counts.lost);
}

fn beside() {
    let url = "memcached:";
    let work = "operations = 'get'\nduration = '1s'\nidle-connections = 100\nconnect-rate = 100";
    let run = run(&ENGINES, &[url], &format!("{MANY}{work}"));
    let cell = cell(&run, url, Operation::Get);
    let (idle, comers) = (cell.idle.unwrap(), cell.comers.unwrap());
    assert_eq!(idle.connections, 100);
    assert!(idle.server_bytes_per_connection.is_none_or(|bytes| bytes > 0.0));
    assert!(comers.begun > 20 && comers.failed == 0, "{comers:?}");
    let (connect, first) = (comers.connect_ns.unwrap(), comers.first_answer_ns.unwrap());
    assert!(connect.p50 < first.p50, "{comers:?}");
    assert!(support::findings(&run, "RECONNECT").is_empty(), "they were asked for");
}
