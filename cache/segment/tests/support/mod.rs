//! The shared part of tests with several processes.

#![allow(dead_code, reason = "not every test has children")]

/// A folder in memory, where the system has one.
pub(crate) fn folder() -> tempfile::TempDir {
    let shared = std::path::Path::new("/dev/shm");
    let parent = if shared.is_dir() { shared.into() } else { std::env::temp_dir() };
    tempfile::tempdir_in(parent).expect("a folder")
}

/// A child of this process, killed when it is dropped.
pub(crate) struct Child(pub(crate) libc::pid_t);

impl Child {
    /// Forks a child that does `work` and ends.
    pub(crate) fn fork(work: impl FnOnce()) -> Self {
        Self(larder_testkit::fork(work))
    }

    pub(crate) fn signal(&self, signal: libc::c_int) {
        // A child that a test has waited for gets no signal.
        let _ = larder_testkit::try_signal(self.0.unsigned_abs(), signal);
    }

    /// Waits for its end, and returns its exit status.
    pub(crate) fn wait(&self) -> i32 {
        let mut status = -1;
        // SAFETY: no other thread waits for this child.
        unsafe { libc::waitpid(self.0, &raw mut status, 0) };
        status
    }

    pub(crate) fn wait_until_stopped(&self) {
        let mut status = -1;
        // SAFETY: as above.
        unsafe { libc::waitpid(self.0, &raw mut status, libc::WUNTRACED) };
        assert!(libc::WIFSTOPPED(status), "{status}");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
        self.wait();
    }
}
