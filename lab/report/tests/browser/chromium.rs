//! One Chromium for all trials. It starts with the first trial that needs it, and is gone after the last, however the
//! tests end.
//!
//! `ChromeDriver` controls it. It comes in the same package, so the two always have the same version.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use crate::webdriver::Session;

/// The program, and the Debian package with it and the browser.
const PROGRAM: &str = "chromedriver";
const PACKAGE: &str = "chromium-driver";
/// The longest start of the driver.
const STARTS_WITHIN: Duration = Duration::from_mins(1);
/// The tests take less than this number of seconds. The keeper ends the browser after it, even if its own process is
/// stuck.
const LIVES_AT_MOST: &str = "600";

/// Starts the driver in a process group of its own, which also has the browser. When the other end of the standard
/// input closes, ends the whole group and removes its directory. The kernel closes that end even when the tests are
/// killed.
const KEEPER: &str = r#"
dir=$1 limit=$2
shift 2
timeout --signal=KILL "$limit" "$@" </dev/null &
group=$!
read -r _
kill -KILL "-$group"
wait
rm -rf "$dir" || { sleep 1; rm -rf "$dir"; }
"#;

static CHROMIUM: LazyLock<Chromium> = LazyLock::new(Chromium::start);

/// A running Chromium and its keeper.
struct Chromium {
    session: Mutex<Session>,
    dir: PathBuf,
    keeper: Mutex<Option<(Child, ChildStdin)>>,
}

/// Whether there is a Chromium for the tests; otherwise, how to install it.
pub(crate) fn installed() -> Result<(), String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|dir| dir.join(PROGRAM).is_file());
    let missing = || format!("{PROGRAM} is not installed: apt-get install {PACKAGE}");
    if found { Ok(()) } else { Err(missing()) }
}

/// The browser for one trial at a time, because a driver controls one window. It starts at the first call.
pub(crate) fn session() -> MutexGuard<'static, Session> {
    CHROMIUM.session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A directory for pages, which is removed with the browser.
pub(crate) fn pages() -> &'static Path {
    &CHROMIUM.dir
}

/// Ends the browser if it has started, and waits until no process of it is left.
pub(crate) fn stop() {
    let Some(chromium) = LazyLock::get(&CHROMIUM) else { return };
    let keeper = chromium.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((mut keeper, hold)) = keeper {
        drop(hold);
        keeper.wait().expect("the keeper of Chromium ends");
    }
}

impl Chromium {
    fn start() -> Self {
        let dir = tempfile::Builder::new().prefix("larder-chromium-").tempdir();
        let dir = dir.expect("a directory for Chromium").keep();
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .arg(&dir)
            .args([LIVES_AT_MOST, PROGRAM, "--port=0"])
            // The profile of the browser is a temporary file, and so is all that it writes.
            .envs(["HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"].map(|name| (name, &dir)))
            // Ctrl-C at a terminal ends the tests, and their end ends Chromium.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let hold = keeper.stdin.take().expect("piped");
        let port = port(BufReader::new(keeper.stdout.take().expect("piped")));
        let session = Mutex::new(Session::begin(port));
        Self { session, dir, keeper: Mutex::new(Some((keeper, hold))) }
    }
}

/// The port on which the driver listens. Its other output is read and dropped, so that the driver never blocks.
fn port(stdout: impl BufRead + Send + 'static) -> u16 {
    let (found, port) = mpsc::channel();
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            let said = line.strip_prefix("ChromeDriver was started successfully on port ");
            if let Some(Ok(port)) = said.map(|said| said.trim_end_matches('.').parse()) {
                // After a timeout the receiver is gone.
                let _ = found.send(port);
            }
        }
    });
    port.recv_timeout(STARTS_WITHIN).expect("the driver says where it listens")
}
