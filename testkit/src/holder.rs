//! A second process that holds a store open and is killed: afterwards nothing may be left of its servers.
//!
//! The process is the test binary again; its environment tells it which URL to open.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_host::scratch::ScratchDir;
use larder_store::{Catalog, SetOptions, StoreUrl};

use crate::PATIENCE;

/// The URL of the store that a second process opens and writes to.
const HOLD: &str = "LARDER_TEST_HOLD";

/// A second process that holds a store.
#[derive(Debug)]
pub struct Holder {
    process: Child,
    folder: ScratchDir,
    pids: Vec<String>,
    nodes: Vec<String>,
}

/// In the second process: opens a store of this catalog, prints its servers, and writes until it is killed. The first
/// line of a `main` that calls [`Holder::start`].
#[expect(clippy::print_stdout, reason = "how a second process answers the first")]
pub fn hold_if_asked(catalog: &Catalog) {
    let Ok(url) = std::env::var(HOLD) else { return };
    let url = StoreUrl::parse(&url).expect("a URL");
    let store = catalog.open(&url).expect("a store");
    let mut session = store.session().expect("a session");
    let value = vec![b'v'; 10_000];
    let mut set = |key: u64| {
        let key = format!("key:{key}");
        session.set(key.as_bytes(), &value, &SetOptions::default()).expect("it is stored");
    };
    set(0);
    let info = store.info();
    let pids: Vec<String> = info.server_pids.iter().map(ToString::to_string).collect();
    let nodes = info.settings.get("nodes").map_or("", |nodes| nodes);
    println!("{}|{nodes}", pids.join(" "));
    for number in (0..1000).cycle() {
        set(number);
    }
}

impl Holder {
    /// Starts the process for this URL and waits until its servers run.
    pub fn start(url: &str) -> Self {
        let folder = ScratchDir::create("t").expect("a temporary directory");
        // If this user is root, the servers run as another user, who must be able to enter.
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), open).expect("a folder of one's own");
        let mut process = Command::new(std::env::current_exe().expect("this program"))
            .env(HOLD, url)
            .env("TMPDIR", folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts");
        let mut line = String::new();
        let answers = process.stdout.take().expect("it has a pipe");
        BufReader::new(answers).read_line(&mut line).expect("it answers");
        let (pids, nodes) = line.trim().split_once('|').expect("servers and nodes");
        Self {
            process,
            folder,
            pids: pids.split_whitespace().map(str::to_owned).collect(),
            nodes: nodes.split(", ").filter(|node| !node.is_empty()).map(str::to_owned).collect(),
        }
    }

    /// The processes of its servers.
    pub fn pids(&self) -> &[String] {
        &self.pids
    }

    /// The addresses of its nodes, as the store reports them.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// The number of its running servers, and the number of its folders.
    pub fn left(&self) -> (usize, usize) {
        let running = self.pids.iter().filter(|pid| is_running(pid)).count();
        let folders = fs::read_dir(self.folder.path()).expect("its folder").count();
        (running, folders)
    }

    /// Kills it, and waits until its servers and folders are gone, and `others` counts 0.
    pub fn kill(mut self, others: impl Fn() -> usize) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
        let left = || (self.left(), others());
        within(PATIENCE, || left() == ((0, 0), 0));
        assert_eq!(left(), ((0, 0), 0), "servers and folders, and others");
    }
}

/// Has a second process open this URL, with this number of servers in a folder each, and kills it.
pub fn nothing_is_left_after_kill_9(url: &str, n_servers: usize) {
    let holder = Holder::start(url);
    assert_eq!(holder.left(), (n_servers, n_servers), "{url}");
    holder.kill(|| 0);
}

/// Whether a process runs. An ended process that was not reaped does not run.
pub fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}

/// Waits until `condition` holds; false when it does not hold within this time.
pub fn within(time: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + time;
    while !condition() {
        if Instant::now() >= deadline {
            return false;
        }
        sleep(Duration::from_millis(2));
    }
    true
}
