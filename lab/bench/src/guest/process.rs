//! A program of a guest: started, spoken to line by line, and killed when it is no longer needed.
//!
//! A program cannot keep Larder waiting, because reads and writes have a time limit. A program that is silent for too
//! long, or breaks the protocol of `docs/guests.md`, is killed. Its standard error is kept in a file.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use larder_host::managed::{self, Group, last_words};
use larder_store::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Language;
use super::patience::Patience;
use super::reply::{Greeting, Opened, PROTOCOL};

/// The file in its folder that holds its standard error.
const LOG: &str = "stderr";
/// The interval at which Larder checks whether the run was stopped.
const GLANCE: Duration = Duration::from_millis(200);
/// The longest line of an answer, in bytes.
const LONGEST_LINE: usize = 1 << 20;
/// The most characters of a wrong answer that are shown.
const SHOWN: usize = 80;

/// A stop flag that is never set, for short waits.
pub(super) static GOES_ON: AtomicBool = AtomicBool::new(false);

/// A program at work.
#[derive(Debug)]
pub(super) struct GuestProcess {
    engine: &'static str,
    silence: Duration,
    // The program is killed before its pipes are closed, so that it has no time to complain.
    group: Group,
    input: ChildStdin,
    output: ChildStdout,
    /// Bytes that have arrived and are not yet read.
    arrived: Vec<u8>,
    folder: PathBuf,
}

