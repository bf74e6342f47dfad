//! BerkeleyDB, through a small library that is compiled on this machine: all unsafe code of this engine.
//!
//! `shim.c` has the counterpart of each function, and the reasons. This module does not know the content of a record.

mod library;

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{NonNull, null_mut};

use larder_store::Result;
pub(super) use library::{Fault, Outcome};
use library::{Handle, Shim};

use super::config::Sync;

const DB_BUFFER_SMALL: c_int = -30999;

/// The first capacity of a buffer for a record.
const FIRST_ROOM: usize = 4096;

/// The file of the entries.
const ENTRIES: &CStr = c"entries.db";

/// The options with which an environment is opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct EnvironmentOptions {
    /// Bytes of the cache.
    pub(super) cache: u64,
    /// The event that a commit waits for.
    pub(super) sync: Sync,
    /// Whether the entries are in a hash table.
    pub(super) is_hash: bool,
    /// Bytes of a page; 0 takes the file system's block size.
    pub(super) page_size: u32,
}

/// One of the databases of a store.
#[derive(Debug, Clone, Copy)]
pub(super) enum Database {
    /// Key to record.
    Entries,
    /// Deadline and key, in this order: always a B-tree.
    Expiry,
}

/// An open environment with the databases of a store. Threads may share it.
pub(super) struct Bdb {
    shim: &'static Shim,
    env: NonNull<c_void>,
    entries: NonNull<c_void>,
    expiry: NonNull<c_void>,
    is_hash: bool,
}

// SAFETY: the environment and its databases are opened with DB_THREAD, which makes their handles free-threaded. So
// any thread may call any function that is used here, also several at once.
unsafe impl Send for Bdb {}
// SAFETY: as above.
unsafe impl std::marker::Sync for Bdb {}

impl std::fmt::Debug for Bdb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bdb").field("is_hash", &self.is_hash).finish_non_exhaustive()
    }
}

