//! Writing an entry and removing one, within the size limit. The caller has the turn on the key.

use std::time::{SystemTime, UNIX_EPOCH};

use larder_store::Result;

use super::entry;
use super::folder::Temporary;
use super::format::{ReadEntry, Trailer};
use super::lock::Locks;
use super::name::Name;
use super::store::Shared;
use super::sys;

/// The tools of a session to change entries.
#[derive(Debug)]
pub(super) struct EntryWriter {
    temporary: Temporary,
    /// Key and trailer, as read or to be written.
    pub(super) tail: Vec<u8>,
}

/// The metadata with which an entry is stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewMetadata {
    /// `None` gives the entry a new version.
    pub(super) version: Option<u64>,
    pub(super) flags: u32,
    pub(super) deadline_ms: u64,
}

impl EntryWriter {
    pub(super) fn new() -> Self {
        Self { temporary: Temporary::new(), tail: Vec::new() }
    }

    /// Stores an entry, and returns its version. An entry that has already expired or is too large only removes the old
    /// one. The caller has the turn.
    pub(super) fn store(
        &mut self,
        shared: &Shared,
        locks: &Locks,
        name: &Name,
        key: &[u8],
        value: &[u8],
        change: NewMetadata,
    ) -> Result<u64> {
        let refused = shared.check_len(value.len());
        let version = change.version.unwrap_or_else(new_version);
        let trailer = Trailer {
            version,
            deadline_ms: change.deadline_ms,
            value_len: value.len() as u64,
            flags: change.flags,
        };
        if refused.is_err() || trailer.is_expired(|| shared.clock.now_ms()) {
            if entry::look(&shared.folder, name, key, &mut self.tail)? != ReadEntry::Nothing {
                remove(shared, name)?;
            }
            return refused.map(|()| version);
        }
        trailer.write(key, &mut self.tail);
        let Self { temporary, tail } = self;
        let Some(budget) = &shared.budget else {
            return shared.folder.put(name, temporary, value, tail).map(|()| version);
        };
        let len = (value.len() + tail.len()) as u64;
        let old = stat(shared, name)?;
        budget.reserve(&shared.folder, locks, name, len, old)?;
        let stored = shared.folder.put(name, temporary, value, tail);
        match stored {
            Ok(()) => budget.stored(len, old),
            Err(_) => budget.give_back(len, old),
        }
        stored.map(|()| version)
    }
}

/// The entry, when there is one and it has not expired.
pub(super) fn live(shared: &Shared, found: ReadEntry) -> Option<Trailer> {
    match found {
        ReadEntry::Entry(trailer) => {
            (!trailer.is_expired(|| shared.clock.now_ms())).then_some(trailer)
        }
        _ => None,
    }
}

/// Removes the file under `name`; `false` when there is no such file. The caller has the turn.
pub(super) fn remove(shared: &Shared, name: &Name) -> Result<bool> {
    let Some(budget) = &shared.budget else { return shared.folder.remove(name) };
    let old = stat(shared, name)?;
    let removed = shared.folder.remove(name)?;
    if let Some(old) = old.filter(|_| removed) {
        budget.removed(old);
    }
    Ok(removed)
}

fn stat(shared: &Shared, name: &Name) -> Result<Option<sys::FileStat>> {
    sys::stat(shared.folder.as_fd(), name.path().as_c_str())
        .map_err(|error| shared.folder.error("looking at", name.path().as_c_str(), error))
}

/// A version that no entry of this key had before: changes of one key take turns, and each takes longer than the
/// clock's nanosecond. The version stays unique after a delete too, which a counter in the entry could not ensure.
pub(super) fn new_version() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
    u64::try_from(now).unwrap_or(u64::MAX)
}
