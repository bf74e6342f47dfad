//! The changes of entries inside a transaction, each with its place in the expiry index.

use std::sync::atomic::Ordering;

use larder_store::{Counted, DeleteOutcome, Delta, Error, Result, SetMode, SetOutcome};

use super::{Database, Records, Transaction};
use crate::decimal::{self, Digits};
use crate::header::{HEADER_LEN, Header};

/// The outcome of a step in a transaction; a fault ends the transaction.
pub(super) type Outcome<T, D> = std::result::Result<T, <D as Database>::Fault>;

/// What an entry has beside its value: its deadline, 0 without one, and its flags.
#[derive(Clone, Copy)]
pub(super) struct EntryTerms {
    pub(super) deadline_ms: u64,
    pub(super) flags: u32,
}

/// One transaction that changes entries.
pub(super) struct Change<'c, 'd, D: Database> {
    pub(super) records: &'c Records<D>,
    pub(super) txn: &'c mut D::Transaction<'d>,
    /// The new record.
    pub(super) record: &'c mut Vec<u8>,
    /// The old record, where the new one is made of it.
    pub(super) found: &'c mut Vec<u8>,
    /// The earliest deadline that was listed; `u64::MAX` without one.
    pub(super) earliest_ms: u64,
}

impl<D: Database> Change<'_, '_, D> {
    /// The header under `key`, where a write needs it: to remove the entry from the expiry index.
    fn replaced(&self, key: &[u8]) -> Outcome<Option<Header>, D> {
        let may_have_deadline = self.records.has_deadlines.load(Ordering::Relaxed);
        if may_have_deadline { self.txn.head(key) } else { Ok(None) }
    }

    /// The header under `key`, if the entry exists and has not expired.
    fn live(&self, key: &[u8]) -> Outcome<Option<Header>, D> {
        Ok(self.txn.head(key)?.filter(|header| self.records.is_live(*header)))
    }

    /// Reads the record under `key` into `found`; returns its header, if the entry exists and has not expired.
    fn find(&mut self, key: &[u8]) -> Outcome<Option<Header>, D> {
        if !self.txn.get(key, self.found)? {
            return Ok(None);
        }
        let header = Header::split(self.found).map(|(header, _)| header);
        Ok(header.filter(|header| self.records.is_live(*header)))
    }

    /// Stores the header and a value of two parts, and returns the version. The old entry of the key, if any, had
    /// `old_deadline_ms`.
    fn put(
        &mut self,
        key: &[u8],
        old_deadline_ms: u64,
        EntryTerms { deadline_ms, flags }: EntryTerms,
        parts: [&[u8]; 2],
    ) -> Outcome<u64, D> {
        let version = self.records.next_version();
        let header = Header { deadline_ms, version, flags };
        self.record.clear();
        self.record.extend_from_slice(&header.to_bytes());
        self.record.extend_from_slice(parts[0]);
        self.record.extend_from_slice(parts[1]);
        self.list(key, old_deadline_ms, deadline_ms)?;
        self.txn.put(key, self.record)?;
        self.unlist(key, old_deadline_ms, deadline_ms)?;
        Ok(version)
    }

    /// Joins a value to the one in `found`, and stores both with the old deadline and flags.
    fn put_joined(
        &mut self,
        key: &[u8],
        old: Header,
        mode: SetMode,
        value: &[u8],
    ) -> Outcome<u64, D> {
        let found = std::mem::take(self.found);
        let other = &found[HEADER_LEN..];
        let parts = if mode == SetMode::Prepend { [value, other] } else { [other, value] };
        let terms = EntryTerms { deadline_ms: old.deadline_ms, flags: old.flags };
        let put = self.put(key, old.deadline_ms, terms, parts);
        *self.found = found;
        put
    }

    /// Gives an entry another deadline. Its value stays, and so does its version.
    fn set_deadline(&mut self, key: &[u8], old: Header, deadline_ms: u64) -> Outcome<(), D> {
        self.list(key, old.deadline_ms, deadline_ms)?;
        self.txn.put_head(key, Header { deadline_ms, ..old })?;
        self.unlist(key, old.deadline_ms, deadline_ms)
    }

    /// Removes the entry under `key`, whose header is `old`.
    fn remove(&mut self, key: &[u8], old: Header) -> Outcome<(), D> {
        self.txn.remove(key)?;
        self.unlist(key, old.deadline_ms, 0)
    }

    /// Adds an entry to the expiry index, before the entry has this deadline.
    fn list(&mut self, key: &[u8], old_deadline_ms: u64, deadline_ms: u64) -> Outcome<(), D> {
        if deadline_ms == 0 || deadline_ms == old_deadline_ms {
            return Ok(());
        }
        self.records.has_deadlines.store(true, Ordering::Relaxed);
        self.earliest_ms = self.earliest_ms.min(deadline_ms);
        self.txn.list(&listed(deadline_ms, key))
    }

