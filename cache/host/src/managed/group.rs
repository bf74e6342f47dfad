//! A program in a process group of its own, from its start to its end.

use std::io;
use std::mem::MaybeUninit;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use larder_store::Process;

use crate::watchdog;

/// A program that this process has started, with all its children. Dropping it kills them; a watchdog kills them when
/// this process ends before that.
#[derive(Debug)]
pub struct Group {
    leader: Child,
    /// A forked child must not kill it.
    process: Process,
}

impl Group {
    /// Starts a program as the leader of a session and process group of its own.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let leader = watchdog::spawn(command)?;
        Ok(Self { leader, process: Process::current() })
    }

    /// The process id of its leader, which is the group's id too.
    pub fn pid(&self) -> u32 {
        self.leader.id()
    }

    /// The ends of the pipes to its leader's standard input, output and error, where it has them. Each is handed out
    /// once.
    pub fn take_pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        (self.leader.stdin.take(), self.leader.stdout.take(), self.leader.stderr.take())
    }

    /// The leader's exit status, if it has ended. The leader is not reaped, so that its id stays
    /// its own.
    pub fn ended(&self) -> Option<String> {
        ended(self.pid())
    }

    /// Whether this process started it, and is not a forked child of that process.
    pub(super) fn is_ours(&self) -> bool {
        self.process.is_current()
    }

    /// Sends a signal to the whole group, which exists as long as its leader has not been reaped.
    pub fn signal(&self, signal: libc::c_int) {
        if let Ok(group) = libc::pid_t::try_from(self.pid()) {
            // SAFETY: kill touches no memory; the group is ours.
            unsafe { libc::kill(-group, signal) };
        }
    }
}

/// The beginning of the status of a program that a signal ended.
pub(super) const SIGNAL: &str = "signal";

/// The exit status of an unreaped child of this process; `None` while it runs, and for any other
/// process.
pub fn ended(pid: u32) -> Option<String> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `info` is room for the one structure that waitid writes.
    let result = unsafe { libc::waitid(libc::P_PID, pid, info.as_mut_ptr(), options) };
    // SAFETY: all zeroes is a valid siginfo_t, and waitid has written nothing or all of it.
    let info = unsafe { info.assume_init() };
    // SAFETY: waitid fills the fields of a SIGCHLD, or leaves them zero where there is nothing to report.
    let (ended, status) = unsafe { (info.si_pid(), info.si_status()) };
    if result != 0 || ended == 0 {
        return None;
    }
    let way = if info.si_code == libc::CLD_EXITED { "exit status" } else { SIGNAL };
    Some(format!("{way} {status}"))
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_ours() {
            return;
        }
        self.signal(libc::SIGKILL);
        // Taken back before the id can belong to another process. A failure is ignored: without a watchdog there is
        // nothing to take back, and a killed process can be waited for.
        let _ = watchdog::forget_group(self.pid());
        let _ = self.leader.wait();
    }
}
