//! Wakes a thread that waits for sockets.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// The end of a pair that wakes. Any number of threads may share it.
#[derive(Debug)]
pub struct Waker(UnixStream);

/// The end that becomes readable.
#[derive(Debug)]
pub struct Woken(UnixStream);

/// A pair: a wake-up at one end can be read at the other.
///
/// # Errors
///
/// No descriptors are left.
pub fn pair() -> io::Result<(Waker, Woken)> {
    let (waker, woken) = UnixStream::pair()?;
    waker.set_nonblocking(true)?;
    woken.set_nonblocking(true)?;
    Ok((Waker(waker), Woken(woken)))
}

impl Waker {
    /// Wakes the thread that waits for the other end.
    pub fn wake(&self) {
        // A full pipe wakes too.
        let _ = (&self.0).write(&[1]);
    }
}

impl Woken {
    /// Takes what woke, so that it wakes once.
    pub fn settle(&mut self) {
        let mut bytes = [0; 64];
        while self.0.read(&mut bytes).is_ok_and(|n| n == bytes.len()) {}
    }
}

impl AsFd for Woken {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
