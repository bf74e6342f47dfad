//! The start of workers, and the system's knowledge of them.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::WORKERS;

/// Starts workers, and learns how they ended.
pub(crate) trait Source {
    /// Starts the worker of this number; returns its process.
    fn start(&mut self, worker: usize) -> u32;

    /// Waits for a worker's end, and describes it.
    fn reap(&mut self, worker: usize) -> String;
}

/// A program for each worker.
pub(crate) struct Programs<'p> {
    command: Box<dyn Fn(usize) -> Command + 'p>,
    children: [Option<Child>; WORKERS],
}

impl<'p> Programs<'p> {
    pub(crate) fn new(command: impl Fn(usize) -> Command + 'p) -> Self {
        Self { command: Box::new(command), children: [const { None }; WORKERS] }
    }
}

impl Source for Programs<'_> {
    fn start(&mut self, worker: usize) -> u32 {
        let mut command = (self.command)(worker);
        let child = with_this(&mut command).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        self.children[worker].insert(child.unwrap()).id()
    }

    fn reap(&mut self, worker: usize) -> String {
        let child = self.children[worker].take();
        child.map_or_else(String::new, |mut child| child.wait().unwrap().to_string())
    }
}

impl Drop for Programs<'_> {
    fn drop(&mut self) {
        for child in self.children.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A program that forks the workers, because their cache is shared by fork. Each request is a line, and so is its
/// answer.
pub(crate) struct Forked {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Forked {
    pub(crate) fn new(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let from = BufReader::new(child.stdout.take().unwrap());
        Self { to: child.stdin.take(), from, child }
    }

    fn ask(&mut self, line: &str) -> String {
        writeln!(self.to.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.from.read_line(&mut answer).unwrap();
        answer.trim().to_owned()
    }
}

impl Source for Forked {
    fn start(&mut self, worker: usize) -> u32 {
        let answer = self.ask(&format!("start {worker}"));
        answer.parse().unwrap_or_else(|_| panic!("no process: {answer:?}"))
    }

    fn reap(&mut self, worker: usize) -> String {
        self.ask(&format!("reap {worker}"))
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        // The program ends its workers and then itself, as it does if this program is killed.
        drop(self.to.take());
        let _ = self.child.wait();
    }
}

/// Has the command killed when the thread that starts it ends in any way.
fn with_this(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec there is one call, which needs nothing of this process.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        })
    }
}

/// The system's letter for a process's state: `T` is stopped, `Z` has ended. A process that is gone has no
/// letter.
pub(crate) fn state(process: u32) -> Option<char> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(") ")?.1.chars().next()
}

/// Waits until a process is in one of these states, or is gone.
pub(crate) fn wait_for(process: u32, states: &str) {
    while state(process).is_some_and(|now| !states.contains(now)) {
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
}