/// The functions that need no environment.
#[derive(Clone, Copy)]
pub(super) struct Loaded(&'static Shim);

impl Loaded {
    /// The library, loaded when it is first needed; the error names the command that compiles it.
    pub(super) fn get() -> Result<Self> {
        Shim::get().map(Self)
    }

    /// Opens the environment in a folder that no other process has open, and recovers it to its last commit.
    pub(super) fn open(self, folder: &CStr, terms: EnvironmentOptions) -> Outcome<Bdb> {
        let Self(shim) = self;
        let sync = match terms.sync {
            Sync::Nosync => 0,
            Sync::Write => 1,
            Sync::Group => 2,
        };
        let mut env = null_mut();
        // SAFETY: `folder` ends with a zero, and `env` is room for a handle.
        let code =
            unsafe { (shim.open_environment)(folder.as_ptr(), terms.cache, sync, &raw mut env) };
        let env = opened(shim, code, env)?;
        let database = |name: &CStr, is_hash: bool| {
            let mut db = null_mut();
            // SAFETY: the environment is open, `name` ends with a zero, and `db` is room for a handle.
            let code = unsafe {
                let open = shim.open_database;
                open(
                    env.as_ptr(),
                    name.as_ptr(),
                    c_int::from(is_hash),
                    terms.page_size,
                    &raw mut db,
                )
            };
            opened(shim, code, db)
        };
        let close = |fault| {
            // SAFETY: the environment is open, and none of its databases is.
            unsafe { (shim.close_environment)(env.as_ptr()) };
            fault
        };
        let entries = database(ENTRIES, terms.is_hash)
            .map_err(|fault| of_type(shim, env, terms.is_hash).unwrap_or(fault))
            .map_err(close)?;
        let expiry = database(c"expiry.db", false).map_err(|fault| {
            // SAFETY: the database is open, and no other code has its handle.
            unsafe { (shim.close_database)(entries.as_ptr()) };
            close(fault)
        })?;
        Ok(Bdb { shim, env, entries, expiry, is_hash: terms.is_hash })
    }
}

/// The fault of entries that have the other type than the wanted one; `None` where their type is not the cause.
fn of_type(shim: &Shim, env: NonNull<c_void>, wanted: bool) -> Option<Fault> {
    let mut is_hash = 0;
    // SAFETY: the environment is open, the name ends with a zero, and `is_hash` is room for a number.
    let code = unsafe { (shim.is_hash)(env.as_ptr(), ENTRIES.as_ptr(), &raw mut is_hash) };
    let is_hash = is_hash != 0;
    (code == 0 && is_hash != wanted).then_some(Fault::OfType { is_hash })
}

/// The handle from an `open`.
fn opened(shim: &Shim, code: c_int, handle: Handle) -> Outcome<NonNull<c_void>> {
    shim.check(code)?;
    let words = || "no handle was made".to_owned();
    NonNull::new(handle).ok_or_else(|| Fault::Failed { code: libc::EINVAL, words: words() })
}

impl Bdb {
    /// The release of the library.
    pub(super) fn version(&self) -> String {
        let [mut major, mut minor, mut patch] = [0; 3];
        // SAFETY: all three are room for a number.
        unsafe { (self.shim.version)(&raw mut major, &raw mut minor, &raw mut patch) };
        format!("{major}.{minor}.{patch}")
    }

    /// Bytes of the cache, and of one log file.
    pub(super) fn settings(&self) -> Outcome<(u64, u32)> {
        let (mut cache, mut log_file) = (0, 0);
        // SAFETY: the environment is open, and both are room for a number.
        let code =
            unsafe { (self.shim.settings)(self.env.as_ptr(), &raw mut cache, &raw mut log_file) };
        self.shim.check(code).map(|()| (cache, log_file))
    }

    /// The number of pages that the entries take, and the bytes of one page.
    pub(super) fn pages(&self) -> Outcome<(u32, u32)> {
        let (mut pages, mut page_size) = (0, 0);
        let is_hash = c_int::from(self.is_hash);
        let db = self.entries.as_ptr();
        // SAFETY: the database is open and of this type, and both are room for a number.
        let code = unsafe { (self.shim.pages)(db, is_hash, &raw mut pages, &raw mut page_size) };
        self.shim.check(code).map(|()| (pages, page_size))
    }

    /// Writes committed changes to the disk; with `kilobytes`, only after this much log.
    pub(super) fn checkpoint(&self, kilobytes: u32) -> Outcome<()> {
        // SAFETY: the environment is open.
        self.shim.check(unsafe { (self.shim.checkpoint)(self.env.as_ptr(), kilobytes) })
    }

    /// Begins a transaction, which is undone unless it is committed.
    pub(super) fn begin(&self) -> Outcome<Transaction<'_>> {
        let mut txn = null_mut();
        // SAFETY: the environment is open, and `txn` is room for a handle.
        let code = unsafe { (self.shim.begin)(self.env.as_ptr(), &raw mut txn) };
        Ok(Transaction { bdb: self, txn: opened(self.shim, code, txn)? })
    }

    /// Copies the record of an entry behind the bytes of `record`, which stay; `false` when the entry is missing.
    pub(super) fn get(&self, key: &[u8], record: &mut Vec<u8>) -> Outcome<bool> {
        self.copy(null_mut(), key, record)
    }

    fn copy(&self, txn: Handle, key: &[u8], record: &mut Vec<u8>) -> Outcome<bool> {
        let locks = c_int::from(!txn.is_null());
        let before = record.len();
        record.reserve(FIRST_ROOM);
        loop {
            let mut len = 0;
            let room = u32::try_from(record.capacity() - before).unwrap_or(u32::MAX);
            // SAFETY: the database is open, the transaction is one of it or null, and key and the free room of the
            // record are memory of the given lengths.
            let code = unsafe {
                let (db, get) = (self.entries.as_ptr(), self.shim.get);
                let record = record.spare_capacity_mut().as_mut_ptr().cast();
                get(db, txn, key.as_ptr(), length(key), locks, 0, record, room, &raw mut len)
            };
            if code == DB_BUFFER_SMALL && len > room {
                record.reserve(len as usize);
                continue;
            }
            let found = self.shim.check_found(code)?;
            if found {
                // SAFETY: the call has written `len` bytes of the free room.
                unsafe { record.set_len(before + len as usize) };
            }
            return Ok(found);
        }
    }

    fn table(&self, table: Database) -> Handle {
        match table {
            Database::Entries => self.entries.as_ptr(),
            Database::Expiry => self.expiry.as_ptr(),
        }
    }
}

impl Drop for Bdb {
    fn drop(&mut self) {
        // SAFETY: transactions borrow this, so none is open. The databases are closed before their environment, and no
        // code uses a handle after this. There is no caller left to report a failure to.
        unsafe {
            (self.shim.close_database)(self.expiry.as_ptr());
            (self.shim.close_database)(self.entries.as_ptr());
            (self.shim.close_environment)(self.env.as_ptr());
        }
    }
}

/// A transaction. It belongs to one thread, and dropping it before a commit undoes it.
pub(super) struct Transaction<'b> {
    bdb: &'b Bdb,
    txn: NonNull<c_void>,
}

