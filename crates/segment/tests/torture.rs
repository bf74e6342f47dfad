//! Processes that share a cache are killed, stopped and resumed at any instruction, and nobody ever reads what is wrong or
//! older than what was acknowledged.
//!
//! Workers get, set, delete and clear under load. Beside the cache they share a ledger, in which a worker notes before a
//! change what it begins, and after it what was acknowledged; each key is changed by one worker and read by all. So a reader
//! knows, before it asks, which is the oldest value that it may find.
//!
//! `LARDER_TORTURE=300` tortures for so many seconds, `just torture` for five minutes.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(clippy::cast_possible_truncation, reason = "a random number is cut anyway")]

mod support;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use larder_segment::Cache;
use support::ledger::{Ledger, Tally};
use support::{KEYS, OPTIONS, WORKERS, work};

/// The seconds of the short form.
const SHORT: u64 = 6;

/// What a worker is told by: the folder, and its number.
const FOLDER: &str = "LARDER_TORTURE_FOLDER";
const NUMBER: &str = "LARDER_TORTURE_NUMBER";

/// Not a test: a worker, of the test below.
#[test]
#[ignore = "a worker of the test below"]
fn worker() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let number: usize = std::env::var(NUMBER).unwrap().parse().unwrap();
    work::work(Path::new(&folder), number);
}

/// A worker that is killed when it is dropped.
struct Worker {
    child: Child,
    stopped: bool,
}

impl Worker {
    fn start(folder: &Path, number: usize) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["worker", "--exact", "--ignored", "--nocapture"]);
        command.env(FOLDER, folder).env(NUMBER, number.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Self { child: command.spawn().unwrap(), stopped: false }
    }

    fn signal(&mut self, signal: i32) {
        let pid = i32::try_from(self.child.id()).unwrap();
        // SAFETY: a signal to a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
        self.stopped = signal == libc::SIGSTOP;
    }

    /// Nobody but this test ends a worker.
    fn check(&mut self) {
        if let Some(status) = self.child.try_wait().unwrap() {
            panic!("a worker ended by itself: {status}");
        }
    }

    fn kill(&mut self) {
        self.signal(libc::SIGKILL);
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGKILL), "a worker ended by itself: {status}");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn nobody_reads_what_is_wrong_or_old_whoever_is_killed_or_stopped() {
    let asked = std::env::var("LARDER_TORTURE").ok();
    let seconds = asked.map_or(SHORT, |text| text.parse().expect("a number of seconds"));
    let folder = support::folder();
    let cache = Cache::open(&folder.path().join("cache"), &OPTIONS).unwrap();
    let ledger = Ledger::open(folder.path());
    let mut workers: Vec<Worker> = (0..WORKERS).map(|n| Worker::start(folder.path(), n)).collect();
    let (began, mut random) = (Instant::now(), support::random(1));
    let (mut kills, mut stops, mut opened) = (0, 0, 0);
    while began.elapsed() < Duration::from_secs(seconds) {
        let at = random() as usize % WORKERS;
        match random() % 8 {
            0 => {
                workers[at].signal(libc::SIGSTOP);
                stops += 1;
            }
            1 => {
                assert!(Cache::existing(&folder.path().join("cache")).unwrap().is_some());
                opened += 1;
            }
            _ => {
                workers[at].kill();
                workers[at] = Worker::start(folder.path(), at);
                kills += 1;
            }
        }
        std::thread::sleep(Duration::from_micros(random() % 8000));
        for worker in &mut workers {
            if worker.stopped && random() % 4 == 0 {
                worker.signal(libc::SIGCONT);
            }
            worker.check();
        }
    }
    for worker in &mut workers {
        worker.signal(libc::SIGCONT);
    }
    std::thread::sleep(Duration::from_millis(300));
    drop(workers);
    let stats = cache.stats();
    let count = |of: Tally| ledger.count(of);
    println!(
        "{seconds} s: {kills} kills, {stops} stops, {opened} times opened anew; {} operations, of which {} found {} keys' \
         values; {} wrong, {} old, {} busy, {} longer than 100 ms; {} locks repaired, {} entries evicted, {} damaged",
        count(Tally::Operations),
        count(Tally::Hits),
        KEYS,
        count(Tally::Wrong),
        count(Tally::Old),
        count(Tally::Busy),
        count(Tally::Long),
        stats.lock_repairs,
        stats.evictions(),
        stats.damaged,
    );
    assert_eq!((count(Tally::Wrong), count(Tally::Old)), (0, 0), "what is wrong or old was read");
    assert_eq!(stats.damaged, 0, "entries were damaged");
    assert!(kills > 10 * seconds && count(Tally::Hits) > 1000 * seconds, "nothing was tortured");
    assert!(stats.evictions() > 0, "the region never was full");
    // It still works.
    let mut session = cache.session();
    session.set(b"after", b"all", &larder_segment::Set::default()).unwrap();
    assert!(session.get(b"after", &mut Vec::new()).is_some());
}
