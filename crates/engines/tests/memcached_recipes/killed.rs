//! What is left of several servers when the process that started them is killed: nothing.
//!
//! That process is this binary again, told by its environment what to open.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_host::scratch::ScratchDir;

use crate::PATIENCE;
use crate::session_support::{open, set};

/// What a second process is to open and hold.
const HOLD: &str = "LARDER_TEST_HOLD";

/// In a second process: opens a store, says which servers it has and where, and waits to be killed.
#[expect(clippy::print_stdout, reason = "how a second process answers the first")]
pub(crate) fn hold_if_asked() {
    let Ok(url) = std::env::var(HOLD) else { return };
    let store = open(&url);
    set(&mut *store.session().unwrap(), "key", b"value");
    let info = store.info();
    let pids: Vec<String> = info.server_pids.iter().map(ToString::to_string).collect();
    println!("{}|{}", pids.join(" "), info.settings["nodes"]);
    sleep(Duration::from_secs(1000));
}

/// Has a second process open this URL, for which so many servers run, and kills it.
pub(crate) fn nothing_is_left(url: &str, n_servers: usize) {
    let folder = ScratchDir::create("t").unwrap();
    // The servers are another user than this one, when it is root, and must get through.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut process = Command::new(std::env::current_exe().unwrap())
        .env(HOLD, url)
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (pids, nodes) = line.trim().split_once('|').unwrap();
    let left = || {
        let running = pids.split(' ').filter(|pid| runs(pid)).count();
        let listening = nodes.split(", ").filter(|node| TcpStream::connect(node).is_ok()).count();
        (running, fs::read_dir(folder.path()).unwrap().count(), listening)
    };
    assert_eq!(left(), (n_servers, n_servers, nodes.split(", ").count()), "{url}: {line}");
    process.kill().unwrap();
    process.wait().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while left() != (0, 0, 0) && Instant::now() < deadline {
        sleep(Duration::from_millis(2));
    }
    assert_eq!(left(), (0, 0, 0), "{url}: {line}");
}

/// Whether a process runs. One that has ended and is waited for by nobody does not.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}
