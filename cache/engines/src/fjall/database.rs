//! A folder of fjall that this process has open, and fjall's errors as messages.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use fjall::{Keyspace, KeyspaceCreateOptions, LsmError, PersistMode};
use larder_host::disk;
use larder_host::place::Place;
use larder_store::{Error, Result};

use super::config::{FjallConfig, MAX_KEY_LEN};
use super::transaction::FjallTransaction;
use super::{SCHEME, journal};
use crate::header::{HEADER_LEN, Header};
use crate::records::folder::FolderLock;
use crate::records::shared_sync::SharedSync;
use crate::records::sync::{Sync, Unsynced};
use crate::records::{Database, already_open};

/// The outcome of calls of fjall.
pub(super) type Outcome<T> = fjall::Result<T>;

/// The file that fjall makes last in a new folder.
const VERSION_FILE: &str = "version";
/// The folder of fjall's tables.
const TABLES_FOLDER: &str = "keyspaces";

/// An open folder.
pub(super) struct FjallDatabase {
    /// Fields drop in this order: the database closes before the lock ends, and the lock ends before a temporary folder
    /// goes.
    pub(super) entries: Keyspace,
    pub(super) expiry: Keyspace,
    database: fjall::Database,
    /// Whether the tables were made just now, and so as the options say.
    are_new: bool,
    _lock: FolderLock,
    folder: PathBuf,
    place: Place,
    sync: Sync,
    syncs: SharedSync,
    /// The session that changes records holds it.
    writing: Mutex<()>,
    /// The writes that are not synced.
    unsynced: Unsynced,
}

impl fmt::Debug for FjallDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FjallDatabase").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl FjallDatabase {
    /// Opens a folder, made when it is missing. A folder that another process has open, or that another program has made,
    /// is refused untouched.
    pub(super) fn open(place: Place, config: &FjallConfig) -> Result<Self> {
        let is_database = |name: &str| name == VERSION_FILE || name.ends_with(journal::SUFFIX);
        let (lock, folder) = FolderLock::take(SCHEME, &place, is_database)?;
        let failed = |source| disk::io_error(SCHEME, "opening", &folder, source);
        remove_unfinished(&folder).map_err(failed)?;
        let mut opened = open_tables(&folder, config);
        if matches!(opened, Err(fjall::Error::JournalRecovery(_)))
            && journal::mend(&folder).map_err(failed)?
        {
            opened = open_tables(&folder, config);
        }
        let tables = opened.map_err(|error| in_words(&folder, error))?;
        let Tables { entries, expiry, database, are_new } = tables;
        Ok(Self {
            entries,
            expiry,
            database,
            are_new,
            _lock: lock,
            folder,
            place,
            sync: config.sync,
            syncs: SharedSync::default(),
            writing: Mutex::default(),
            unsynced: Unsynced::default(),
        })
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the folder stays when it is closed.
    pub(super) fn is_kept(&self) -> bool {
        self.place.is_kept()
    }

    /// Whether the tables were made with the options of this store.
    pub(super) fn is_new(&self) -> bool {
        self.are_new
    }

    /// Bytes of the tables, in files and in memory. The journal has the latter once more.
    pub(super) fn bytes(&self) -> u64 {
        let in_files = self.entries.disk_space() + self.expiry.disk_space();
        in_files + self.database.write_buffer_size()
    }

    /// Makes all writes survive a loss of power.
    pub(super) fn flush(&self) -> Result<()> {
        self.unsynced.checkpoint(|| self.persist(PersistMode::SyncData))
    }

    fn persist(&self, mode: PersistMode) -> Result<()> {
        self.database.persist(mode).map_err(|error| self.error(error))
    }

    /// Does `work`, which tells whether it changed anything, while no other session writes.
    fn transact<T>(&self, work: impl FnOnce() -> (Outcome<T>, bool)) -> Result<T> {
        let (done, is_changed) = {
            // A panic elsewhere does not spoil what the lock guards.
            let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
            work()
        };
        if is_changed {
            match self.sync {
                Sync::Nosync => {
                    self.persist(PersistMode::Buffer)?;
                    self.unsynced.note();
                }
                Sync::Group => self.syncs.wait(|| self.persist(PersistMode::SyncData))?,
                Sync::Each => self.persist(PersistMode::SyncData)?,
            }
        }
        done.map_err(|error| self.error(error))
    }

    /// Splits a record into header and value.
    fn split<'r>(&self, record: &'r [u8]) -> Result<(Header, &'r [u8])> {
        Header::split(record).ok_or_else(|| {
            let folder = self.folder.display();
            let what = format!("{folder} holds a record without its header; delete it");
            Error::Corrupted { engine: SCHEME, what }
        })
    }

    /// An error of fjall as a message.
    fn error(&self, error: fjall::Error) -> Error {
        in_words(&self.folder, error)
    }
}

