//! Deadlines of single calls on a socket, for which the kernel keeps one timeout.
//!
//! The kernel's timeout is set by a system call, and it is a number of ticks, each up to 10 ms. So a socket with
//! deadlines gets a kernel timeout of half of the time that a deadline leaves. A sound answer comes before that, and
//! costs no further system call. A call that is still silent then waits for the rest by `ppoll`, which is exact. A
//! call without a deadline waits in the same two steps, together for the whole timeout.

use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use super::system;

/// The shortest kernel timeout: two ticks of the slowest kernel. Below it the kernel could wait beyond the deadline.
const SHORTEST: Duration = Duration::from_millis(20);

/// The times for which the calls of a socket wait.
#[derive(Debug)]
pub(super) struct Deadlines {
    /// The kernel's timeout; `None` where the kernel could wait too long.
    kernel: Option<Duration>,
    /// The rest of the longest silence, after the kernel's timeout.
    rest: Duration,
    /// The deadline of the present call.
    deadline: Option<Instant>,
    /// Whether the present call may not wait in the kernel, because it has a deadline and has waited there already.
    is_exact: bool,
}

impl Deadlines {
    /// For calls whose deadlines leave them this time, and others that wait as long as the timeout.
    pub(super) fn new(longest: Duration, timeout: Duration) -> Self {
        let kernel = (longest.min(timeout) / 2).max(SHORTEST).min(timeout);
        let is_short = longest < 2 * SHORTEST;
        Self {
            kernel: (!is_short).then_some(kernel),
            rest: timeout.saturating_sub(kernel),
            deadline: None,
            is_exact: false,
        }
    }

    /// The timeout that the kernel is to have.
    pub(super) fn of_kernel(&self, timeout: Duration) -> Duration {
        timeout.saturating_sub(self.rest)
    }

    /// Begins a call with this deadline, or with none.
    #[inline]
    pub(super) fn begin(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
        self.is_exact = deadline.is_some() && self.kernel.is_none();
    }

    /// Receives by `receive`, which takes whether it may wait in the kernel.
    #[inline]
    pub(super) fn receive<T>(
        &mut self,
        socket: BorrowedFd<'_>,
        mut receive: impl FnMut(bool) -> io::Result<T>,
    ) -> io::Result<T> {
        if !self.is_exact {
            self.is_exact = self.deadline.is_some();
            match receive(true) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                received => return received,
            }
        }
        loop {
            self.wait(socket)?;
            match receive(false) {
                // The bytes are a part of a record that cannot be decrypted yet.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                received => return received,
            }
        }
    }

    /// Waits for bytes, for the rest of the time.
    #[cold]
    fn wait(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        let rest = self.deadline.map_or(self.rest, left);
        if system::wait_for_input(socket, rest)? { Ok(()) } else { Err(ErrorKind::TimedOut.into()) }
    }
}
