//! Connections: starved ones, a client that cannot serve more of them, and answers that never came.

use std::fs;
use std::process::{Child, Command, Stdio};

use larder_engines::ENGINES;
use larder_report::{COMERS_FAILED, Comers, Driven, Run, Severity, Spread};
use larder_store::StoreUrl;

use crate::case::{Case, NOTHING, made, made_up, memcached};
use crate::support;

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "UNFAIR",
        severity: Severity::Warn,
        fires_on: "a memcached of which one thread hardly gets a processor",
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

/// A run on a memcached with four threads, each with a quarter of the connections. The first of them may have to share
/// a processor with programs that it makes way for.
fn of_threads(is_first_slow: bool) -> Run {
    let server = ENGINES.open(&StoreUrl::parse("memcached:?server_threads=4").unwrap()).unwrap();
    let info = server.info();
    let neighbours = is_first_slow.then(|| Neighbours::of(info.server_pids[0]));
    let target = format!("memcached://{}", info.addresses[0]);
    let workload = "rounds = 2\nkeys = 200\nconnections = 40\noperations = 'get'\nduration = '1s'";
    let run = support::run(&ENGINES, &[&target], workload);
    drop(neighbours);
    run
}

/// Programs that do nothing but work, on one processor with the first thread of a memcached that answers.
struct Neighbours(Vec<Child>);

impl Neighbours {
    fn of(memcached: u32) -> Self {
        let name = |task: &str| fs::read_to_string(format!("/proc/{memcached}/task/{task}/comm"));
        let tasks = fs::read_dir(format!("/proc/{memcached}/task")).unwrap().flatten();
        let mut tasks = tasks.map(|task| task.file_name().into_string().unwrap());
        let worker = tasks.find(|task| name(task).is_ok_and(|name| name.trim() == "mc-worker"));
        let worker = worker.expect("a memcached has workers");
        let done = |command: &mut Command| {
            assert!(command.stdout(Stdio::null()).status().unwrap().success(), "{command:?}");
        };
        let processor = a_processor();
        done(Command::new("taskset").args(["-p", "-c", &processor, &worker]));
        done(Command::new("chrt").args(["--idle", "--pid", "0", &worker]));
        let one = |_| {
            let mut busy = Command::new("taskset");
            let work = ["timeout", "60", "sh", "-c", "while :; do :; done"];
            busy.args(["-c", &processor]).args(work);
            busy.spawn().unwrap()
        };
        // So many that the worker stays far behind on a machine whose client, too, waits for a processor.
        Self((0..6).map(one).collect())
    }
}

/// The first of the processors that this process may use.
fn a_processor() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().split(['-', ',']).next().unwrap().to_owned()
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // `timeout` passes the signal on.
            let ended = Command::new("kill").arg(child.id().to_string()).status();
            assert!(ended.is_ok_and(|ended| ended.success()));
            child.wait().unwrap();
        }
    }
}

/// Connections of which so many are starved, and the least got so many answers a second.
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

/// A run in which so many operations failed, two of three of them without an answer.
fn lost(errors: u64) -> Run {
    made_up(driven(|_| ()), |cell| {
        (cell.counts.errors, cell.counts.lost) = (errors, errors * 2 / 3);
    })
}

/// A run in which connections came, of which so many failed.
fn came(failed: u64) -> Run {
    made_up(driven(|_| ()), |cell| {
        cell.comers = Some(Comers { begun: 300, failed, ..Comers::default() });
        cell.wrong_examples.insert(COMERS_FAILED.into(), "connection refused".into());
    })
}

/// A run in which so many connections were opened.
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