impl GuestProcess {
    /// Starts a program with its interpreter and these arguments, in a new folder. `open.json` there names the cache to
    /// open, and its options.
    pub(super) fn start(
        engine: &'static str,
        language: &Language,
        interpreter: &Path,
        arguments: Vec<OsString>,
        folder: PathBuf,
        open: &impl Serialize,
        writes_bytes: u64,
    ) -> Result<(Self, Opened)> {
        let failed = |source: io::Error| {
            let what = format!("{} could not be started", interpreter.display());
            Error::Io { engine, what, source }
        };
        fs::create_dir(&folder).map_err(failed)?;
        let text = serde_json::to_string_pretty(open).map_err(|error| failed(error.into()))?;
        // The file may have the password of a server.
        let file = folder.join("open.json");
        managed::write_private(engine, &file, &text, None)?;
        let mut command = Command::new(interpreter);
        command
            .args(arguments)
            .arg(&folder)
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.join(LOG)).map_err(failed)?);
        let mut group = Group::spawn(&mut command).map_err(failed)?;
        let (Some(input), Some(output), _) = group.take_pipes() else {
            return Err(failed(io::Error::other("it has no pipes")));
        };
        without_waiting(input.as_fd())
            .and_then(|()| without_waiting(output.as_fd()))
            .map_err(failed)?;
        let silence = language.silence;
        let arrived = Vec::new();
        let mut process = Self { engine, silence, group, input, output, arrived, folder };
        let patience = process.patience().for_bytes(writes_bytes);
        let greeting = process.answer_within(patience, &GOES_ON);
        // A program that has greeted has read the file, and any other program is killed. A file that cannot be removed
        // goes with the folder.
        let _ = fs::remove_file(&file);
        match greeting? {
            Some(Greeting::Opened(opened)) if opened.protocol == PROTOCOL => Ok((process, opened)),
            Some(Greeting::Opened(opened)) => {
                Err(process.fault(&format!("speaks protocol {}, not {PROTOCOL}", opened.protocol)))
            }
            Some(Greeting::Unavailable { unavailable }) => {
                Err(Error::Unavailable { engine, what: unavailable, source: None })
            }
            None => Err(process.fault("was stopped")),
        }
    }

    /// The scheme of its cache, for messages.
    pub(super) fn engine(&self) -> &'static str {
        self.engine
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.group.pid()
    }

    /// The limit of its silence, from now on.
    pub(super) fn patience(&self) -> Patience {
        Patience::new(self.silence)
    }

    /// Writes a command; `false` when the run was stopped meanwhile.
    pub(super) fn tell(&mut self, parts: &[&[u8]], stop: &AtomicBool) -> Result<bool> {
        for part in parts {
            let mut rest = *part;
            let mut patience = self.patience();
            while !rest.is_empty() {
                match self.input.write(rest) {
                    Ok(written) => {
                        rest = &rest[written..];
                        patience.renew();
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        if !self.wait(self.input.as_fd(), libc::POLLOUT, patience, stop)? {
                            return Ok(false);
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return Err(self.ended()),
                }
            }
        }
        Ok(true)
    }

    /// The next line, parsed; `None` when the run was stopped meanwhile.
    pub(super) fn answer<T: DeserializeOwned>(&mut self, stop: &AtomicBool) -> Result<Option<T>> {
        self.answer_within(self.patience(), stop)
    }

    /// The next line, within a time limit of its own.
    pub(super) fn answer_within<T: DeserializeOwned>(
        &mut self,
        mut patience: Patience,
        stop: &AtomicBool,
    ) -> Result<Option<T>> {
        let end = loop {
            if let Some(end) = self.arrived.iter().position(|byte| *byte == b'\n') {
                break end;
            }
            if self.arrived.len() > LONGEST_LINE {
                return Err(self.nonsense(&self.arrived));
            }
            if !self.read_more(&mut patience, stop)? {
                return Ok(None);
            }
        };
        let rest = self.arrived.split_off(end + 1);
        let line = std::mem::replace(&mut self.arrived, rest);
        serde_json::from_slice(&line).map(Some).map_err(|_| self.nonsense(&line))
    }

    /// Reads this many bytes, which follow a line.
    pub(super) fn bytes(&mut self, count: usize, value: &mut Vec<u8>) -> Result<()> {
        let mut patience = self.patience();
        while self.arrived.len() < count {
            self.read_more(&mut patience, &GOES_ON)?;
        }
        value.extend(self.arrived.drain(..count));
        Ok(())
    }

    /// Asks it to end, and waits until it has.
    pub(super) fn end(mut self) -> Result<()> {
        self.tell(&[b"end\n"], &GOES_ON)?;
        let mut patience = self.patience();
        loop {
            match self.group.ended() {
                Some(status) if status == "exit status 0" => return Ok(()),
                Some(_) => return Err(self.ended()),
                None if patience.left().is_none() => {
                    return Err(self.fault(&format!("did not end within {patience}")));
                }
                // Standard output ends with the program. After that, Larder waits only for the system.
                None => match self.read_more(&mut patience, &GOES_ON) {
                    Ok(_) => return Err(self.nonsense(&self.arrived)),
                    Err(_) => std::thread::sleep(Duration::from_millis(1)),
                },
            }
        }
    }

    /// Closes its standard input, as the end of Larder does; returns its exit status.
    pub(super) fn close(self) -> String {
        let Self { group, input, .. } = self;
        drop(input);
        loop {
            match group.ended() {
                Some(status) => return status,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// An error of the program that makes its other answers doubtful.
    pub(super) fn fault(&self, what: &str) -> Error {
        let said = last_words(&fs::read(self.folder.join(LOG)).unwrap_or_default());
        let said = if said.is_empty() { String::new() } else { format!("; its output: {said}") };
        fault(self.engine, format!("{what}{said}"))
    }

    /// Waits for bytes and reads them; `false` when the run was stopped meanwhile.
    fn read_more(&mut self, patience: &mut Patience, stop: &AtomicBool) -> Result<bool> {
        let mut chunk = [0; 16 << 10];
        loop {
            match self.output.read(&mut chunk) {
                Ok(0) => return Err(self.ended()),
                Ok(count) => {
                    self.arrived.extend_from_slice(&chunk[..count]);
                    patience.renew();
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !self.wait(self.output.as_fd(), libc::POLLIN, *patience, stop)? {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(self.ended()),
            }
        }
    }

    /// Waits a moment for a pipe; `false` when the run was stopped. A program that has been silent for too long hangs.
    fn wait(
        &self,
        pipe: BorrowedFd<'_>,
        events: libc::c_short,
        patience: Patience,
        stop: &AtomicBool,
    ) -> Result<bool> {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let Some(left) = patience.left() else {
            return Err(self.fault(&format!("sent nothing for {patience} and was killed")));
        };
        let left = left.min(GLANCE).as_millis().max(1);
        let mut poll = libc::pollfd { fd: pipe.as_raw_fd(), events, revents: 0 };
        // SAFETY: `poll` is the one structure that is read and written.
        let ready =
            unsafe { libc::poll(&raw mut poll, 1, i32::try_from(left).unwrap_or(i32::MAX)) };
        // A child of the program may hold its end of the pipe after the program's end.
        if ready == 0 && self.group.ended().is_some() {
            return Err(self.ended());
        }
        Ok(true)
    }

    /// The error of a program that has ended too early.
    fn ended(&self) -> Error {
        // The pipe may end a moment before the program.
        let deadline = Instant::now() + Duration::from_secs(1);
        loop {
            match self.group.ended() {
                Some(status) => return self.fault(&format!("ended too early ({status})")),
                None if Instant::now() > deadline => {
                    return self.fault("closed its standard output");
                }
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    fn nonsense(&self, line: &[u8]) -> Error {
        let shown: String = String::from_utf8_lossy(line)
            .trim_end()
            .chars()
            .map(|letter| if letter.is_control() { ' ' } else { letter })
            .take(SHOWN)
            .collect();
        self.fault(&format!("answered `{shown}`, which docs/guests.md does not allow here"))
    }
}

/// An error of a program, which another try does not mend.
pub(super) fn fault(engine: &'static str, what: String) -> Error {
    Error::Io { engine, what: "the guest".into(), source: io::Error::other(what) }
}

/// Makes reads and writes return at once when they would have to wait.
fn without_waiting(pipe: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: fcntl with these commands takes and returns numbers.
    let done = unsafe {
        let flags = libc::fcntl(pipe.as_raw_fd(), libc::F_GETFL);
        flags >= 0 && libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) >= 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}
