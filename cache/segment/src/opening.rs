//! Opening a region: a process that is alone with it recovers it, and the others wait until it is ready, and join.
//!
//! The word at [`BOOT`] tells that a region is ready. It is stored last: if a process is killed before that, the next process that
//! is alone begins anew.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::cache::Cache;
use crate::file::{self, Lock, io_error};
use crate::layout::{BUCKET, GROWTH, LOCK, SUPERBLOCK};
use crate::lock;
use crate::memory::Memory;
use crate::open_file::{Joined, Open};
use crate::owner::Owner;
use crate::session::lock_within;
use crate::superblock::{BOOT, CLEARED, Left, Superblock, renewing};
use crate::{Refused, fork};

/// The number of times that an opening process looks whether it can join, and the pause in between: five seconds in all. Time
/// in which the process itself is stopped does not count.
const LOOKS: usize = 2500;
const PAUSE: Duration = Duration::from_millis(2);

impl Cache {
    /// The region of a file, which is not made larger than `most`. It is ready once this process is alone with it, or
    /// once another process was since the machine was started.
    pub(crate) fn attach(
        file: File,
        superblock: Superblock,
        path: &Path,
        most: Option<usize>,
    ) -> Result<Arc<Self>, Refused> {
        let mapped = |source| io_error(path, "cannot be mapped", source);
        let memory = Memory::of_file(&file, superblock.geometry.size).map_err(mapped)?;
        let mut cache = Self::of(memory, superblock, Some(Open { file, joined: None }));
        let join = |open: &Open| cache.join(&open.file, path, most);
        let joined = cache.open.as_ref().map(join).transpose()?;
        cache.read_epoch();
        if let Some(open) = &mut cache.open {
            open.joined = joined.map(|joined| Joined { epoch: cache.epoch, ..joined });
        }
        Ok(Arc::new(cache))
    }

    fn join(&self, file: &File, path: &Path, most: Option<usize>) -> Result<Joined, Refused> {
        self.recover_or_wait(file, path, most)?;
        let owner = file::claim(file)
            .map_err(|source| io_error(path, "has no lock for one more user", source))?;
        let node = fork::note(file, owner);
        Ok(Joined { forks: fork::forks(), node, epoch: 0 })
    }

    fn recover_or_wait(
        &self,
        file: &File,
        path: &Path,
        most: Option<usize>,
    ) -> Result<(), Refused> {
        let boot_id = file::boot();
        let lock = |kind| {
            file::lock(file, kind).map_err(|source| io_error(path, "cannot be locked", source))
        };
        for _ in 0..LOOKS {
            if lock(Lock::Exclusive)? {
                file::fill_holes(file, path, self.size(), most)?;
                self.recover(boot_id, path)?;
                lock(Lock::Shared)?;
                return Ok(());
            }
            // A shared lock is taken only once there is a region to share. So one of many waiting processes gets the
            // exclusive lock.
            if self.left(boot_id) == Left::Open && lock(Lock::Shared)? {
                if self.left(boot_id) == Left::Open {
                    return Ok(());
                }
                lock(Lock::None)?;
            }
            std::thread::sleep(PAUSE);
        }
        if boot_id.is_some() {
            return Err(Refused::Busy);
        }
        let unknown = io::Error::other("/proc does not tell the machine's run: mount it");
        Err(io_error(path, "cannot be shared", unknown))
    }

    fn left(&self, boot_id: Option<u64>) -> Left {
        Left::of(self.memory.word(BOOT).load(Ordering::Acquire), boot_id)
    }

    /// Continues from the state that the last process left. This process must be alone.
    ///
    /// Before the first change of a region that is to be used on, the disk says that it is not closed; a region that is emptied
    /// was never closed. Only after the last change does the word say that it is open. In between the word says that the locks
    /// are being made, and the next process that is alone begins anew.
    fn recover(&self, boot_id: Option<u64>, path: &Path) -> Result<(), Refused> {
        if self.left(boot_id) == Left::Lost {
            self.forget_all();
        }
        let boot = self.memory.word(BOOT);
        boot.store(boot_id.map_or(0, renewing), Ordering::Release);
        self.go_on_with_time(boot_id);
        self.write_superblock(path)?;
        self.make_locks();
        self.finish_intents();
        boot.store(boot_id.unwrap_or(0), Ordering::Release);
        Ok(())
    }

