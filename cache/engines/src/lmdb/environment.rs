//! LMDB's environments: a folder that is open in this process.
//!
//! LMDB forbids to open a folder twice in a process: closing one of the two would drop the file locks of both. So every
//! store on a folder shares the environment that is open already. A forked child opens the folder anew.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use heed::{Env, RwTxn};
use larder_store::{Error, PerProcess, Result, tell_of_trouble};

use super::SCHEME;
use super::checkpoint::{self, CHECKPOINT_FILE};
use super::class::{self, Class};
use super::compact;
use super::config::{LmdbConfig, Sync};
use super::folder_lock::FolderGuard;
use super::group_commit::Weight;
use super::map::{Map, Read};
use super::message::in_words;
use super::opening;
use super::space::{self, Space};
use larder_host::disk;
use larder_host::place::Place;

use crate::upkeep::{Ending, Upkeep};

/// The files of an environment, as LMDB names them.
pub(super) const DATA_FILE: &str = "data.mdb";
pub(super) const LOCK_FILE: &str = "lock.mdb";

/// The file that processes lock to write; see [`Environment::write`].
const WRITER_FILE: &str = "writer.lock";

/// Environments by folder.
type Environments = BTreeMap<PathBuf, Weak<Environment>>;

/// The environments that are open in this process.
static OPEN: PerProcess<Mutex<Environments>> = PerProcess::new();

/// A folder that is open in this process.
#[derive(Debug)]
pub(super) struct Environment {
    // A forked child closes its copy, of which there is one, whatever the upkeep does.
    map: Arc<Map>,
    /// The writing thread of this process locks it.
    writer: Mutex<Writer>,
    folder: PathBuf,
    sync: Sync,
    /// The time between two checkpoints; zero for none.
    checkpoint: Duration,
    // Declared after `map`, so that a temporary folder is removed after its files are closed.
    place: Place,
}

/// The part of this process in writing to the folder.
#[derive(Debug)]
struct Writer {
    /// The file that the process locks to write.
    file: File,
    /// The class in which it writes; `None` in a folder that vanishes, where a loss of power has nothing to damage.
    class: Option<Class>,
    /// The thread that makes checkpoints, from the first write on.
    upkeep: Option<Upkeep>,
    has_begun: bool,
    /// The disk space of the folder's file.
    space: Space,
}

impl Environment {
    /// Opens a folder, made when it is missing.
    pub(super) fn open(place: Place, config: &LmdbConfig) -> Result<Arc<Self>> {
        let folder = place.path();
        let failed = |source| disk::io_error(SCHEME, "opening", folder, source);
        if fs::metadata(folder).is_ok_and(|metadata| !metadata.is_dir()) {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
        fs::create_dir_all(folder).map_err(failed)?;
        let folder = folder.canonicalize().map_err(failed)?;

        let mut open = OPEN.get().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(environment) = open.get(&folder).and_then(Weak::upgrade) {
            return environment.suits(config).map(|()| environment);
        }
        close_inherited(&folder)?;
        let file = opening::open_lock_file(&folder.join(WRITER_FILE)).map_err(failed)?;
        let held = FolderGuard::take(&file).map_err(failed)?;
        if place.is_kept() {
            class::recover(&folder).map_err(failed)?;
        }
        let open_map = || {
            let opened = opening::open(&folder, config, &folder.join(WRITER_FILE));
            opened.map_err(|error| in_words(&folder, None, error))
        };
        let may_compact =
            config.compact && place.is_kept() && compact::is_alone(&folder).map_err(failed)?;
        let (mut map, mut space) = open_map()?;
        if may_compact && compacts(&map, &folder) {
            drop((map, space));
            compact::put_in_place(&folder).map_err(failed)?;
            (map, space) = open_map()?;
        }
        drop(held);
        let class = place.is_kept().then(|| Class::new(&folder, config.sync.is_synced()));
        let environment = Arc::new(Self {
            map: Arc::new(map),
            writer: Mutex::new(Writer { file, class, upkeep: None, has_begun: false, space }),
            folder: folder.clone(),
            sync: config.sync,
            checkpoint: config.checkpoint.0,
            place,
        });
        open.retain(|_, environment| environment.strong_count() > 0);
        open.insert(folder, Arc::downgrade(&environment));
        Ok(environment)
    }

    /// Whether a store with other options can share this environment.
    fn suits(&self, config: &LmdbConfig) -> Result<()> {
        let folder = self.folder.display();
        let refuse = |reason| Err(Error::InvalidOptions { engine: SCHEME, reason });
        if self.sync != config.sync {
            let sync = self.sync.as_str();
            return refuse(format!("{folder} is open in this process with sync={sync}"));
        }
        self.map.grow_to(config.map_bytes()).map_err(|error| self.error(error))
    }

    /// heed's handle.
    pub(super) fn env(&self) -> &Env {
        self.map.env()
    }

    /// The map of the folder's file.
    pub(super) fn map(&self) -> &Map {
        &self.map
    }

    /// The folder of the environment.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The files of the environment that are there.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let files = [DATA_FILE, LOCK_FILE, CHECKPOINT_FILE].map(|name| self.folder.join(name));
        files.into_iter().filter(|file| file.exists()).collect()
    }

