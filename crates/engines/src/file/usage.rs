//! How much a store with a size limit holds, in numbers that all its processes share.
//!
//! Two counters in a mapped file: each process adds what it stores and subtracts what it removes. A process that
//! is killed between the two steps of a change leaves them too high, never too low, because it adds before it
//! stores and subtracts after it has removed. Whoever opens the store while nobody else has it open counts anew.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters as they are in the file.
#[repr(C)]
struct Counters {
    bytes: AtomicU64,
    items: AtomicU64,
}

const LEN: usize = size_of::<Counters>();

/// The shared counters of an open store.
#[derive(Debug)]
pub(super) struct Usage {
    counters: NonNull<Counters>,
    /// Held open for its shared lock, by which others see that the counters are in use.
    file: File,
}

// SAFETY: the mapping belongs to this value alone, stays where it is until it is dropped, and is only accessed
// through atomics.
unsafe impl Send for Usage {}
// SAFETY: as above.
unsafe impl Sync for Usage {}

impl Usage {
    /// Opens the counters in the file `path`. Where nobody else has them open they are set to what `count`
    /// finds: bytes and items.
    pub(super) fn open(
        path: &Path,
        count: impl FnOnce() -> io::Result<(u64, u64)>,
    ) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = file.open(path)?;
        let is_alone = match file.try_lock() {
            Ok(()) => true,
            Err(std::fs::TryLockError::WouldBlock) => false,
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
        };
        if !is_alone {
            // Waits for one who is counting.
            file.lock_shared()?;
        }
        if file.metadata()?.len() < LEN as u64 {
            file.set_len(LEN as u64)?;
        }
        let usage = Self { counters: map(&file)?, file };
        if is_alone {
            let (bytes, items) = count()?;
            usage.counters().bytes.store(bytes, Ordering::Relaxed);
            usage.counters().items.store(items, Ordering::Relaxed);
            usage.file.lock_shared()?;
        }
        Ok(usage)
    }

    fn counters(&self) -> &Counters {
        // SAFETY: `map` made this a mapping of at least that length, page-aligned, that lives as long as `self`.
        unsafe { self.counters.as_ref() }
    }

    /// Bytes held now, by all processes.
    pub(super) fn bytes(&self) -> u64 {
        self.counters().bytes.load(Ordering::Relaxed)
    }

    /// Entries held now, by all processes.
    pub(super) fn items(&self) -> u64 {
        self.counters().items.load(Ordering::Relaxed)
    }

    pub(super) fn add_bytes(&self, bytes: u64) {
        self.counters().bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn subtract_bytes(&self, bytes: u64) {
        subtract(&self.counters().bytes, bytes);
    }

    pub(super) fn add_item(&self) {
        self.counters().items.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn subtract_item(&self) {
        subtract(&self.counters().items, 1);
    }
}

/// Subtracts, down to 0: a count that others began anew meanwhile must not become huge.
fn subtract(counter: &AtomicU64, n: u64) {
    let less = |count: u64| Some(count.saturating_sub(n));
    // Always `Ok`: the closure never declines.
    let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
}

fn map(file: &File) -> io::Result<NonNull<Counters>> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: a new mapping, of a file that we hold open, at an address that the system chooses.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), LEN, access, kind, file.as_raw_fd(), 0) };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(NonNull::new(at).ok_or(io::ErrorKind::OutOfMemory)?.cast())
}

impl Drop for Usage {
    fn drop(&mut self) {
        // SAFETY: the mapping that `map` made, and nobody can use it any more.
        unsafe { libc::munmap(self.counters.as_ptr().cast(), LEN) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_host::scratch::ScratchDir;

    #[test]
    fn the_first_to_open_counts_and_all_share_the_count() {
        let folder = ScratchDir::create("usage").unwrap();
        let path = folder.path().join("usage");
        let one = Usage::open(&path, || Ok((100, 3))).unwrap();
        let two = Usage::open(&path, || panic!("somebody has it open")).unwrap();
        two.add_bytes(50);
        two.add_item();
        assert_eq!((one.bytes(), one.items()), (150, 4));
        one.subtract_bytes(1000);
        assert_eq!(two.bytes(), 0);
        drop((one, two));
        let again = Usage::open(&path, || Ok((7, 1))).unwrap();
        assert_eq!((again.bytes(), again.items()), (7, 1));
    }
}
