//! Many changes in one transaction: one wait for the lock, one commit, and each page of the tree written once.

use larder_store::{DeleteDone, Error, Put, Result, SetDone};

use super::change::NewEntry;
use super::eviction::EXPIRED_PER_WRITE;
use super::group_commit::Weight;
use super::record::{Terms, VERSIONS_PER_TRANSACTION, entry_bytes};
use super::session::{LmdbSession, check_key};
use super::writer::NamespaceLimits;

/// The most bytes of entries that one transaction stores, unless one entry alone is larger. The pages of a transaction
/// are in memory until its commit.
const MAX_BYTES: u64 = 16 << 20;

impl LmdbSession {
    /// Stores many entries, with one commit for as many as one transaction takes.
    pub(super) fn store_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        let bounds = self.shared.bounds;
        let mut first = 0;
        while first < entries.len() {
            let (len, bytes) = bounds.part(&entries[first..]);
            self.store_part(&entries[first..first + len], bytes, first, done)?;
            first += len;
        }
        Ok(())
    }

    fn store_part(
        &mut self,
        entries: &[Put<'_>],
        bytes: u64,
        first: usize,
        done: &mut SetDone<'_>,
    ) -> Result<()> {
        let new = |put: &Put<'_>| (self.deadline_ms(put.options.ttl), put.options.flags);
        let terms: Vec<Terms> = entries.iter().map(new).collect();
        let outcomes = self.write(Weight::of(entries.len(), bytes), |writer| {
            let mut outcomes = Vec::with_capacity(entries.len());
            for (i, (Put { key, value, options }, terms)) in entries.iter().zip(&terms).enumerate()
            {
                // As many as the single writes of these entries would remove.
                if i > 0 && i.is_multiple_of(EXPIRED_PER_WRITE) {
                    writer.expire()?;
                }
                let (mode, terms) = (options.mode, *terms);
                outcomes.push(match check_key(key) {
                    Ok(()) => writer.set(&NewEntry { key, value, mode, terms, tag: &[] })?,
                    Err(refused) => Err(refused),
                });
            }
            Ok(outcomes)
        });
        let outcomes = match outcomes {
            // Together they do not fit, so as many as fit are stored one by one.
            Err(Error::Full { .. }) if entries.len() > 1 => {
                for (i, Put { key, value, options }) in entries.iter().enumerate() {
                    match self.store(key, value, options, &[]) {
                        // Each further entry would wait for room as long as this one.
                        Err(full @ Error::Full { .. }) => return Err(full),
                        outcome => done(first + i, outcome),
                    }
                }
                return Ok(());
            }
            outcomes => outcomes?,
        };
        for (i, outcome) in outcomes.into_iter().enumerate() {
            if outcome.as_ref().is_ok_and(|outcome| outcome.is_stored()) {
                self.counters.sets.add_one();
            }
            done(first + i, outcome);
        }
        Ok(())
    }

    /// Removes many entries, with one commit for as many as one transaction takes.
    pub(super) fn remove_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        for (n, part) in keys.chunks(VERSIONS_PER_TRANSACTION).enumerate() {
            let outcomes = self.write(Weight::REMOVAL, |writer| {
                let mut outcomes = Vec::with_capacity(part.len());
                for key in part {
                    outcomes.push(match check_key(key) {
                        Ok(()) => Ok(writer.delete(key)?),
                        Err(refused) => Err(refused),
                    });
                }
                Ok(outcomes)
            })?;
            for (i, outcome) in outcomes.into_iter().enumerate() {
                if matches!(outcome, Ok(true)) {
                    self.counters.deletes.add_one();
                }
                done(n * VERSIONS_PER_TRANSACTION + i, outcome);
            }
        }
        Ok(())
    }
}

/// The bounds of one transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    bytes: u64,
    pages: u64,
    page_size: u64,
}

impl Bounds {
    /// The bounds of a namespace with these limits, on pages of this size.
    pub(super) fn new(limits: NamespaceLimits, page_size: u64) -> Self {
        Self {
            // Within an eighth of the limit, entries of a batch seldom make way for others of the same batch.
            bytes: MAX_BYTES.min(limits.bytes / 8),
            // The pages that a transaction frees are free for others two transactions later. So a small part of the map
            // must be enough for one.
            pages: limits.pages as u64 / 48,
            page_size,
        }
    }

