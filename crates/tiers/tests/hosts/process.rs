//! Another process of a host, which does what it is told.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use super::setup::{count, get, open};

/// The URL that another process opens.
const URL: &str = "LARDER_HOSTS_URL";

/// The work of another process: an answer for each line, until there is no more.
pub(super) fn work_if_asked() -> Option<ExitCode> {
    let url = std::env::var(URL).ok()?;
    let stack = open(&url).unwrap();
    let mut session = stack.session().unwrap();
    for line in std::io::stdin().lines() {
        match line.unwrap().split_once(' ').unwrap() {
            ("get", key) => println!("{}", get(&mut *session, key).unwrap_or_default()),
            ("count", name) => println!("{}", count(&*stack, name)),
            other => panic!("{other:?}"),
        }
    }
    Some(ExitCode::SUCCESS)
}

/// The other process.
pub(super) struct Worker {
    process: Child,
    says: BufReader<ChildStdout>,
    hears: ChildStdin,
}

impl Worker {
    pub(super) fn start(url: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(URL, url).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let (hears, says) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Self { process, says: BufReader::new(says), hears }
    }

    pub(super) fn ask(&mut self, what: &str) -> String {
        writeln!(self.hears, "{what}").unwrap();
        let mut line = String::new();
        assert!(self.says.read_line(&mut line).unwrap() > 0, "the process has ended");
        line.trim_end().to_owned()
    }

    /// Kills it as nothing can prevent.
    pub(super) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // One that has ended is not killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
