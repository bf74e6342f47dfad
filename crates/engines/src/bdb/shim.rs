//! BerkeleyDB, by way of a small library that is compiled on this machine: all that is unsafe in this engine.
//!
//! `shim.c` has the counterpart of each function, and the reasons. Nothing here knows what a record is.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

use larder_host::managed;
use larder_store::{Error, Result};
use libloading::Library;

use super::config::Sync;
use super::{RECIPE, SCHEME};

/// The interface that this file is written for, as `shim.c` tells it.
const INTERFACE: c_int = 2;

const DB_BUFFER_SMALL: c_int = -30999;
const DB_KEYEMPTY: c_int = -30995;
const DB_LOCK_DEADLOCK: c_int = -30993;
const DB_LOCK_NOTGRANTED: c_int = -30992;
const DB_NOTFOUND: c_int = -30988;

/// The first room for a record that is read into memory which has none yet.
const FIRST_ROOM: usize = 4096;

/// A structure of BerkeleyDB's, of which nothing but its place is known.
type Handle = *mut c_void;

/// The functions of the library. They stay in memory with it until the process ends.
struct Shim {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int),
    words: unsafe extern "C" fn(c_int) -> *const c_char,
    forget_words: unsafe extern "C" fn(),
    open_environment: unsafe extern "C" fn(*const c_char, u64, c_int, *mut Handle) -> c_int,
    close_environment: unsafe extern "C" fn(Handle) -> c_int,
    settings: unsafe extern "C" fn(Handle, *mut u64, *mut u32) -> c_int,
    checkpoint: unsafe extern "C" fn(Handle, u32) -> c_int,
    open_database: unsafe extern "C" fn(Handle, *const c_char, c_int, u32, *mut Handle) -> c_int,
    close_database: unsafe extern "C" fn(Handle) -> c_int,
    begin: unsafe extern "C" fn(Handle, *mut Handle) -> c_int,
    commit: unsafe extern "C" fn(Handle) -> c_int,
    abort: unsafe extern "C" fn(Handle) -> c_int,
    get: Get,
    put: unsafe extern "C" fn(Handle, Handle, *const u8, u32, *const u8, u32, u32) -> c_int,
    delete: unsafe extern "C" fn(Handle, Handle, *const u8, u32) -> c_int,
    first: unsafe extern "C" fn(Handle, Handle, *mut u8, u32, *mut u32) -> c_int,
    truncate: unsafe extern "C" fn(Handle, Handle) -> c_int,
    pages: unsafe extern "C" fn(Handle, c_int, *mut u32, *mut u32) -> c_int,
    _library: Library,
}

type Get = unsafe extern "C" fn(
    Handle,
    Handle,
    *const u8,
    u32,
    c_int,
    u32,
    *mut u8,
    u32,
    *mut u32,
) -> c_int;

