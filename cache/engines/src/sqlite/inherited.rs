//! Files that were open when this process was forked.
//!
//! SQLite keeps a list of the files that a process has open, and of the locks that it holds on them. A forked child has
//! the list, but not the locks. If it opened such a file, SQLite would believe that the child holds its parent's locks.
//! The parent could then remove the log into which the child writes. So a child opens only other files.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use larder_store::{Error, PerProcess, Result};

use super::SCHEME;
use larder_host::disk;

/// A file, by the numbers of its device and of its inode.
type Id = (u64, u64);

/// The files that this process has open, each with the number of its stores.
static OPEN: PerProcess<Mutex<BTreeMap<Id, usize>>> = PerProcess::new();

/// An open file, until it is dropped.
#[derive(Debug)]
pub(super) struct OpenFile(Id);

/// Refuses a file that was open when this process was forked.
pub(super) fn refuse(path: &Path) -> Result<()> {
    let Ok(id) = id(path) else { return Ok(()) };
    // A lock that a thread of the parent held at the fork is never free again.
    let is_closed = |open: &Mutex<BTreeMap<Id, usize>>| {
        open.try_lock().is_ok_and(|open| !open.contains_key(&id))
    };
    if OPEN.inherited().all(is_closed) {
        return Ok(());
    }
    let what = format!(
        "{} was open when this process was forked, and SQLite cannot open it here; fork first, or start a program",
        path.display()
    );
    Err(Error::Unavailable { engine: SCHEME, what, source: None })
}

impl OpenFile {
    /// Notes a file that this process has opened.
    pub(super) fn note(path: &Path) -> Result<Self> {
        let id = id(path).map_err(|source| disk::io_error(SCHEME, "opening", path, source))?;
        *OPEN.get().lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default() += 1;
        Ok(Self(id))
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let mut open = OPEN.get().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stores) = open.get_mut(&self.0) {
            *stores -= 1;
            if *stores == 0 {
                open.remove(&self.0);
            }
        }
    }
}

fn id(path: &Path) -> std::io::Result<Id> {
    path.metadata().map(|metadata| (metadata.dev(), metadata.ino()))
}
