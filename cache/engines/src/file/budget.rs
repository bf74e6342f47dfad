//! The size limit: room is made by removing the oldest of a sample.
//!
//! A store may hold millions of files, so it keeps no order of them. Instead a pool holds the oldest entries of
//! samples. A sample takes [`SAMPLE`] entries, folder by folder from a random folder on, and keeps the [`POOL`] oldest
//! (as Redis samples keys for eviction). An entry's age counts from its last write or, where that was later, its last
//! read. Most file systems are mounted to record only the first read after a write and then one a day. So the order
//! among entries that are read is coarse.
//!
//! Bytes are counted in whole blocks of the file system, because a file takes whole blocks. Every writer reserves
//! before it writes, and makes room first. A file that replaces another reserves only the difference: for a moment,
//! until the older file is removed, both are on the disk. No writer waits for room, because it would hold the turn on a
//! key for which other writers may wait. Where other writers are about to change all remaining entries, the count is
//! above the limit until the next store brings it down. Several processes share the count (`usage.rs`); a file whose
//! writer was killed counts too much.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use larder_store::Result;

use super::folder::Folder;
use super::lock::Locks;
use super::name::Name;
use super::sys::{self, FileStat};
use super::usage::SharedUsage;
use super::walk::walk;
use larder_host::disk;

/// The number of entries that are looked at for one sample.
const SAMPLE: usize = 256;

/// The number of entries of a sample that are kept.
const POOL: usize = 64;

/// The size limit of a store.
#[derive(Debug)]
pub(super) struct Budget {
    limit: u64,
    block_len: u64,
    usage: SharedUsage,
    /// Candidates that samples have left: those of a sample stand together, the oldest last.
    pool: Mutex<Vec<Candidate>>,
    /// Where the next sample starts; steps by a fraction of the whole that visits every region evenly.
    start: AtomicU64,
    evictions: AtomicU64,
}

/// An entry as the sample saw it.
#[derive(Debug)]
struct Candidate {
    name: Name,
    stat: FileStat,
}

