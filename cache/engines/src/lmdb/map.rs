//! LMDB's environment and its map, which grows while it is in use.
//!
//! The largest map that a process had is written in the file. Where another process has written beyond the map of this one,
//! LMDB refuses each transaction here until the map is as large. So a transaction that is refused replaces the map, when no
//! other is active in this process, and begins anew. [`Gate`] says when that is.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use heed::{CompactionOption, Env, MdbError, RoTxn, RwTxn, WithTls};

use larder_store::ByteSize;

use super::folder_lock::FolderGuard;
use super::gate::{Gate, Pass};
use super::truncations::Truncations;
use super::{metadata, space};

/// The longest wait for the other transactions of this process. They are short, but for reads whose caller takes long for
/// each entry.
const PATIENCE: Duration = Duration::from_secs(10);

/// The wait for other transactions where the map need not be replaced.
const MOMENT: Duration = Duration::from_millis(100);

/// The size of a map that is as large as the file says.
const AS_THE_FILE: usize = 0;

/// An environment and its map.
#[derive(Debug)]
pub(super) struct Map {
    env: Env,
    gate: Gate,
    size: AtomicUsize,
    page_size: usize,
    /// What is needed to replace a map through which the file is written; `None` for others.
    lengths: Option<Lengths>,
    /// Replacing the map failed after the old one was given up, so nothing can be read.
    is_gone: AtomicBool,
}

/// The length of a file that is written through its map. LMDB makes the file as long as each new map, which may cut off what
/// another process has reserved. So a map is replaced under the folder's lock to write, and each time counts as a truncation.
#[derive(Debug)]
pub(super) struct Lengths {
    /// The file that processes lock to write, opened for this map alone: so reading threads can wait for writing ones.
    pub(super) lock: File,
    pub(super) truncations: Arc<Truncations>,
}

/// Whether the caller has the folder's lock to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lock {
    Held,
    Free,
}

/// A read transaction.
pub(super) struct Read<'m> {
    // Declared first, so that it ends before the pass is given back.
    txn: RoTxn<'m, WithTls>,
    pass: Pass<'m>,
}

impl<'m> Read<'m> {
    /// The transaction, and what must outlive it.
    pub(super) fn split(self) -> (RoTxn<'m, WithTls>, impl Drop) {
        (self.txn, self.pass)
    }
}

impl<'m> Deref for Read<'m> {
    type Target = RoTxn<'m, WithTls>;

    fn deref(&self) -> &Self::Target {
        &self.txn
    }
}

impl Map {
    /// `lengths` are given where the file is written through the map.
    pub(super) fn new(env: Env, lengths: Option<Lengths>) -> Self {
        let size = AtomicUsize::new(env.info().map_size);
        let page_size = env.unnamed_database_stat().page_size as usize;
        let is_gone = AtomicBool::new(false);
        Self { env, gate: Gate::default(), size, page_size, lengths, is_gone }
    }

    /// heed's handle. What reads the map needs a pass, which the methods here take.
    pub(super) fn env(&self) -> &Env {
        &self.env
    }

    /// The bytes that the file can have.
    pub(super) fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    pub(super) fn page_size(&self) -> usize {
        self.page_size
    }

