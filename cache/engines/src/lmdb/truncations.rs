//! The number of times that a process has truncated the file of a folder, which all processes see.
//!
//! It stands in the file that processes lock to write, and is read through a map: a call of the system for each transaction
//! would cost more than the rest of the check. It changes under the lock only.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the number.
const LEN: usize = size_of::<u64>();

/// The number.
#[derive(Debug)]
pub(super) struct Truncations {
    file: File,
    number: NonNull<AtomicU64>,
}

// SAFETY: the number is atomic, and its map is there until the end of `Truncations`.
unsafe impl Send for Truncations {}
// SAFETY: as above.
unsafe impl Sync for Truncations {}

impl Truncations {
    /// Opens the number in a file, which is 0 where the file has none.
    pub(super) fn open(file: File) -> io::Result<Self> {
        // Written, so that the map has no hole.
        if file.metadata()?.len() < LEN as u64 {
            file.write_all_at(&[0; LEN], 0)?;
        }
        let (access, kind) = (libc::PROT_READ, libc::MAP_SHARED);
        // SAFETY: a new mapping, of a file that is open, at an address that the system chooses.
        let at =
            unsafe { libc::mmap(std::ptr::null_mut(), LEN, access, kind, file.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let number = NonNull::new(at).ok_or(io::ErrorKind::OutOfMemory)?.cast();
        Ok(Self { file, number })
    }

    /// The number.
    pub(super) fn number(&self) -> u64 {
        // SAFETY: the map is there, begins a page, and no process makes the file shorter.
        unsafe { self.number.as_ref() }.load(Ordering::Relaxed)
    }

    /// Counts a truncation; returns the new number.
    pub(super) fn count(&self) -> io::Result<u64> {
        let number = self.number().wrapping_add(1);
        self.file.write_all_at(&number.to_ne_bytes(), 0)?;
        Ok(number)
    }
}

impl Drop for Truncations {
    fn drop(&mut self) {
        // SAFETY: `open` made this mapping, and no reference to it is left.
        unsafe { libc::munmap(self.number.as_ptr().cast(), LEN) };
    }
}