impl Shim {
    /// The library, loaded when it is first needed.
    fn get() -> Result<&'static Self> {
        static SHIM: OnceLock<Shim> = OnceLock::new();
        if let Some(shim) = SHIM.get() {
            return Ok(shim);
        }
        let shim = Self::load(&managed::find(SCHEME, &RECIPE)?)?;
        Ok(SHIM.get_or_init(|| shim))
    }

    fn load(file: &Path) -> Result<Self> {
        let unavailable = |reason: String| Error::Unavailable {
            engine: SCHEME,
            what: format!(
                "{} cannot be used ({}); make it anew: {}",
                file.display(),
                reason.replace('\n', " "),
                RECIPE.source.command()
            ),
            source: None,
        };
        // SAFETY: the library has no initialisers of its own, and those of libdb do no more than any program's that is
        // linked to it.
        let library =
            unsafe { Library::new(file) }.map_err(|error| unavailable(error.to_string()))?;
        // SAFETY: a function of this name takes nothing and returns an int in every version of shim.c.
        let interface: unsafe extern "C" fn() -> c_int =
            unsafe { function(&library, "larder_bdb_interface") }.map_err(unavailable)?;
        // SAFETY: as above.
        let interface = unsafe { interface() };
        if interface != INTERFACE {
            return Err(unavailable(format!(
                "it has interface {interface}, and this larder needs {INTERFACE}"
            )));
        }
        // SAFETY: with this interface, the functions of these names have the types of the fields, as shim.c says.
        unsafe { Self::functions(library) }.map_err(unavailable)
    }

    /// # Safety
    ///
    /// The library is made of a shim.c whose interface is [`INTERFACE`].
    unsafe fn functions(library: Library) -> Result<Self, String> {
        // SAFETY: the types are those of shim.c, as the caller promises.
        unsafe {
            Ok(Self {
                version: function(&library, "larder_bdb_version")?,
                words: function(&library, "larder_bdb_words")?,
                forget_words: function(&library, "larder_bdb_forget_words")?,
                open_environment: function(&library, "larder_bdb_open_environment")?,
                close_environment: function(&library, "larder_bdb_close_environment")?,
                settings: function(&library, "larder_bdb_settings")?,
                checkpoint: function(&library, "larder_bdb_checkpoint")?,
                open_database: function(&library, "larder_bdb_open_database")?,
                close_database: function(&library, "larder_bdb_close_database")?,
                begin: function(&library, "larder_bdb_begin")?,
                commit: function(&library, "larder_bdb_commit")?,
                abort: function(&library, "larder_bdb_abort")?,
                get: function(&library, "larder_bdb_get")?,
                put: function(&library, "larder_bdb_put")?,
                delete: function(&library, "larder_bdb_delete")?,
                first: function(&library, "larder_bdb_first")?,
                truncate: function(&library, "larder_bdb_truncate")?,
                pages: function(&library, "larder_bdb_pages")?,
                _library: library,
            })
        }
    }

    /// What an error number means; `Ok` of none.
    fn check(&self, code: c_int) -> Outcome<()> {
        match code {
            0 => Ok(()),
            DB_LOCK_DEADLOCK | DB_LOCK_NOTGRANTED => Err(Fault::Deadlock),
            code => {
                // SAFETY: the text is a string that ends with a zero, valid until this thread's next call.
                let words = unsafe { CStr::from_ptr((self.words)(code)) };
                let words = words.to_string_lossy().replace('\n', " ");
                // SAFETY: it takes nothing, and only this thread's text changes.
                unsafe { (self.forget_words)() };
                Err(Fault::Failed { code, words })
            }
        }
    }

    /// The same where a key may be missing: `false` when it is.
    fn check_found(&self, code: c_int) -> Outcome<bool> {
        match code {
            DB_NOTFOUND | DB_KEYEMPTY => Ok(false),
            code => self.check(code).map(|()| true),
        }
    }
}

/// A function of the library by its name.
///
/// # Safety
///
/// `T` is the type of that function, as a pointer.
unsafe fn function<T: Copy>(library: &Library, name: &str) -> Result<T, String> {
    // SAFETY: the caller promises the type.
    unsafe { library.get::<T>(name) }.map(|symbol| *symbol).map_err(|error| error.to_string())
}

/// Why BerkeleyDB did not do something.
#[derive(Debug)]
pub(super) enum Fault {
    /// Two waited for each other, and this one was to give way: the transaction is to be begun anew.
    Deadlock,
    /// An error, by its number (a positive one is the system's) and in BerkeleyDB's words.
    Failed { code: c_int, words: String },
}

/// What BerkeleyDB answers.
pub(super) type Outcome<T> = std::result::Result<T, Fault>;

/// How an environment is opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// Bytes of the cache.
    pub(super) cache: u64,
    /// What a commit waits for.
    pub(super) sync: Sync,
    /// Whether the entries are in a hash table.
    pub(super) is_hash: bool,
    /// Bytes of a page; 0 is the file system's.
    pub(super) page_size: u32,
}

/// One of the databases of a store.
#[derive(Debug, Clone, Copy)]
pub(super) enum Table {
    /// Key to record.
    Entries,
    /// Deadline and key, in this order: a B-tree in any case.
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

// SAFETY: the environment and its databases are opened with DB_THREAD, which makes their handles free-threaded: any thread
// may call any function that is used here, and all at once.
unsafe impl Send for Bdb {}
// SAFETY: as above.
unsafe impl std::marker::Sync for Bdb {}

impl std::fmt::Debug for Bdb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bdb").field("is_hash", &self.is_hash).finish_non_exhaustive()
    }
}

