//! One thread's handle: transactions that are tried again after a deadlock, and buffers.

use std::sync::Arc;
use std::thread::{sleep, yield_now};
use std::time::Duration;

use larder_store::{
    Counted, DeleteDone, DeleteOutcome, Delta, Error, Facts, Initial, Meta, Put, Remaining, Result,
    Session, SetDone, SetOptions, SetOutcome,
};

use super::SCHEME;
use super::change::ChangeTransaction;
use super::config::MAX_KEY_LEN;
use super::shim::{Database, Fault, Outcome};
use super::store::{Core, Shared};
use crate::header::{HEADER_LEN, Header};
use larder_store::counters::SessionCounters;

/// The number of attempts of a transaction that loses deadlocks. The loser is the transaction that has done least, so
/// some transaction always commits. A transaction that loses this often has tried for a second.
const TRIES: u32 = 1000;

/// The tries that only yield the processor; later tries sleep, so that the transactions in the way can end.
const TRIES_AT_ONCE: u32 = 10;

/// Length of a deadline in the expiry index, before the key.
const DEADLINE_LEN: usize = 8;

/// Length of a key of the expiry index.
pub(super) const fn expiry_key_len(key_len: usize) -> usize {
    DEADLINE_LEN + key_len
}

/// One thread's handle on a BerkeleyDB store.
pub(super) struct BdbSession {
    pub(super) shared: Arc<Shared>,
    pub(super) counters: Arc<SessionCounters>,
    /// A record, as read or to be written.
    record: Vec<u8>,
    /// The old record, where the new record is made of it.
    found: Vec<u8>,
}

impl BdbSession {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let counters = shared.core.counters.session();
        Self { shared, counters, record: Vec::new(), found: Vec::new() }
    }

    /// Does `work` in one transaction and commits it.
    pub(super) fn write<T>(
        &mut self,
        mut work: impl FnMut(&mut ChangeTransaction<'_>) -> Outcome<T>,
    ) -> Result<T> {
        let Self { shared, record, found, .. } = self;
        let core = &*shared.core;
        again(core, || {
            let txn = core.environment.bdb().begin()?;
            let mut writer = ChangeTransaction { core, txn, record, found };
            let done = work(&mut writer)?;
            writer.txn.commit()?;
            Ok(done)
        })
    }
}

/// Tries `work` again as long as it loses a deadlock.
fn again<T>(core: &Core, mut work: impl FnMut() -> Outcome<T>) -> Result<T> {
    for n in 1..TRIES {
        match work() {
            Err(Fault::Deadlock) if n < TRIES_AT_ONCE => yield_now(),
            Err(Fault::Deadlock) => sleep(Duration::from_millis(1)),
            done => return done.map_err(|fault| core.environment.error(fault)),
        }
    }
    work().map_err(|fault| core.environment.error(fault))
}

/// When an entry with this TTL expires; 0 is never.
pub(super) fn deadline_ms(core: &Core, ttl: Option<Duration>) -> u64 {
    match ttl {
        None => 0,
        // Long past, even if the clock is set back.
        Some(Duration::ZERO) => 1,
        Some(ttl) => core.clock.deadline_ms(ttl),
    }
}

impl Session for BdbSession {
    fn engine(&self) -> &'static str {
        SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        self.get_onto(key, value)
    }

    fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        check_key(key)?;
        let core = &*self.shared.core;
        let before = out.len();
        let is_there = again(core, || core.environment.bdb().get(key, out))?;
        let meta = if is_there {
            let Some((header, _)) = Header::split(&out[before..]) else {
                out.truncate(before);
                return Err(no_header(core));
            };
            header.meta(|| core.clock.now_ms())
        } else {
            None
        };
        if meta.is_some() {
            out.drain(before..before + HEADER_LEN);
        } else {
            out.truncate(before);
        }
        Ok(self.counters.looked_up(meta))
    }

    /// The header and the length of the record in one transaction, so that they are of the same entry.
    fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        check_key(key)?;
        let core = &*self.shared.core;
        let looked = again(core, || {
            let txn = core.environment.bdb().begin()?;
            let Some(len) = txn.len(key)? else { return Ok(None) };
            let head: Option<[u8; HEADER_LEN]> = txn.head(key)?;
            Ok(Some((len, head.and_then(|head| Header::from_bytes(&head)))))
        })?;
        let facts = match looked {
            Some((len, Some(header))) => {
                header.meta(|| core.clock.now_ms()).map(|meta| Facts::of(meta, len - HEADER_LEN))
            }
            Some((_, None)) => return Err(no_header(core)),
            None => None,
        };
        Ok(self.counters.looked_up(facts))
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        value.clear();
        check_key(key)?;
        let deadline_ms = deadline_ms(&self.shared.core, ttl);
        let touched = self.write(|writer| writer.get_and_touch(key, deadline_ms))?;
        Ok(self.counters.looked_up(touched).map(|Header { flags, version, .. }| {
            // The transaction has left the record there.
            value.extend_from_slice(&self.found[HEADER_LEN..]);
            let ttl = ttl.map_or(Remaining::Forever, Remaining::For);
            Meta { flags, version: Some(version), ttl, stale: false }
        }))
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        check_key(key)?;
        let terms = (deadline_ms(&self.shared.core, options.ttl), options.flags);
        let outcome = self.write(|writer| writer.set(key, value, options.mode, terms))??;
        if outcome.is_stored() {
            self.counters.sets.add_one();
        }
        Ok(outcome)
    }

    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        self.store_many(entries, done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        check_key(key)?;
        let deleted = self.write(|writer| writer.delete(key))?;
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
        let outcome = self.write(|writer| writer.delete_if(key, version))?;
        if outcome == DeleteOutcome::Deleted {
            self.counters.deletes.add_one();
        }
        Ok(outcome)
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        check_key(key)?;
        let deadline_ms = deadline_ms(&self.shared.core, ttl);
        self.write(|writer| writer.touch(key, deadline_ms))
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        check_key(key)?;
        let core = &self.shared.core;
        let absent = absent.map(|initial| (initial.number, deadline_ms(core, initial.ttl)));
        self.write(|writer| writer.incr(key, delta, absent))?
    }

    fn clear(&mut self) -> Result<()> {
        self.write(|writer| {
            writer.txn.truncate(Database::Entries)?;
            writer.txn.truncate(Database::Expiry)
        })
    }
}

fn no_header(core: &Core) -> Error {
    let folder = core.environment.folder().display();
    let what = format!("{folder} holds a record without its header; delete it");
    Error::Corrupted { engine: SCHEME, what }
}

pub(super) fn check_key(key: &[u8]) -> Result<()> {
    match key.len() {
        1..=MAX_KEY_LEN => Ok(()),
        0 => Err(Error::InvalidKey { engine: SCHEME, reason: "it is empty" }),
        len => Err(Error::KeyTooLong { engine: SCHEME, len, limit: MAX_KEY_LEN }),
    }
}