    /// What sessions may write in one transaction that they share. Each entry may take a page more than its bytes.
    pub(super) fn most(self) -> Weight {
        let entries = usize::try_from(self.pages / 2).unwrap_or(usize::MAX);
        let bytes = self.bytes.min(self.pages / 2 * self.page_size);
        Weight::of(entries.min(VERSIONS_PER_TRANSACTION), bytes)
    }

    /// The number of the first entries that one transaction stores, at least one, and their bytes.
    fn part(&self, entries: &[Put<'_>]) -> (usize, u64) {
        let (mut len, mut sum, mut pages) = (0, 0, 0);
        for Put { key, value, .. } in &entries[..entries.len().min(VERSIONS_PER_TRANSACTION)] {
            let bytes = entry_bytes(key.len(), value.len());
            // Each entry may be in a page of its own.
            pages += bytes / self.page_size + 1;
            if len > 0 && (sum + bytes > self.bytes || pages > self.pages) {
                break;
            }
            (len, sum) = (len + 1, sum + bytes);
        }
        (len, sum)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use larder_store::{Catalog, Session, SetOptions, SetOutcome, Store, StoreUrl};

    use super::super::store::open;
    use super::*;

    fn store(query: &str) -> Arc<dyn Store> {
        open(&StoreUrl::parse(&format!("lmdb:?{query}")).unwrap(), &Catalog::new(&[])).unwrap()
    }

    /// Stores an entry for each key, and returns the versions.
    fn set_many(session: &mut dyn Session, keys: &[String], value: &[u8]) -> Vec<u64> {
        let put = |key: &String| (key.clone().into_bytes(), SetOptions::default());
        let entries: Vec<_> = keys.iter().map(put).collect();
        let entries: Vec<_> =
            entries.iter().map(|(key, options)| Put { key, value, options: *options }).collect();
        let mut versions = Vec::new();
        let mut done = |i, outcome: Result<SetOutcome>| match outcome.unwrap() {
            SetOutcome::Stored(Some(version)) if i == versions.len() => versions.push(version),
            other => panic!("entry {i}: {other:?}"),
        };
        session.set_many(&entries, &mut done).unwrap();
        versions
    }

    fn transactions(versions: &[u64]) -> usize {
        let mut all: Vec<_> =
            versions.iter().map(|version| version / VERSIONS_PER_TRANSACTION as u64).collect();
        all.dedup();
        all.len()
    }

    #[test]
    fn a_batch_is_one_commit_until_the_versions_of_a_transaction_end() {
        let store = store("");
        let mut session = store.session().unwrap();
        let keys: Vec<_> = (0..=2 * VERSIONS_PER_TRANSACTION).map(|i| i.to_string()).collect();
        assert_eq!(transactions(&set_many(&mut *session, &keys[..100], b"value")), 1);
        let versions = set_many(&mut *session, &keys, b"other");
        assert_eq!(transactions(&versions), 3);
        assert!(versions.is_sorted_by(|one, next| one < next));
        // Values of 1 MiB are committed before they fill the memory.
        assert_eq!(transactions(&set_many(&mut *session, &keys[..20], &vec![7; 1 << 20])), 2);
    }

    #[test]
    fn a_batch_larger_than_the_store_evicts_its_earlier_entries() {
        let store = store("size=128k");
        let mut session = store.session().unwrap();
        let keys: Vec<_> = (0..20_000).map(|i| format!("key {}", i * 7919 % 20_011)).collect();
        set_many(&mut *session, &keys, b"a value");
        let stats = store.stats().unwrap();
        let (items, evictions) = (stats.items.unwrap(), stats.evictions.unwrap());
        assert_eq!(items + evictions, 20_000, "{stats:?}");
        assert!(stats.bytes <= stats.capacity_bytes && items > 2000, "{stats:?}");
        let last = keys.last().unwrap().as_bytes();
        assert!(session.get(last, &mut Vec::new()).unwrap().is_some());
        let keys: Vec<_> = keys.iter().map(String::as_bytes).collect();
        let mut deleted = 0;
        let mut done = |_, there: Result<bool>| deleted += u64::from(there.unwrap());
        session.delete_many(&keys, &mut done).unwrap();
        let stats = store.stats().unwrap();
        assert_eq!((deleted, stats.items, stats.bytes), (items, Some(0), Some(0)));
    }
}
