//! The bytes and entries of a store with a size limit, in counters that all its processes share.
//!
//! Two counters lie in a mapped file: each process adds what it stores and subtracts what it removes. It adds before it
//! stores, and subtracts after it has removed. So a process that is killed between the two steps leaves the counters too
//! high, never too low. A process that opens the store while no other has it open counts again. If it fails or is killed
//! before it has finished, the next process that opens the store counts.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters as they are in the file.
#[repr(C)]
struct CountersOfFile {
    bytes: AtomicU64,
    items: AtomicU64,
    /// 1 once the count is complete.
    is_counted: AtomicU64,
}

const LEN: usize = size_of::<CountersOfFile>();

/// The shared counters of an open store.
#[derive(Debug)]
pub(super) struct SharedUsage {
    counters: NonNull<CountersOfFile>,
    /// Open for its shared lock, which tells other processes that the counters are in use.
    file: File,
}

// SAFETY: the mapping belongs to this value alone, stays where it is until it is dropped, and is only accessed
// through atomics.
unsafe impl Send for SharedUsage {}
// SAFETY: as above.
unsafe impl Sync for SharedUsage {}

impl SharedUsage {
    /// Opens the counters in the file `path`. When no other opener has the file, the counters are set to the result of
    /// `count`: bytes and items.
    pub(super) fn open(
        path: &Path,
        count: impl FnOnce() -> io::Result<(u64, u64)>,
    ) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = file.open(path)?;
        if file.metadata()?.len() < LEN as u64 {
            file.set_len(LEN as u64)?;
        }
        let usage = Self { counters: map(&file)?, file };
        loop {
            match usage.file.try_lock() {
                Ok(()) => {
                    usage.count(count)?;
                    usage.file.lock_shared()?;
                    return Ok(usage);
                }
                Err(TryLockError::WouldBlock) => usage.file.lock_shared()?,
                Err(TryLockError::Error(error)) => return Err(error),
            }
            if usage.counters().is_counted.load(Ordering::Acquire) == 1 {
                return Ok(usage);
            }
            // The process that held the lock alone ended before its count was complete.
            usage.file.unlock()?;
        }
    }

    /// Sets the counters to what `count` finds. The caller holds the lock alone.
    fn count(&self, count: impl FnOnce() -> io::Result<(u64, u64)>) -> io::Result<()> {
        let counters = self.counters();
        counters.is_counted.store(0, Ordering::Release);
        let (bytes, items) = count()?;
        counters.bytes.store(bytes, Ordering::Relaxed);
        counters.items.store(items, Ordering::Relaxed);
        counters.is_counted.store(1, Ordering::Release);
        Ok(())
    }

    fn counters(&self) -> &CountersOfFile {
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

/// Subtracts, down to 0: a count that another process started again meanwhile must not become huge.
fn subtract(counter: &AtomicU64, n: u64) {
    let less = |count: u64| Some(count.saturating_sub(n));
    // Always `Ok`: the closure never declines.
    let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
}

fn map(file: &File) -> io::Result<NonNull<CountersOfFile>> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: a new mapping, of a file that we hold open, at an address that the system chooses.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), LEN, access, kind, file.as_raw_fd(), 0) };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(NonNull::new(at).ok_or(io::ErrorKind::OutOfMemory)?.cast())
}

impl Drop for SharedUsage {
    fn drop(&mut self) {
        // SAFETY: `map` made this mapping, and no reference to it is left.
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
        let one = SharedUsage::open(&path, || Ok((100, 3))).unwrap();
        let two = SharedUsage::open(&path, || panic!("somebody has it open")).unwrap();
        two.add_bytes(50);
        two.add_item();
        assert_eq!((one.bytes(), one.items()), (150, 4));
        one.subtract_bytes(1000);
        assert_eq!(two.bytes(), 0);
        drop((one, two));
        let again = SharedUsage::open(&path, || Ok((7, 1))).unwrap();
        assert_eq!((again.bytes(), again.items()), (7, 1));
    }

    #[test]
    fn a_count_that_failed_is_made_again_by_a_process_that_waited_for_it() {
        let folder = ScratchDir::create("usage").unwrap();
        let path = folder.path().join("usage");
        drop(SharedUsage::open(&path, || Ok((100, 3))).unwrap());
        let other = || SharedUsage::open(&path, || Ok((7, 1)));
        let waited = std::thread::scope(|scope| {
            let mut waits = None;
            let failed = SharedUsage::open(&path, || {
                waits = Some(scope.spawn(other));
                // Whether the other one is there by now or not, it must count.
                std::thread::yield_now();
                Err(io::ErrorKind::Other.into())
            });
            assert!(failed.is_err());
            waits.unwrap().join().unwrap().unwrap()
        });
        assert_eq!((waited.bytes(), waited.items()), (7, 1));
    }
}
