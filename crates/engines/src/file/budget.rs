//! The size limit: room is made by removing the oldest of a sample.
//!
//! A store may hold millions of files, so nobody keeps them in order. Instead a pool holds the oldest of those
//! that were looked at: folder by folder from a random one on, [`SAMPLE`] entries at a time, of which the
//! [`POOL`] oldest stay (as Redis samples keys for eviction). An entry's age counts from when it was written or,
//! where that was later, read; most file systems are mounted to record only the first read after a write and
//! then one a day, so that among entries that are read the order is a coarse one.
//!
//! Bytes are counted in whole blocks of the file system, which is what a file takes. Every writer reserves before
//! it writes, and makes room first. A file that replaces another reserves what it takes more than that one: for a
//! moment, until the older one is removed, both are on the disk. Nobody waits for room, because whoever waited
//! would do so with the turn on a key that others may wait for in turn: where all that is left is about to be
//! changed by others, the count is above the limit until the next store brings it down. Several processes share
//! the count (`usage.rs`); files that one of them was killed over count too much.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use larder_store::Result;

use super::folder::Folder;
use super::lock::Locks;
use super::name::Name;
use super::sys::{self, FileStat};
use super::usage::Usage;
use super::walk::walk;
use larder_host::disk;

/// How many entries are looked at for one sample.
const SAMPLE: usize = 256;

/// How many of them are kept.
const POOL: usize = 64;

/// The size limit of a store.
#[derive(Debug)]
pub(super) struct Budget {
    limit: u64,
    block_len: u64,
    usage: Usage,
    /// Candidates that samples have left, those of each sample together, its oldest last.
    pool: Mutex<Vec<Candidate>>,
    /// Where the next sample starts; steps by a fraction of the whole that visits every region evenly.
    start: AtomicU64,
    evictions: AtomicU64,
}

/// An entry as it was when it was looked at.
#[derive(Debug)]
struct Candidate {
    name: Name,
    stat: FileStat,
}

impl Budget {
    /// Opens the count, and counts anew where nobody else has the store open.
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
        let usage = Usage::open(&path, count)
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

    pub(super) fn usage(&self) -> &Usage {
        &self.usage
    }

    pub(super) fn evictions(&self) -> u64 {
        self.evictions.load(Ordering::Relaxed)
    }

    /// The disk space of a file of this length.
    fn cost(&self, len: u64) -> u64 {
        len.next_multiple_of(self.block_len)
    }

    /// The disk space of a file of this length, less that of the one that it replaces.
    fn growth(&self, len: u64, old: Option<FileStat>) -> u64 {
        self.cost(len).saturating_sub(old.map_or(0, |old| self.cost(old.len)))
    }

    /// Makes room for a file of this length under `name`, in place of `old`, and counts it. The caller has the
    /// turn on the name from before it looked at `old` until it has told how it ended.
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
                // Nothing can be removed now. What is still counted is being written by others, or was counted by
                // somebody who was killed: then the next to open the store alone puts it right.
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

    /// Counts a stored file, which is reserved, and that what it replaced is gone.
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

    /// Removes one of the oldest entries, but not what is under `own`; `false` when there is none, or none that
    /// nobody is about to change. Takes one sample at most: a second one could meet the same entries for ever.
    fn evict_one(&self, folder: &Folder, locks: &Locks, own: &Name) -> Result<bool> {
        while let Some(candidate) = self.take_candidate() {
            if self.evict(folder, locks, own, &candidate)? {
                return Ok(true);
            }
        }
        // In nobody else's reach, so that to come to its end means that there is nothing.
        let mut sample = self.sample(folder)?;
        while let Some(candidate) = sample.pop() {
            if self.evict(folder, locks, own, &candidate)? {
                self.pool().append(&mut sample);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes an entry that is as it was when it was looked at and not under `own`.
    fn evict(
        &self,
        folder: &Folder,
        locks: &Locks,
        own: &Name,
        candidate: &Candidate,
    ) -> Result<bool> {
        let Candidate { name, stat } = candidate;
        // To end a second turn on the same lock would end the caller's.
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

    /// The oldest candidate of the pool. The pool is free again when this returns.
    fn take_candidate(&self) -> Option<Candidate> {
        self.pool().pop()
    }

    /// Looks at [`SAMPLE`] entries and returns the [`POOL`] oldest, the oldest last.
    fn sample(&self, folder: &Folder) -> Result<Vec<Candidate>> {
        let mut sample = Vec::new();
        // The golden ratio of the range: successive starts are far apart and never line up.
        let start = self.start.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let walked = walk(folder, start, &mut |name| {
            // One that cannot be looked at is no candidate.
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

/// The block of the file system; a page where it does not tell.
fn block_len(folder: &Folder) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let block = folder.path().metadata().map_or(0, |folder| folder.blksize());
    if block.is_power_of_two() { block.clamp(512, 1 << 16) } else { 4096 }
}
