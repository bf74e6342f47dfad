//! Connections: starved ones, a client that cannot serve more of them, and answers that never came.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fs, io, ptr};

use larder_engines::ENGINES;
use larder_report::{COMERS_FAILED, Comers, Driven, Run, Severity, Spread};
use larder_store::StoreUrl;

use crate::case::{Case, NOTHING, made, made_up, memcached};
use crate::support;

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "UNFAIR",
        severity: Severity::Warn,
        fires_on: "a memcached of which one thread stands still for most of the time",
        trips: || of_threads(true),
        words: &[" of 40 connections got less than a third of the median's answers: the least "],
        silent_on: "a memcached whose threads share the processors",
        silent: || of_threads(false),
        needs: memcached,
    },
    Case {
        id: "UNFAIR",
        severity: Severity::Warn,
        fires_on: "three of two hundred connections with a tenth of the answers, made up",
        trips: || answered(3, 90.0),
        words: &[
            "in the median round 3 of 200 connections got less than a third of the median's answers",
            "the least 90.0 /s, the median 900 /s, the most 950 /s",
        ],
        silent_on: "connections of which the least got a third, made up",
        silent: || answered(0, 300.0),
        needs: NOTHING,
    },
    Case {
        id: "GEN-BOUND",
        severity: Severity::Warn,
        fires_on: "a thread that drives connections all the time while the server rests, made up",
        trips: || busy(0.4),
        words: &[
            "the client's thread had the processor for 97 % of its time",
            "while the servers used 0.40 processors",
        ],
        silent_on: "a server that works all the time too, made up",
        silent: || busy(0.95),
        needs: NOTHING,
    },
    Case {
        id: "ERR-AS-OP",
        severity: Severity::Error,
        fires_on: "requests whose answers never came, made up",
        trips: || lost(30),
        words: &["of 20 it is not known whether they were carried out"],
        silent_on: "requests that were all answered, made up",
        silent: || lost(0),
        needs: NOTHING,
    },
    Case {
        id: "ERR-AS-OP",
        severity: Severity::Warn,
        fires_on: "connections that came and were refused, made up",
        trips: || came(3),
        words: &[
            "3 of 300 connections that came (1.00 %) were refused or had no right answer",
            "such as: connection refused",
        ],
        silent_on: "connections that came and were answered, made up",
        silent: || came(0),
        needs: NOTHING,
    },
    Case {
        id: "RECONNECT",
        severity: Severity::Warn,
        fires_on: "twice as many connections as are driven, made up",
        trips: || opened(400),
        words: &["400 connections for 800 operations"],
        silent_on: "each driven connection once a round, made up",
        silent: || opened(200),
        needs: NOTHING,
    },
];

/// A run on a memcached with four threads, each with a quarter of the connections. The first of them may stand still for
/// most of the time.
fn of_threads(is_first_slow: bool) -> Run {
    let server = ENGINES.open(&StoreUrl::parse("memcached:?server_threads=4").unwrap()).unwrap();
    let info = server.info();
    let stopper = is_first_slow.then(|| Stopper::of_a_worker(info.server_pids[0]));
    let target = format!("memcached://{}?timeout=60s", info.addresses[0]);
    let workload = "rounds = 2\nkeys = 200\nconnections = 40\noperations = 'get'\nduration = '1s'";
    let run = support::run(&ENGINES, &[&target], workload);
    drop(stopper);
    run
}

/// Stops the first worker of a memcached again and again, so that it seldom works. On a machine whose processors are all
/// busy, a lower priority is not enough: the client, too, is slow then.
struct Stopper {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stopper {
    fn of_a_worker(memcached: u32) -> Self {
        let name = |task: &str| fs::read_to_string(format!("/proc/{memcached}/task/{task}/comm"));
        let tasks = fs::read_dir(format!("/proc/{memcached}/task")).unwrap().flatten();
        let mut tasks = tasks.map(|task| task.file_name().into_string().unwrap());
        let worker = tasks.find(|task| name(task).is_ok_and(|name| name.trim() == "mc-worker"));
        let worker = worker.expect("a memcached has workers").parse().unwrap();
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let thread = Some(thread::spawn(move || stop_often(worker, &told)));
        Self { ends, thread }
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok() || thread::panicking());
        }
    }
}

/// Traces a thread of another process, which alone can be stopped so.
fn stop_often(task: libc::pid_t, ends: &AtomicBool) {
    // SAFETY: these requests take numbers only.
    let ask = |request| unsafe { libc::ptrace(request, task, 0, 0) };
    assert_eq!(ask(libc::PTRACE_SEIZE), 0, "{}", io::Error::last_os_error());
    while !ends.load(Ordering::Relaxed) {
        assert_eq!(ask(libc::PTRACE_INTERRUPT), 0, "{}", io::Error::last_os_error());
        // SAFETY: the call takes numbers only, and the status may be left out.
        assert_eq!(unsafe { libc::waitpid(task, ptr::null_mut(), libc::__WALL) }, task);
        thread::sleep(Duration::from_millis(400));
        assert_eq!(ask(libc::PTRACE_CONT), 0, "{}", io::Error::last_os_error());
        thread::sleep(Duration::from_millis(5));
    }
    // A thread is let go while it stands still, or with its tracer.
}

/// Connections of which this many are starved, and the least got this many answers a second.
fn answered(starved: u32, least: f64) -> Run {
    driven(|driven| {
        driven.starved = starved;
        driven.answered_per_s = Spread { least, median: 900.0, most: 950.0 };
    })
}

/// A client of one thread that never rests, before a server with one thread that uses this much of a processor.
fn busy(server_processors: f64) -> Run {
    let mut run = driven(|driven| driven.server_processors = Some(server_processors));
    run.targets[0].ownership = Some("managed".into());
    made_up(run, |cell| {
        cell.samples.iter_mut().for_each(|sample| sample.client_busy = Some(0.97));
    })
}

/// A run in which this many operations failed, two of three of them without an answer.
fn lost(errors: u64) -> Run {
    made_up(driven(|_| ()), |cell| {
        (cell.counts.errors, cell.counts.lost) = (errors, errors * 2 / 3);
    })
}

/// A run in which connections came, of which this many failed.
fn came(failed: u64) -> Run {
    made_up(driven(|_| ()), |cell| {
        cell.comers = Some(Comers { begun: 300, failed, ..Comers::default() });
        cell.wrong_examples.insert(COMERS_FAILED.into(), "connection refused".into());
    })
}

/// A run in which this many connections were opened.
fn opened(connections: u64) -> Run {
    made_up(driven(|driven| driven.connections = 100), |cell| {
        cell.counts.connections = Some(connections);
    })
}

/// A small run as if one thread had driven 200 connections.
fn driven(change: impl Fn(&mut Driven)) -> Run {
    made_up(made(&["map:"]), |cell| {
        let answered_per_s = Spread { least: 890.0, median: 900.0, most: 950.0 };
        let mut driven =
            Driven { connections: 200, pipeline: 1, answered_per_s, ..Driven::default() };
        change(&mut driven);
        cell.driven = Some(driven);
    })
}