/// What can be called without an environment.
#[derive(Clone, Copy)]
pub(super) struct Loaded(&'static Shim);

impl Loaded {
    /// The library, loaded when it is first needed; the error names the command that makes it.
    pub(super) fn get() -> Result<Self> {
        Shim::get().map(Self)
    }

    /// Opens the environment in a folder that no other process has open, and brings it back to its last commit.
    pub(super) fn open(self, folder: &CStr, terms: Terms) -> Outcome<Bdb> {
        let Self(shim) = self;
        let sync = match terms.sync {
            Sync::Off => 0,
            Sync::Write => 1,
            Sync::On => 2,
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
            // SAFETY: the environment is open, and nothing else of it is.
            unsafe { (shim.close_environment)(env.as_ptr()) };
            fault
        };
        let entries = database(c"entries.db", terms.is_hash).map_err(close)?;
        let expiry = database(c"expiry.db", false).map_err(|fault| {
            // SAFETY: the database is open, and nobody else knows of it.
            unsafe { (shim.close_database)(entries.as_ptr()) };
            close(fault)
        })?;
        Ok(Bdb { shim, env, entries, expiry, is_hash: terms.is_hash })
    }
}

/// The handle that an `open` made.
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

    /// Bytes of the cache, and of one file of the log.
    pub(super) fn settings(&self) -> Outcome<(u64, u32)> {
        let (mut cache, mut log_file) = (0, 0);
        // SAFETY: the environment is open, and both are room for a number.
        let code =
            unsafe { (self.shim.settings)(self.env.as_ptr(), &raw mut cache, &raw mut log_file) };
        self.shim.check(code).map(|()| (cache, log_file))
    }

    /// How many pages the entries take, and the bytes of one.
    pub(super) fn pages(&self) -> Outcome<(u32, u32)> {
        let (mut pages, mut page_size) = (0, 0);
        let is_hash = c_int::from(self.is_hash);
        let db = self.entries.as_ptr();
        // SAFETY: the database is open and of this type, and both are room for a number.
        let code = unsafe { (self.shim.pages)(db, is_hash, &raw mut pages, &raw mut page_size) };
        self.shim.check(code).map(|()| (pages, page_size))
    }

    /// Brings what commits have changed to the disk; with `kilobytes`, only after so much log.
    pub(super) fn checkpoint(&self, kilobytes: u32) -> Outcome<()> {
        // SAFETY: the environment is open.
        self.shim.check(unsafe { (self.shim.checkpoint)(self.env.as_ptr(), kilobytes) })
    }

    /// Begins a transaction, which ends without a trace unless it is committed.
    pub(super) fn begin(&self) -> Outcome<Transaction<'_>> {
        let mut txn = null_mut();
        // SAFETY: the environment is open, and `txn` is room for a handle.
        let code = unsafe { (self.shim.begin)(self.env.as_ptr(), &raw mut txn) };
        Ok(Transaction { bdb: self, txn: opened(self.shim, code, txn)? })
    }

    /// Copies the record of an entry into `record`; `false` when it is not there.
    pub(super) fn get(&self, key: &[u8], record: &mut Vec<u8>) -> Outcome<bool> {
        self.copy(null_mut(), key, record)
    }

    fn copy(&self, txn: Handle, key: &[u8], record: &mut Vec<u8>) -> Outcome<bool> {
        let locks = c_int::from(!txn.is_null());
        record.clear();
        record.reserve(FIRST_ROOM);
        loop {
            let mut len = 0;
            let room = u32::try_from(record.capacity()).unwrap_or(u32::MAX);
            // SAFETY: the database is open, the transaction is one of it or null, and key and record are memory of the
            // given lengths.
            let code = unsafe {
                let (db, get) = (self.entries.as_ptr(), self.shim.get);
                let record = record.as_mut_ptr();
                get(db, txn, key.as_ptr(), length(key), locks, 0, record, room, &raw mut len)
            };
            if code == DB_BUFFER_SMALL && len > room {
                record.reserve(len as usize);
                continue;
            }
            let found = self.shim.check_found(code)?;
            if found {
                // SAFETY: so many bytes of the record's memory have been written.
                unsafe { record.set_len(len as usize) };
            }
            return Ok(found);
        }
    }

    fn table(&self, table: Table) -> Handle {
        match table {
            Table::Entries => self.entries.as_ptr(),
            Table::Expiry => self.expiry.as_ptr(),
        }
    }
}

