//! This test program once more, as another process, which works for a test.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The other process. Dropping it kills it.
#[derive(Debug)]
pub struct Again {
    process: Child,
    hears: ChildStdin,
    says: BufReader<ChildStdout>,
}

impl Again {
    /// Starts this program with its job in this variable. Its `main` looks there first, and does the job.
    pub fn start(variable: &str, job: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.env(variable, job).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("this program starts");
        let hears = process.stdin.take().expect("it has a pipe");
        let says = BufReader::new(process.stdout.take().expect("it has a pipe"));
        Self { process, hears, says }
    }

    /// Gives it a line.
    pub fn say(&mut self, line: &str) {
        writeln!(self.hears, "{line}").expect("it hears");
    }

    /// The next line that it says; `None` once it has ended.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let len = self.says.read_line(&mut line).expect("it says a line");
        (len > 0).then(|| line.trim_end().to_owned())
    }

    /// Its answer to a line.
    pub fn ask(&mut self, line: &str) -> String {
        self.say(line);
        self.line().expect("the process has not ended")
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        self.process.try_wait().expect("it is a child").is_none()
    }

    /// Kills it as nothing can prevent.
    pub fn kill(&mut self) {
        // One that has ended is not killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Again {
    fn drop(&mut self) {
        self.kill();
    }
}
