//! A forked child of a test.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// No child of a test works for as long.
const LONGEST_S: u32 = 300;

/// Forks a child that does `work` and ends, without the destructors of its parent. A child that hangs is killed, because its parent waits
/// for it: another thread may have held a lock at the fork.
///
/// # Panics
///
/// Where the system cannot fork.
pub fn fork(work: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child allocates, which the C library allows, and takes no lock that another thread may hold.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: alarm touches no memory.
        unsafe { libc::alarm(LONGEST_S) };
        let done = catch_unwind(AssertUnwindSafe(work));
        // SAFETY: ends this process without its parent's exit handlers.
        unsafe { libc::_exit(i32::from(done.is_err())) };
    }
    assert!(child > 0, "cannot fork: {}", std::io::Error::last_os_error());
    child
}

/// Waits for a child; whether its work succeeded.
pub fn has_succeeded(child: libc::pid_t) -> bool {
    let mut status = -1;
    // SAFETY: `status` is room for the one number that waitpid writes.
    let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
    ended == child && status == 0
}
