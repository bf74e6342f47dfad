//! Nodes of a pool or a cluster that are killed, or stopped for a while, under load: what became of each request is known exactly.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use larder_engines::ENGINES;
use larder_store::{Put, Recipe, Result, Session, SetOptions, Store, StoreUrl};
use larder_testkit::{has_program, nightly_if, patient, run_waiting, signal, trial_where};
use libtest_mimic::Trial;

/// The keys of a session, which writes and reads all of them again and again.
const KEYS: usize = 60;
const SESSIONS: usize = 2;
const NODES: usize = 3;

/// The rounds of each session before a node is killed, and after.
const ROUNDS: u64 = 20;

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    let mut trials = Vec::new();
    for (name, url, program) in [
        ("memcached", "memcached:?nodes=3", "memcached"),
        ("memcached_text", "memcached:?nodes=3&protocol=text", "memcached"),
        ("redis", "redis:?nodes=3", "redis-server"),
        ("redis_resp3", "redis:?nodes=3&resp=3", "redis-server"),
    ] {
        let trial = |what: &str, is_nightly: bool, run: Box<dyn FnOnce() + Send>| -> Trial {
            let has_it = move || has_program(&Recipe::server(program, program));
            nightly_if(is_nightly, trial_where(has_it, &format!("{name}::{what}"), run))
        };
        for node in 0..NODES {
            let run = Box::new(move || a_killed_node(url, node));
            let name = format!("node_{node}_that_is_killed_loses_its_own_requests_alone");
            trials.push(trial(&name, node > 0, run));
        }
        let run = Box::new(move || stopped_nodes(url));
        trials.push(trial("nodes_that_stop_for_a_while_lose_nothing", false, run));
    }
    run_waiting(trials)
}

fn open(url: &str) -> std::sync::Arc<dyn Store> {
    let url = StoreUrl::parse(url).unwrap();
    let store = ENGINES.open(&patient(&ENGINES, url.clone())).unwrap();
    if url.scheme() == "redis" {
        // The others would end their service after a while without the lost one.
        for node in store.info().settings["nodes"].split(", ") {
            let mut stream = TcpStream::connect(node).unwrap();
            stream.write_all(b"CONFIG SET cluster-node-timeout 3600000\r\n").unwrap();
            let mut answer = [0; 5];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"+OK\r\n");
        }
    }
    store
}

/// One session and what it knows of its keys.
struct Worker {
    session: Box<dyn Session>,
    keys: Vec<String>,
    /// The present round, which each value has behind its key.
    round: u64,
    /// Of each key, the last round whose write was acknowledged, the number of those, and the number of rounds in which it was read.
    acknowledged: Vec<u64>,
    n_acknowledged: Vec<u64>,
    n_read: Vec<u64>,
    /// The errors of batches.
    errors: Vec<String>,
}

impl Worker {
    fn new(store: &dyn Store, number: usize) -> Self {
        Self {
            session: store.session().unwrap(),
            keys: (0..KEYS).map(|i| format!("worker-{number}-key-{i}")).collect(),
            round: 0,
            acknowledged: vec![0; KEYS],
            n_acknowledged: vec![0; KEYS],
            n_read: vec![0; KEYS],
            errors: Vec::new(),
        }
    }

    fn note(&mut self, result: Result<()>) {
        if let Err(error) = result {
            assert!(error.is_fault() && error.kind() == "unavailable", "{error}");
            self.errors.push(error.to_string());
        }
    }

    /// Writes and reads each key once, by batches.
    fn round(&mut self) {
        self.round += 1;
        let round = self.round;
        let values: Vec<String> = self.keys.iter().map(|key| format!("{key} {round}")).collect();
        let puts: Vec<Put<'_>> = self
            .keys
            .iter()
            .zip(&values)
            .map(|(key, value)| Put {
                key: key.as_bytes(),
                value: value.as_bytes(),
                options: SetOptions::default(),
            })
            .collect();
        let mut stored = Vec::new();
        let written = self.session.set_many(&puts, &mut |i, outcome| {
            assert!(outcome.unwrap().is_stored());
            stored.push(i);
        });
        for i in &stored {
            self.acknowledged[*i] = round;
            self.n_acknowledged[*i] += 1;
        }
        assert_eq!(written.is_ok(), stored.len() == KEYS, "{} of {KEYS} outcomes", stored.len());
        self.note(written);
        let keys: Vec<&[u8]> = self.keys.iter().map(String::as_bytes).collect();
        let mut read = Vec::new();
        let result = self.session.get_many(&keys, &mut |i, value, _| {
            let value = String::from_utf8(value.to_vec()).unwrap();
            read.push((i, value));
        });
        for (i, value) in &read {
            self.check(*i, value);
            self.n_read[*i] += 1;
        }
        assert!(result.is_err() || read.len() == KEYS, "{} of {KEYS} values", read.len());
        self.note(result);
    }

