//! Signals to the processes that a test has started.

/// Sends a signal to a process.
pub fn signal(pid: u32, signal: libc::c_int) {
    let pid = pid.try_into().expect("it is a process");
    // SAFETY: the call takes numbers only.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0, "process {pid} gets no signal");
}