    /// Begins a read. A read costs a few loads and stores in slots of this thread. The first read of a thread takes the slot;
    /// when all slots are taken, those of dead processes are freed.
    pub(super) fn read(&self) -> heed::Result<Read<'_>> {
        self.read_with(Lock::Free)
    }

    fn read_with(&self, lock: Lock) -> heed::Result<Read<'_>> {
        loop {
            let pass = self.enter()?;
            let begun = match self.env.read_txn() {
                Err(heed::Error::Mdb(MdbError::ReadersFull)) => {
                    self.env.clear_stale_readers().and_then(|_| self.env.read_txn())
                }
                begun => begun,
            };
            match begun {
                Err(error) => self.grow_after(error, pass, lock)?,
                Ok(txn) => return Ok(Read { txn, pass }),
            }
        }
    }

    /// Does `work` in a write transaction, under the folder's lock to write.
    pub(super) fn write<T>(
        &self,
        work: impl FnOnce(RwTxn<'_>) -> heed::Result<T>,
    ) -> heed::Result<T> {
        loop {
            let pass = self.enter()?;
            match self.env.write_txn() {
                Err(error) => self.grow_after(error, pass, Lock::Held)?,
                Ok(txn) => return work(txn),
            }
        }
    }

    /// Makes the map as large as the file says, under the folder's lock to write.
    pub(super) fn follow(&self) -> heed::Result<()> {
        // The slot of a reader is its thread's, and this thread may never read.
        let read = || self.read_with(Lock::Held).map(drop);
        let read = thread::scope(|scope| scope.spawn(read).join());
        read.map_err(|_| io::Error::other("reading the file panicked"))?
    }

    /// The number of the last transaction.
    pub(super) fn last_transaction(&self) -> heed::Result<usize> {
        let _pass = self.enter()?;
        Ok(self.env.info().last_txn_id)
    }

    /// The number of the last page that the file needs.
    pub(super) fn last_page(&self) -> heed::Result<usize> {
        let _pass = self.enter()?;
        Ok(self.env.info().last_page_number)
    }

    /// Waits until all that was written is on the disk.
    pub(super) fn sync(&self) -> heed::Result<()> {
        let _pass = self.enter()?;
        // LMDB would sync the map, and the file may be longer.
        Ok(self.env.try_clone_inner_file()?.sync_all()?)
    }

    /// Writes a copy of the present state without its free pages.
    pub(super) fn copy_to(&self, file: &mut File) -> heed::Result<()> {
        // LMDB's copy begins a transaction of its own, which a map that is too small would refuse.
        drop(self.read()?);
        let _pass = self.enter()?;
        self.env.copy_to_file(file, CompactionOption::Enabled)
    }

    /// Whether a thread waits for the end of all transactions. One that takes long should then end early.
    pub(super) fn is_awaited(&self) -> bool {
        self.gate.is_closed()
    }

    /// Makes the map at least so large. The next write tells other processes.
    pub(super) fn grow_to(&self, size: usize) -> heed::Result<()> {
        loop {
            let before = self.size();
            if before >= size {
                return Ok(());
            }
            // Meanwhile another thread may have made it larger, but not as large.
            self.replace(before, size, Lock::Free)?;
            drop(self.enter()?);
        }
    }

    /// Gives the map this size, under the folder's lock to write, unless a transaction stays active for a moment; whether it is
    /// done.
    pub(super) fn resize(&self, size: usize) -> heed::Result<bool> {
        let done = self.replace_within(MOMENT, self.size(), size, Lock::Held)?;
        Ok(done.is_some())
    }

    fn enter(&self) -> heed::Result<Pass<'_>> {
        let pass = self.gate.enter();
        if self.is_gone.load(Ordering::Relaxed) {
            let reason = "no address space was left for a larger map; open the folder again";
            return Err(io::Error::other(reason).into());
        }
        Ok(pass)
    }

    /// Makes the map as large as the file says, where a transaction was refused for that; passes on every other error.
    fn grow_after(&self, refused: heed::Error, pass: Pass<'_>, lock: Lock) -> heed::Result<()> {
        if !matches!(refused, heed::Error::Mdb(MdbError::MapResized)) {
            return Err(refused);
        }
        let before = self.size();
        drop(pass);
        self.replace(before, AS_THE_FILE, lock)
    }

    /// Replaces the map, unless another thread has done it since it had the size of `before`.
    fn replace(&self, before: usize, size: usize, lock: Lock) -> heed::Result<()> {
        self.replace_within(PATIENCE, before, size, lock)?.ok_or_else(|| {
            let reason = "a long read of this process keeps the map from growing";
            io::Error::new(io::ErrorKind::ResourceBusy, reason).into()
        })
    }

    /// Replaces the map; `None` where a transaction is active for longer than `patience`.
    fn replace_within(
        &self,
        patience: Duration,
        before: usize,
        size: usize,
        lock: Lock,
    ) -> heed::Result<Option<()>> {
        let lengths = self.lengths.as_ref();
        let lengths_lock = lengths.filter(|_| lock == Lock::Free).map(|lengths| &lengths.lock);
        let _held = lengths_lock.map(FolderGuard::take).transpose()?;
        let replaced = self.gate.alone(patience, || {
            if self.size() != before || self.is_gone.load(Ordering::Relaxed) {
                return Ok(());
            }
            let size = match lengths {
                Some(lengths) => self.prepare(lengths, size)?,
                None => size,
            };
            // SAFETY: no transaction is active in this process, because each has a pass.
            let resized = unsafe { self.env.resize(size) };
            match &resized {
                Ok(()) => self.size.store(self.env.info().map_size, Ordering::Relaxed),
                Err(_) => self.is_gone.store(true, Ordering::Relaxed),
            }
            resized
        });
        replaced.transpose()
    }

    /// Prepares a new length of the file, which is the map's; returns the size that is meant.
    fn prepare(&self, lengths: &Lengths, size: usize) -> heed::Result<usize> {
        let size = match size {
            AS_THE_FILE => metadata::map_size(&self.env.try_clone_inner_file()?)?,
            size => size,
        };
        if size as u64 > space::longest_file()? {
            let reason = format!("a file of {} is longer than `ulimit -f`", ByteSize(size as u64));
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, reason).into());
        }
        lengths.truncations.count()?;
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use crate::lmdb::writer::tests::opened;

    #[test]
    fn a_map_is_as_large_as_the_largest_of_those_that_are_asked_for_at_once() {
        let (environment, ..) = opened();
        let map = environment.map();
        for _ in 0..200 {
            let (before, begin) = (map.size(), Barrier::new(4));
            std::thread::scope(|scope| {
                for n in 1..=4 {
                    let (map, begin) = (&map, &begin);
                    scope.spawn(move || {
                        begin.wait();
                        map.grow_to(before + n * map.page_size()).unwrap();
                    });
                }
            });
            assert_eq!(map.size(), before + 4 * map.page_size());
        }
    }
}
