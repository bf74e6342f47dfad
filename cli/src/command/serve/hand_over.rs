//! A new process takes the place of this one: it gets the listening sockets, opens the store, and says when it serves.
//! Meanwhile, and if it fails, this process goes on. No connection is refused.

use std::env;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{self, Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, bail};
use larder_host::inherit;

/// The variables with the numbers of the sockets: those of this process's own addresses, those that the system has opened,
/// and the one for metrics.
const SOCKETS: &str = "LARDER_SOCKETS";
const SYSTEM_SOCKETS: &str = "LARDER_SYSTEM_SOCKETS";
const METRICS: &str = "LARDER_METRICS_SOCKET";

/// The variable with the number of the stream that is told when the new process serves.
const READY: &str = "LARDER_READY";

/// The time within which the new process serves, or is ended.
const PATIENCE: Duration = Duration::from_mins(2);

/// What a process gets from the one whose place it takes.
#[derive(Debug, Default)]
pub(super) struct HandedOver {
    /// Sockets that listen at this process's own addresses.
    pub(super) sockets: Vec<OwnedFd>,
    /// Sockets that the system had opened.
    pub(super) system_sockets: Vec<OwnedFd>,
    /// The socket for metrics.
    pub(super) metrics: Option<OwnedFd>,
    ready: Option<File>,
}

impl HandedOver {
    /// What this process got, which is nothing where it takes no other's place.
    pub(super) fn take() -> Self {
        // SAFETY: the command calls it once, before it opens anything.
        let take = |name| unsafe { inherit::take(name) };
        Self {
            sockets: take(SOCKETS),
            system_sockets: take(SYSTEM_SOCKETS),
            metrics: take(METRICS).into_iter().next(),
            ready: take(READY).into_iter().next().map(File::from),
        }
    }

    /// Says that this process serves, so that the other one may end.
    pub(super) fn tell(self) {
        if let Some(mut ready) = self.ready {
            // The other process may have ended.
            let _ = ready.write_all(&[1]);
        }
    }
}

/// The sockets of a server, for another process.
#[derive(Debug)]
pub(super) struct Sockets {
    /// Those that listen for clients.
    pub(super) clients: Vec<OwnedFd>,
    /// Whether the system has opened these.
    pub(super) are_systems: bool,
    /// The one at which metrics are read.
    pub(super) metrics: Option<OwnedFd>,
}

/// The process that is to take this one's place.
pub(super) type Heir = Arc<Mutex<Option<Child>>>;

/// Starts a process with this one's program, arguments and sockets, and waits until it serves. Returns its number. Another
/// thread that has `heir` may end it meanwhile.
pub(super) fn hand_over(sockets: &Sockets, heir: &Heir) -> anyhow::Result<u32> {
    if process::id() == 1 {
        bail!("all processes end with the first one, which this is: start another container");
    }
    let program = env::current_exe().context("this program is not where it was")?;
    let mut arguments = env::args_os();
    // A program that was replaced by a newer one is the newer one.
    let shown = program.to_string_lossy();
    let shown = shown.strip_suffix(" (deleted)").unwrap_or(&shown);
    let mut command = Command::new(shown);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments);
    let (mut told, ready) = UnixStream::pair()?;
    told.set_read_timeout(Some(PATIENCE))?;
    let copies = |sockets: &[OwnedFd]| -> std::io::Result<Vec<OwnedFd>> {
        sockets.iter().map(OwnedFd::try_clone).collect()
    };
    let clients = copies(&sockets.clients)?;
    let name = if sockets.are_systems { SYSTEM_SOCKETS } else { SOCKETS };
    let metrics = copies(sockets.metrics.as_slice())?;
    let given = vec![(name, clients), (METRICS, metrics), (READY, vec![OwnedFd::from(ready)])];
    inherit::give(&mut command, given);
    // Of an earlier process, which has this one for its heir.
    command.env_remove(if sockets.are_systems { SOCKETS } else { SYSTEM_SOCKETS });
    let child = command.spawn().with_context(|| format!("cannot start {shown}"))?;
    // The command holds the other end too; without it, the end of the child is the end of the stream.
    drop(command);
    let pid = child.id();
    *lock(heir) = Some(child);
    let heard = loop {
        match told.read(&mut [0]) {
            // A signal is obeyed elsewhere.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            heard => break heard,
        }
    };
    match heard {
        Ok(1..) => return Ok(pid),
        // It ends by itself, once it has said why.
        Ok(0) => {
            if let Some(mut child) = lock(heir).take() {
                bail!("the new process has ended: {}", child.wait()?);
            }
        }
        Err(_) => end(heir),
    }
    bail!("the new process has ended before it served")
}

/// Ends the process that is to take this one's place, where there is one.
pub(super) fn end(heir: &Heir) {
    if let Some(mut child) = lock(heir).take() {
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn lock(heir: &Heir) -> std::sync::MutexGuard<'_, Option<Child>> {
    heir.lock().unwrap_or_else(PoisonError::into_inner)
}