impl Database for FjallDatabase {
    const SCHEME: &'static str = SCHEME;
    const MAX_KEY_LEN: usize = MAX_KEY_LEN;
    /// fjall counts the bytes of a record in 32 bits.
    const MAX_VALUE_LEN: usize = u32::MAX as usize - HEADER_LEN;
    type Fault = fjall::Error;
    type Transaction<'d> = FjallTransaction<'d>;

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Header>> {
        let record = self.entries.get(key).map_err(|error| self.error(error))?;
        let Some(record) = record else { return Ok(None) };
        let (header, stored) = self.split(&record)?;
        value.extend_from_slice(stored);
        Ok(Some(header))
    }

    fn look(&self, key: &[u8]) -> Result<Option<(Header, usize)>> {
        let record = self.entries.get(key).map_err(|error| self.error(error))?;
        let Some(record) = record else { return Ok(None) };
        self.split(&record).map(|(header, stored)| Some((header, stored.len())))
    }

    fn write<T>(&self, mut work: impl FnMut(&mut FjallTransaction<'_>) -> Outcome<T>) -> Result<T> {
        self.transact(|| {
            let mut txn = FjallTransaction::new(self);
            let done = work(&mut txn);
            (done, txn.is_changed())
        })
    }

    /// The entries first: a crash may leave places in the index without an entry, and never an entry without its place.
    fn clear(&self) -> Result<()> {
        self.transact(|| (self.entries.clear().and_then(|()| self.expiry.clear()), true))
    }
}

/// The open tables of a folder.
struct Tables {
    entries: Keyspace,
    expiry: Keyspace,
    database: fjall::Database,
    are_new: bool,
}

/// Opens the tables of a folder, made when they are missing.
fn open_tables(folder: &Path, config: &FjallConfig) -> Outcome<Tables> {
    let database = fjall::Database::builder(folder).cache_size(config.cache.0).open()?;
    // A transaction writes the journal to the file once, when it ends.
    let options = || {
        let options = KeyspaceCreateOptions::default().manual_journal_persist(true);
        options.max_memtable_size(config.memtable.0)
    };
    let are_new = !database.keyspace_exists("entries");
    let entries = database.keyspace("entries", options)?;
    let expiry = database.keyspace("expiry", options)?;
    Ok(Tables { entries, expiry, database, are_new })
}

/// Removes what a crash has left of a folder that was being made, in which fjall would not make another one.
fn remove_unfinished(folder: &Path) -> io::Result<()> {
    if folder.join(VERSION_FILE).exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == TABLES_FOLDER {
            fs::remove_dir_all(entry.path())?;
        } else if name.to_string_lossy().ends_with(journal::SUFFIX) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn in_words(folder: &Path, error: fjall::Error) -> Error {
    let shown = folder.display();
    let corrupted = |what: String| Error::Corrupted { engine: SCHEME, what };
    match error {
        fjall::Error::Io(source) | fjall::Error::Storage(LsmError::Io(source)) => {
            disk::io_error(SCHEME, "using", folder, source)
        }
        fjall::Error::Locked => already_open(SCHEME, folder),
        // fjall refuses all writes after a failed one, which may have been that of a thread of its own.
        fjall::Error::Poisoned if disk::has_no_room(folder) => {
            disk::io_error(SCHEME, "using", folder, io::ErrorKind::StorageFull.into())
        }
        fjall::Error::Poisoned => {
            let what = format!("a write to {shown} failed before; open it again");
            Error::Unavailable { engine: SCHEME, what, source: None }
        }
        fjall::Error::InvalidVersion(_) => {
            corrupted(format!("{shown} was made by another version of fjall; delete it"))
        }
        other => corrupted(format!("{shown} cannot be used ({other}); delete it")),
    }
}