    /// Removes an entry from the expiry index, once it has another deadline.
    fn unlist(&mut self, key: &[u8], old_deadline_ms: u64, deadline_ms: u64) -> Outcome<(), D> {
        if old_deadline_ms == 0 || deadline_ms == old_deadline_ms {
            return Ok(());
        }
        self.txn.unlist(&listed(old_deadline_ms, key))
    }

    /// A set in any mode. The inner result is the answer to the caller: a refusal undoes nothing, so that the other
    /// entries of a batch are stored.
    pub(super) fn set(
        &mut self,
        key: &[u8],
        value: &[u8],
        mode: SetMode,
        terms: EntryTerms,
    ) -> Outcome<Result<SetOutcome>, D> {
        let is_joined = matches!(mode, SetMode::Append | SetMode::Prepend);
        let old = match mode {
            SetMode::Set if value.len() <= D::MAX_VALUE_LEN => self.replaced(key)?,
            SetMode::Append | SetMode::Prepend => self.find(key)?,
            _ => self.txn.head(key)?,
        };
        let there = old.filter(|old| self.records.is_live(*old));
        if let Some(refused) = mode.refusal(there.map(|found| found.version)) {
            return Ok(Ok(refused));
        }
        let joined = there.filter(|_| is_joined);
        let len = value.len() + joined.map_or(0, |_| self.found.len() - HEADER_LEN);
        if len > D::MAX_VALUE_LEN {
            if let Some(old) = old.filter(|_| mode == SetMode::Set) {
                self.remove(key, old)?;
            }
            let limit = D::MAX_VALUE_LEN;
            return Ok(Err(Error::ValueTooLarge { engine: D::SCHEME, len, limit }));
        }
        let version = match joined {
            Some(old) => self.put_joined(key, old, mode, value)?,
            None => self.put(key, old.map_or(0, |old| old.deadline_ms), terms, [value, &[]])?,
        };
        Ok(Ok(SetOutcome::Stored(Some(version))))
    }

    /// Removes the entry under `key`; `false` when there is none.
    pub(super) fn delete(&mut self, key: &[u8]) -> Outcome<bool, D> {
        let Some(old) = self.txn.head(key)? else { return Ok(false) };
        let there = self.records.is_live(old);
        self.remove(key, old).map(|()| there)
    }

    /// Removes the entry under `key`, if it has this version.
    pub(super) fn delete_if(&mut self, key: &[u8], version: u64) -> Outcome<DeleteOutcome, D> {
        let Some(old) = self.live(key)? else { return Ok(DeleteOutcome::NotFound) };
        if old.version != version {
            return Ok(DeleteOutcome::Exists);
        }
        self.remove(key, old).map(|()| DeleteOutcome::Deleted)
    }

    /// Gives the entry under `key` another deadline; `false` when there is none.
    pub(super) fn touch(&mut self, key: &[u8], deadline_ms: u64) -> Outcome<bool, D> {
        let Some(old) = self.live(key)? else { return Ok(false) };
        self.set_deadline(key, old, deadline_ms).map(|()| true)
    }

    /// As [`Self::touch`], and reads the record into `found`; returns the header that the entry had before.
    pub(super) fn get_and_touch(
        &mut self,
        key: &[u8],
        deadline_ms: u64,
    ) -> Outcome<Option<Header>, D> {
        let Some(old) = self.find(key)? else { return Ok(None) };
        self.set_deadline(key, old, deadline_ms).map(|()| Some(old))
    }

    /// Changes the number under `key`. An absent key gets the initial number and deadline.
    pub(super) fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<(u64, u64)>,
    ) -> Outcome<Result<Option<Counted>>, D> {
        let (number, old_deadline_ms, terms) = match (self.find(key)?, absent) {
            (Some(old), _) => {
                let Some(number) = decimal::add(&self.found[HEADER_LEN..], delta) else {
                    return Ok(Err(Error::NotANumber { engine: D::SCHEME }));
                };
                let Header { deadline_ms, flags, .. } = old;
                (number, deadline_ms, EntryTerms { deadline_ms, flags })
            }
            (None, Some((number, deadline_ms))) => {
                // An expired entry is still in the expiry index.
                let old_deadline_ms = self.replaced(key)?.map_or(0, |old| old.deadline_ms);
                (number, old_deadline_ms, EntryTerms { deadline_ms, flags: 0 })
            }
            (None, None) => return Ok(Ok(None)),
        };
        let digits = Digits::new(number);
        let version = self.put(key, old_deadline_ms, terms, [digits.as_bytes(), &[]])?;
        Ok(Ok(Some(Counted { number, version: Some(version) })))
    }
}

/// The key of the index for an entry with this deadline.
fn listed(deadline_ms: u64, key: &[u8]) -> Vec<u8> {
    [&deadline_ms.to_be_bytes()[..], key].concat()
}
