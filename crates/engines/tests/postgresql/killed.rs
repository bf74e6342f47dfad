//! What is left of a managed server when the process that started it is killed: nothing.
//!
//! That process is this binary again, told by its environment what to open.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_host::scratch::ScratchDir;
use libtest_mimic::Trial;

use crate::session_support::{open, set};
use crate::{PATIENCE, bytes, trial};

/// What a second process is to open and write to.
const HOLD: &str = "LARDER_TEST_HOLD";

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("nothing_is_left_after_kill_9", nothing_is_left_after_kill_9)]
}

/// In a second process: opens a store, says which server it has, and writes until it is killed.
#[expect(clippy::print_stdout, reason = "how a second process answers the first")]
pub(crate) fn hold_if_asked() {
    let Ok(url) = std::env::var(HOLD) else { return };
    let store = open(&url);
    let session = &mut *store.session().unwrap();
    let value = bytes(100_000);
    set(session, "key", &value);
    println!("{}", store.info().server_pids[0]);
    for i in 0_u64.. {
        set(session, &format!("key:{}", i % 1000), &value);
    }
}

fn nothing_is_left_after_kill_9() {
    let before = shared_memory();
    for url in ["postgresql:", "postgresql:?socket=on&table=logged&synchronous_commit=off"] {
        let folder = ScratchDir::create("t").unwrap();
        // The server is another user than this one, when it is root, and must get through.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut process = Command::new(std::env::current_exe().unwrap())
            .env(HOLD, url)
            .env("TMPDIR", folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let postmaster = line.trim();
        sleep(Duration::from_millis(300));
        let children = children_of(postmaster);
        // The writer of pages and that of the log, the launcher of the vacuum, three sessions …
        assert!(children.len() >= 5, "{children:?}");
        let left = || {
            let running = runs(postmaster) || children.iter().any(|pid| runs(pid));
            let folders = fs::read_dir(folder.path()).unwrap().count();
            (running, folders, has_segment_of(postmaster))
        };
        assert_eq!((left().0, left().1), (true, 1), "{url}");
        process.kill().unwrap();
        process.wait().unwrap();
        let deadline = Instant::now() + PATIENCE;
        while left() != (false, 0, false) && Instant::now() < deadline {
            sleep(Duration::from_millis(2));
        }
        assert_eq!(left(), (false, 0, false), "{url}");
    }
    let left: Vec<_> = shared_memory().difference(&before).cloned().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The segments of memory with names that servers of this machine have made, of others too.
fn shared_memory() -> BTreeSet<OsString> {
    let files = fs::read_dir("/dev/shm").unwrap().flatten().map(|file| file.file_name());
    files.filter(|name| name.to_string_lossy().starts_with("PostgreSQL.")).collect()
}

/// The processes that a process has started.
fn children_of(pid: &str) -> Vec<String> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.split_whitespace().map(String::from).collect()
}

/// Whether there is a segment of System V memory that a process made: its fifth column.
fn has_segment_of(pid: &str) -> bool {
    let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    segments.lines().any(|line| line.split_whitespace().nth(4) == Some(pid))
}

/// Whether a process runs. One that has ended and is waited for by nobody does not.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}
