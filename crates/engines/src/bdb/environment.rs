//! A folder that this process has open, and BerkeleyDB's errors as messages.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use larder_host::disk;
use larder_host::scratch::Place;
use larder_store::{ByteSize, Error, Result};

use super::SCHEME;
use super::config::{AccessMethod, BdbConfig};
use super::shim::{Bdb, EnvironmentOptions, Fault, Loaded};

/// The lock file, which marks the folder as Larder's. The process that has the environment open holds it exclusively.
const LOCK_FILE: &str = "larder.lock";

/// An open folder.
#[derive(Debug)]
pub(super) struct Environment {
    /// Fields drop in this order: the database closes before the lock ends, and the lock ends before a temporary folder
    /// goes.
    bdb: Bdb,
    _lock: Lock,
    folder: PathBuf,
    place: Place,
}

impl Environment {
    /// Opens a folder, made when it is missing. A folder that another process has open, or that another program has
    /// made, is refused untouched. The reason is that opening an environment in use would destroy it.
    pub(super) fn open(place: Place, config: &BdbConfig) -> Result<Self> {
        let loaded = Loaded::get()?;
        let failed = |source| disk::io_error(SCHEME, "opening", place.path(), source);
        if fs::metadata(place.path()).is_ok_and(|metadata| !metadata.is_dir()) {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
        fs::create_dir_all(place.path()).map_err(failed)?;
        let folder = place.path().canonicalize().map_err(failed)?;
        let lock = lock(&folder)?;
        let name =
            CString::new(folder.as_os_str().as_bytes()).map_err(|error| failed(error.into()))?;
        let terms = EnvironmentOptions {
            cache: config.cache.0,
            sync: config.sync,
            is_hash: config.kind == AccessMethod::Hash,
            page_size: config
                .page_size
                .map_or(0, |ByteSize(bytes)| u32::try_from(bytes).unwrap_or(u32::MAX)),
        };
        let bdb = loaded.open(&name, terms).map_err(|fault| refused(&folder, fault))?;
        Ok(Self { bdb, _lock: lock, folder, place })
    }

    /// The open environment.
    pub(super) fn bdb(&self) -> &Bdb {
        &self.bdb
    }

    /// The folder of the environment.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the folder stays when the environment is closed.
    pub(super) fn is_kept(&self) -> bool {
        self.place.is_kept()
    }

    /// Waits until all writes are on the disk, unless the folder vanishes.
    pub(super) fn flush(&self) -> Result<()> {
        if !self.is_kept() {
            return Ok(());
        }
        self.bdb.checkpoint(0).map_err(|fault| self.error(fault))
    }

    /// An error of an operation, as a message.
    pub(super) fn error(&self, fault: Fault) -> Error {
        in_words(&self.folder, fault)
    }
}

/// The lock of a folder. Dropping it unlocks explicitly: a child that this process is about to start has the file open,
/// too, until the child's own program runs.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file ends the lock in any case.
        let _ = self.0.unlock();
    }
}

/// Takes the folder for this process, and marks it as Larder's.
fn lock(folder: &Path) -> Result<Lock> {
    let path = folder.join(LOCK_FILE);
    let failed = |source| disk::io_error(SCHEME, "opening", &path, source);
    let unavailable = |what: String| Error::Unavailable { engine: SCHEME, what, source: None };
    if !path.exists() && holds_databases(folder).map_err(failed)? {
        return Err(unavailable(format!(
            "{} holds databases that larder did not make; choose another folder",
            folder.display()
        )));
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => Err(unavailable(format!(
            "{} is open already; one store at a time may open it",
            folder.display()
        ))),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// Whether a folder has files that may belong to an environment of BerkeleyDB.
fn holds_databases(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("log.0") || name.starts_with("__db.") || name.ends_with(".db") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The error of a folder that could not be opened.
fn refused(folder: &Path, fault: Fault) -> Error {
    match fault {
        // BerkeleyDB's error number for files that are not its own.
        Fault::Failed { code, words } if code == libc::EINVAL => {
            let what = format!(
                "{} cannot be opened ({words}); delete it or choose another",
                folder.display()
            );
            Error::Corrupted { engine: SCHEME, what }
        }
        fault => in_words(folder, fault),
    }
}

fn in_words(folder: &Path, fault: Fault) -> Error {
    let shown = folder.display();
    match fault {
        Fault::Deadlock => Error::Busy {
            engine: SCHEME,
            what: format!(
                "{shown}: other transactions changed the same pages at every try; use fewer threads"
            ),
        },
        Fault::OfType { is_hash } => {
            let held = if is_hash { AccessMethod::Hash } else { AccessMethod::Btree }.as_str();
            let reason = format!(
                "option `type`: {shown} was made with type={held}; write that, or choose another folder"
            );
            Error::InvalidOptions { engine: SCHEME, reason }
        }
        Fault::Failed { code, words } if code > 0 => {
            let cause = io::Error::from_raw_os_error(code);
            let number = cause.to_string();
            // BerkeleyDB's words say more than those of the number, which has many meanings; often the two are the
            // same.
            let text =
                if number.starts_with(&words) { number } else { format!("{number}: {words}") };
            disk::io_error(SCHEME, "using", folder, io::Error::new(cause.kind(), text))
        }
        Fault::Failed { words, .. } => Error::Corrupted {
            engine: SCHEME,
            what: format!(
                "{shown} cannot be used any longer ({words}); open it again, or delete it"
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn berkeley_db_explains_its_error_numbers_itself() {
        let text = |code: i32, words: &str| {
            let fault = Fault::Failed { code, words: words.into() };
            in_words(Path::new("/cache"), fault).to_string()
        };
        let locks = "BDB2055 Lock table is out of available lock entries";
        assert_eq!(
            text(libc::ENOMEM, locks),
            format!("bdb: using /cache: Cannot allocate memory (os error 12): {locks}")
        );
        assert_eq!(
            text(libc::EACCES, "Permission denied"),
            "bdb: using /cache: Permission denied (os error 13)"
        );
        assert!(text(libc::ENOSPC, "BDB0126 write: 4096").contains("no room left"));
    }
}
