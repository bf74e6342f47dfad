//! The records of a phase: what each process of a program notes of its operations, and sends over a pipe of its own.
//!
//! A record says when each operation ended and what came of it, and has the values that were not the expected ones.
//! Everything else is made of it here, by the code that counts the operations of Larder's own threads. A process sends
//! a block, waits for a byte, and goes on; so neither side ever has more than a block in memory, and a program that
//! stops its clock meanwhile has the machine to itself while it works. `docs/guests.md` has the form of all this.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;

use super::block::{MOST_OPERATIONS, OTHER_BYTES, number};
use super::judge::{Judge, Record};

/// The kinds of parts that a process sends.
const BLOCK: u32 = 1;
const END: u32 = 2;
/// The most bytes of a part, beside the longest value: the operations of a block, a note of each, and the values that
/// are kept whole.
const LARGEST_PART: usize = MOST_OPERATIONS * 128 + OTHER_BYTES;
/// The bytes that a pipe holds at most. What a program has sent before its phase was over, the pipe still holds.
const PIPE_BYTES: usize = 1 << 20;
/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;

/// Makes the pipes of this many processes, in the folder of a plan.
pub(super) fn make_pipes(folder: &Path, processes: usize) -> io::Result<()> {
    for process in 0..processes {
        for path in [records_path(folder, process), next_path(folder, process)] {
            let path = CString::new(path.as_os_str().as_bytes())?;
            // SAFETY: the path is a string that ends with a zero byte.
            if unsafe { libc::mkfifo(path.as_ptr(), 0o600) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(())
}

/// The pipe over which a process sends its records.
fn records_path(folder: &Path, process: usize) -> PathBuf {
    folder.join(format!("records-{process}"))
}

/// The pipe over which a process gets the byte that lets it go on.
fn next_path(folder: &Path, process: usize) -> PathBuf {
    folder.join(format!("next-{process}"))
}

/// Receives the records of each process, in the order of the judges, while `work` has the program carry out a phase.
/// Each record is an error where it breaks the protocol, or is not whole when `work` is over.
///
/// # Errors
/// A pipe cannot be opened.
pub(super) fn receive<T>(
    folder: &Path,
    judges: Vec<Judge<'_>>,
    work: impl FnOnce() -> T,
) -> io::Result<(T, Vec<Result<Record, String>>)> {
    let (over, watched) = UnixStream::pair()?;
    let watched = watched.as_raw_fd();
    let pipes = (0..judges.len()).map(|process| Pipe::open(folder, process, watched));
    let pipes: Vec<Pipe> = pipes.collect::<io::Result<_>>()?;
    Ok(thread::scope(|scope| {
        let readers = judges.into_iter().zip(pipes);
        let readers: Vec<_> =
            readers.map(|(judge, mut pipe)| scope.spawn(move || pipe.record(judge))).collect();
        let done = work();
        drop(over);
        let records = readers.into_iter().map(|reader| reader.join().expect("it does not panic"));
        (done, records.collect())
    }))
}

/// Both pipes of a process.
struct Pipe {
    records: File,
    next: File,
    /// A socket whose other end is closed when the program has nothing more to send.
    watched: RawFd,
    /// The bytes that are still read once it has nothing more to send; `None` before that.
    rest: Option<usize>,
}

impl Pipe {
    /// Opens both pipes for reading and writing, so that neither waits for the program, nor ends with it.
    fn open(folder: &Path, process: usize, watched: RawFd) -> io::Result<Self> {
        let open = |path: PathBuf| {
            OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)
        };
        let (records, next) =
            (open(records_path(folder, process))?, open(next_path(folder, process))?);
        Ok(Self { records, next, watched, rest: None })
    }

    /// The record of a phase.
    fn record(&mut self, mut judge: Judge<'_>) -> Result<Record, String> {
        let most = LARGEST_PART.saturating_add(judge.longest_value());
        let mut part = Vec::new();
        let mut wrong = None;
        loop {
            let mut head = [0; 8];
            self.read_exact(&mut head)?;
            let [kind, len] = [0, 4].map(|at| number(&head, at));
            if len as usize > most {
                let what = format!("a part of {len} bytes, where {most} are the most");
                return Err(self.discard(what));
            }
            self.read_part(len as usize, &mut part)?;
            match (kind, &wrong) {
                // The rest is read all the same, because the program waits for that.
                (BLOCK, Some(_)) => {}
                (BLOCK, None) => wrong = judge.add(&part).err(),
                (END, _) => return wrong.map_or_else(|| judge.end(&part), Err),
                _ => return Err(self.discard(format!("a part of the unknown kind {kind}"))),
            }
            self.go_on();
        }
    }

    /// Lets the process go on.
    fn go_on(&mut self) {
        // Where it cannot be told, it has not read the bytes before, and goes on by these.
        let _ = self.next.write(b"\n");
    }

    /// Reads whatever comes, so that the program ends its phase and does not hang. Gives the error back.
    fn discard(&mut self, what: String) -> String {
        let mut chunk = vec![0; CHUNK];
        self.go_on();
        while self.read_some(&mut chunk).is_ok() {
            self.go_on();
        }
        what
    }

    fn read_exact(&mut self, bytes: &mut [u8]) -> Result<(), String> {
        let mut done = 0;
        while done < bytes.len() {
            done += self.read_some(&mut bytes[done..])?;
        }
        Ok(())
    }

    /// Reads a part of this length in place of the part before. Its memory grows as its bytes come.
    fn read_part(&mut self, len: usize, part: &mut Vec<u8>) -> Result<(), String> {
        part.clear();
        while part.len() < len {
            let from = part.len();
            part.resize(len.min(from + CHUNK), 0);
            self.read_exact(&mut part[from..])?;
        }
        Ok(())
    }

    /// Waits for bytes, and reads as many as there are. Once the program has nothing more to send, only those are read
    /// that the pipe may still hold, so that no program keeps this thread for ever.
    fn read_some(&mut self, bytes: &mut [u8]) -> Result<usize, String> {
        let no_end = || "its record has no end".to_owned();
        loop {
            if self.rest.is_none() && has_ended(self.watched) {
                self.rest = Some(PIPE_BYTES);
            }
            let most = bytes.len().min(self.rest.unwrap_or(usize::MAX));
            if most == 0 {
                return Err(no_end());
            }
            match self.records.read(&mut bytes[..most]) {
                Ok(count) if count > 0 => {
                    self.rest = self.rest.map(|rest| rest - count);
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                    return Err(format!("its record cannot be read: {error}"));
                }
                _ if self.rest.is_some() => return Err(no_end()),
                _ => self.wait(),
            }
        }
    }

    /// Waits until there are bytes, or until the program has nothing more to send.
    fn wait(&self) {
        let mut polls = [self.records.as_raw_fd(), self.watched].map(readable);
        // SAFETY: `polls` are the two structures that are read and written.
        unsafe { libc::poll(polls.as_mut_ptr(), 2, -1) };
    }
}

/// Whether the other end of a socket is closed, without a wait.
fn has_ended(socket: RawFd) -> bool {
    let mut poll = readable(socket);
    // SAFETY: `poll` is the one structure that is read and written.
    unsafe { libc::poll(&raw mut poll, 1, 0) > 0 }
}

fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}
