//! A server that is stopped for two seconds in the middle of a phase.

use std::fs;
use std::sync::Mutex;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use larder_bench::{Event, Observer};
use larder_engines::ENGINES;
use larder_report::Run;

use crate::support;

/// The time from the beginning of the turn to the stop. The load before the phase takes much less.
const AFTER: Duration = Duration::from_millis(400);
/// The time for which the server is stopped.
const FROZEN: Duration = Duration::from_secs(2);

/// A run of a managed memcached that is stopped and continued while it answers gets.
pub(crate) fn run(workload: &str) -> Run {
    let freezer = Freezer::default();
    let workload = format!("rounds = 1\nkeys = 100\noperations = 'get'\n{workload}");
    let run = support::observed(&ENGINES, &["memcached:"], &workload, &freezer).run;
    let frozen = freezer.0.into_inner().unwrap().expect("a turn began").join();
    assert!(frozen.unwrap() > 0, "no server was found to stop");
    run
}

/// Stops every memcached below this process, once, during the first turn.
#[derive(Default)]
struct Freezer(Mutex<Option<JoinHandle<usize>>>);

impl Observer for Freezer {
    fn notice(&self, event: Event<'_>) {
        if let Event::Turn { .. } = event {
            self.0.lock().unwrap().get_or_insert_with(|| thread::spawn(freeze));
        }
    }
}

fn freeze() -> usize {
    thread::sleep(AFTER);
    let servers: Vec<String> = processes().into_iter().filter(|pid| is_ours(pid)).collect();
    signal("-STOP", &servers);
    thread::sleep(FROZEN);
    signal("-CONT", &servers);
    servers.len()
}

fn processes() -> Vec<String> {
    let names = fs::read_dir("/proc").unwrap().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).collect()
}

/// Whether a process is a memcached below this process.
fn is_ours(pid: &str) -> bool {
    let is_memcached = fs::read_to_string(format!("/proc/{pid}/comm"))
        .is_ok_and(|name| name.trim() == "memcached");
    let mut at = pid.to_owned();
    while is_memcached && at != "0" && at != "1" {
        let Ok(stat) = fs::read_to_string(format!("/proc/{at}/stat")) else { return false };
        // The name stands in parentheses, and may itself contain parentheses; the parent is the second field behind it.
        let Some(parent) = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)) else {
            return false;
        };
        if parent == std::process::id().to_string() {
            return true;
        }
        at = parent.into();
    }
    false
}

fn signal(signal: &str, pids: &[String]) {
    let sent = std::process::Command::new("kill").arg(signal).args(pids).status().unwrap();
    assert!(sent.success() || pids.is_empty(), "kill {signal} {pids:?}");
}
