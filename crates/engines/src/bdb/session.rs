//! One thread's handle: transactions that are tried again after a deadlock, and buffers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{sleep, yield_now};
use std::time::Duration;

use larder_store::{Error, Meta, Result, Session, SetMode, SetOptions, SetOutcome};

use super::SCHEME;
use super::config::MAX_KEY_LEN;
use super::shim::{Database, Fault, Outcome, Transaction};
use super::store::{Core, MAX_VALUE_LEN, Shared};
use crate::counters::SessionCounters;
use crate::decimal::{self, Digits};
use crate::header::{HEADER_LEN, Header};
use crate::transaction::{SetInside, SumInside};

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
    shared: Arc<Shared>,
    counters: Arc<SessionCounters>,
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
    fn write<T>(
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
fn deadline_ms(core: &Core, ttl: Option<Duration>) -> u64 {
    match ttl {
        None => 0,
        // Long past, even if the clock is set back.
        Some(Duration::ZERO) => 1,
        Some(ttl) => core.clock.deadline_ms(ttl),
    }
}

/// One transaction that changes an entry.
struct ChangeTransaction<'a> {
    core: &'a Core,
    txn: Transaction<'a>,
    record: &'a mut Vec<u8>,
    found: &'a mut Vec<u8>,
}

impl ChangeTransaction<'_> {
    /// The header under `key`, expired or not.
    fn header(&self, key: &[u8]) -> Outcome<Option<Header>> {
        let head: Option<[u8; HEADER_LEN]> = self.txn.head(key)?;
        Ok(head.and_then(|head| Header::from_bytes(&head)))
    }

    /// The header under `key`, where a write needs it: to remove the entry from the expiry index.
    fn replaced(&self, key: &[u8]) -> Outcome<Option<Header>> {
        let may_have_deadline = self.core.has_deadlines.load(Ordering::Relaxed);
        if may_have_deadline { self.header(key) } else { Ok(None) }
    }

    /// Whether an entry has not expired.
    fn is_live(&self, header: Header) -> bool {
        header.meta(|| self.core.clock.now_ms()).is_some()
    }

    /// Reads the record under `key` into `found`; returns its header, if the entry exists and has not expired.
    fn find(&mut self, key: &[u8]) -> Outcome<Option<Header>> {
        if !self.txn.get(key, self.found)? {
            return Ok(None);
        }
        let header = Header::split(self.found).map(|(header, _)| header);
        Ok(header.filter(|header| self.is_live(*header)))
    }

    /// Stores the header and a value of two parts. The old entry of the key, if any, had `old_deadline_ms`.
    fn put(
        &mut self,
        key: &[u8],
        old_deadline_ms: u64,
        (deadline_ms, flags): (u64, u32),
        parts: [&[u8]; 2],
    ) -> Outcome<()> {
        let header = Header { deadline_ms, version: self.core.next_version(), flags };
        self.record.clear();
        self.record.extend_from_slice(&header.to_bytes());
        self.record.extend_from_slice(parts[0]);
        self.record.extend_from_slice(parts[1]);
        self.txn.put(Database::Entries, key, self.record)?;
        self.list(key, old_deadline_ms, deadline_ms)
    }

    /// Joins a value to the one in `found`, and stores both with the old deadline and flags.
    fn put_joined(&mut self, key: &[u8], old: Header, mode: SetMode, value: &[u8]) -> Outcome<()> {
        let found = std::mem::take(self.found);
        let other = &found[HEADER_LEN..];
        let parts = if mode == SetMode::Prepend { [value, other] } else { [other, value] };
        let put = self.put(key, old.deadline_ms, (old.deadline_ms, old.flags), parts);
        *self.found = found;
        put
    }

    /// Gives an entry another deadline. Its value stays, and so does its version.
    fn set_deadline(&mut self, key: &[u8], old: Header, deadline_ms: u64) -> Outcome<()> {
        self.txn.put_head(key, &Header { deadline_ms, ..old }.to_bytes())?;
        self.list(key, old.deadline_ms, deadline_ms)
    }

    /// Removes the entry under `key`, whose header is `old`.
    fn remove(&mut self, key: &[u8], old: Header) -> Outcome<()> {
        self.txn.delete(Database::Entries, key)?;
        self.list(key, old.deadline_ms, 0)
    }

    /// Moves an entry in the expiry index; an entry with deadline 0 is not in the index.
    fn list(&mut self, key: &[u8], old_deadline_ms: u64, deadline_ms: u64) -> Outcome<()> {
        if old_deadline_ms == deadline_ms {
            return Ok(());
        }
        let listed = |deadline_ms: u64| [&deadline_ms.to_be_bytes()[..], key].concat();
        if old_deadline_ms != 0 {
            self.txn.delete(Database::Expiry, &listed(old_deadline_ms))?;
        }
        if deadline_ms != 0 {
            self.core.has_deadlines.store(true, Ordering::Relaxed);
            self.txn.put(Database::Expiry, &listed(deadline_ms), &[])?;
        }
        Ok(())
    }

    /// A set, inside its transaction.
    fn set(
        &mut self,
        key: &[u8],
        value: &[u8],
        mode: SetMode,
        terms: (u64, u32),
    ) -> Outcome<SetInside> {
        let is_joined = matches!(mode, SetMode::Append | SetMode::Prepend);
        let old = match mode {
            SetMode::Set if value.len() <= MAX_VALUE_LEN => self.replaced(key)?,
            SetMode::Append | SetMode::Prepend => self.find(key)?,
            _ => self.header(key)?,
        };
        let there = old.filter(|old| self.is_live(*old));
        if let Some(refused) = mode.refusal(there.map(|found| found.version)) {
            return Ok(SetInside::Done(refused));
        }
        let joined = there.filter(|_| is_joined);
        let len = value.len() + joined.map_or(0, |_| self.found.len() - HEADER_LEN);
        if len > MAX_VALUE_LEN {
            if let Some(old) = old.filter(|_| mode == SetMode::Set) {
                self.remove(key, old)?;
            }
            return Ok(SetInside::TooLarge(len));
        }
        match joined {
            Some(old) => self.put_joined(key, old, mode, value)?,
            None => self.put(key, old.map_or(0, |old| old.deadline_ms), terms, [value, &[]])?,
        }
        Ok(SetInside::Done(SetOutcome::Stored))
    }
}

