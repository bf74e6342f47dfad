//! One thread's handle: a reader slot that LMDB ties to the thread, and buffers for writing.

use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use heed::MdbError;
use larder_store::{
    Counted, DeleteDone, DeleteOutcome, Delta, Error, Facts, Groups, Initial, Meta, Put, Remaining,
    Result, Session, SetDone, SetOptions, SetOutcome,
};

use super::SCHEME;
use super::change::NewEntry;
use super::config::MAX_KEY_LEN;
use super::group_commit::Weight;
use super::record::{Record, RecordHeader, entry_bytes};
use super::space;
use super::store::Shared;
use super::writer::{Bounded, Buffers, WriteTransaction};
use larder_store::counters::SessionCounters;

/// The number of attempts of a write that finds no free pages, a millisecond apart. Usually a descheduled reader
/// still holds old pages, and other writers take the pages that it frees.
const TRIES_WHEN_FULL: u32 = 1000;

/// After this number of attempts there is another cause: a process that died during a read, or entries that fill the
/// map. Then the write frees reader slots and makes room.
const TRIES_BEFORE_MAKING_ROOM: u32 = 100;

/// The largest buffer for a value that a session keeps.
const KEPT_BYTES: usize = 1 << 20;

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

    /// Does `work` in a write transaction and commits it, making room first where the map is full. The transaction may be
    /// one that other sessions share.
    pub(super) fn write<T: Send>(
        &mut self,
        weight: Weight,
        mut work: impl FnMut(&mut WriteTransaction<'_>) -> heed::Result<T> + Send,
    ) -> Result<T> {
        if let Some(done) = self.shared_transaction(weight, &mut work) {
            return Ok(done);
        }
        let environment = Arc::clone(&self.shared.environment);
        let room = weight.bytes.max(self.shared.limits.bytes / 32);
        for n in 1..=TRIES_WHEN_FULL {
            match self.transaction(&mut work) {
                Err(refused) if space::has_none(&refused) => {
                    let found = environment.find_space(refused, weight);
                    if !found.map_err(|error| environment.error(error))? {
                        sleep(Duration::from_millis(1));
                    }
                }
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

    /// Has `work` done in a transaction for all sessions that wait to write. `None` where each write has its own, and
    /// where that transaction failed.
    fn shared_transaction<T: Send>(
        &mut self,
        weight: Weight,
        work: &mut (dyn FnMut(&mut WriteTransaction<'_>) -> heed::Result<T> + Send),
    ) -> Option<T> {
        let shared = Arc::clone(&self.shared);
        let group_commit = shared.group_commit.as_ref()?;
        let mut result = None;
        let mut own = |writer: &mut WriteTransaction<'_>| {
            result = Some(work(writer)?);
            Ok(())
        };
        let is_done = group_commit.share(&mut own, weight, &mut |works| {
            self.transaction(&mut |writer| {
                works.enumerate().try_for_each(|(n, work)| {
                    // As often as in a transaction of its own.
                    if n > 0 {
                        writer.expire()?;
                    }
                    work(writer)
                })
            })
        });
        result.filter(|_| is_done)
    }

    fn transaction<T>(
        &mut self,
        work: &mut dyn FnMut(&mut WriteTransaction<'_>) -> heed::Result<T>,
    ) -> heed::Result<T> {
        let Self { shared, buffers, .. } = self;
        let Shared { environment, databases, usage_key, limits, used, clock, dropped, .. } =
            &**shared;
        let done = environment.write(|txn, space| {
            // Read under the lock: an entry may have expired during the wait for the lock.
            let now_ms = clock.now_ms();
            let mut writer = WriteTransaction::new(
                txn,
                *databases,
                Bounded { usage_key, limits: *limits, used, space },
                now_ms,
                &mut *buffers,
            )?;
            writer.expire()?;
            let done = work(&mut writer)?;
            let (evictions, expirations) = (writer.evictions, writer.expirations);
            writer.commit()?;
            dropped.count(evictions, expirations);
            Ok(done)
        });
        if buffers.value.capacity() > KEPT_BYTES {
            buffers.value = Vec::new();
        }
        done
    }

    /// When an entry with this TTL expires; 0 is never.
    pub(super) fn deadline_ms(&self, ttl: Option<Duration>) -> u64 {
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
        let new = NewEntry { key, value, mode: options.mode, terms, tag };
        let bytes = entry_bytes(key.len(), tag.len() + value.len());
        let outcome = self.write(Weight::of(1, bytes), |writer| writer.set(&new))??;
        if outcome.is_stored() {
            self.counters.sets.add_one();
        }
        Ok(outcome)
    }

    /// Calls `hit` with the live entry under `key`, in LMDB's own memory.
    fn read<T>(&mut self, key: &[u8], hit: impl FnOnce(Meta, &[u8]) -> T) -> Result<Option<T>> {
        check_key(key)?;
        let Shared { environment, databases, clock, used, .. } = &*self.shared;
        let txn = environment.read()?;
        let stored = databases.entries.get(&txn, key).map_err(|error| environment.error(error))?;
        let found = match stored {
            Some(stored) => live(stored, || clock.now_ms()),
            None => Ok(None),
        };
        let found = found.map_err(|error| environment.error(error))?;
        Ok(self.counters.looked_up(found).map(|(meta, value)| {
            used.mark(key);
            hit(meta, value)
        }))
    }
}

impl Session for LmdbSession {
    fn engine(&self) -> &'static str {
        SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        self.get_onto(key, value)
    }

    fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.read(key, |meta, value| {
            out.extend_from_slice(value);
            meta
        })
    }

    fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        self.read(key, |meta, value| Facts::of(meta, value.len()))
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        value.clear();
        check_key(key)?;
        let deadline_ms = self.deadline_ms(ttl);
        let touched = self.write(Weight::ONE, |writer| {
            let touched = writer.touch(key, deadline_ms)?;
            value.clear();
            // The touch has left the value there.
            value.extend_from_slice(touched.map_or(&[], |_| &writer.buffers.value));
            Ok(touched)
        })?;
        Ok(self.counters.looked_up(touched).map(|found| {
            let ttl = ttl.map_or(Remaining::Forever, Remaining::For);
            let RecordHeader { flags, version, .. } = found.header;
            Meta { flags, version: Some(version), ttl, stale: false }
        }))
    }

    /// All keys in one read transaction, in the order given: sorting them first was measured and gains nothing.
    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        keys.iter().try_for_each(|key| check_key(key))?;
        let Shared { environment, databases, clock, used, .. } = &*self.shared;
        let txn = environment.read()?;
        for (i, key) in keys.iter().enumerate() {
            let found = databases.entries.get(&txn, key).and_then(|stored| match stored {
                Some(stored) => live(stored, || clock.now_ms()),
                None => Ok(None),
            });
            let found = found.map_err(|error| environment.error(error))?;
            if let Some((meta, value)) = self.counters.looked_up(found) {
                used.mark(key);
                hit(i, value, meta);
            }
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        self.store(key, value, options, &[])
    }

    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        self.store_many(entries, done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        check_key(key)?;
        let deleted = self.write(Weight::REMOVAL, |writer| writer.delete(key))?;
        if deleted {
            self.counters.deletes.add_one();
        }
        Ok(deleted)
    }

    fn delete_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        self.remove_many(keys, done)
    }

    fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        check_key(key)?;
        let outcome = self.write(Weight::REMOVAL, |writer| writer.delete_if(key, version))?;
        if outcome == DeleteOutcome::Deleted {
            self.counters.deletes.add_one();
        }
        Ok(outcome)
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        check_key(key)?;
        let deadline_ms = self.deadline_ms(ttl);
        self.write(Weight::ONE, |writer| Ok(writer.touch(key, deadline_ms)?.is_some()))
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        check_key(key)?;
        let absent = absent.map(|initial| (initial.number, self.deadline_ms(initial.ttl)));
        self.write(Weight::ONE, |writer| writer.incr(key, delta, absent))?
    }

    fn clear(&mut self) -> Result<()> {
        #[expect(
            clippy::redundant_closure_for_method_calls,
            reason = "the method alone is for one lifetime, and any is wanted"
        )]
        self.write(Weight::REMOVAL, |writer| writer.clear())
    }

    fn groups(&mut self) -> Option<&mut dyn Groups> {
        Some(self)
    }
}

pub(super) fn check_key(key: &[u8]) -> Result<()> {
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
    let meta = |ttl: Remaining| Meta {
        flags: header.flags,
        version: Some(header.version),
        ttl,
        stale: false,
    };
    header.remaining(now_ms).map(meta)
}
