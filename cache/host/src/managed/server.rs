//! One real server, from its start to its end.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_store::{Error, Result};

use super::group::SIGNAL;
use super::port::IN_USE;
use super::{Account, Group};
use crate::scratch::ScratchDir;

/// The time that a server has to end after the request; then it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// The time that a server has to end in order; then it is killed. A database writes its memory to its files.
const ORDERLY: Duration = Duration::from_secs(30);

/// The file of a server's output, in its directory.
const LOG: &str = "server.log";

/// The status of a program that succeeded, as [`Group::ended`] returns it.
const SUCCESS: &str = "exit status 0";

/// The interval between looks at the progress of a program.
const LOOK: Duration = Duration::from_millis(1);

/// A server that this process has started. Dropping it ends the server.
#[derive(Debug)]
pub struct Server {
    process: Process,
    directory: ScratchDir,
    /// The signal that asks the server to end, and the time that it has for it.
    farewell: (libc::c_int, Duration),
    is_over: AtomicBool,
}

/// Runs a program to its end, such as the program that makes the data folder of a server.
///
/// Its output goes to a file in `directory`, which `account` gets; the caller changes to the account. When the program
/// fails, or takes longer than `within`, the error quotes its last words in one line.
pub fn run(
    engine: &'static str,
    command: Command,
    directory: &ScratchDir,
    account: Option<&Account>,
    within: Duration,
) -> Result<()> {
    let process = Process::spawn(engine, command, directory, account)?;
    let deadline = Instant::now() + within;
    loop {
        match process.group.ended() {
            Some(status) if status == SUCCESS => return Ok(()),
            Some(status) => {
                return Err(process.unavailable(directory, &format!("failed ({status})")));
            }
            None if Instant::now() >= deadline => {
                return Err(process.unavailable(directory, &format!("took longer than {within:?}")));
            }
            None => sleep(LOOK),
        }
    }
}

/// A started program and its name.
#[derive(Debug)]
struct Process {
    engine: &'static str,
    program: String,
    group: Group,
}

impl Process {
    fn spawn(
        engine: &'static str,
        mut command: Command,
        directory: &ScratchDir,
        account: Option<&Account>,
    ) -> Result<Self> {
        let program = Path::new(command.get_program());
        let program = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let failed = |source: io::Error| Error::Unavailable {
            engine,
            what: format!("{program} could not be started: {source}"),
            source: Some(source),
        };
        let log = File::create(directory.path().join(LOG)).map_err(failed)?;
        if let Some(account) = account {
            account.own(directory.path()).map_err(failed)?;
        }
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(failed)?)
            .stderr(log)
            .current_dir(directory.path());
        let group = Group::spawn(&mut command).map_err(failed)?;
        Ok(Self { engine, program, group })
    }

    fn unavailable(&self, directory: &ScratchDir, what: &str) -> Error {
        let said = last_words(&fs::read(directory.path().join(LOG)).unwrap_or_default());
        let said = if said.is_empty() { "it wrote no message".into() } else { said };
        let what = format!("{} {what}: {said}", self.program);
        Error::Unavailable { engine: self.engine, what, source: None }
    }
}

impl Server {
    /// Starts a server in a process group of its own; its files belong in `directory`.
    ///
    /// Its output goes to a file there. `account` gets the directory; the server itself changes to the account, because
    /// each server has its own option for that.
    pub fn start(
        engine: &'static str,
        command: Command,
        directory: ScratchDir,
        account: Option<&Account>,
    ) -> Result<Self> {
        let process = Process::spawn(engine, command, &directory, account)?;
        let farewell = (libc::SIGTERM, GRACE);
        Ok(Self { process, directory, farewell, is_over: AtomicBool::new(false) })
    }

    /// Kills the server in the end without a request to end. This is for a server with nothing to save, which may take
    /// a second to notice the request.
    #[must_use]
    pub fn without_grace(mut self) -> Self {
        self.farewell.1 = Duration::ZERO;
        self
    }

    /// Sets the signal that asks the server to end: for a server that first finishes its work on the usual signal.
    #[must_use]
    pub fn ended_by(mut self, signal: libc::c_int) -> Self {
        self.farewell.0 = signal;
        self
    }

