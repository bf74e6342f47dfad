//! A second process of this test program, which works for a test.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The second process. Dropping it kills it.
#[derive(Debug)]
pub struct SecondProcess {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl SecondProcess {
    /// Starts this program with its job in this variable. Its `main` reads that first, and does the job.
    pub fn start(variable: &str, job: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.env(variable, job).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("this program starts");
        let input = process.stdin.take().expect("it has a pipe");
        let output = BufReader::new(process.stdout.take().expect("it has a pipe"));
        Self { process, input, output }
    }

    /// Writes a line to it.
    pub fn send(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("it reads");
    }

    /// The next line that it writes; `None` once it has ended.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let len = self.output.read_line(&mut line).expect("it writes a line");
        (len > 0).then(|| line.trim_end().to_owned())
    }

    /// Its answer to a line.
    pub fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.line().expect("the process has not ended")
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        self.process.try_wait().expect("it is a child").is_none()
    }

    /// Kills it by SIGKILL.
    pub fn kill(&mut self) {
        // One that has ended is not killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for SecondProcess {
    fn drop(&mut self) {
        self.kill();
    }
}