impl Budget {
    /// Opens the count, and counts again where no other process has the store open.
    pub(super) fn open(folder: &Folder, limit: u64) -> Result<Self> {
        let path = folder.path().join("usage");
        let block_len = block_len(folder);
        let count = || {
            let (mut bytes, mut items) = (0, 0);
            let mut error = None;
            walk(folder, 0, &mut |name| {
                match sys::stat(folder.as_fd(), name.path().as_c_str()) {
                    Ok(None) => {}
                    Ok(Some(stat)) => {
                        bytes += stat.len.next_multiple_of(block_len);
                        items += 1;
                    }
                    Err(failed) => error = Some(failed),
                }
                ControlFlow::Continue(())
            })?;
            error.map_or(Ok((bytes, items)), Err)
        };
        let usage = SharedUsage::open(&path, count)
            .map_err(|error| disk::io_error(super::SCHEME, "counting", &path, error))?;
        Ok(Self {
            limit,
            block_len,
            usage,
            pool: Mutex::default(),
            start: AtomicU64::new(u64::from(std::process::id()) << 32),
            evictions: AtomicU64::new(0),
        })
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    pub(super) fn usage(&self) -> &SharedUsage {
        &self.usage
    }

    pub(super) fn evictions(&self) -> u64 {
        self.evictions.load(Ordering::Relaxed)
    }

    /// The disk space of a file of this length.
    fn cost(&self, len: u64) -> u64 {
        len.next_multiple_of(self.block_len)
    }

    /// The disk space of a file of this length, less that of the file that it replaces.
    fn growth(&self, len: u64, old: Option<FileStat>) -> u64 {
        self.cost(len).saturating_sub(old.map_or(0, |old| self.cost(old.len)))
    }

    /// Makes room for a file of this length under `name`, in place of `old`, and counts it. The caller has the turn on
    /// the name from before it reads `old` until it calls [`Self::stored`] or [`Self::give_back`].
    pub(super) fn reserve(
        &self,
        folder: &Folder,
        locks: &Locks,
        name: &Name,
        len: u64,
        old: Option<FileStat>,
    ) -> Result<()> {
        self.usage.add_bytes(self.growth(len, old));
        while self.usage.bytes() > self.limit {
            match self.evict_one(folder, locks, name) {
                Ok(true) => {}
                // Nothing can be removed now. The rest of the count is of files that others are writing, or of a
                // process that was killed. The next process that opens the store alone corrects the count.
                Ok(false) => break,
                Err(error) => {
                    self.give_back(len, old);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Takes back a reservation: the file was not stored.
    pub(super) fn give_back(&self, len: u64, old: Option<FileStat>) {
        self.usage.subtract_bytes(self.growth(len, old));
    }

    /// Counts a stored file, whose space is reserved, and the removal of the file that it replaced.
    pub(super) fn stored(&self, len: u64, old: Option<FileStat>) {
        match old {
            Some(old) => {
                self.usage.subtract_bytes(self.cost(old.len).saturating_sub(self.cost(len)));
            }
            None => self.usage.add_item(),
        }
    }

    /// Counts a file that was removed.
    pub(super) fn removed(&self, old: FileStat) {
        self.usage.subtract_bytes(self.cost(old.len));
        self.usage.subtract_item();
    }

    /// Removes one of the oldest entries, but never the entry under `own`. `false` when there is no other entry, or
    /// when others are about to change all of them. Takes one sample at most: a second could meet the same entries for
    /// ever.
    fn evict_one(&self, folder: &Folder, locks: &Locks, own: &Name) -> Result<bool> {
        while let Some(candidate) = self.take_candidate() {
            if self.evict(folder, locks, own, &candidate)? {
                return Ok(true);
            }
        }
        // No other thread sees this sample, so its end means that no entry can be removed.
        let mut sample = self.sample(folder)?;
        while let Some(candidate) = sample.pop() {
            if self.evict(folder, locks, own, &candidate)? {
                self.pool().append(&mut sample);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes an entry that has not changed since it was sampled and is not under `own`.
    fn evict(
        &self,
        folder: &Folder,
        locks: &Locks,
        own: &Name,
        candidate: &Candidate,
    ) -> Result<bool> {
        let Candidate { name, stat } = candidate;
        // The end of a second turn on the same lock would end the caller's turn.
        if name.lock_offset() == own.lock_offset() {
            return Ok(false);
        }
        // The thread that has the turn is about to change the entry: it is no longer an old one.
        let Some(_turn) = locks.try_now(folder, name)? else { return Ok(false) };
        let now = sys::stat(folder.as_fd(), name.path().as_c_str())
            .map_err(|error| folder.error("looking at", name.path().as_c_str(), error))?;
        if now != Some(*stat) || !folder.remove(name)? {
            return Ok(false);
        }
        self.removed(*stat);
        self.evictions.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    /// The oldest candidate of the pool. The pool is unlocked when this returns.
    fn take_candidate(&self) -> Option<Candidate> {
        self.pool().pop()
    }

    /// Looks at [`SAMPLE`] entries and returns the [`POOL`] oldest, the oldest last.
    fn sample(&self, folder: &Folder) -> Result<Vec<Candidate>> {
        let mut sample = Vec::new();
        // The golden ratio of the range: successive starts are far apart and never line up.
        let start = self.start.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let walked = walk(folder, start, &mut |name| {
            // An entry whose record cannot be read is no candidate.
            if let Ok(Some(stat)) = sys::stat(folder.as_fd(), name.path().as_c_str()) {
                sample.push(Candidate { name, stat });
            }
            if sample.len() < SAMPLE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        walked.map_err(|error| folder.error("reading", c".", error))?;
        sample.sort_unstable_by_key(|candidate| std::cmp::Reverse(candidate.stat.used_ns));
        let spare = sample.len().saturating_sub(POOL);
        sample.drain(..spare);
        Ok(sample)
    }

    fn pool(&self) -> MutexGuard<'_, Vec<Candidate>> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The block size of the file system; a page where the file system reports no size.
fn block_len(folder: &Folder) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let block = folder.path().metadata().map_or(0, |folder| folder.blksize());
    if block.is_power_of_two() { block.clamp(512, 1 << 16) } else { 4096 }
}
