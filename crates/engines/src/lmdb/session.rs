//! One thread's handle: a reader slot that LMDB ties to the thread, and buffers for writing.

use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use heed::MdbError;
use larder_store::{
    Error, Groups, Meta, Remaining, Result, Session, SetMode, SetOptions, SetOutcome,
};

use super::SCHEME;
use super::config::MAX_KEY_LEN;
use super::record::{Record, Terms, entry_bytes};
use super::store::Shared;
use super::writer::{Buffers, OldEntry, Tag, WriteTransaction};
use crate::counters::SessionCounters;
use crate::decimal::{self, Digits};
use crate::transaction::{SetInside, SumInside};

/// The number of attempts of a write that finds no free pages, a millisecond apart. Usually a descheduled reader
/// still holds old pages, and other writers take the pages that it frees.
const TRIES_WHEN_FULL: u32 = 1000;

/// After this number of attempts there is another cause: a process that died during a read, or entries that fill the
/// map. Then the write frees reader slots and makes room.
const TRIES_BEFORE_MAKING_ROOM: u32 = 100;

/// One thread's handle on an LMDB store.
pub(super) struct LmdbSession {
    pub(super) shared: Arc<Shared>,
    pub(super) counters: Arc<SessionCounters>,
    buffers: Buffers,
}

impl LmdbSession {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let counters = shared.counters.session();
        Self { shared, counters, buffers: Buffers::default() }
    }

    /// Does `work` in one write transaction and commits it, making room first where the map is full.
    pub(super) fn write<T>(
        &mut self,
        bytes: u64,
        mut work: impl FnMut(&mut WriteTransaction<'_>) -> heed::Result<T>,
    ) -> Result<T> {
        let environment = Arc::clone(&self.shared.environment);
        let room = bytes.max(self.shared.limits.bytes / 32);
        for n in 1..=TRIES_WHEN_FULL {
            match self.transaction(&mut work) {
                Err(heed::Error::Mdb(MdbError::MapFull)) => sleep(Duration::from_millis(1)),
                done => return done.map_err(|error| environment.error(error)),
            }
            if n.is_multiple_of(TRIES_BEFORE_MAKING_ROOM) {
                let cleared = environment.env().clear_stale_readers();
                match cleared.and_then(|_| self.transaction(&mut |writer| writer.free(room))) {
                    // The map has no room even for removing entries, so only waiting is left.
                    Err(heed::Error::Mdb(MdbError::MapFull)) => {}
                    freed => freed.map_err(|error| environment.error(error))?,
                }
            }
        }
        self.transaction(&mut work).map_err(|error| environment.error(error))
    }

    fn transaction<T>(
        &mut self,
        work: &mut dyn FnMut(&mut WriteTransaction<'_>) -> heed::Result<T>,
    ) -> heed::Result<T> {
        let Self { shared, buffers, .. } = self;
        let Shared { environment, databases, usage_key, limits, clock, dropped, .. } = &**shared;
        environment.write(|| {
            let txn = environment.env().write_txn()?;
            // Read under the lock: an entry may have expired during the wait for the lock.
            let now_ms = clock.now_ms();
            let mut writer =
                WriteTransaction::new(txn, *databases, usage_key, *limits, now_ms, buffers)?;
            writer.expire()?;
            let done = work(&mut writer)?;
            let (evictions, expirations) = (writer.evictions, writer.expirations);
            writer.commit()?;
            dropped.count(evictions, expirations);
            Ok(done)
        })
    }

    /// When an entry with this TTL expires; 0 is never.
    fn deadline_ms(&self, ttl: Option<Duration>) -> u64 {
        match ttl {
            None => 0,
            // Long past, even if the clock is set back.
            Some(Duration::ZERO) => 1,
            Some(ttl) => self.shared.clock.deadline_ms(ttl),
        }
    }
}

impl LmdbSession {
    /// A set in any mode; the entry then has this tag, or no tag where it is empty.
    pub(super) fn store(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tag: &[u8],
    ) -> Result<SetOutcome> {
        check_key(key)?;
        let terms = (self.deadline_ms(options.ttl), options.flags);
        let limit = self.shared.limits.value_len;
        let done = self.write(entry_bytes(key.len(), tag.len() + value.len()), |writer| {
            let old = writer.find(key)?;
            let there = old.filter(|found| writer.is_live(*found));
            if let Some(refused) = options.mode.refusal(there.map(|found| found.header.version)) {
                return Ok(SetInside::Done(refused));
            }
            set(writer, key, value, (options.mode, terms, tag), (old, there), limit)
        })?;
        match done {
            SetInside::Done(outcome) => {
                if outcome == SetOutcome::Stored {
                    self.counters.sets.add_one();
                }
                Ok(outcome)
            }
            SetInside::TooLarge(len) => Err(Error::ValueTooLarge { engine: SCHEME, len, limit }),
        }
    }
}

impl Session for LmdbSession {
    fn engine(&self) -> &'static str {
        SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        check_key(key)?;
        let Shared { environment, databases, clock, .. } = &*self.shared;
        let txn = environment.read()?;
        let stored = databases.entries.get(&txn, key).map_err(|error| environment.error(error))?;
        let found = match stored {
            Some(stored) => live(stored, || clock.now_ms()),
            None => Ok(None),
        };
        let found = found.map_err(|error| environment.error(error))?;
        Ok(self.counters.looked_up(found).map(|(meta, bytes)| {
            value.extend_from_slice(bytes);
            meta
        }))
    }

    /// All keys in one read transaction, in the order given: sorting them first was measured and gains nothing.
    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        keys.iter().try_for_each(|key| check_key(key))?;
        let Shared { environment, databases, clock, .. } = &*self.shared;
        let txn = environment.read()?;
        for (i, key) in keys.iter().enumerate() {
            let found = databases.entries.get(&txn, key).and_then(|stored| match stored {
                Some(stored) => live(stored, || clock.now_ms()),
                None => Ok(None),
            });
            let found = found.map_err(|error| environment.error(error))?;
            if let Some((meta, value)) = self.counters.looked_up(found) {
                hit(i, value, meta);
            }
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        self.store(key, value, options, &[])
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        check_key(key)?;
        let deleted = self.write(0, |writer| {
            let Some(found) = writer.find(key)? else { return Ok(false) };
            let there = writer.is_live(found);
            writer.remove(key, found).map(|()| there)
        })?;
        if deleted {
            self.counters.deletes.add_one();
        }
        Ok(deleted)
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        check_key(key)?;
        let deadline_ms = self.deadline_ms(ttl);
        self.write(0, |writer| {
            let Some(found) = writer.find(key)?.filter(|found| writer.is_live(*found)) else {
                return Ok(false);
            };
            writer.set_deadline(key, found, deadline_ms).map(|()| true)
        })
    }

    fn incr(&mut self, key: &[u8], delta: i64) -> Result<Option<u64>> {
        check_key(key)?;
        let sum = self.write(0, |writer| {
            let Some(found) = writer.find(key)?.filter(|found| writer.is_live(*found)) else {
                return Ok(SumInside::Absent);
            };
            writer.read_value(key)?;
            let Some(sum) = decimal::add(&writer.buffers.value, delta) else {
                return Ok(SumInside::NotANumber);
            };
            let digits = Digits::new(sum);
            let (terms, digits) = (found.header.terms(), digits.as_bytes());
            writer.put(key, Some(found), terms, Tag::Same, [digits, &[]])?;
            writer.make_room()?;
            Ok(SumInside::Is(sum))
        })?;
        match sum {
            SumInside::Is(sum) => Ok(Some(sum)),
            SumInside::Absent => Ok(None),
            SumInside::NotANumber => Err(Error::NotANumber { engine: SCHEME }),
        }
    }

    fn clear(&mut self) -> Result<()> {
        #[expect(
            clippy::redundant_closure_for_method_calls,
            reason = "the method alone is for one lifetime, and any is wanted"
        )]
        self.write(0, |writer| writer.clear())
    }

    fn groups(&mut self) -> Option<&mut dyn Groups> {
        Some(self)
    }
}

