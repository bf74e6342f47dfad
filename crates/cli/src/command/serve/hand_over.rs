//! A new process takes the place of this one: it gets the listening sockets, opens the store, and says when it serves.
//! Meanwhile, and if it fails, this process goes on. No connection is refused.

use std::env;
use std::fs::File;
use std::io::{Read as _, Write as _, pipe};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::thread;

use anyhow::{Context as _, bail};
use larder_host::inherit;

/// The variable with the numbers of the sockets.
const SOCKETS: &str = "LARDER_SOCKETS";

/// The variable with the number of the pipe that is told when the new process serves.
const READY: &str = "LARDER_READY";

/// What a process gets from the one whose place it takes.
#[derive(Debug, Default)]
pub(super) struct HandedOver {
    /// Sockets that listen.
    pub(super) sockets: Vec<OwnedFd>,
    ready: Option<File>,
}

impl HandedOver {
    /// What this process got, which is nothing where it takes no other's place.
    pub(super) fn take() -> Self {
        // SAFETY: the command calls it once, before it opens anything.
        let (sockets, ready) = unsafe { (inherit::take(SOCKETS), inherit::take(READY)) };
        Self { sockets, ready: ready.into_iter().next().map(File::from) }
    }

    /// Says that this process serves, so that the other one may end.
    pub(super) fn tell(self) {
        if let Some(mut ready) = self.ready {
            // Nobody may be left to hear it.
            let _ = ready.write_all(&[1]);
        }
    }
}

/// Starts a process with this one's program, arguments and sockets, and waits until it serves. Returns its number.
pub(super) fn hand_over(sockets: &[OwnedFd]) -> anyhow::Result<u32> {
    let program = env::current_exe().context("this program is not where it was")?;
    let mut arguments = env::args_os();
    let mut command = Command::new(&program);
    // A program that was replaced by a newer one is the newer one.
    let shown = program.to_string_lossy();
    if let Some(there) = shown.strip_suffix(" (deleted)") {
        command = Command::new(there);
    }
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments);
    let (mut told, ready) = pipe()?;
    let sockets = sockets.iter().map(OwnedFd::try_clone).collect::<Result<_, _>>()?;
    inherit::give(&mut command, SOCKETS, sockets);
    inherit::give(&mut command, READY, vec![OwnedFd::from(ready)]);
    let mut child = command.spawn().with_context(|| format!("cannot start {shown}"))?;
    // The command holds the writing end of the pipe; without it, the end of the child is the end of the pipe.
    drop(command);
    let pid = child.id();
    if told.read(&mut [0]).unwrap_or(0) == 0 {
        bail!("the new process has ended: {}", child.wait()?);
    }
    // It is nobody's child once this process has ended; until then somebody must wait for it.
    thread::spawn(move || child.wait());
    Ok(pid)
}
