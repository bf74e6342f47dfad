//! An open region.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::epoch::FIRST;
use crate::file::{self, io_error};
use crate::layout::{Geometry, MAX_KEY};
use crate::memory::Memory;
use crate::open_file::Open;
use crate::options::Options;
use crate::pages::Taken;
use crate::partition::{Moment, Partition, Places};
use crate::record::FOREVER;
use crate::superblock::{BOOT, CLEARED, EPOCH, EPOCH_RUN, LEFT_AT, LEFT_WALL, Superblock};
use crate::{Refused, Stats, Survey, clock, epoch, fork, stats, survey};

/// A cache in a region. Shared by threads; each has a [`Session`](crate::Session) of its own.
#[derive(Debug)]
pub struct Cache {
    pub(crate) memory: Memory,
    pub(crate) places: Places,
    superblock: Superblock,
    /// The time since the machine was started, minus the region's time.
    pub(crate) epoch: u64,
    /// The partitions that have taken large pages.
    pub(crate) taken: Taken,
    /// Behind the mapping, which is to go first.
    pub(crate) open: Option<Open>,
}

impl Cache {
    /// A new region in memory of this process.
    pub fn private(options: &Options) -> Result<Arc<Self>, Refused> {
        let superblock = superblock(options)?;
        let refused = |source| io_error(Path::new("memory"), "cannot be mapped", source);
        let memory = Memory::private(superblock.geometry.size).map_err(refused)?;
        fork::watch();
        let mut cache = Self::of(memory, superblock, None);
        cache.make();
        Ok(Arc::new(cache))
    }

    /// The region in a file, which is made with these options if it is absent. An existing file keeps its own settings, and
    /// may be larger than `size`. But if it has holes, they are filled only up to `size` bytes.
    ///
    /// A file of another user (except root) is refused, and so is a file that others may write. A user who may write it can
    /// read and change all entries, and stop this process's writers.
    pub fn open(path: &Path, options: &Options) -> Result<Arc<Self>, Refused> {
        loop {
            if let Some((file, superblock)) = file::open(path)? {
                return Self::attach(file, superblock, path, Some(options.size));
            }
            file::refuse_link(path)?;
            let superblock = superblock(options)?;
            let file = file::unnamed(path, superblock.geometry.size)?;
            Self::make_in(&file, superblock, path)?;
            if file::name(&file, path)? {
                return Self::attach(file, superblock, path, None);
            }
            // Another process was faster. Its file is as good.
        }
    }

    /// The region in an existing file, whatever its size.
    pub fn existing(path: &Path) -> Result<Option<Arc<Self>>, Refused> {
        file::open(path)?.map(|(file, found)| Self::attach(file, found, path, None)).transpose()
    }

    /// A new region in memory without a name. It belongs to this process, to its forked children, and to the
    /// processes that get its [`descriptor`](Self::descriptor). It ends with the last of them, and no process can
    /// make it shorter.
    pub fn shared(options: &Options) -> Result<Arc<Self>, Refused> {
        let superblock = superblock(options)?;
        let path = Path::new("memory");
        let file = file::in_memory(superblock.geometry.size)?;
        Self::make_in(&file, superblock, path)?;
        Self::attach(file, superblock, path, None)
    }

    /// The region behind a descriptor that came from another process.
    pub fn of_descriptor(descriptor: BorrowedFd<'_>) -> Result<Arc<Self>, Refused> {
        let path = Path::new("descriptor");
        let failed = |source| io_error(path, "cannot be opened once more", source);
        // This process needs locks of its own, not those of the process that passed the descriptor.
        let file = File::from(file::again(descriptor.as_raw_fd()).map_err(failed)?);
        let superblock = file::described(&file, path)?;
        Self::attach(file, superblock, path, None)
    }