impl Transaction<'_> {
    /// Copies the record of an entry, to change the entry; `false` when the entry is missing.
    pub(super) fn get(&self, key: &[u8], record: &mut Vec<u8>) -> Outcome<bool> {
        record.clear();
        self.bdb.copy(self.txn.as_ptr(), key, record)
    }

    /// The length of the record of an entry; `None` when the entry is missing.
    pub(super) fn len(&self, key: &[u8]) -> Outcome<Option<usize>> {
        let Bdb { shim, entries, .. } = self.bdb;
        let mut len = 0;
        // SAFETY: database and transaction are open, key is memory of the given length, and there is no room to write to.
        let code = unsafe {
            let (db, txn) = (entries.as_ptr(), self.txn.as_ptr());
            (shim.get)(db, txn, key.as_ptr(), length(key), 1, 0, null_mut(), 0, &raw mut len)
        };
        // No record is shorter than no room.
        let found = code == DB_BUFFER_SMALL || shim.check_found(code)?;
        Ok(found.then_some(len as usize))
    }

    /// The beginning of the record of an entry, to change the entry; `None` when the entry is missing or shorter.
    pub(super) fn head<const N: usize>(&self, key: &[u8]) -> Outcome<Option<[u8; N]>> {
        let mut head = [0; N];
        let (room, mut len) = (length(&head), 0);
        let Bdb { shim, entries, .. } = self.bdb;
        // SAFETY: database and transaction are open, and key and head are memory of the given lengths.
        let code = unsafe {
            let head = head.as_mut_ptr();
            let (key, key_len) = (key.as_ptr(), length(key));
            (shim.get)(
                entries.as_ptr(),
                self.txn.as_ptr(),
                key,
                key_len,
                1,
                room,
                head,
                room,
                &raw mut len,
            )
        };
        let found = shim.check_found(code)?;
        Ok((found && len == room).then_some(head))
    }

    /// Stores a record.
    pub(super) fn put(&self, table: Database, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.put_part(table, key, value, 0)
    }

    /// Replaces the beginning of the record of an existing entry.
    pub(super) fn put_head(&self, key: &[u8], head: &[u8]) -> Outcome<()> {
        self.put_part(Database::Entries, key, head, length(head))
    }

    fn put_part(&self, table: Database, key: &[u8], value: &[u8], head: u32) -> Outcome<()> {
        let (shim, db) = (self.bdb.shim, self.bdb.table(table));
        // SAFETY: database and transaction are open, and key and value are memory of the given lengths, which is only
        // read.
        shim.check(unsafe {
            let (key_len, value_len) = (length(key), length(value));
            (shim.put)(
                db,
                self.txn.as_ptr(),
                key.as_ptr(),
                key_len,
                value.as_ptr(),
                value_len,
                head,
            )
        })
    }

    /// Removes a record; `false` when it is missing.
    pub(super) fn delete(&self, table: Database, key: &[u8]) -> Outcome<bool> {
        let (shim, db) = (self.bdb.shim, self.bdb.table(table));
        // SAFETY: database and transaction are open, and key is memory of the given length.
        shim.check_found(unsafe { (shim.delete)(db, self.txn.as_ptr(), key.as_ptr(), length(key)) })
    }

    /// Copies the first key of the expiry index into `key`, which must be large enough; `None` when the index is empty.
    pub(super) fn first_to_expire<'k>(&self, key: &'k mut [u8]) -> Outcome<Option<&'k [u8]>> {
        let (shim, db) = (self.bdb.shim, self.bdb.table(Database::Expiry));
        let mut len = 0;
        // SAFETY: database and transaction are open, the database is a B-tree, and key is memory of the given length.
        let code = unsafe {
            (shim.first)(db, self.txn.as_ptr(), key.as_mut_ptr(), length(key), &raw mut len)
        };
        Ok(if shim.check_found(code)? { key.get(..len as usize) } else { None })
    }

    /// Removes every record.
    pub(super) fn truncate(&self, table: Database) -> Outcome<()> {
        let (shim, db) = (self.bdb.shim, self.bdb.table(table));
        // SAFETY: database and transaction are open, and the transaction has no open cursor.
        shim.check(unsafe { (shim.truncate)(db, self.txn.as_ptr()) })
    }

    /// Commits the transaction.
    pub(super) fn commit(self) -> Outcome<()> {
        let shim = self.bdb.shim;
        let txn = self.txn.as_ptr();
        std::mem::forget(self);
        // SAFETY: the transaction is open, and this call ends it, even with an error.
        shim.check(unsafe { (shim.commit)(txn) })
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // SAFETY: the transaction is open: only a commit ends it before, and a commit forgets it.
        unsafe { (self.bdb.shim.abort)(self.txn.as_ptr()) };
    }
}

/// A length as BerkeleyDB counts. Callers check keys and values first, so that their lengths fit.
fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("keys and values have lengths of 32 bits")
}
