//! The lock of a folder, which processes take to write and to open it.
//!
//! LMDB's own lock for this, in memory that the processes share, is not enough. When one of several waiting processes dies,
//! another may wait for ever, because the wake-up call went to the dead process. The kernel manages a file lock and frees
//! the lock of a dead process. The holder of the file lock finds LMDB's lock free.

use std::fs::{File, TryLockError};
use std::io;

/// The lock, held.
#[derive(Debug)]
pub(super) struct FolderGuard<'f>(&'f File);

impl<'f> FolderGuard<'f> {
    /// Waits for the lock, as long as it takes.
    pub(super) fn take(file: &'f File) -> io::Result<Self> {
        loop {
            match file.lock() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                taken => return taken.map(|()| Self(file)),
            }
        }
    }

    /// Takes the lock; `None` where another has it.
    pub(super) fn take_free(file: &'f File) -> io::Result<Option<Self>> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for FolderGuard<'_> {
    fn drop(&mut self) {
        // The end of the process frees the lock in any case.
        let _ = self.0.unlock();
    }
}
