//! The file of an open region, and its close by the last process.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use crate::file::{self, Lock};
use crate::superblock::{BOOT, CLOSED, LEFT_AT};
use crate::{epoch, fork};

/// The file of a region. It is closed after the region is unmapped, because the mapping also holds the lock.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) file: File,
    /// `None` until this process has joined the region's users.
    pub(crate) joined: Option<Joined>,
}

/// This process as one of a region's users.
#[derive(Debug)]
pub(crate) struct Joined {
    /// The number of forks of this process at that time.
    pub(crate) forks: u64,
    /// The node with this process's number.
    pub(crate) node: &'static fork::Node,
    /// The time since the machine was started, minus the region's time.
    pub(crate) epoch: u64,
}

impl Drop for Open {
    /// A process releases its lock before it looks whether it is alone. So of several processes that close together,
    /// the last one is alone.
    fn drop(&mut self) {
        let Some(joined) = &self.joined else { return };
        fork::forget(&self.file);
        if fork::forks() == joined.forks {
            let _ = file::lock(&self.file, Lock::None);
        } else {
            // A child that could not open the file again shares this lock, and must not lose it. But the system may
            // report an earlier failure to write only to this descriptor, so it is synced first.
            let again = self.file.sync_data().and_then(|()| file::again(self.file.as_raw_fd()));
            let Ok(again) = again else { return };
            self.file = File::from(again);
        }
        // If this fails, the region counts as open, as it may be on the disk.
        let _ = note_closed(&self.file, joined.epoch);
        // A child may have been forked just now with a copy of the lock, and other processes must not wait
        // for the child's end.
        let _ = file::lock(&self.file, Lock::None);
    }
}

/// The last process writes to the disk in this order: the entries, then the note that the file is closed.
fn note_closed(file: &File, epoch: u64) -> io::Result<()> {
    // The slow work is done while other processes may still join.
    if file::is_held(file) == Some(true) {
        return Ok(());
    }
    file.sync_data()?;
    if file::lock(file, Lock::Exclusive)? {
        let [at, wall] = epoch::left(epoch).map(u64::to_ne_bytes);
        file.write_all_at(&[at, wall].concat(), LEFT_AT as u64)?;
        file.sync_data()?;
        file.write_all_at(&CLOSED.to_ne_bytes(), BOOT as u64)?;
    }
    Ok(())
}