    /// Begins a read.
    pub(super) fn read(&self) -> Result<Read<'_>> {
        self.map.read().map_err(|error| self.error(error))
    }

    /// Does `work` in a transaction, while no other thread or process writes to the folder.
    pub(super) fn write<T>(
        &self,
        work: impl FnOnce(RwTxn<'_>, &mut Space) -> heed::Result<T>,
    ) -> heed::Result<T> {
        let mut writer = self.writer();
        let Writer { file, class, upkeep, has_begun, space } = &mut *writer;
        let _held = FolderGuard::take(file)?;
        if !*has_begun {
            // Until the lock is free, no other process makes the file longer than the map.
            self.map.follow()?;
            if let Some(class) = class {
                class.take_part(|| self.secure())?;
            }
            *upkeep = self.upkeep()?;
            *has_begun = true;
        }
        self.write_in(space, work)
    }

    /// The same for work that is not pressing: `None` where another writes, and where this process has not written.
    pub(super) fn write_if_free<T>(
        &self,
        work: impl FnOnce(RwTxn<'_>, &mut Space) -> heed::Result<T>,
    ) -> heed::Result<Option<T>> {
        let Ok(mut writer) = self.writer.try_lock() else { return Ok(None) };
        let Writer { file, has_begun, space, .. } = &mut *writer;
        if !*has_begun {
            return Ok(None);
        }
        let Some(_held) = FolderGuard::take_free(file)? else { return Ok(None) };
        self.write_in(space, work).map(Some)
    }

    /// Does `work` in a transaction, with the disk space that any transaction takes.
    fn write_in<T>(
        &self,
        space: &mut Space,
        work: impl FnOnce(RwTxn<'_>, &mut Space) -> heed::Result<T>,
    ) -> heed::Result<T> {
        self.map.write(|txn| {
            space.begin(self.env())?;
            work(txn, space)
        })
    }

    /// Finds space for a write that was refused for want of it; see [`Space::find`].
    pub(super) fn find_space(&self, refused: heed::Error, weight: Weight) -> heed::Result<bool> {
        let mut writer = self.writer();
        let Writer { file, space, .. } = &mut *writer;
        let _held = FolderGuard::take(file)?;
        space.find(&self.map, refused, weight)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        // A panic elsewhere does not spoil what the lock guards.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes what was written in another class, or in an earlier run, survive a loss of power.
    fn secure(&self) -> heed::Result<()> {
        if self.sync.is_synced() {
            return self.map.sync();
        }
        let is_empty = self.map.last_transaction()? == 0;
        if is_empty || self.checkpoint.is_zero() {
            return Ok(());
        }
        match checkpoint::make(&self.map, &self.folder, &|| false) {
            Err(error) if space::has_none(&error) => {
                checkpoint::tell_of_failure(&self.map, &self.folder, error);
                Ok(())
            }
            made => made.map(drop),
        }
    }

    /// Starts the thread that makes checkpoints, where they are needed.
    fn upkeep(&self) -> io::Result<Option<Upkeep>> {
        let every = self.checkpoint;
        if self.sync.is_synced() || every.is_zero() {
            return Ok(None);
        }
        let (map, folder) = (Arc::clone(&self.map), self.folder.clone());
        let work = move |ending: &Ending| checkpoint::work(&map, &folder, every, ending);
        Upkeep::start(SCHEME, work).map(Some).map_err(io::Error::other)
    }

    /// Waits until all writes are on the disk, unless the folder vanishes.
    pub(super) fn flush(&self) -> Result<()> {
        if !self.place.is_kept() {
            return Ok(());
        }
        let synced = self.map.sync().and_then(|()| self.leave());
        synced.map_err(|error| self.error(error))
    }

    /// Ends the part of this process in writing. Its next write begins it again.
    fn leave(&self) -> heed::Result<()> {
        let mut writer = self.writer();
        let Writer { file, class, upkeep, has_begun, space } = &mut *writer;
        *has_begun = false;
        // Its thread ends, and with it its use of the environment.
        drop(upkeep.take());
        let Some(class) = class else { return Ok(()) };
        let _held = FolderGuard::take(file)?;
        space.give_back(self.map.last_page()?)?;
        class.leave(|| self.map.sync())
    }

    /// An error of LMDB as a message.
    pub(super) fn error(&self, error: heed::Error) -> Error {
        in_words(&self.folder, Some(&self.map), error)
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        // Where it fails, the mark stays, and after a loss of power the last checkpoint counts.
        let _ = self.leave();
    }
}

/// Whether a smaller file was made. Where that fails, as on a full disk, the file stays as it is.
fn compacts(map: &Map, folder: &Path) -> bool {
    // The slot of a reader is its thread's, and this thread may never read again.
    let made = thread::scope(|scope| scope.spawn(|| compact::make(map, folder)).join());
    match made {
        Ok(Ok(is_made)) => is_made,
        Ok(Err(error)) => {
            let error = in_words(folder, Some(map), error);
            tell_of_trouble(&format!("{error}; the file was not compacted"));
            false
        }
        Err(_) => false,
    }
}

/// Closes a forked child's copy of its parent's environment, because LMDB and heed take the folder for open otherwise.
///
/// LMDB does that in a child without a change of its parent's slots and locks. In the middle of a write of another
/// thread it could not.
fn close_inherited(folder: &Path) -> Result<()> {
    let in_use = || Error::Busy {
        engine: SCHEME,
        what: format!("{} was being written when this process was forked", folder.display()),
    };
    for inherited in OPEN.inherited() {
        let mut open = inherited.try_lock().map_err(|_| in_use())?;
        let Some(environment) = open.get(folder).and_then(Weak::upgrade) else { continue };
        let environment = ManuallyDrop::new(environment);
        if environment.writer.try_lock().is_err() {
            return Err(in_use());
        }
        // SAFETY: the stores and sessions of the parent are neither used nor dropped in this process, and the
        // environment is taken off the list. So this copy is the only one that is ever dropped.
        drop(unsafe { std::ptr::read(environment.map.env()) });
        open.remove(folder);
    }
    Ok(())
}