    /// Calls `ask` until the server answers, and returns the answer.
    ///
    /// When the server ends instead, or does not answer within `within`, the error quotes its last words in one line.
    pub fn answer<T>(&mut self, within: Duration, mut ask: impl FnMut() -> Option<T>) -> Result<T> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(answer) = ask() {
                return Ok(answer);
            }
            if let Some(status) = self.process.group.ended() {
                return Err(self.unavailable(&format!("ended at once ({status})")));
            }
            if Instant::now() >= deadline {
                return Err(self.unavailable(&format!("did not answer within {within:?}")));
            }
            sleep(LOOK);
        }
    }

    /// Ends the server in order, whatever its grace. Its directory stays until the handle is dropped. A second call does
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] where the server had failed before, fails while it ends, or does not end and is killed.
    pub fn end(&self) -> Result<()> {
        let group = &self.process.group;
        if self.is_over.swap(true, Ordering::Relaxed) || !group.is_ours() {
            return Ok(());
        }
        match self.ask_to_end(ORDERLY) {
            Ending::Before(status) if status == SUCCESS => Ok(()),
            Ending::Before(status) => {
                Err(self.unavailable(&format!("had ended before ({status})")))
            }
            Ending::Asked(status) => {
                let is_failure = status.starts_with(SIGNAL) && status != self.farewell_status();
                let failed = || self.unavailable(&format!("failed as it ended ({status})"));
                if is_failure { Err(failed()) } else { Ok(()) }
            }
            Ending::Never => {
                group.signal(libc::SIGKILL);
                Err(self.unavailable(&format!("did not end within {ORDERLY:?}, and was killed")))
            }
        }
    }

    /// Asks the server to end, and waits so long.
    fn ask_to_end(&self, within: Duration) -> Ending {
        let group = &self.process.group;
        if let Some(status) = group.ended() {
            return Ending::Before(status);
        }
        group.signal(self.farewell.0);
        // A stopped server ends once it continues.
        group.signal(libc::SIGCONT);
        let deadline = Instant::now() + within;
        loop {
            match group.ended() {
                Some(status) => return Ending::Asked(status),
                None if Instant::now() >= deadline => return Ending::Never,
                None => sleep(LOOK),
            }
        }
    }

    /// The status of a server that the request itself ended.
    fn farewell_status(&self) -> String {
        format!("{SIGNAL} {}", self.farewell.0)
    }

    fn unavailable(&self, what: &str) -> Error {
        self.process.unavailable(&self.directory, what)
    }

    /// Its process id, which is its process group's id too.
    pub fn pid(&self) -> u32 {
        self.process.group.pid()
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Server {
    /// Asks the server to end and waits a little; dropping the group then kills the rest of it.
    fn drop(&mut self) {
        let (_, grace) = self.farewell;
        if !grace.is_zero() && self.process.group.is_ours() {
            self.ask_to_end(grace);
        }
    }
}

/// How a server ended that was asked to.
#[derive(Debug)]
enum Ending {
    /// It had ended before, with this status.
    Before(String),
    /// After the request, with this status.
    Asked(String),
    /// Not in time.
    Never,
}

/// Ends these servers in this order, all of them, and returns the first error.
pub fn end_all<'a>(servers: impl IntoIterator<Item = &'a Server>) -> Result<()> {
    let ended: Vec<Result<()>> = servers.into_iter().map(Server::end).collect();
    ended.into_iter().collect()
}

/// The last lines of a log as one short line; only the lines with `ERROR` where there are any. If the port was taken,
/// that line alone counts, because later messages follow from it.
pub fn last_words(log: &[u8]) -> String {
    const LINES: usize = 3;
    const LONGEST: usize = 300;
    let text = String::from_utf8_lossy(&log[log.len().saturating_sub(4096)..]);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let errors: Vec<&str> = lines.iter().copied().filter(|line| line.contains("ERROR")).collect();
    let taken = lines.iter().copied().find(|line| line.contains(IN_USE));
    let lines = match taken {
        Some(taken) => vec![taken],
        None if errors.is_empty() => lines,
        None => errors,
    };
    let words = lines[lines.len().saturating_sub(LINES)..].join("; ");
    words.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_one_short_line() {
        assert_eq!(last_words(b"a\n\n b\t\r\nc\nd"), "b; c; d");
        assert_eq!(last_words(b"1 [ERROR] a\nb\nERROR: c\nsee d\ne\nf"), "1 [ERROR] a; ERROR: c");
        assert_eq!(
            last_words(b"bind: Address already in use\n1 [ERROR] a\nb\nc\nd"),
            "bind: Address already in use"
        );
        assert_eq!(last_words(&[b'x'; 9000]).len(), 300);
        assert_eq!(last_words(b""), "");
    }
}
