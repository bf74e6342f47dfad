//! A small process that cleans up after this one, even when this one is killed.
//!
//! The watchdog is a shell that reads a pipe; only this process holds the other end. When this process ends, in order
//! or by `kill -9`, the pipe ends. Then the watchdog stops the registered process groups, unmounts the file systems,
//! and removes the directories and control groups that were not taken back. It runs in its own session and ignores
//! Ctrl-C and SIGTERM, so signals that end this process do not end it.

use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

use larder_store::{PerProcess, at_least_once};

/// The one watchdog of this process, once a resource needs it. This process never closes the pipe. A forked child has a
/// watchdog of its own.
static WATCHDOG: PerProcess<Mutex<Option<Watchdog>>> = PerProcess::new();

/// The descriptor of the pipe in the process that made it; see [`close_in_child`].
static PIPE: AtomicI32 = AtomicI32::new(NO_PIPE);

const NO_PIPE: RawFd = -1;

#[derive(Debug)]
struct Watchdog {
    pipe: PipeWriter,
    /// Outlives this process, so this process does not wait for it.
    _process: Child,
}

/// Has the watchdog remove `path`, with everything in it, when this process ends. Call before the directory is made.
pub(crate) fn watch_directory(path: &Path) -> io::Result<()> {
    send("directory ", path.as_os_str().as_bytes())
}

/// Takes [`watch_directory`] back, after the directory is gone.
pub(crate) fn forget_directory(path: &Path) -> io::Result<()> {
    send("forget directory ", path.as_os_str().as_bytes())
}

/// Has the watchdog unmount `path` and remove its directory when this process ends. Call before the mount.
pub(crate) fn watch_mount(path: &Path) -> io::Result<()> {
    send("mount ", path.as_os_str().as_bytes())
}

/// Takes [`watch_mount`] back, after the directory is gone.
pub(crate) fn forget_mount(path: &Path) -> io::Result<()> {
    send("forget mount ", path.as_os_str().as_bytes())
}

/// Has the watchdog kill the processes left in a control group, and remove the group, when this process ends. Call
/// before the group is made and this process enters it: the watchdog cannot remove its own group.
pub(crate) fn watch_group_of_memory(path: &Path) -> io::Result<()> {
    send("cgroup ", path.as_os_str().as_bytes())
}

/// Takes [`watch_group_of_memory`] back, after the group is gone.
pub(crate) fn forget_group_of_memory(path: &Path) -> io::Result<()> {
    send("forget cgroup ", path.as_os_str().as_bytes())
}

/// Takes back a process group that a child has registered, once all its processes are gone.
pub(crate) fn forget_group(pid: u32) -> io::Result<()> {
    send("forget group ", pid.to_string().as_bytes())
}

/// Starts `command` as the leader of its own session and process group, which ends when this process does.
///
/// The child registers itself before it becomes the program, so it never runs without a watchdog.
pub(crate) fn spawn(command: &mut Command) -> io::Result<Child> {
    // A copy, because the pipe itself is closed in every child.
    let watchdog = with_watchdog(|pipe| pipe.try_clone())?;
    let (mut registered, pipe) = io::pipe()?;
    let pipes = [watchdog.as_raw_fd(), pipe.as_raw_fd()];
    // SAFETY: between fork and exec only async-signal-safe functions are called: setsid, getpid and write.
    // They use the stack and two descriptors, which stay open until spawn returns.
    unsafe {
        command.pre_exec(move || {
            new_session()?;
            register_group(pipes)
        });
    }
    let spawned = command.spawn();
    drop((watchdog, pipe));
    if spawned.is_err() {
        // The child may have registered and then failed to become the program; its id may soon belong to another
        // process.
        let mut line = Vec::new();
        registered.read_to_end(&mut line)?;
        if let Some(entry) = line.strip_suffix(b"\n") {
            send("forget ", entry)?;
        }
    }
    spawned
}

fn new_session() -> io::Result<()> {
    // SAFETY: setsid has no arguments and touches no memory.
    if unsafe { libc::setsid() } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Writes `group <own pid>` to each of these pipes, without allocating.
fn register_group(pipes: [RawFd; 2]) -> io::Result<()> {
    // SAFETY: getpid has no arguments and touches no memory.
    let mut pid = unsafe { libc::getpid() }.unsigned_abs();
    let mut line = [0; 32];
    line[..6].copy_from_slice(b"group ");
    let n_digits = pid.checked_ilog10().unwrap_or_default() as usize + 1;
    for digit in line[6..6 + n_digits].iter_mut().rev() {
        *digit = b'0' + (pid % 10) as u8;
        pid /= 10;
    }
    line[6 + n_digits] = b'\n';
    for pipe in pipes {
        // SAFETY: this many bytes of `line` are there, and write does not keep the pointer. The line is shorter than
        // PIPE_BUF, so it is written whole.
        if unsafe { libc::write(pipe, line.as_ptr().cast(), 6 + n_digits + 1) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Writes one line to the watchdog.
fn send(words: &str, argument: &[u8]) -> io::Result<()> {
    // A newline would end the line early.
    if argument.contains(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a newline in the path"));
    }
    let line = [words.as_bytes(), argument, b"\n"].concat();
    with_watchdog(|pipe| pipe.write_all(&line))
}

/// Calls `act` with the pipe of the watchdog, which starts when it is first needed.
fn with_watchdog<T>(act: impl FnOnce(&mut PipeWriter) -> io::Result<T>) -> io::Result<T> {
    let mut watchdog = WATCHDOG.get().lock().unwrap_or_else(PoisonError::into_inner);
    let watchdog = match &mut *watchdog {
        Some(watchdog) => watchdog,
        none => none.insert(start()?),
    };
    act(&mut watchdog.pipe)
}

fn start() -> io::Result<Watchdog> {
    // Both ends are closed in any program that this process starts; the shell has its own copy as standard input.
    let (reader, pipe) = io::pipe()?;
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", include_str!("watchdog.sh"), "larder-watchdog"])
        .stdin(reader)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // The current directory of this process may be removed or unmounted.
        .current_dir("/");
    // SAFETY: between fork and exec only setsid and signal are called, which are async-signal-safe and use no
    // memory of ours. An ignored signal stays ignored in the shell and in its children.
    unsafe {
        command.pre_exec(|| {
            new_session()?;
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
                if libc::signal(signal, libc::SIG_IGN) == libc::SIG_ERR {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
    let process = command.spawn()?;
    have_closed_in_children(&pipe);
    Ok(Watchdog { pipe, _process: process })
}

fn have_closed_in_children(pipe: &PipeWriter) {
    static IS_WATCHED: AtomicBool = AtomicBool::new(false);
    PIPE.store(pipe.as_raw_fd(), Ordering::SeqCst);
    at_least_once(&IS_WATCHED, || {
        // If the system has no memory for this, a watchdog cleans up once the children have ended, too.
        // SAFETY: the function only swaps a number and closes a descriptor, which may be done in a child.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(close_in_child)) };
    });
}

/// Runs in a child that has just been forked. Otherwise the watchdog would wait for the end of the child, too. The child
/// neither uses nor drops its copy of the [`PipeWriter`].
extern "C" fn close_in_child() {
    let pipe = PIPE.swap(NO_PIPE, Ordering::SeqCst);
    if pipe != NO_PIPE {
        // SAFETY: the descriptor is this process's copy, which no other code of it uses.
        unsafe { libc::close(pipe) };
    }
}