impl Session for BdbSession {
    fn engine(&self) -> &'static str {
        SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        check_key(key)?;
        let core = &*self.shared.core;
        let is_there = again(core, || core.environment.bdb().get(key, value))?;
        let header = if is_there {
            let Some((header, _)) = Header::split(value) else {
                value.clear();
                let what = format!(
                    "{} holds a record without its header; delete it",
                    core.environment.folder().display()
                );
                return Err(Error::Corrupted { engine: SCHEME, what });
            };
            header.meta(|| core.clock.now_ms())
        } else {
            None
        };
        if header.is_some() {
            value.drain(..HEADER_LEN);
        } else {
            value.clear();
        }
        Ok(self.counters.looked_up(header))
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        check_key(key)?;
        let terms = (deadline_ms(&self.shared.core, options.ttl), options.flags);
        match self.write(|writer| writer.set(key, value, options.mode, terms))? {
            SetInside::Done(outcome) => {
                if outcome == SetOutcome::Stored {
                    self.counters.sets.add_one();
                }
                Ok(outcome)
            }
            SetInside::TooLarge(len) => {
                Err(Error::ValueTooLarge { engine: SCHEME, len, limit: MAX_VALUE_LEN })
            }
        }
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        check_key(key)?;
        let deleted = self.write(|writer| {
            let Some(old) = writer.header(key)? else { return Ok(false) };
            let there = writer.is_live(old);
            writer.remove(key, old).map(|()| there)
        })?;
        if deleted {
            self.counters.deletes.add_one();
        }
        Ok(deleted)
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        check_key(key)?;
        let deadline_ms = deadline_ms(&self.shared.core, ttl);
        self.write(|writer| {
            let old = writer.header(key)?.filter(|old| writer.is_live(*old));
            let Some(old) = old else { return Ok(false) };
            writer.set_deadline(key, old, deadline_ms).map(|()| true)
        })
    }

    fn incr(&mut self, key: &[u8], delta: i64) -> Result<Option<u64>> {
        check_key(key)?;
        let sum = self.write(|writer| {
            let Some(old) = writer.find(key)? else { return Ok(SumInside::Absent) };
            let Some(sum) = decimal::add(&writer.found[HEADER_LEN..], delta) else {
                return Ok(SumInside::NotANumber);
            };
            let terms = (old.deadline_ms, old.flags);
            writer.put(key, old.deadline_ms, terms, [Digits::new(sum).as_bytes(), &[]])?;
            Ok(SumInside::Is(sum))
        })?;
        match sum {
            SumInside::Is(sum) => Ok(Some(sum)),
            SumInside::Absent => Ok(None),
            SumInside::NotANumber => Err(Error::NotANumber { engine: SCHEME }),
        }
    }

    fn clear(&mut self) -> Result<()> {
        self.write(|writer| {
            writer.txn.truncate(Database::Entries)?;
            writer.txn.truncate(Database::Expiry)
        })
    }
}

fn check_key(key: &[u8]) -> Result<()> {
    match key.len() {
        1..=MAX_KEY_LEN => Ok(()),
        0 => Err(Error::InvalidKey { engine: SCHEME, reason: "it is empty" }),
        len => Err(Error::KeyTooLong { engine: SCHEME, len, limit: MAX_KEY_LEN }),
    }
}
