//! A write transaction of redb as one of records.

use std::ops::Bound;

use redb::{ReadableTable, Table, WriteTransaction};

use super::database::{ENTRIES, EXPIRY, Outcome, split};
use crate::header::Header;
use crate::records::Transaction;

/// A write transaction with its open tables.
pub(super) struct RedbTransaction<'t> {
    txn: &'t WriteTransaction,
    entries: Table<'t, &'static [u8], &'static [u8]>,
    /// Opened when it is first needed: most writes have no deadline.
    expiry: Option<Table<'t, &'static [u8], ()>>,
    is_changed: bool,
}

impl<'t> RedbTransaction<'t> {
    pub(super) fn open(txn: &'t WriteTransaction) -> Outcome<Self> {
        Ok(Self { txn, entries: txn.open_table(ENTRIES)?, expiry: None, is_changed: false })
    }

    /// Whether anything was changed.
    pub(super) fn is_changed(&self) -> bool {
        self.is_changed
    }

    fn expiry(&mut self) -> Outcome<&mut Table<'t, &'static [u8], ()>> {
        Ok(match &mut self.expiry {
            Some(table) => table,
            closed @ None => closed.insert(self.txn.open_table(EXPIRY)?),
        })
    }
}

impl Transaction for RedbTransaction<'_> {
    type Fault = redb::Error;

    fn head(&self, key: &[u8]) -> Outcome<Option<Header>> {
        let Some(record) = self.entries.get(key)? else { return Ok(None) };
        split(record.value()).map(|(header, _)| Some(header))
    }

    fn get(&self, key: &[u8], record: &mut Vec<u8>) -> Outcome<bool> {
        record.clear();
        let Some(stored) = self.entries.get(key)? else { return Ok(false) };
        record.extend_from_slice(stored.value());
        Ok(true)
    }

    fn put(&mut self, key: &[u8], record: &[u8]) -> Outcome<()> {
        self.is_changed = true;
        self.entries.insert(key, record)?;
        Ok(())
    }

    /// redb replaces values as a whole.
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
        self.entries.remove(key)?;
        Ok(())
    }

    fn list(&mut self, listed: &[u8]) -> Outcome<()> {
        self.is_changed = true;
        self.expiry()?.insert(listed, ())?;
        Ok(())
    }

    fn unlist(&mut self, listed: &[u8]) -> Outcome<()> {
        self.is_changed = true;
        self.expiry()?.remove(listed)?;
        Ok(())
    }

    fn next_listed(&mut self, listed: &mut Vec<u8>) -> Outcome<bool> {
        let behind = (Bound::Excluded(listed.as_slice()), Bound::Unbounded);
        let Some(next) = self.expiry()?.range::<&[u8]>(behind)?.next() else { return Ok(false) };
        let next = next?.0.value().to_vec();
        *listed = next;
        Ok(true)
    }
}
