//! The class of durability with which the processes of a host write to a folder, and what follows from it after a loss of
//! power.
//!
//! With `sync=nosync` LMDB uses pages again whose older content a loss of power may bring back, so the whole file may then
//! be damaged, also what another process had synced. So all who write to a folder at the same time do so in one class; readers
//! may have any. A mark in the folder says that unsynced writes are possible, and in which boot of the machine. An open after
//! another boot finds it, and puts the last checkpoint in place of the file.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::checkpoint::CHECKPOINT_FILE;
use super::environment::{DATA_FILE, LOCK_FILE};

/// The mark. Its text is the boot in which unsynced writes were made; without a text all is synced. Processes that write
/// without syncs have a shared lock on it.
const MARK_FILE: &str = "running";

/// The file on which processes have a shared lock that write with syncs.
const SYNCED_FILE: &str = "synced.lock";

/// The kernel's number of this boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The copy of a checkpoint that becomes the file.
const RESTORED_FILE: &str = "restored.mdb";

/// The part of a process among those that write to a folder. All of it happens under the folder's lock to write.
#[derive(Debug)]
pub(super) struct Class {
    folder: PathBuf,
    is_synced: bool,
    /// The locked file of the class, once this process has written.
    held: Option<File>,
}

impl Class {
    pub(super) fn new(folder: &Path, is_synced: bool) -> Self {
        Self { folder: folder.to_owned(), is_synced, held: None }
    }

    /// Takes part before the first write. `secure` makes all that was written before survive a loss of power: by a sync, or,
    /// before unsynced writes, by a checkpoint.
    pub(super) fn take_part(
        &mut self,
        secure: impl FnOnce() -> heed::Result<()>,
    ) -> heed::Result<()> {
        let mut mark = self.open(MARK_FILE)?;
        let synced = self.open(SYNCED_FILE)?;
        let (own, other) = if self.is_synced { (&synced, &mark) } else { (&mark, &synced) };
        if !is_free(other)? {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, self.other_class()).into());
        }
        own.lock_shared()?;
        let mut text = String::new();
        mark.read_to_string(&mut text)?;
        let new_text = if self.is_synced { String::new() } else { boot() };
        if text != new_text {
            secure()?;
            write_mark(&mark, &new_text)?;
            File::open(&self.folder)?.sync_all()?;
        }
        self.held = Some(if self.is_synced { synced } else { mark });
        Ok(())
    }

    /// Leaves, once the process writes no more. The last one that wrote without syncs makes one, and removes the text of the
    /// mark.
    pub(super) fn leave(&mut self, sync: impl FnOnce() -> heed::Result<()>) -> heed::Result<()> {
        let Some(held) = self.held.take() else { return Ok(()) };
        if !self.is_synced && held.try_lock().is_ok() {
            sync()?;
            write_mark(&held, "")?;
        }
        // A child that is about to start may have the file open, too.
        Ok(held.unlock()?)
    }

    fn other_class(&self) -> String {
        let other = if self.is_synced { "sync=nosync" } else { "sync=group or sync=each" };
        format!(
            "{} is written by another process with {other}; write with the same",
            self.folder.display()
        )
    }

    fn open(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        options.open(self.folder.join(name))
    }
}

/// Whether no process has a lock on a file.
fn is_free(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => file.unlock().map(|()| true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn write_mark(mut mark: &File, text: &str) -> io::Result<()> {
    mark.rewind()?;
    mark.write_all(text.as_bytes())?;
    mark.set_len(text.len() as u64)?;
    mark.sync_all()
}

/// The number of this boot; without one, a loss of power goes unseen.
fn boot() -> String {
    fs::read_to_string(BOOT_ID).map_or_else(|_| "unknown".into(), |id| id.trim().into())
}

/// Puts the last checkpoint in place of a file to which unsynced writes were made before this boot; without a checkpoint,
/// the folder begins empty. Runs before the folder is opened, under its lock to write.
pub(super) fn recover(folder: &Path) -> io::Result<()> {
    let path = |name: &str| folder.join(name);
    let text = match fs::read_to_string(path(MARK_FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        text => text?,
    };
    if text.is_empty() || text == boot() {
        return Ok(());
    }
    match fs::copy(path(CHECKPOINT_FILE), path(RESTORED_FILE)) {
        Ok(_) => {
            File::open(path(RESTORED_FILE))?.sync_all()?;
            fs::rename(path(RESTORED_FILE), path(DATA_FILE))?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => remove(&path(DATA_FILE))?,
        Err(error) => return Err(error),
    }
    remove(&path(LOCK_FILE))?;
    File::open(folder)?.sync_all()?;
    write_mark(&OpenOptions::new().write(true).open(path(MARK_FILE))?, "")
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use larder_host::scratch::ScratchDir;

    use super::*;

    #[test]
    fn all_who_write_do_so_in_one_class() {
        let folder = ScratchDir::create("lmdb").unwrap();
        let class = |is_synced| Class::new(folder.path(), is_synced);
        let secured = || Ok(());
        let [mut one, mut two, mut synced] = [class(false), class(false), class(true)];
        one.take_part(secured).unwrap();
        two.take_part(secured).unwrap();
        let refused = synced.take_part(secured).unwrap_err().to_string();
        assert!(refused.contains("with sync=nosync; write with the same"), "{refused}");
        one.leave(secured).unwrap();
        assert!(synced.take_part(secured).is_err());
        two.leave(secured).unwrap();
        synced.take_part(secured).unwrap();
        let refused = one.take_part(secured).unwrap_err().to_string();
        assert!(refused.contains("with sync=group or sync=each"), "{refused}");
        synced.leave(secured).unwrap();
        one.take_part(secured).unwrap();
    }

    /// A process that takes part secures what others have left, once.
    #[test]
    fn what_was_written_in_another_class_is_secured_before() {
        let folder = ScratchDir::create("lmdb").unwrap();
        let mark = || fs::read_to_string(folder.path().join(MARK_FILE)).unwrap();
        let takes_part = |class: &mut Class| {
            let mut is_secured = false;
            class
                .take_part(|| {
                    is_secured = true;
                    Ok(())
                })
                .unwrap();
            is_secured
        };
        let class = |is_synced| Class::new(folder.path(), is_synced);
        let mut killed = class(false);
        assert!(takes_part(&mut killed) && mark() == boot());
        // A kill leaves no lock, and the mark as it was.
        drop(killed);
        let mut again = class(false);
        assert!(!takes_part(&mut again));
        drop(again);
        let mut synced = class(true);
        assert!(takes_part(&mut synced) && mark().is_empty());
        synced.leave(|| panic!("all is synced")).unwrap();
        let mut unsynced = class(false);
        assert!(takes_part(&mut unsynced));
        let mut is_synced = false;
        let mut sync = || {
            is_synced = true;
            Ok(())
        };
        unsynced.leave(&mut sync).unwrap();
        assert!(is_synced && mark().is_empty());
    }
}