    /// A value is the last one that was acknowledged, or one that was sent later and got no answer.
    fn check(&self, i: usize, value: &str) {
        let (key, round) = value.split_once(' ').unwrap();
        let round: u64 = round.parse().unwrap();
        assert_eq!(key, self.keys[i]);
        assert!((self.acknowledged[i]..=self.round).contains(&round), "{value}: {}", self.round);
    }

    /// Reads a key by itself; `None` where its node is lost.
    fn read_alone(&mut self, i: usize) -> Option<String> {
        let mut value = Vec::new();
        match self.session.get(self.keys[i].as_bytes(), &mut value) {
            Ok(found) => {
                assert!(found.is_some(), "{} is gone", self.keys[i]);
                Some(String::from_utf8(value).unwrap())
            }
            Err(error) => {
                assert_eq!(error.kind(), "unavailable", "{error}");
                None
            }
        }
    }
}

fn a_killed_node(url: &str, node: usize) {
    let store = open(url);
    let address = store.info().settings["nodes"].split(", ").nth(node).unwrap().to_owned();
    let n_rounds = AtomicU64::new(0);
    let is_killed = AtomicU64::new(0);
    let workers: Vec<Worker> = scope(|scope| {
        let work = |number: usize| {
            let (store, n_rounds, is_killed) = (&*store, &n_rounds, &is_killed);
            scope.spawn(move || {
                let mut worker = Worker::new(store, number);
                let mut n_after = 0;
                while n_after < ROUNDS {
                    n_after += is_killed.load(Ordering::SeqCst);
                    worker.round();
                    n_rounds.fetch_add(1, Ordering::SeqCst);
                }
                worker
            })
        };
        let running: Vec<_> = (0..SESSIONS).map(work).collect();
        while n_rounds.load(Ordering::SeqCst) < ROUNDS * SESSIONS as u64 {
            sleep(Duration::from_millis(1));
        }
        // In the midst of a round.
        signal(store.info().server_pids[node], libc::SIGKILL);
        // It may answer until the system has ended it.
        while TcpStream::connect(&address).is_ok() {
            sleep(Duration::from_millis(1));
        }
        is_killed.store(1, Ordering::SeqCst);
        running.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    for mut worker in workers {
        let mut n_lost = 0;
        for i in 0..KEYS {
            let (n_rounds, n_acknowledged) = (worker.round, worker.n_acknowledged[i]);
            if let Some(value) = worker.read_alone(i) {
                // Nothing that concerned the lost node has touched this key.
                assert_eq!([n_acknowledged, worker.n_read[i]], [n_rounds; 2], "{}", worker.keys[i]);
                assert_eq!(value, format!("{} {n_rounds}", worker.keys[i]));
            } else {
                n_lost += 1;
                assert!(n_acknowledged <= n_rounds - ROUNDS, "{n_acknowledged} of {n_rounds}");
                assert!(worker.acknowledged[i] == n_acknowledged, "none is missing before the end");
            }
        }
        assert!((1..KEYS).contains(&n_lost), "{n_lost} of {KEYS} keys are on the lost node");
        assert!(worker.errors.len() as u64 >= 2 * ROUNDS, "{:?}", worker.errors);
        assert!(worker.errors.iter().all(|error| error.contains(&address)), "{:?}", worker.errors);
    }
}

fn stopped_nodes(url: &str) {
    let store = open(url);
    let is_over = AtomicU64::new(0);
    let workers: Vec<Worker> = scope(|scope| {
        let work = |number: usize| {
            let (store, is_over) = (&*store, &is_over);
            scope.spawn(move || {
                let mut worker = Worker::new(store, number);
                while is_over.load(Ordering::SeqCst) == 0 {
                    worker.round();
                }
                worker
            })
        };
        let running: Vec<_> = (0..SESSIONS).map(work).collect();
        for pid in store.info().server_pids.repeat(3) {
            signal(pid, libc::SIGSTOP);
            sleep(Duration::from_millis(50));
            signal(pid, libc::SIGCONT);
            sleep(Duration::from_millis(10));
        }
        is_over.store(1, Ordering::SeqCst);
        running.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    for worker in workers {
        assert_eq!(worker.errors, Vec::<String>::new());
        assert!(worker.round > 0);
        assert_eq!(worker.n_acknowledged, vec![worker.round; KEYS]);
        assert_eq!(worker.n_read, vec![worker.round; KEYS]);
    }
}
