//! A redb file that this process has open, and redb's errors as messages.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use larder_host::disk;
use larder_host::place::Place;
use larder_store::{Error, Result};
use redb::{
    Builder, Durability, ReadableDatabase, ReadableTableMetadata, TableDefinition, TableHandle,
    WriteTransaction,
};

use super::SCHEME;
use super::config::{MAX_KEY_LEN, RedbConfig};
use super::transaction::RedbTransaction;
use crate::header::{HEADER_LEN, Header};
use crate::records::shared_sync::SharedSync;
use crate::records::sync::{Sync, Unsynced};
use crate::records::{Database, FoundRecord, already_open};

/// The outcome of calls of redb.
pub(super) type Outcome<T> = std::result::Result<T, redb::Error>;

/// Key to record.
pub(super) const ENTRIES: TableDefinition<'_, &[u8], &[u8]> =
    TableDefinition::new("larder.entries");
/// Deadline and key, in this order.
pub(super) const EXPIRY: TableDefinition<'_, &[u8], ()> = TableDefinition::new("larder.expiry");

/// The file of a store in a folder that vanishes.
const FILE: &str = "cache.redb";

/// An open file.
#[derive(Debug)]
pub(super) struct RedbDatabase {
    /// Fields drop in this order: the file is closed before a temporary folder goes.
    database: redb::Database,
    path: PathBuf,
    place: Place,
    sync: Sync,
    syncs: SharedSync,
    /// The commits that are not durable.
    unsynced: Unsynced,
}

impl RedbDatabase {
    /// Opens the file of a place, made when it is missing. A file that is open already, or that another program has made,
    /// is refused.
    pub(super) fn open(place: Place, config: &RedbConfig) -> Result<Self> {
        let path = match &place {
            Place::Own(_) | Place::Mounted(_) => place.path().join(FILE),
            Place::Given(path) => std::path::absolute(path)
                .map_err(|source| disk::io_error(SCHEME, "opening", path, source))?,
        };
        if !path.exists() {
            make(&path).map_err(|error| in_words(&path, error))?;
        }
        let bytes = usize::try_from(config.cache.0).unwrap_or(usize::MAX);
        let mut builder = Builder::new();
        let opened = builder.set_cache_size(bytes).create(&path);
        let database = opened.map_err(|error| in_words(&path, error.into()))?;
        if !prepare(&database).map_err(|error| in_words(&path, error))? {
            let what = format!(
                "{} is a database that larder did not make; choose another file",
                path.display()
            );
            return Err(Error::Unavailable { engine: SCHEME, what, source: None });
        }
        let (syncs, unsynced) = (SharedSync::default(), Unsynced::default());
        Ok(Self { database, path, place, sync: config.sync, syncs, unsynced })
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file stays when it is closed.
    pub(super) fn is_kept(&self) -> bool {
        self.place.is_kept()
    }

    /// The number of entries.
    pub(super) fn len(&self) -> Result<u64> {
        let len = || -> Outcome<_> { Ok(self.database.begin_read()?.open_table(ENTRIES)?.len()?) };
        len().map_err(|error| self.error(error))
    }

    /// The length of the file.
    pub(super) fn file_bytes(&self) -> Result<u64> {
        let metadata = self.path.metadata();
        let failed = |source| disk::io_error(SCHEME, "using", &self.path, source);
        metadata.map(|metadata| metadata.len()).map_err(failed)
    }

    /// Makes all commits durable.
    pub(super) fn flush(&self) -> Result<()> {
        self.unsynced.checkpoint(|| self.commit().map_err(|error| self.error(error)))
    }

    /// Makes a durable commit, and so all before it durable.
    fn commit(&self) -> Outcome<()> {
        Ok(self.database.begin_write()?.commit()?)
    }

    /// Does `work`, which tells whether it changed anything, in one transaction.
    fn transact<T>(&self, work: impl FnOnce(&WriteTransaction) -> Outcome<(T, bool)>) -> Result<T> {
        let durability = match self.sync {
            Sync::Nosync | Sync::Group => Durability::None,
            Sync::Each => Durability::Immediate,
        };
        let transact = || -> Outcome<_> {
            let mut txn = self.database.begin_write()?;
            txn.set_durability(durability)?;
            let (done, is_changed) = work(&txn)?;
            // A commit without changes would wait for the disk as well.
            if is_changed {
                txn.commit()?;
            } else {
                txn.abort()?;
            }
            Ok((done, is_changed))
        };
        let (done, is_changed) = transact().map_err(|error| self.error(error))?;
        if is_changed && self.sync == Sync::Nosync {
            self.unsynced.note();
        }
        if is_changed && self.sync == Sync::Group {
            self.syncs.wait(|| self.commit()).map_err(|error| self.error(error))?;
        }
        Ok(done)
    }

    /// An error of redb as a message.
    fn error(&self, error: redb::Error) -> Error {
        in_words(&self.path, error)
    }
}

impl Database for RedbDatabase {
    const SCHEME: &'static str = SCHEME;
    const MAX_KEY_LEN: usize = MAX_KEY_LEN;
    /// redb's limit of a value is 3 GiB.
    const MAX_VALUE_LEN: usize = (3 << 30) - HEADER_LEN;
    type Fault = redb::Error;
    type Transaction<'d> = RedbTransaction<'d>;

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Header>> {
        let mut get = || -> Outcome<_> {
            let table = self.database.begin_read()?.open_table(ENTRIES)?;
            let Some(record) = table.get(key)? else { return Ok(None) };
            let (header, stored) = split(record.value())?;
            value.extend_from_slice(stored);
            Ok(Some(header))
        };
        get().map_err(|error| self.error(error))
    }

