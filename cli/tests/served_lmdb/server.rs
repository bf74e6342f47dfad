//! A `larder serve` whose messages go to a file, and its clients.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use larder_testkit::{PATIENCE, signal};

const LARDER: &str = env!("CARGO_BIN_EXE_larder");

/// Waits until `what` is there.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A server that runs. Dropping it kills the server.
pub(crate) struct Server {
    child: Child,
    log: PathBuf,
    address: String,
}

impl Server {
    /// Serves a store, with its messages in the file `log`.
    pub(crate) fn start(url: &str, log: &Path, options: &[&str]) -> Self {
        let mut command = Command::new(LARDER);
        command.args(["serve", url, "-p", "0"]).args(options);
        Self::spawn(command, log)
    }

    /// Serves a store on a file system of a given size, which is mounted at `disk` and which this process alone sees.
    pub(crate) fn start_on(disk: &Path, size: &str, url: &str, log: &Path) -> Self {
        let script = r#"mount -t tmpfs -o "size=$0" none "$1" && exec "$2" serve "$3" -p 0"#;
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script, size]);
        command.arg(disk).args([LARDER, url]);
        Self::spawn(command, log)
    }

    fn spawn(mut command: Command, log: &Path) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(log).unwrap());
        let child = command.spawn().unwrap();
        let mut server = Self { child, log: log.into(), address: String::new() };
        server.address = wait_for("the server's address", || {
            let told = server.told();
            assert!(server.child.try_wait().unwrap().is_none(), "{told}");
            let (_, rest) = told.split_once(" on ")?;
            rest.split_once('\n').map(|(address, _)| address.to_owned())
        });
        server
    }

    /// The messages of the server.
    pub(crate) fn told(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// A path as the server sees it.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.child.id()));
        root.join(path.strip_prefix("/").unwrap())
    }

    /// The bytes of memory that the server has for itself, without the pages of files.
    pub(crate) fn own_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        let kilobytes: u64 = line.trim().strip_suffix(" kB").unwrap().parse().unwrap();
        kilobytes << 10
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(&self.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    }

    /// The answers to some requests, up to the end of the connection.
    pub(crate) fn ask(&self, requests: &[u8]) -> Vec<u8> {
        let mut socket = self.connect();
        socket.write_all(requests).unwrap();
        socket.write_all(b"quit\r\n").unwrap();
        let mut answers = Vec::new();
        socket.read_to_end(&mut answers).unwrap();
        answers
    }

    /// The answer to a set, an append and so on.
    pub(crate) fn store(&self, command: &str, key: &str, value: &[u8]) -> String {
        let head = format!("{command} {key} 0 0 {}\r\n", value.len());
        String::from_utf8(self.ask(&[head.as_bytes(), value, b"\r\n"].concat())).unwrap()
    }

    /// The value under a key.
    pub(crate) fn get(&self, key: &str) -> Option<Vec<u8>> {
        let mut answer = self.ask(format!("get {key}\r\n").as_bytes());
        if answer == b"END\r\n" {
            return None;
        }
        let end = answer.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let head = String::from_utf8(answer.drain(..end).collect()).unwrap();
        assert_eq!(answer.split_off(answer.len() - 7), b"\r\nEND\r\n", "{head}");
        assert_eq!(head, format!("VALUE {key} 0 {}\r\n", answer.len()));
        Some(answer)
    }

    /// A counter of `stats`.
    pub(crate) fn stat(&self, name: &str) -> u64 {
        let stats = String::from_utf8(self.ask(b"stats\r\n")).unwrap();
        let mut lines = stats.lines().filter_map(|line| line.strip_prefix("STAT "));
        lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap()
    }

    /// Ends the server in order.
    pub(crate) fn end(mut self) {
        signal(self.child.id(), libc::SIGTERM);
        assert!(self.child.wait().unwrap().success(), "{}", self.told());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
