//! A folder that this process has open, and BerkeleyDB's errors as messages.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use larder_host::disk;
use larder_host::place::Place;
use larder_store::{ByteSize, Error, Result};

use super::SCHEME;
use super::config::{AccessMethod, BdbConfig};
use super::shim::{Bdb, EnvironmentOptions, Fault, Loaded};
use crate::records::folder::FolderLock;

/// An open folder.
#[derive(Debug)]
pub(super) struct Environment {
    /// Fields drop in this order: the database closes before the lock ends, and the lock ends before a temporary folder
    /// goes.
    bdb: Bdb,
    _lock: FolderLock,
    folder: PathBuf,
    place: Place,
}

impl Environment {
    /// Opens a folder, made when it is missing. A folder that another process has open, or that another program has
    /// made, is refused untouched. The reason is that opening an environment in use would destroy it.
    pub(super) fn open(place: Place, config: &BdbConfig) -> Result<Self> {
        let loaded = Loaded::get()?;
        let (lock, folder) = FolderLock::take(SCHEME, &place, is_database)?;
        let name = CString::new(folder.as_os_str().as_bytes())
            .map_err(|error| disk::io_error(SCHEME, "opening", &folder, error.into()))?;
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

/// Whether a file of this name may belong to an environment of BerkeleyDB.
fn is_database(name: &str) -> bool {
    let end = name.rsplit_once('.').map(|(_, end)| end);
    name.starts_with("log.0") || name.starts_with("__db.") || end == Some("db")
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
