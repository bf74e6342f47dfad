//! The environment as a database of records, whose transactions are tried again after a deadlock.

use std::thread::{sleep, yield_now};
use std::time::Duration;

use larder_store::{Error, Result};

use super::SCHEME;
use super::config::MAX_KEY_LEN;
use super::environment::Environment;
use super::shim::{self, Fault, Outcome};
use crate::header::{HEADER_LEN, Header};
use crate::records::{self, DEADLINE_LEN};

/// The number of attempts of a transaction that loses deadlocks. The loser is the transaction that has done least, so
/// some transaction always commits. A transaction that loses this often has tried for a second.
const TRIES: u32 = 1000;

/// The tries that only yield the processor; later tries sleep, so that the transactions in the way can end.
const TRIES_AT_ONCE: u32 = 10;

impl Environment {
    /// Tries `work` again as long as it loses a deadlock.
    fn again<T>(&self, mut work: impl FnMut() -> Outcome<T>) -> Result<T> {
        for n in 1..TRIES {
            match work() {
                Err(Fault::Deadlock) if n < TRIES_AT_ONCE => yield_now(),
                Err(Fault::Deadlock) => sleep(Duration::from_millis(1)),
                done => return done.map_err(|fault| self.error(fault)),
            }
        }
        work().map_err(|fault| self.error(fault))
    }

    fn no_header(&self) -> Error {
        let folder = self.folder().display();
        let what = format!("{folder} holds a record without its header; delete it");
        Error::Corrupted { engine: SCHEME, what }
    }
}

impl records::Database for Environment {
    const SCHEME: &'static str = SCHEME;
    const MAX_KEY_LEN: usize = MAX_KEY_LEN;
    /// BerkeleyDB counts the bytes of a record in 32 bits.
    const MAX_VALUE_LEN: usize = u32::MAX as usize - HEADER_LEN;
    type Fault = Fault;
    type Transaction<'d> = shim::Transaction<'d>;

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Header>> {
        let before = value.len();
        if !self.again(|| self.bdb().get(key, value))? {
            return Ok(None);
        }
        let Some((header, _)) = Header::split(&value[before..]) else {
            value.truncate(before);
            return Err(self.no_header());
        };
        value.drain(before..before + HEADER_LEN);
        Ok(Some(header))
    }

    /// The header and the length of the record in one transaction, so that they are of the same entry.
    fn look(&self, key: &[u8]) -> Result<Option<(Header, usize)>> {
        let looked = self.again(|| {
            let txn = self.bdb().begin()?;
            let Some(len) = txn.len(key)? else { return Ok(None) };
            Ok(Some((len, records::Transaction::head(&txn, key)?)))
        })?;
        match looked {
            Some((len, Some(header))) => Ok(Some((header, len - HEADER_LEN))),
            Some((_, None)) => Err(self.no_header()),
            None => Ok(None),
        }
    }

    fn write<T>(
        &self,
        mut work: impl FnMut(&mut Self::Transaction<'_>) -> Outcome<T>,
    ) -> Result<T> {
        self.again(|| {
            let mut txn = self.bdb().begin()?;
            let done = work(&mut txn)?;
            txn.commit()?;
            Ok(done)
        })
    }

    fn clear(&self) -> Result<()> {
        self.write(|txn| {
            txn.truncate(shim::Database::Entries)?;
            txn.truncate(shim::Database::Expiry)
        })
    }
}

impl records::Transaction for shim::Transaction<'_> {
    type Fault = Fault;

    fn head(&self, key: &[u8]) -> Outcome<Option<Header>> {
        let head: Option<[u8; HEADER_LEN]> = self.head(key)?;
        Ok(head.and_then(|head| Header::from_bytes(&head)))
    }

    fn get(&self, key: &[u8], record: &mut Vec<u8>) -> Outcome<bool> {
        self.get(key, record)
    }

    fn put(&mut self, key: &[u8], record: &[u8]) -> Outcome<()> {
        Self::put(self, shim::Database::Entries, key, record)
    }

    fn put_head(&mut self, key: &[u8], header: Header) -> Outcome<()> {
        Self::put_head(self, key, &header.to_bytes())
    }

    fn remove(&mut self, key: &[u8]) -> Outcome<()> {
        self.delete(shim::Database::Entries, key).map(drop)
    }

    fn list(&mut self, listed: &[u8]) -> Outcome<()> {
        Self::put(self, shim::Database::Expiry, listed, &[])
    }

    fn unlist(&mut self, listed: &[u8]) -> Outcome<()> {
        self.delete(shim::Database::Expiry, listed).map(drop)
    }

    /// The first key: removed keys leave no trace.
    fn next_listed(&mut self, listed: &mut Vec<u8>) -> Outcome<bool> {
        let mut buffer = [0; DEADLINE_LEN + MAX_KEY_LEN];
        let Some(first) = self.first_to_expire(&mut buffer)? else { return Ok(false) };
        listed.clear();
        listed.extend_from_slice(first);
        Ok(true)
    }
}
