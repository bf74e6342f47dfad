//! Turns: a session that changes an entry holds the lock of its key, across threads and processes.
//!
//! All locks are on one file, one byte a key, at an offset made from the key's hash. A lock belongs to the open file,
//! so each session opens the file for itself. A lock ends with its process, however the process ends. Two keys of one
//! offset wait for each other, which is harmless: a session waits for one turn at a time.

use std::cell::OnceCell;
use std::os::fd::{AsFd, OwnedFd};

use larder_store::Result;

use super::folder::Folder;
use super::name::Name;
use super::sys;

/// The lock file of one session. The first change of the session opens it, so that readers need no permission to write.
#[derive(Debug, Default)]
pub(super) struct Locks {
    file: OnceCell<OwnedFd>,
}

/// The turn of a session on one key. The turn ends on drop.
#[derive(Debug)]
pub(super) struct KeyTurn<'a> {
    file: &'a OwnedFd,
    offset: i64,
}

impl Locks {
    /// Waits for the turn on this key.
    pub(super) fn wait(&self, folder: &Folder, name: &Name) -> Result<KeyTurn<'_>> {
        let turn = KeyTurn { file: self.open(folder)?, offset: name.lock_offset() };
        match sys::lock_byte(turn.file.as_fd(), turn.offset, true) {
            Ok(_) => Ok(turn),
            Err(error) => Err(folder.error("locking", c"lock", error)),
        }
    }

    /// The turn on this key, unless another session has it now.
    pub(super) fn try_now(&self, folder: &Folder, name: &Name) -> Result<Option<KeyTurn<'_>>> {
        let (file, offset) = (self.open(folder)?, name.lock_offset());
        match sys::lock_byte(file.as_fd(), offset, false) {
            Ok(locked) => Ok(locked.then_some(KeyTurn { file, offset })),
            Err(error) => Err(folder.error("locking", c"lock", error)),
        }
    }

    fn open(&self, folder: &Folder) -> Result<&OwnedFd> {
        if self.file.get().is_none() {
            let file = sys::open_or_create(folder.as_fd(), c"lock")
                .map_err(|error| folder.error("opening", c"lock", error))?;
            // No other thread can have set the file: a session belongs to one thread.
            let _ = self.file.set(file);
        }
        Ok(self.file.get().expect("set above"))
    }
}

impl Drop for KeyTurn<'_> {
    fn drop(&mut self) {
        // A failure here keeps no lock: the lock ends with the descriptor at the latest.
        let _ = sys::unlock_byte(self.file.as_fd(), self.offset);
    }
}