    /// The descriptor by which another process opens the same region; `None` in private memory.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.open.as_ref().map(|open| open.file.as_fd())
    }

    pub(crate) fn of(memory: Memory, superblock: Superblock, open: Option<Open>) -> Self {
        let places = Places::of(superblock.geometry, superblock.seed, open.is_some());
        let taken = Taken::of(memory.len(), superblock.geometry.partitions, open.is_none());
        Self { memory, places, superblock, epoch: 0, taken, open }
    }

    /// Makes a region of the zeros of a file that has no name yet. A named file must be on the disk.
    fn make_in(file: &File, superblock: Superblock, path: &Path) -> Result<(), Refused> {
        let mapped = |source| io_error(path, "cannot be mapped", source);
        let memory = Memory::of_file(file, superblock.geometry.size).map_err(mapped)?;
        // Whoever maps the file later has the large pages of now. On a disk there are none.
        memory.collapse(0, memory.len());
        let mut cache = Self::of(memory, superblock, None);
        cache.make();
        cache.write_superblock(path)
    }

    /// Makes a region of zeros.
    pub(crate) fn make(&mut self) {
        self.superblock.write(&self.memory);
        self.memory.store(CLEARED, 1);
        let run = file::boot();
        self.memory.store(BOOT, run.unwrap_or(0));
        self.begin_time(run);
        self.make_locks();
    }

    /// Removes every entry at once, in all namespaces. Their bytes are given back as room is needed.
    pub fn clear(&self) {
        self.memory.word(CLEARED).fetch_add(1, Ordering::SeqCst);
    }

    /// Waits until the region is on the disk of its file. Writes of other sessions meanwhile may be there in part. Does
    /// nothing in private memory.
    pub fn flush(&self) -> io::Result<()> {
        if self.open.is_none() { Ok(()) } else { self.memory.write_back(self.memory.len()) }
    }

    /// The counters since the region was made, of all processes.
    pub fn stats(&self) -> Stats {
        stats::read(&self.memory, &self.places)
    }

    /// The present state of the segments. Takes no lock.
    pub fn survey(&self) -> Survey {
        survey::of_memory(&self.memory, &self.superblock)
    }

    /// The longest accepted key, in bytes.
    pub fn max_key(&self) -> usize {
        usize::try_from(self.superblock.max_key).unwrap_or(MAX_KEY).min(MAX_KEY)
    }

    /// The largest accepted value, in bytes.
    pub fn max_value(&self) -> usize {
        usize::try_from(self.superblock.max_value).unwrap_or(usize::MAX)
    }

    /// The parts of the region, by name.
    pub fn shape(&self) -> [(&'static str, usize); 3] {
        let of = &self.places.geometry;
        [("partitions", of.partitions), ("segments", of.segments), ("segment_size", of.segment_len)]
    }

    /// Bytes of the whole region.
    pub fn size(&self) -> usize {
        self.memory.len()
    }

    /// The resident bytes of the region. For a file this includes pages that only other processes or the page cache hold.
    /// `None` where the system does not report it.
    pub fn resident_bytes(&self) -> Option<u64> {
        self.memory.resident()
    }

    /// Bytes of the region that this process reaches by large pages, in which it needs fewer of the processor's notes on
    /// pages; `None` where the system does not report it.
    ///
    /// A region in a file has them on a file system in memory, from Linux 6.1 on, whatever its settings; a private one where
    /// the system's setting is not `never`.
    pub fn large_page_bytes(&self) -> Option<u64> {
        self.memory().in_large_pages()
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    #[inline]
    pub(crate) fn partition(&self, partition: usize) -> Partition<'_> {
        Partition::new(&self.memory, &self.places, partition)
    }

    /// The partition of a key with this hash.
    #[inline]
    pub(crate) fn partition_for(&self, hash: u64) -> Partition<'_> {
        self.partition(self.places.partition_of(hash))
    }

    /// The present state of the whole region.
    #[inline]
    pub(crate) fn moment(&self) -> Moment {
        let cleared = self.memory.word(CLEARED).load(Ordering::Acquire);
        Moment { cleared, epoch: self.epoch }
    }

    /// The expiry of an entry with this time to live from now; with no time at all it has expired
    /// at once.
    pub(crate) fn expiry(&self, ttl: Option<Duration>) -> u64 {
        let Some(ttl) = ttl else { return FOREVER };
        if ttl.is_zero() {
            return 0;
        }
        // The expiry is never too early, because readers look at a clock that is a little behind
        // this one.
        let now = epoch::since(self.epoch, clock::exactly_now_ms());
        let ms = u64::try_from(ttl.as_micros().div_ceil(1000)).unwrap_or(FOREVER);
        now.saturating_add(ms).min(FOREVER - 1)
    }

    /// Begins the time of a new region.
    pub(crate) fn begin_time(&mut self, run: Option<u64>) {
        self.set_epoch(FIRST, run);
        self.read_epoch();
    }

    /// Continues the time of a region from an earlier run of the machine. Within this run the time needs no help.
    ///
    /// If the clock of the day went back, the length of the break is unknown, and so are the expired entries. All entries
    /// are then forgotten before the region notes this run. So a process killed in between leaves the same state to the
    /// next.
    pub(crate) fn go_on_with_time(&self, run: Option<u64>) {
        let memory = &self.memory;
        if run.is_some_and(|run| memory.load(EPOCH_RUN) == run) {
            return;
        }
        let down = clock::wall_ms().checked_sub(memory.load(LEFT_WALL));
        if down.is_none() {
            self.forget_all();
        }
        let left = memory.load(LEFT_AT).clamp(FIRST, FOREVER);
        self.set_epoch(left.saturating_add(down.unwrap_or(0)).min(FOREVER), run);
    }

    /// The epoch is read once, because no process changes it while the region is open.
    pub(crate) fn read_epoch(&mut self) {
        self.epoch = self.memory.load(EPOCH);
    }

    fn set_epoch(&self, now: u64, run: Option<u64>) {
        let memory: &Memory = &self.memory;
        memory.store(EPOCH, clock::now_ms().wrapping_sub(now));
        // A process that is killed before this store has not claimed the new time yet.
        memory.word(EPOCH_RUN).store(run.unwrap_or(0), Ordering::Release);
    }
}

/// The superblock of a new region.
fn superblock(options: &Options) -> Result<Superblock, Refused> {
    let geometry = Geometry::of(options)?;
    let limit = |what, asked, most| {
        if asked > most { Err(Refused::Limit { what, asked, most }) } else { Ok(asked as u64) }
    };
    let quarter = options.size / 4;
    let max_key = limit("keys", options.max_key, Geometry::longest_key(options.size))?;
    Ok(Superblock {
        geometry,
        seed: seed(),
        made_ms: clock::wall_ms(),
        max_key,
        max_value: limit("values", options.max_value.unwrap_or(quarter), quarter)?,
    })
}

/// A seed that is secret, so that nobody can choose keys that share a bucket.
fn seed() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};

    RandomState::new().build_hasher().finish()
}