    /// Writes the superblock to the disk.
    pub(crate) fn write_superblock(&self, path: &Path) -> Result<(), Refused> {
        let written = self.memory.write_back(SUPERBLOCK);
        written.map_err(|source| io_error(path, "cannot be written to its disk", source))
    }

    /// Empties a region whose pages may have been lost with the machine, because a whole but older value could be among them.
    ///
    /// The superblock may be older than the segments, so their words give the least number of clears. A segment's word may be
    /// older than its slots, which would be right again once the segment is begun. So all slots are emptied.
    ///
    /// The slots are emptied before the buckets by which the index has grown. A killed splitter may have left a slot in its old
    /// bucket, and no reader may find it again if this process is killed, too.
    pub(crate) fn forget_all(&self) {
        #[cfg(test)]
        tests::forgets();
        let geometry = &self.places.geometry;
        let cleared = self.memory.load(CLEARED);
        let mut later = 0;
        for partition in (0..geometry.partitions).map(|partition| self.partition(partition)) {
            for segment in 0..geometry.segments {
                // These numbers have 32 bits and begin anew at 0, so up to half of all count as later ones.
                let of = partition.segment_word(segment).load(Ordering::Relaxed) >> 32;
                let ahead = of.wrapping_sub(cleared) & 0xffff_ffff;
                later = later.max(if ahead < 1 << 31 { ahead } else { 0 });
            }
            for bucket in 0..geometry.buckets {
                for slot in self.memory.line(partition.index() + bucket * BUCKET) {
                    if slot.load(Ordering::Relaxed) != 0 {
                        slot.store(0, Ordering::Relaxed);
                    }
                }
            }
            self.memory.word(partition.base + GROWTH).store(0, Ordering::Release);
        }
        self.memory.word(CLEARED).store(cleared.wrapping_add(later + 1), Ordering::Release);
    }

    pub(crate) fn make_locks(&self) {
        for partition in 0..self.places.geometry.partitions {
            lock::make(&self.memory, self.partition(partition).base + LOCK);
        }
    }

    /// Finishes the intents of killed lock holders.
    fn finish_intents(&self) {
        for partition in 0..self.places.geometry.partitions {
            if let Ok(locked) = lock_within(self, self.partition(partition), Duration::ZERO) {
                locked.finish_intent();
            }
        }
    }

    /// The owner of the locks that are taken through this open region.
    #[inline]
    pub(crate) fn owner(&self) -> Owner<'_> {
        let open = self.open.as_ref();
        let joined = open.and_then(|open| Some((open.joined.as_ref()?.node.owner(), &open.file)));
        joined.map_or_else(Owner::private, |(number, file)| Owner::of_file(number, file))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::unix::fs::FileExt;
    use std::panic::catch_unwind;

    use super::*;
    use crate::superblock::{EPOCH_RUN, LEFT_WALL};
    use crate::{Options, Set};

    thread_local! {
        /// This thread is killed where it begins to forget a region.
        static IS_KILLED_THEN: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn forgets() {
        assert!(!IS_KILLED_THEN.take(), "killed");
    }

    /// A file with one key, closed in another run of the machine at a time of the day that is still to come.
    fn left_in_the_future(path: &Path) {
        let cache = Cache::open(path, &Options::of_size(1 << 20)).unwrap();
        let set = Set { ttl: Some(Duration::from_hours(1)), ..Set::default() };
        cache.session().set(b"key", b"value", &set).unwrap();
        drop(cache);
        let file = File::options().write(true).open(path).unwrap();
        for (at, word) in [(EPOCH_RUN, 0), (LEFT_WALL, u64::MAX)] {
            file.write_all_at(&u64::to_ne_bytes(word), at as u64).unwrap();
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "maps a file")]
    fn a_process_that_is_killed_before_it_forgets_a_region_leaves_that_to_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache");
        left_in_the_future(&path);
        IS_KILLED_THEN.set(true);
        assert!(catch_unwind(|| Cache::existing(&path)).is_err());
        let cache = Cache::existing(&path).unwrap().unwrap();
        let found = cache.session().get(b"key", &mut Vec::new());
        assert!(found.is_none(), "nobody knows whether it has expired");
    }
}