fn check_key(key: &[u8]) -> Result<()> {
    match key.len() {
        1..=MAX_KEY_LEN => Ok(()),
        0 => Err(Error::InvalidKey { engine: SCHEME, reason: "it is empty" }),
        len => Err(Error::KeyTooLong { engine: SCHEME, len, limit: MAX_KEY_LEN }),
    }
}

/// The metadata and value of an entry; `None` when it has expired.
fn live(stored: &[u8], now_ms: impl FnOnce() -> u64) -> heed::Result<Option<(Meta, &[u8])>> {
    let record = Record::split(stored)?;
    Ok(meta(record, now_ms).map(|meta| (meta, record.value)))
}

/// The metadata of an entry; `None` when it has expired.
pub(super) fn meta(record: Record<'_>, now_ms: impl FnOnce() -> u64) -> Option<Meta> {
    let header = record.header;
    let meta = |ttl: Remaining| Meta { flags: header.flags, version: Some(header.version), ttl };
    header.remaining(now_ms).map(meta)
}

/// Stores the entry, when its condition holds.
fn set(
    writer: &mut WriteTransaction<'_>,
    key: &[u8],
    value: &[u8],
    (mode, terms, tag): (SetMode, Terms, &[u8]),
    (old, there): (Option<OldEntry>, Option<OldEntry>),
    limit: usize,
) -> heed::Result<SetInside> {
    // Append and prepend keep the deadline, flags and tag of the entry.
    let joined = there.filter(|_| matches!(mode, SetMode::Append | SetMode::Prepend));
    let len = value.len() + joined.map_or(0, |found| found.value_len);
    if len > limit {
        if let Some(old) = old.filter(|_| mode == SetMode::Set) {
            writer.remove(key, old)?;
        }
        return Ok(SetInside::TooLarge(len));
    }
    if let Some(found) = joined {
        writer.read_value(key)?;
        let other = std::mem::take(&mut writer.buffers.value);
        let parts = match mode {
            SetMode::Prepend => [value, &other],
            _ => [&other[..], value],
        };
        let put = writer.put(key, old, found.header.terms(), Tag::Same, parts);
        writer.buffers.value = other;
        put?;
    } else {
        writer.put(key, old, terms, Tag::New(tag), [value, &[]])?;
    }
    writer.make_room()?;
    Ok(SetInside::Done(SetOutcome::Stored))
}
