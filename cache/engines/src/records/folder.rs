//! A folder that one process has open, and the file that marks it as Larder's.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use larder_host::disk;
use larder_host::place::Place;
use larder_store::{Error, Result};

use super::already_open;

/// The lock file, which marks the folder as Larder's. The process that has the folder open holds it exclusively.
const LOCK_FILE: &str = "larder.lock";

/// The lock of a folder. Dropping it unlocks explicitly: a child that this process is about to start has the file open,
/// too, until the child's own program runs.
#[derive(Debug)]
pub(crate) struct FolderLock(File);

impl FolderLock {
    /// Takes the folder of a place for this process, made when it is missing, and marks it as Larder's; returns its path
    /// too. A folder that another process has open, or in which another program has made databases, is refused
    /// untouched. `is_database` tells from a name whether a file may belong to a database.
    pub(crate) fn take(
        engine: &'static str,
        place: &Place,
        is_database: fn(&str) -> bool,
    ) -> Result<(Self, PathBuf)> {
        let failed = |source| disk::io_error(engine, "opening", place.path(), source);
        if fs::metadata(place.path()).is_ok_and(|metadata| !metadata.is_dir()) {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
        fs::create_dir_all(place.path()).map_err(failed)?;
        let folder = place.path().canonicalize().map_err(failed)?;
        let lock = lock(engine, &folder, is_database)?;
        Ok((lock, folder))
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing the file ends the lock in any case.
        let _ = self.0.unlock();
    }
}

fn lock(engine: &'static str, folder: &Path, is_database: fn(&str) -> bool) -> Result<FolderLock> {
    let path = folder.join(LOCK_FILE);
    let failed = |source| disk::io_error(engine, "opening", &path, source);
    let unavailable = |what: String| Error::Unavailable { engine, what, source: None };
    let is_marked = path.exists();
    if !is_marked && holds_databases(folder, is_database).map_err(failed)? {
        return Err(unavailable(format!(
            "{} holds databases that larder did not make; choose another folder",
            folder.display()
        )));
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(already_open(engine, folder)),
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    if !is_marked {
        // After a loss of power, databases without the mark would be taken for those of another program.
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    }
    Ok(FolderLock(file))
}

fn holds_databases(folder: &Path, is_database: fn(&str) -> bool) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        if is_database(&entry?.file_name().to_string_lossy()) {
            return Ok(true);
        }
    }
    Ok(false)
}
