//! The changes of entries inside a write transaction: a set in any mode, a delete, a new TTL, a count.
//!
//! The outer result of each is LMDB's, which undoes the transaction. The inner result is the answer to the caller: a
//! refusal undoes nothing, so that the other entries of a batch are stored.

use larder_store::{Counted, DeleteOutcome, Delta, Error, Result, SetMode, SetOutcome};

use super::SCHEME;
use super::record::Terms;
use super::writer::{OldEntry, Tag, WriteTransaction};
use crate::decimal::{self, Digits};

/// An entry to be stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewEntry<'e> {
    pub(super) key: &'e [u8],
    pub(super) value: &'e [u8],
    pub(super) mode: SetMode,
    pub(super) terms: Terms,
    /// Empty for an entry without a tag.
    pub(super) tag: &'e [u8],
}

/// The number for an absent key: the number, and when its entry expires.
pub(super) type InitialNumber = (u64, u64);

impl WriteTransaction<'_> {
    /// The entry under `key`, if it has not expired.
    fn find_live(&self, key: &[u8]) -> heed::Result<Option<OldEntry>> {
        Ok(self.find(key)?.filter(|found| self.is_live(*found)))
    }

    /// Stores the entry, when its condition holds.
    pub(super) fn set(&mut self, new: &NewEntry<'_>) -> heed::Result<Result<SetOutcome>> {
        let NewEntry { key, value, mode, terms, tag } = *new;
        let old = self.find(key)?;
        let there = old.filter(|found| self.is_live(*found));
        if let Some(refused) = mode.refusal(there.map(|found| found.header.version)) {
            return Ok(Ok(refused));
        }
        // Append and prepend keep the deadline, flags and tag of the entry.
        let joined = there.filter(|_| matches!(mode, SetMode::Append | SetMode::Prepend));
        let len = value.len() + joined.map_or(0, |found| found.value_len);
        let limit = self.limits.value_len;
        if len > limit {
            if let Some(old) = old.filter(|_| mode == SetMode::Set) {
                self.remove(key, old)?;
            }
            return Ok(Err(Error::ValueTooLarge { engine: SCHEME, len, limit }));
        }
        let version = if let Some(found) = joined {
            self.read_value(key)?;
            let other = std::mem::take(&mut self.buffers.value);
            let parts = match mode {
                SetMode::Prepend => [value, &other],
                _ => [&other[..], value],
            };
            let put = self.put(key, old, found.header.terms(), Tag::Same, parts);
            self.buffers.value = other;
            put?
        } else {
            self.put(key, old, terms, Tag::New(tag), [value, &[]])?
        };
        self.make_room()?;
        Ok(Ok(SetOutcome::Stored(Some(version))))
    }

    /// Removes the entry under `key`; `false` when there is none.
    pub(super) fn delete(&mut self, key: &[u8]) -> heed::Result<bool> {
        let Some(found) = self.find(key)? else { return Ok(false) };
        let there = self.is_live(found);
        self.remove(key, found).map(|()| there)
    }

    /// Removes the entry under `key`, if it has this version.
    pub(super) fn delete_if(&mut self, key: &[u8], version: u64) -> heed::Result<DeleteOutcome> {
        let Some(found) = self.find_live(key)? else { return Ok(DeleteOutcome::NotFound) };
        if found.header.version != version {
            return Ok(DeleteOutcome::Exists);
        }
        self.remove(key, found).map(|()| DeleteOutcome::Deleted)
    }

    /// Gives the entry under `key` another deadline, and leaves its value in the buffer for values. `None` when there is
    /// no entry.
    pub(super) fn touch(&mut self, key: &[u8], deadline_ms: u64) -> heed::Result<Option<OldEntry>> {
        let Some(found) = self.find_live(key)? else { return Ok(None) };
        self.set_deadline(key, found, deadline_ms).map(|()| Some(found))
    }

    /// Changes the number under `key`, or stores the initial number.
    pub(super) fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<InitialNumber>,
    ) -> heed::Result<Result<Option<Counted>>> {
        let old = self.find(key)?;
        let there = old.filter(|found| self.is_live(*found));
        let (number, terms, tag) = match (there, absent) {
            (Some(found), _) => {
                self.read_value(key)?;
                let Some(number) = decimal::add(&self.buffers.value, delta) else {
                    return Ok(Err(Error::NotANumber { engine: SCHEME }));
                };
                (number, found.header.terms(), Tag::Same)
            }
            (None, Some((number, deadline_ms))) => (number, (deadline_ms, 0), Tag::New(&[])),
            (None, None) => return Ok(Ok(None)),
        };
        let version = self.put(key, old, terms, tag, [Digits::new(number).as_bytes(), &[]])?;
        self.make_room()?;
        Ok(Ok(Some(Counted { number, version: Some(version) })))
    }
}