impl Drop for Bdb {
    fn drop(&mut self) {
        // SAFETY: transactions borrow this, so none is open; the databases are closed before their environment, and
        // nothing uses a handle after it. Nobody is left to tell of a failure.
        unsafe {
            (self.shim.close_database)(self.expiry.as_ptr());
            (self.shim.close_database)(self.entries.as_ptr());
            (self.shim.close_environment)(self.env.as_ptr());
        }
    }
}

/// A transaction. It belongs to one thread, and is undone when it is dropped before it was committed.
pub(super) struct Transaction<'b> {
    bdb: &'b Bdb,
    txn: NonNull<c_void>,
}

impl Transaction<'_> {
    /// Copies the record of an entry that is going to be changed; `false` when it is not there.
    pub(super) fn get(&self, key: &[u8], record: &mut Vec<u8>) -> Outcome<bool> {
        self.bdb.copy(self.txn.as_ptr(), key, record)
    }

    /// The beginning of the record of an entry that is going to be changed; `None` when it is not there, or shorter.
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
    pub(super) fn put(&self, table: Table, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.put_part(table, key, value, 0)
    }

    /// Replaces the beginning of the record of an entry that is there.
    pub(super) fn put_head(&self, key: &[u8], head: &[u8]) -> Outcome<()> {
        self.put_part(Table::Entries, key, head, length(head))
    }

    fn put_part(&self, table: Table, key: &[u8], value: &[u8], head: u32) -> Outcome<()> {
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

    /// Removes a record; `false` when it is not there.
    pub(super) fn delete(&self, table: Table, key: &[u8]) -> Outcome<bool> {
        let (shim, db) = (self.bdb.shim, self.bdb.table(table));
        // SAFETY: database and transaction are open, and key is memory of the given length.
        shim.check_found(unsafe { (shim.delete)(db, self.txn.as_ptr(), key.as_ptr(), length(key)) })
    }

    /// Copies the first key of the expiry index, which is no longer than `N`; `None` when it is empty.
    pub(super) fn first_to_expire<'k>(&self, key: &'k mut [u8]) -> Outcome<Option<&'k [u8]>> {
        let (shim, db) = (self.bdb.shim, self.bdb.table(Table::Expiry));
        let mut len = 0;
        // SAFETY: database and transaction are open, the database is a B-tree, and key is memory of the given length.
        let code = unsafe {
            (shim.first)(db, self.txn.as_ptr(), key.as_mut_ptr(), length(key), &raw mut len)
        };
        Ok(if shim.check_found(code)? { key.get(..len as usize) } else { None })
    }

    /// Removes every record.
    pub(super) fn truncate(&self, table: Table) -> Outcome<()> {
        let (shim, db) = (self.bdb.shim, self.bdb.table(table));
        // SAFETY: database and transaction are open, and no cursor of the transaction is.
        shim.check(unsafe { (shim.truncate)(db, self.txn.as_ptr()) })
    }

    /// Has what was done stay.
    pub(super) fn commit(self) -> Outcome<()> {
        let shim = self.bdb.shim;
        let txn = self.txn.as_ptr();
        std::mem::forget(self);
        // SAFETY: the transaction is open, and ends by this, whatever is answered.
        shim.check(unsafe { (shim.commit)(txn) })
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // SAFETY: the transaction is open: only a commit ends it before, which forgets it.
        unsafe { (self.bdb.shim.abort)(self.txn.as_ptr()) };
    }
}

/// A length as BerkeleyDB counts. Keys and values are checked before they come here, and are shorter.
fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("keys and values have lengths of 32 bits")
}
