//! The library of `shim.c`: its functions, and the meaning of their errors.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::sync::OnceLock;

use larder_host::managed;
use larder_store::{Error, Result};
use libloading::Library;

use super::super::{RECIPE, SCHEME};

/// The interface version that this module is written for, as `shim.c` reports it.
const INTERFACE: c_int = 3;

const DB_KEYEMPTY: c_int = -30995;
const DB_LOCK_DEADLOCK: c_int = -30993;
const DB_LOCK_NOTGRANTED: c_int = -30992;
const DB_NOTFOUND: c_int = -30988;

/// An opaque structure of BerkeleyDB.
pub(super) type Handle = *mut c_void;

/// The functions of the library. The library stays in memory until the process ends.
pub(super) struct Shim {
    pub(super) version: unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int),
    words: unsafe extern "C" fn(c_int) -> *const c_char,
    pub(super) open_environment:
        unsafe extern "C" fn(*const c_char, u64, c_int, *mut Handle) -> c_int,
    pub(super) close_environment: unsafe extern "C" fn(Handle) -> c_int,
    pub(super) settings: unsafe extern "C" fn(Handle, *mut u64, *mut u32) -> c_int,
    pub(super) checkpoint: unsafe extern "C" fn(Handle, u32) -> c_int,
    pub(super) open_database:
        unsafe extern "C" fn(Handle, *const c_char, c_int, u32, *mut Handle) -> c_int,
    pub(super) is_hash: unsafe extern "C" fn(Handle, *const c_char, *mut c_int) -> c_int,
    pub(super) close_database: unsafe extern "C" fn(Handle) -> c_int,
    pub(super) begin: unsafe extern "C" fn(Handle, *mut Handle) -> c_int,
    pub(super) commit: unsafe extern "C" fn(Handle) -> c_int,
    pub(super) abort: unsafe extern "C" fn(Handle) -> c_int,
    pub(super) get: Get,
    pub(super) put:
        unsafe extern "C" fn(Handle, Handle, *const u8, u32, *const u8, u32, u32) -> c_int,
    pub(super) delete: unsafe extern "C" fn(Handle, Handle, *const u8, u32) -> c_int,
    pub(super) first: unsafe extern "C" fn(Handle, Handle, *mut u8, u32, *mut u32) -> c_int,
    pub(super) truncate: unsafe extern "C" fn(Handle, Handle) -> c_int,
    pub(super) pages: unsafe extern "C" fn(Handle, c_int, *mut u32, *mut u32) -> c_int,
    _library: Library,
}

/// `larder_bdb_get`.
pub(super) type Get = unsafe extern "C" fn(
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
    pub(super) fn get() -> Result<&'static Self> {
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
                "{} cannot be used ({}); build it again: {}",
                file.display(),
                reason.replace('\n', " "),
                RECIPE.source.command()
            ),
            source: None,
        };
        // SAFETY: the library has no initialisers of its own, and those of libdb do no more than in any program that is
        // linked to libdb.
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
    /// The library must be compiled from a shim.c whose interface is [`INTERFACE`].
    unsafe fn functions(library: Library) -> Result<Self, String> {
        // SAFETY: the types are those of shim.c, as the caller promises.
        unsafe {
            Ok(Self {
                version: function(&library, "larder_bdb_version")?,
                words: function(&library, "larder_bdb_words")?,
                open_environment: function(&library, "larder_bdb_open_environment")?,
                close_environment: function(&library, "larder_bdb_close_environment")?,
                settings: function(&library, "larder_bdb_settings")?,
                checkpoint: function(&library, "larder_bdb_checkpoint")?,
                open_database: function(&library, "larder_bdb_open_database")?,
                is_hash: function(&library, "larder_bdb_is_hash")?,
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

    /// The meaning of an error number; `Ok` for 0.
    pub(super) fn check(&self, code: c_int) -> Outcome<()> {
        match code {
            0 => Ok(()),
            DB_LOCK_DEADLOCK | DB_LOCK_NOTGRANTED => Err(Fault::Deadlock),
            code => {
                // SAFETY: the text is a string that ends with a zero, valid until this thread's next call.
                let words = unsafe { CStr::from_ptr((self.words)(code)) };
                let words = words.to_string_lossy().replace('\n', " ");
                Err(Fault::Failed { code, words })
            }
        }
    }

    /// As [`Self::check`], where a key may be missing: `false` when it is.
    pub(super) fn check_found(&self, code: c_int) -> Outcome<bool> {
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

/// The reason why an operation of BerkeleyDB failed.
#[derive(Debug)]
pub(in super::super) enum Fault {
    /// Two transactions waited for each other, and BerkeleyDB chose this one to give way: the caller must begin it
    /// again.
    Deadlock,
    /// The entries have the other type than the caller asked for: they are a hash table or not.
    OfType { is_hash: bool },
    /// An error: its number (a positive number is the system's) and BerkeleyDB's words.
    Failed { code: c_int, words: String },
}

/// The result of a call of BerkeleyDB.
pub(in super::super) type Outcome<T> = std::result::Result<T, Fault>;
