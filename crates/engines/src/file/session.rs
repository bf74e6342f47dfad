//! One thread's handle: reads take no lock, and changes of a key take turns.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use larder_store::{Error, Meta, Remaining, Result, Session, SetMode, SetOptions, SetOutcome};

use super::SCHEME;
use super::entry;
use super::folder::Temporary;
use super::format::{ReadEntry, Trailer};
use super::lock::Locks;
use super::name::Name;
use super::store::{MAX_KEY_LEN, Shared};
use super::sys;
use super::walk::walk;
use crate::counters::SessionCounters;
use crate::decimal;

/// One thread's handle. Its buffers grow to the largest key and value so far and are then used again.
#[derive(Debug)]
pub(super) struct FileSession {
    counters: Arc<SessionCounters>,
    /// A value that is read to be changed, or for a batch.
    value: Vec<u8>,
    locks: Locks,
    writer: EntryWriter,
    shared: Arc<Shared>,
}

/// The tools of a session to change entries.
#[derive(Debug)]
struct EntryWriter {
    temporary: Temporary,
    /// Key and trailer, as read or to be written.
    tail: Vec<u8>,
}

impl FileSession {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            counters: shared.counters.session(),
            value: Vec::new(),
            locks: Locks::default(),
            writer: EntryWriter { temporary: Temporary::new(), tail: Vec::new() },
            shared,
        }
    }

    fn name(&self, key: &[u8]) -> Result<Name> {
        let (len, limit) = (key.len(), MAX_KEY_LEN);
        if len > limit {
            return Err(Error::KeyTooLong { engine: SCHEME, len, limit });
        }
        Ok(Name::of(key, self.shared.folder.depth()))
    }

    /// `get`, for an entry whose name is given.
    pub(super) fn get_at(
        &mut self,
        name: &Name,
        key: &[u8],
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        let found = entry::read(&self.shared.folder, name, key, value)?;
        let meta = match found {
            ReadEntry::Entry(trailer) => self.meta(&trailer),
            ReadEntry::Nothing | ReadEntry::Broken => None,
        };
        if let (ReadEntry::Entry(_), None) = (found, meta) {
            value.clear();
            self.expire(name, key);
        }
        Ok(self.counters.looked_up(meta))
    }

    /// The metadata of a hit; `None` when the entry has expired.
    fn meta(&self, trailer: &Trailer) -> Option<Meta> {
        let ttl = match trailer.deadline_ms {
            0 => Remaining::Forever,
            deadline => match deadline.saturating_sub(self.shared.clock.now_ms()) {
                0 => return None,
                left => Remaining::For(Duration::from_millis(left)),
            },
        };
        Some(Meta { flags: trailer.flags, version: Some(trailer.version), ttl })
    }

    /// Removes an expired entry, unless another session is about to change the entry. A reader that may not write
    /// leaves the entry in place.
    #[cold]
    fn expire(&mut self, name: &Name, key: &[u8]) {
        let Self { shared, locks, writer, .. } = self;
        let Ok(Some(_turn)) = locks.try_now(&shared.folder, name) else { return };
        let found = entry::look(&shared.folder, name, key, &mut writer.tail);
        if let Ok(ReadEntry::Entry(trailer)) = found
            && trailer.is_expired(|| shared.clock.now_ms())
            && let Ok(true) = remove(shared, name)
        {
            shared.expirations.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// `set`, for an entry whose name is given.
    pub(super) fn set_at(
        &mut self,
        name: &Name,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
    ) -> Result<SetOutcome> {
        let Self { shared, locks, writer, value: joined, .. } = self;
        let _turn = locks.wait(&shared.folder, name)?;
        let tail = &mut writer.tail;
        let old = match options.mode {
            SetMode::Set => None,
            SetMode::Append | SetMode::Prepend => {
                live(shared, entry::read(&shared.folder, name, key, joined)?)
            }
            _ => live(shared, entry::look(&shared.folder, name, key, tail)?),
        };
        let mut deadline_ms = options.ttl.map_or(0, |ttl| shared.clock.deadline_ms(ttl));
        let (mut value, mut flags) = (value, options.flags);
        if let Some(refused) = options.mode.refusal(old.as_ref().map(|old| old.version)) {
            return Ok(refused);
        }
        if let (SetMode::Append | SetMode::Prepend, Some(old)) = (options.mode, old) {
            let at = if options.mode == SetMode::Append { joined.len() } else { 0 };
            joined.splice(at..at, value.iter().copied());
            (value, flags, deadline_ms) = (joined, old.flags, old.deadline_ms);
        }
        if options.mode != SetMode::Set {
            // A value that is too large leaves the old entry in place.
            shared.check_len(value.len())?;
        }
        let change = NewMetadata { version: None, flags, deadline_ms };
        writer.store(shared, locks, name, key, value, change)?;
        self.counters.sets.add_one();
        Ok(SetOutcome::Stored)
    }

    /// `delete`, for an entry whose name is given.
    pub(super) fn delete_at(&mut self, name: &Name, key: &[u8]) -> Result<bool> {
        let Self { shared, locks, writer, .. } = self;
        let _turn = locks.wait(&shared.folder, name)?;
        let found = entry::look(&shared.folder, name, key, &mut writer.tail)?;
        let there = live(shared, found).is_some();
        if found != ReadEntry::Nothing && remove(shared, name)? {
            match (there, found) {
                (true, _) => self.counters.deletes.add_one(),
                (false, ReadEntry::Entry(_)) => {
                    shared.expirations.fetch_add(1, Ordering::Relaxed);
                }
                _ => {}
            }
        }
        Ok(there)
    }
}

/// The metadata with which an entry is stored.
#[derive(Debug, Clone, Copy)]
struct NewMetadata {
    /// `None` gives the entry a new version.
    version: Option<u64>,
    flags: u32,
    deadline_ms: u64,
}

impl EntryWriter {
    /// Stores an entry. An entry that has already expired or is too large only removes the old one. The caller has the
    /// turn.
    fn store(
        &mut self,
        shared: &Shared,
        locks: &Locks,
        name: &Name,
        key: &[u8],
        value: &[u8],
        change: NewMetadata,
    ) -> Result<()> {
        let refused = shared.check_len(value.len());
        let trailer = Trailer {
            version: change.version.unwrap_or_else(new_version),
            deadline_ms: change.deadline_ms,
            value_len: value.len() as u64,
            flags: change.flags,
        };
        if refused.is_err() || trailer.is_expired(|| shared.clock.now_ms()) {
            if entry::look(&shared.folder, name, key, &mut self.tail)? != ReadEntry::Nothing {
                remove(shared, name)?;
            }
            return refused;
        }
        trailer.write(key, &mut self.tail);
        let Self { temporary, tail } = self;
        let Some(budget) = &shared.budget else {
            return shared.folder.put(name, temporary, value, tail);
        };
        let len = (value.len() + tail.len()) as u64;
        let old = stat(shared, name)?;
        budget.reserve(&shared.folder, locks, name, len, old)?;
        let stored = shared.folder.put(name, temporary, value, tail);
        match stored {
            Ok(()) => budget.stored(len, old),
            Err(_) => budget.give_back(len, old),
        }
        stored
    }
}

/// The entry, when there is one and it has not expired.
fn live(shared: &Shared, found: ReadEntry) -> Option<Trailer> {
    match found {
        ReadEntry::Entry(trailer) => {
            (!trailer.is_expired(|| shared.clock.now_ms())).then_some(trailer)
        }
        _ => None,
    }
}

/// Removes the file under `name`; `false` when there is no such file. The caller has the turn.
fn remove(shared: &Shared, name: &Name) -> Result<bool> {
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
fn new_version() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
    u64::try_from(now).unwrap_or(u64::MAX)
}

impl Session for FileSession {
    fn engine(&self) -> &'static str {
        SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        let name = self.name(key)?;
        self.get_at(&name, key, value)
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        let mut value = std::mem::take(&mut self.value);
        let answered = keys.iter().enumerate().try_for_each(|(i, key)| {
            if let Some(meta) = self.get(key, &mut value)? {
                hit(i, &value, meta);
            }
            Ok(())
        });
        self.value = value;
        answered
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        let name = self.name(key)?;
        self.set_at(&name, key, value, options)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let name = self.name(key)?;
        self.delete_at(&name, key)
    }

    /// Writes the entry again, because files never change.
    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        let name = self.name(key)?;
        let Self { shared, locks, writer, value, .. } = self;
        let _turn = locks.wait(&shared.folder, &name)?;
        let found = entry::read(&shared.folder, &name, key, value)?;
        let Some(old) = live(shared, found) else { return Ok(false) };
        let deadline_ms = ttl.map_or(0, |ttl| shared.clock.deadline_ms(ttl));
        let change = NewMetadata { version: Some(old.version), flags: old.flags, deadline_ms };
        writer.store(shared, locks, &name, key, value, change)?;
        Ok(true)
    }

    fn incr(&mut self, key: &[u8], delta: i64) -> Result<Option<u64>> {
        let name = self.name(key)?;
        let Self { shared, locks, writer, value, .. } = self;
        let _turn = locks.wait(&shared.folder, &name)?;
        let found = entry::read(&shared.folder, &name, key, value)?;
        let Some(old) = live(shared, found) else { return Ok(None) };
        let sum = decimal::add(value, delta).ok_or(Error::NotANumber { engine: SCHEME })?;
        let change = NewMetadata { version: None, flags: old.flags, deadline_ms: old.deadline_ms };
        writer.store(shared, locks, &name, key, decimal::Digits::new(sum).as_bytes(), change)?;
        Ok(Some(sum))
    }

    /// Removes every entry, one by one; entries that other sessions store meanwhile may stay.
    fn clear(&mut self) -> Result<()> {
        let Self { shared, locks, .. } = self;
        let mut removed = Ok(());
        let walked = walk(&shared.folder, 0, &mut |name| {
            let turn = locks.wait(&shared.folder, &name);
            removed = turn.and_then(|_turn| remove(shared, &name).map(drop));
            if removed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        walked.map_err(|error| shared.folder.error("reading", c".", error))?;
        removed
    }
}
