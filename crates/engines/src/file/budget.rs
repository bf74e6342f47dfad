//! The size limit: room is made by removing the oldest of a sample.
//!
//! A store may hold millions of files, so nobody keeps them in order. Instead a pool holds the oldest of those
//! that were looked at: folder by folder from a random one on, [`SAMPLE`] entries at a time, of which the
//! [`POOL`] oldest stay (as Redis samples keys for eviction). An entry's age counts from when it was written or,
//! where that was later, read; most file systems are mounted to record only the first read after a write and
//! then one a day, so that among entries that are read the order is a coarse one.
//!
//! Bytes are counted in whole blocks of the file system, which is what a file takes. Every writer reserves before
//! it writes and waits until there is room, so one process never exceeds the limit; several processes share the
//! count (`usage.rs`) and keep to the limit but for files that one of them was killed over, which count too much.

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
use crate::disk;

/// How many entries are looked at for one filling of the pool.
const SAMPLE: usize = 256;

/// How many of them are kept.
const POOL: usize = 64;

/// The size limit of a store.
#[derive(Debug)]
pub(super) struct Budget {
    limit: u64,
    block_len: u64,
    usage: Usage,
    /// Candidates, the oldest last.
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

    /// What a file of this length takes.
    fn cost(&self, len: u64) -> u64 {
        len.next_multiple_of(self.block_len)
    }

    /// Makes room for a file of this length under `name` and counts it. The caller has the turn on the name.
    pub(super) fn reserve(
        &self,
        folder: &Folder,
        locks: &Locks,
        name: &Name,
        len: u64,
    ) -> Result<()> {
        self.usage.add_bytes(self.cost(len));
        while self.usage.bytes() > self.limit {
            match self.evict_one(folder, locks, name) {
                Ok(true) => {}
                // Nothing is left to remove. What is still counted is being written by others, or was counted by
                // somebody who was killed: then the next to open the store alone puts it right.
                Ok(false) => break,
                Err(error) => {
                    self.give_back(len);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Takes back a reservation: the file was not stored.
    pub(super) fn give_back(&self, len: u64) {
        self.usage.subtract_bytes(self.cost(len));
    }

    /// Counts a stored file, of which the bytes are reserved, and what it replaced.
    pub(super) fn stored(&self, replaced: Option<FileStat>) {
        match replaced {
            Some(old) => self.usage.subtract_bytes(self.cost(old.len)),
            None => self.usage.add_item(),
        }
    }

    /// Counts a file that was removed.
    pub(super) fn removed(&self, old: FileStat) {
        self.usage.subtract_bytes(self.cost(old.len));
        self.usage.subtract_item();
    }

    /// Removes one of the oldest entries, but not what is under `own`; `false` when there is none.
    fn evict_one(&self, folder: &Folder, locks: &Locks, own: &Name) -> Result<bool> {
        while let Some(Candidate { name, stat }) = self.oldest(folder)? {
            // To end a second turn on the same lock would end the caller's.
            if name.lock_offset() == own.lock_offset() {
                continue;
            }
            // Who has the turn is about to change the entry: it is no longer an old one.
            let Some(_turn) = locks.try_now(folder, &name)? else { continue };
            let now = sys::stat(folder.as_fd(), name.path().as_c_str())
                .map_err(|error| folder.error("looking at", name.path().as_c_str(), error))?;
            if now == Some(stat) && folder.remove(&name)? {
                self.removed(stat);
                self.evictions.fetch_add(1, Ordering::Relaxed);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes the oldest candidate out of the pool, which is filled first when it is empty.
    fn oldest(&self, folder: &Folder) -> Result<Option<Candidate>> {
        let mut pool = self.pool();
        if pool.is_empty() {
            self.fill(folder, &mut pool)?;
        }
        Ok(pool.pop())
    }

    fn fill(&self, folder: &Folder, pool: &mut Vec<Candidate>) -> Result<()> {
        // The golden ratio of the range: successive starts are far apart and never line up.
        let start = self.start.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let sampled = walk(folder, start, &mut |name| {
            // One that cannot be looked at is no candidate.
            if let Ok(Some(stat)) = sys::stat(folder.as_fd(), name.path().as_c_str()) {
                pool.push(Candidate { name, stat });
            }
            if pool.len() < SAMPLE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        sampled.map_err(|error| folder.error("reading", c".", error))?;
        pool.sort_unstable_by_key(|candidate| std::cmp::Reverse(candidate.stat.used_ns));
        let spare = pool.len().saturating_sub(POOL);
        pool.drain(..spare);
        Ok(())
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
