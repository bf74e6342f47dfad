//! One thread's handle: reads take no lock, and changes of a key take turns.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use larder_store::{
    Counted, DeleteOutcome, Delta, Error, Facts, Initial, Meta, Remaining, Result, Session,
    SetMode, SetOptions, SetOutcome,
};

use super::SCHEME;
use super::entry;
use super::format::{ReadEntry, Trailer};
use super::lock::Locks;
use super::name::Name;
use super::store::{MAX_KEY_LEN, Shared};
use super::walk::walk;
use super::writer::{EntryWriter, NewMetadata, live, new_version, remove};
use crate::decimal;
use larder_store::counters::SessionCounters;

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

impl FileSession {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            counters: shared.counters.session(),
            value: Vec::new(),
            locks: Locks::default(),
            writer: EntryWriter::new(),
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

    /// `get_onto`, for an entry whose name is given.
    pub(super) fn get_onto_at(
        &mut self,
        name: &Name,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        let before = out.len();
        let found = entry::read_onto(&self.shared.folder, name, key, out)?;
        let hit = self.hit(name, key, found);
        if hit.is_none() {
            out.truncate(before);
        }
        Ok(self.counters.looked_up(hit).map(|(_, meta)| meta))
    }

    /// The trailer and the metadata of a hit. An entry that has expired is none, and is removed.
    fn hit(&mut self, name: &Name, key: &[u8], found: ReadEntry) -> Option<(Trailer, Meta)> {
        let ReadEntry::Entry(trailer) = found else { return None };
        let meta = self.meta(&trailer);
        if meta.is_none() {
            self.expire(name, key);
        }
        meta.map(|meta| (trailer, meta))
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
        Some(Meta { flags: trailer.flags, version: Some(trailer.version), ttl, stale: false })
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
        let version = writer.store(shared, locks, name, key, value, change)?;
        self.counters.sets.add_one();
        Ok(SetOutcome::Stored(Some(version)))
    }

    /// Writes the entry again with another deadline, because files never change. `value` becomes its value.
    fn touch_entry(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        let name = self.name(key)?;
        let Self { shared, locks, writer, .. } = self;
        let _turn = locks.wait(&shared.folder, &name)?;
        let found = entry::read(&shared.folder, &name, key, value)?;
        let Some(Trailer { version, flags, .. }) = live(shared, found) else { return Ok(None) };
        let deadline_ms = ttl.map_or(0, |ttl| shared.clock.deadline_ms(ttl));
        let change = NewMetadata { version: Some(version), flags, deadline_ms };
        writer.store(shared, locks, &name, key, value, change)?;
        let ttl = ttl.map_or(Remaining::Forever, Remaining::For);
        Ok(Some(Meta { flags, version: Some(version), ttl, stale: false }))
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

impl Session for FileSession {
    fn engine(&self) -> &'static str {
        SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        self.get_onto(key, value)
    }

    fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        let name = self.name(key)?;
        self.get_onto_at(&name, key, out)
    }

    /// Reads the end of the file alone. The version is the time at which the entry was stored, so it tells the age.
    fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        let name = self.name(key)?;
        let found = entry::look(&self.shared.folder, &name, key, &mut self.writer.tail)?;
        let hit = self.hit(&name, key, found);
        Ok(self.counters.looked_up(hit).map(|(trailer, meta)| {
            let value_len = usize::try_from(trailer.value_len).unwrap_or(usize::MAX);
            let age = Duration::from_nanos(new_version().saturating_sub(trailer.version));
            Facts { age: Some(age), ..Facts::of(meta, value_len) }
        }))
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        value.clear();
        let touched = self.touch_entry(key, ttl, value);
        if !matches!(touched, Ok(Some(_))) {
            value.clear();
        }
        Ok(self.counters.looked_up(touched?))
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

    fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        let name = self.name(key)?;
        let Self { shared, locks, writer, .. } = self;
        let _turn = locks.wait(&shared.folder, &name)?;
        let found = entry::look(&shared.folder, &name, key, &mut writer.tail)?;
        match live(shared, found) {
            None => Ok(DeleteOutcome::NotFound),
            Some(old) if old.version != version => Ok(DeleteOutcome::Exists),
            // Only another program removes a file without the turn.
            Some(_) if !remove(shared, &name)? => Ok(DeleteOutcome::NotFound),
            Some(_) => {
                self.counters.deletes.add_one();
                Ok(DeleteOutcome::Deleted)
            }
        }
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        let mut value = std::mem::take(&mut self.value);
        let touched = self.touch_entry(key, ttl, &mut value);
        self.value = value;
        Ok(touched?.is_some())
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        let name = self.name(key)?;
        let Self { shared, locks, writer, value, .. } = self;
        let _turn = locks.wait(&shared.folder, &name)?;
        let found = entry::read(&shared.folder, &name, key, value)?;
        let (number, flags, deadline_ms) = match (live(shared, found), absent) {
            (Some(old), _) => {
                let sum = decimal::add(value, delta);
                (sum.ok_or(Error::NotANumber { engine: SCHEME })?, old.flags, old.deadline_ms)
            }
            (None, Some(Initial { number, ttl })) => {
                (number, 0, ttl.map_or(0, |ttl| shared.clock.deadline_ms(ttl)))
            }
            (None, None) => return Ok(None),
        };
        let change = NewMetadata { version: None, flags, deadline_ms };
        let digits = decimal::Digits::new(number);
        let version = writer.store(shared, locks, &name, key, digits.as_bytes(), change)?;
        Ok(Some(Counted { number, version: Some(version) }))
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
