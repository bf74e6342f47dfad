//! Checkpoints of a file that is written without syncs: whole copies, which a loss of power does not damage.
//!
//! LMDB's own sync would not do. Between two syncs it uses pages again that the synced state needs. A checkpoint appears by
//! rename.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use larder_store::tell_of_trouble;

use super::copying;
use super::map::Map;
use super::message::in_words;
use crate::upkeep::Ending;

/// The last checkpoint.
pub(super) const CHECKPOINT_FILE: &str = "checkpoint.mdb";

/// The next one, while it is made. The process that makes it has it locked.
const NEXT_FILE: &str = "checkpoint.next";

/// The transactions by which a checkpoint counts on, more than are lost with it: so no version of an entry repeats one that was
/// lost.
const SKIPPED: u64 = 1 << 30;

/// The pause before a checkpoint that was in the way of a larger map is begun anew.
const SOON: Duration = Duration::from_secs(1);

/// Makes checkpoints until the store ends.
pub(super) fn work(map: &Map, folder: &Path, every: Duration, ending: &Ending) {
    let mut last_state = None;
    let mut is_reported = false;
    let mut pause = every;
    while !ending.within(pause) {
        pause = every;
        let began = Instant::now();
        // Another process may have made one.
        let is_due = age(&folder.join(CHECKPOINT_FILE)).is_none_or(|age| age >= every / 2);
        let state = map.last_transaction().ok();
        if is_due && (state.is_none() || last_state != state) {
            let made = make(map, folder, &|| ending.within(Duration::ZERO));
            // After a failure, such as a full disk, the next one is made in time.
            last_state = state.filter(|_| matches!(made, Ok(true)));
            match made {
                // A failure that lasts is reported once, however often an attempt between two failures was given up.
                Err(error) if is_given_up(&error) => pause = every.min(SOON),
                Err(error) if !is_reported => {
                    tell_of_failure(map, folder, error);
                    is_reported = true;
                }
                Err(_) | Ok(false) => {}
                Ok(true) => is_reported = false,
            }
        }
        pause = pause.saturating_sub(began.elapsed());
    }
}

/// Tells the operator that a checkpoint could not be made.
pub(super) fn tell_of_failure(map: &Map, folder: &Path, error: heed::Error) {
    let error = in_words(folder, Some(map), error);
    tell_of_trouble(&format!("{error}; no checkpoint was made, the last one stays"));
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

/// Makes a checkpoint; `false` where another process is making one. `is_over` says whether to give up.
pub(super) fn make(map: &Map, folder: &Path, is_over: &dyn Fn() -> bool) -> heed::Result<bool> {
    let next = folder.join(NEXT_FILE);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(&next)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    file.set_len(0)?;
    let copied = copying::copy(map, &file, SKIPPED, is_over).and_then(|()| {
        fs::rename(&next, folder.join(CHECKPOINT_FILE))?;
        Ok(File::open(folder)?.sync_all()?)
    });
    if copied.is_err() {
        // What was written is of no use. If it cannot be removed, the next checkpoint overwrites it.
        let _ = fs::remove_file(&next);
    }
    copied.map(|()| true)
}
