//! A managed server leaves nothing when the process that started it is killed, not even in shared memory.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use larder_testkit::{Holder, is_running};
use libtest_mimic::Trial;

use crate::trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("nothing_is_left_after_kill_9", nothing_is_left_after_kill_9)]
}

fn nothing_is_left_after_kill_9() {
    for url in ["postgresql:", "postgresql:?socket=on&table=logged&synchronous_commit=off"] {
        let holder = Holder::start(url);
        let postmaster = holder.pids()[0].clone();
        sleep(Duration::from_millis(300));
        let children = children_of(&postmaster);
        // The processes that write pages and the log, the launcher of the vacuum, three sessions …
        assert!(children.len() >= 5, "{children:?}");
        assert_eq!(holder.left(), (1, 1), "{url}");
        // A killed server would leave its named segments. Those of other servers come and go meanwhile.
        for pid in children.iter().chain([&postmaster]) {
            assert_eq!(named_segments_of(pid), Vec::<String>::new(), "{url}: process {pid}");
        }
        holder.kill(|| {
            let running = children.iter().filter(|pid| is_running(pid)).count();
            running + usize::from(has_segment_of(&postmaster))
        });
    }
}

/// The named segments of memory that a process has mapped. The name is in the sixth column. A process that has ended
/// meanwhile has none.
fn named_segments_of(pid: &str) -> Vec<String> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let names = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    names.filter(|name| name.starts_with("/dev/shm/")).map(String::from).collect()
}

/// The children of a process.
fn children_of(pid: &str) -> Vec<String> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.split_whitespace().map(String::from).collect()
}

/// Whether there is a segment of System V memory that a process created: its id is in the fifth column.
fn has_segment_of(pid: &str) -> bool {
    let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    segments.lines().any(|line| line.split_whitespace().nth(4) == Some(pid))
}
