//! Checkpoints of a file that is written without syncs: whole copies, which a loss of power does not damage.
//!
//! LMDB's own sync would not do. Between two syncs it uses pages again that the synced state needs. A copy reads one state of
//! the file while others write, leaves out unused pages, and reaches the disk in steps, so that no other sync has to wait for
//! all of it. It appears by rename.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use larder_store::tell_of_trouble;

use super::map::Map;
use super::message::in_words;
use crate::upkeep::Ending;

/// The last checkpoint.
pub(super) const CHECKPOINT_FILE: &str = "checkpoint.mdb";

/// The next one, while it is made. The process that makes it has it locked.
const NEXT_FILE: &str = "checkpoint.next";

/// Bytes that are on their way to the disk at once.
const STEP: usize = 1 << 20;

/// Makes checkpoints until the store ends.
pub(super) fn work(map: &Map, folder: &Path, every: Duration, ending: &Ending) {
    let mut last_state = None;
    let mut is_told = false;
    let mut pause = every;
    while !ending.within(pause) {
        let began = Instant::now();
        // Another process may have made one.
        let is_due = age(&folder.join(CHECKPOINT_FILE)).is_none_or(|age| age >= every / 2);
        let state = map.last_transaction().ok();
        if is_due && (state.is_none() || last_state != state) {
            let made = make(map, folder, &|| ending.within(Duration::ZERO));
            // After a failure, such as a full disk, the next one is made in time.
            last_state = state.filter(|_| made.is_ok());
            let failed = made.err().filter(|error| !is_given_up(error));
            let was_told = std::mem::replace(&mut is_told, failed.is_some());
            if let Some(error) = failed.filter(|_| !was_told) {
                let error = in_words(folder, Some(map), error);
                tell_of_trouble(&format!("{error}; no checkpoint was made, the last one stays"));
            }
        }
        pause = every.saturating_sub(began.elapsed());
    }
}

/// Whether a checkpoint ended early because it was in the way.
fn is_given_up(error: &heed::Error) -> bool {
    matches!(error, heed::Error::Io(error) if error.kind() == io::ErrorKind::Interrupted)
}

/// The time since a file was made.
fn age(path: &Path) -> Option<Duration> {
    let made = path.metadata().and_then(|metadata| metadata.modified()).ok()?;
    SystemTime::now().duration_since(made).ok()
}

/// Makes a checkpoint, unless another process is making one. `is_over` says whether to give up.
pub(super) fn make(map: &Map, folder: &Path, is_over: &dyn Fn() -> bool) -> heed::Result<()> {
    let next = folder.join(NEXT_FILE);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(&next)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(()),
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    file.set_len(0)?;
    let copied = copy(map, &file, is_over).and_then(|()| {
        fs::rename(&next, folder.join(CHECKPOINT_FILE))?;
        Ok(File::open(folder)?.sync_all()?)
    });
    if copied.is_err() {
        // What was written is of no use. If it cannot be removed, the next checkpoint overwrites it.
        let _ = fs::remove_file(&next);
    }
    copied
}

/// Copies one state of the environment to a file, and waits until it is on the disk.
fn copy(map: &Map, file: &File, is_over: &dyn Fn() -> bool) -> heed::Result<()> {
    let (reader, writer) = io::pipe()?;
    let mut writer = File::from(OwnedFd::from(writer));
    std::thread::scope(|scope| {
        let read = scope.spawn(move || map.copy_to(&mut writer));
        // When this side gives up, its end of the pipe closes, and LMDB stops.
        let written = write_out(reader, file, &|| is_over() || map.is_awaited());
        let read = read.join().map_err(|_| io::Error::other("copying the file panicked"))?;
        written.map_err(heed::Error::from).and(read)
    })?;
    Ok(file.sync_all()?)
}

fn write_out(
    mut reader: PipeReader,
    mut file: &File,
    is_over: &dyn Fn() -> bool,
) -> io::Result<()> {
    let mut step = Vec::with_capacity(STEP);
    loop {
        step.clear();
        reader.by_ref().take(STEP as u64).read_to_end(&mut step)?;
        if step.is_empty() {
            return Ok(());
        }
        if is_over() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        file.write_all(&step)?;
        send_to_disk(file);
    }
}

/// Waits until what was written to a file has gone to the disk. The sync at the end judges whether it has arrived.
fn send_to_disk(file: &File) {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the descriptor is open, and no memory is passed. A length of 0 means to the end.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) };
}
