//! Readers in two processes above one L1 file and one memcached, which freezes, dies and comes back.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use larder_host::scratch::ScratchDir;
use larder_store::{Span, Store};
use larder_testkit::{Memcached, SecondProcess, signal};
use larder_tiers::{Cap, Config, Tiers};

use super::{open, set_surely, wait_until};

/// The URLs of the tiers that another process opens, in one line.
const TIERS: &str = "LARDER_FAILING_TIERS";
const THREADS: usize = 4;
const KEYS: usize = 100;
const NEAR: &[u8] = b"value";

/// The readers of one process.
struct Readers {
    store: Tiers,
    far: Arc<dyn Store>,
    ends: AtomicBool,
    reads: AtomicU64,
    /// Reads of keys of L1 that found nothing or something else.
    lost: AtomicU64,
    errors: AtomicU64,
}

/// The state of one process, in this order: reads, lost keys of L1, errors, probes, times that the breaker opened and
/// closed.
type State = [u64; 6];

impl Readers {
    fn new(tiers: &str) -> Self {
        let (near, far) = tiers.split_once(' ').unwrap();
        let (near, far) = (open(near), open(far));
        let soft_timeout = Cap(Some(Duration::from_millis(200)));
        // Values of L1 stay, so that each read of such a key is a hit there.
        let config = Config {
            l1_ttl: Cap(None),
            soft_timeout,
            grace: Span(Duration::ZERO),
            ..Config::default()
        };
        let store = Tiers::new(vec![near, Arc::clone(&far)], &config).unwrap();
        let [reads, lost, errors] = [(); 3].map(|()| AtomicU64::new(0));
        Self { store, far, ends: AtomicBool::new(false), reads, lost, errors }
    }

    /// Reads keys of L1 and absent keys in turn, until the end.
    fn read(&self) {
        let (mut session, mut value) = (self.store.session().unwrap(), Vec::new());
        for n in (0..KEYS).cycle() {
            if self.ends.load(SeqCst) {
                return;
            }
            match session.get(near(n).as_bytes(), &mut value) {
                Ok(Some(_)) if value == NEAR => {}
                Ok(_) => drop(self.lost.fetch_add(1, SeqCst)),
                Err(_) => drop(self.errors.fetch_add(1, SeqCst)),
            }
            if session.get(format!("absent:{n}").as_bytes(), &mut value).is_err() {
                self.errors.fetch_add(1, SeqCst);
            }
            self.reads.fetch_add(1, SeqCst);
            thread::sleep(Duration::from_micros(500));
        }
    }

    fn state(&self) -> State {
        let counters = self.far.counters().unwrap();
        let counter = |name| counters.iter().find(|counter| counter.name == name).unwrap().value;
        let [reads, lost, errors] =
            [&self.reads, &self.lost, &self.errors].map(|it| it.load(SeqCst));
        let [probes, opened, closed] =
            ["breaker_probes", "breaker_opened", "breaker_closed"].map(counter);
        [reads, lost, errors, probes, opened, closed]
    }
}

fn near(n: usize) -> String {
    format!("near:{n}")
}

/// The work of another process: it reads, and answers each line with its state.
pub(super) fn work_if_asked() -> Option<ExitCode> {
    let readers = Readers::new(&std::env::var(TIERS).ok()?);
    thread::scope(|scope| {
        (0..THREADS).for_each(|_| drop(scope.spawn(|| readers.read())));
        for line in std::io::stdin().lines() {
            line.unwrap();
            println!("{}", readers.state().map(|n| n.to_string()).join(" "));
        }
        readers.ends.store(true, SeqCst);
    });
    Some(ExitCode::SUCCESS)
}

/// The state of another process.
fn state(other: &mut SecondProcess) -> State {
    let answer = other.ask("state");
    let numbers: Vec<u64> = answer.split_whitespace().map(|n| n.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

pub(super) fn under_load() {
    let server = Memcached::start();
    let folder = ScratchDir::create("failing").unwrap();
    let tiers = tiers(folder.path(), &server);
    let readers = &Readers::new(&tiers);
    let mut session = readers.store.session().unwrap();
    for n in 0..KEYS {
        set_surely(&mut *session, &near(n), NEAR);
    }
    let other = &mut SecondProcess::start(TIERS, &tiers);
    thread::scope(|scope| {
        // A test that fails must end the threads too, or it would wait for them.
        let _ends = Ends(&readers.ends);
        (0..THREADS).for_each(|_| drop(scope.spawn(|| readers.read())));
        let mut both = || [readers.state(), state(other)];
        let reads = |states: &[State; 2]| states.map(|[reads, ..]| reads);
        wait_until("reads", || reads(&both()).iter().all(|reads| *reads > 200));
        signal(server.pid(), libc::SIGSTOP);
        wait_until("open breakers", || {
            both().iter().all(|[_, _, _, _, opened, closed]| opened > closed)
        });
        let (begun, before) = (Instant::now(), both());
        let probes =
            |states: [State; 2]| states.map(|[_, _, _, probes, ..]| probes).iter().sum::<u64>();
        wait_until("probes", || probes(both()) >= probes(before) + 3);
        let port = server.port.to_string();
        drop(server);
        let killed = probes(both());
        wait_until("probes of a server that is gone", || probes(both()) >= killed + 3);
        let dead = both();
        // In each second one process begins one probe; one may have begun just before the count.
        let (n_probes, most) = (probes(dead) - probes(before), begun.elapsed().as_secs() + 2);
        assert!(n_probes <= most, "{n_probes} probes > {most}");
        assert!(reads(&dead).iter().zip(reads(&before)).all(|(now, then)| *now > then + 200));
        let _server = Memcached::start_on(&port);
        wait_until("closed breakers", || {
            let closed = |states: [State; 2]| states.map(|[.., closed]| closed);
            closed(both()).iter().zip(closed(dead)).all(|(now, then)| *now > then)
        });
        let back = reads(&both());
        wait_until("reads", || {
            reads(&both()).iter().zip(back).all(|(now, then)| *now > then + 200)
        });
        for [_, lost, errors, ..] in both() {
            assert_eq!((lost, errors), (0, 0));
        }
    });
}

fn tiers(folder: &Path, server: &Memcached) -> String {
    let near = folder.join("near").display().to_string();
    format!("mmap:{near}?size=4m memcached://{}?timeout=1h&breaker=5", server.address())
}

/// Ends the readers, also where the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}