    fn look(&self, key: &[u8]) -> Result<Option<(Header, usize)>> {
        let look = || -> Outcome<_> {
            let table = self.database.begin_read()?.open_table(ENTRIES)?;
            let Some(record) = table.get(key)? else { return Ok(None) };
            let (header, stored) = split(record.value())?;
            Ok(Some((header, stored.len())))
        };
        look().map_err(|error| self.error(error))
    }

    /// All of one state, which is looked up once.
    fn get_many(&self, keys: &[&[u8]], found: &mut FoundRecord<'_>) -> Result<()> {
        let mut get_many = || -> Outcome<_> {
            let table = self.database.begin_read()?.open_table(ENTRIES)?;
            for (i, key) in keys.iter().enumerate() {
                if let Some(record) = table.get(*key)? {
                    let (header, stored) = split(record.value())?;
                    found(i, header, stored);
                }
            }
            Ok(())
        };
        get_many().map_err(|error| self.error(error))
    }

    fn write<T>(&self, mut work: impl FnMut(&mut RedbTransaction<'_>) -> Outcome<T>) -> Result<T> {
        self.transact(|txn| {
            let mut tables = RedbTransaction::open(txn)?;
            let done = work(&mut tables)?;
            Ok((done, tables.is_changed()))
        })
    }

    fn clear(&self) -> Result<()> {
        self.transact(|txn| {
            txn.delete_table(ENTRIES)?;
            txn.delete_table(EXPIRY)?;
            create_tables(txn)?;
            Ok(((), true))
        })
    }
}

/// Splits a record into header and value.
pub(super) fn split(record: &[u8]) -> Outcome<(Header, &[u8])> {
    Header::split(record)
        .ok_or_else(|| redb::Error::Corrupted("it holds a record without its header".into()))
}

/// Makes a new file, which appears complete: redb refuses a file in which a crash has left no more than its length.
fn make(path: &Path) -> Outcome<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let random = RandomState::new().hash_one(std::process::id());
    let new = folder.join(format!(".{FILE}-{random:016x}"));
    let made = fill(&new).and_then(|()| Ok(put_in_place(&new, path)?));
    // Where the new file has the other name, this name is gone or another one.
    let _ = fs::remove_file(&new);
    made?;
    Ok(File::open(folder)?.sync_all()?)
}

/// Makes a complete file of this name.
fn fill(new: &Path) -> Outcome<()> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600).open(new)?;
    let database = Builder::new().create(new)?;
    let txn = database.begin_write()?;
    create_tables(&txn)?;
    txn.commit()?;
    Ok(database.close()?)
}

/// Gives the new file its name, unless another process was faster.
fn put_in_place(new: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(new, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // Some file systems have no links.
        Err(_) => fs::rename(new, path),
        linked => linked,
    }
}

/// Makes the tables of a file that is new or Larder's; `false` for a file of another program.
fn prepare(database: &redb::Database) -> Outcome<bool> {
    let txn = database.begin_read()?;
    let mut is_new = txn.list_multimap_tables()?.next().is_none();
    for table in txn.list_tables()? {
        if table.name() == ENTRIES.name() {
            return Ok(true);
        }
        is_new = false;
    }
    if is_new {
        let txn = database.begin_write()?;
        create_tables(&txn)?;
        txn.commit()?;
    }
    Ok(is_new)
}

fn create_tables(txn: &WriteTransaction) -> Outcome<()> {
    drop(txn.open_table(ENTRIES)?);
    drop(txn.open_table(EXPIRY)?);
    Ok(())
}

fn in_words(path: &Path, error: redb::Error) -> Error {
    let shown = path.display();
    let folder = path.parent().unwrap_or(path);
    let corrupted = |what: String| Error::Corrupted { engine: SCHEME, what };
    match error {
        redb::Error::DatabaseAlreadyOpen | redb::Error::LockProtocolMismatch => {
            already_open(SCHEME, path)
        }
        redb::Error::Io(source) if source.kind() == io::ErrorKind::InvalidData => {
            corrupted(format!("{shown} is not a file of redb; delete it or choose another file"))
        }
        redb::Error::Io(source) => disk::io_error(SCHEME, "using", path, source),
        // redb refuses all work after a failed write. The next open begins with the last durable state.
        redb::Error::PreviousIo if disk::has_no_room(folder) => {
            disk::io_error(SCHEME, "using", path, io::ErrorKind::StorageFull.into())
        }
        redb::Error::PreviousIo => {
            let what = format!("a write to {shown} failed before; open it again");
            Error::Unavailable { engine: SCHEME, what, source: None }
        }
        redb::Error::UpgradeRequired(version) => {
            corrupted(format!("{shown} has the older format {version} of redb; delete it"))
        }
        redb::Error::ValueTooLarge(len) => {
            Error::ValueTooLarge { engine: SCHEME, len, limit: RedbDatabase::MAX_VALUE_LEN }
        }
        redb::Error::Corrupted(words) => {
            corrupted(format!("{shown} cannot be used ({words}); delete it"))
        }
        other => corrupted(format!("{shown} cannot be used any longer ({other}); open it again")),
    }
}
