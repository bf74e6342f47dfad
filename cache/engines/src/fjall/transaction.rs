//! The time for which a session alone changes the tables.

use std::ops::Bound;

use super::database::{FjallDatabase, Outcome};
use crate::header::Header;
use crate::records::Transaction;

/// A session that changes the tables.
pub(super) struct FjallTransaction<'d> {
    database: &'d FjallDatabase,
    is_changed: bool,
}

impl<'d> FjallTransaction<'d> {
    pub(super) fn new(database: &'d FjallDatabase) -> Self {
        Self { database, is_changed: false }
    }

    /// Whether anything was changed.
    pub(super) fn is_changed(&self) -> bool {
        self.is_changed
    }
}

impl Transaction for FjallTransaction<'_> {
    type Fault = fjall::Error;

    fn head(&self, key: &[u8]) -> Outcome<Option<Header>> {
        let record = self.database.entries.get(key)?;
        Ok(record.and_then(|record| Header::split(&record).map(|(header, _)| header)))
    }

    fn get(&self, key: &[u8], record: &mut Vec<u8>) -> Outcome<bool> {
        record.clear();
        let Some(stored) = self.database.entries.get(key)? else { return Ok(false) };
        record.extend_from_slice(&stored);
        Ok(true)
    }

    fn put(&mut self, key: &[u8], record: &[u8]) -> Outcome<()> {
        self.is_changed = true;
        self.database.entries.insert(key, record)
    }

    /// fjall replaces records as a whole.
    fn put_head(&mut self, key: &[u8], header: Header) -> Outcome<()> {
        let mut record = Vec::new();
        if self.get(key, &mut record)?
            && let Some(head) = record.first_chunk_mut()
        {
            *head = header.to_bytes();
            self.put(key, &record)?;
        }
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Outcome<()> {
        self.is_changed = true;
        self.database.entries.remove(key)
    }

    fn list(&mut self, listed: &[u8]) -> Outcome<()> {
        self.is_changed = true;
        self.database.expiry.insert(listed, [])
    }

    fn unlist(&mut self, listed: &[u8]) -> Outcome<()> {
        self.is_changed = true;
        self.database.expiry.remove(listed)
    }

    fn next_listed(&mut self, listed: &mut Vec<u8>) -> Outcome<bool> {
        let behind = (Bound::Excluded(listed.as_slice()), Bound::Unbounded);
        let Some(next) = self.database.expiry.range::<&[u8], _>(behind).next() else {
            return Ok(false);
        };
        let next = next.key()?;
        listed.clear();
        listed.extend_from_slice(&next);
        Ok(true)
    }
}
