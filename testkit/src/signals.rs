//! Signals to the processes that a test has started.
//!
//! The system call needs no program: `kill` of the package procps is missing on a small machine.

use std::io;

/// Sends a signal to a process, which must exist.
pub fn signal(pid: u32, signal: libc::c_int) {
    let sent = send(receiver(pid), signal);
    sent.unwrap_or_else(|error| panic!("process {pid} gets no signal {signal}: {error}"));
}

/// Sends a signal to the process group of this leader, as a terminal does. The group must have a process.
pub fn signal_group(leader: u32, signal: libc::c_int) {
    let sent = send(-receiver(leader), signal);
    sent.unwrap_or_else(|error| panic!("group {leader} gets no signal {signal}: {error}"));
}

/// Sends a signal to a process that may have ended; the error is the system's.
pub fn try_signal(pid: u32, signal: libc::c_int) -> io::Result<()> {
    send(receiver(pid), signal)
}

/// A process id as the system call takes it. The id 0 would mean the group of this process.
fn receiver(pid: u32) -> libc::pid_t {
    let receiver = pid.try_into().ok().filter(|pid| *pid > 0);
    receiver.unwrap_or_else(|| panic!("{pid} is the id of no process"))
}

fn send(receiver: libc::pid_t, signal: libc::c_int) -> io::Result<()> {
    // SAFETY: the call takes numbers only.
    if unsafe { libc::kill(receiver, signal) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
