//! Reads by prefix, because the entries are sorted by key, and by tag, through an index.
//!
//! The transaction that changes an entry changes the index too. The entry itself names its tag, so a surplus pair of
//! the index finds nothing.

use heed::RoTxn;
use larder_store::{Error, FoundEntry, Groups, Result, SetMode, SetOptions, SetOutcome, check_tag};

use super::SCHEME;
use super::config::MAX_KEY_LEN;
use super::group_commit::Weight;
use super::record::Record;
use super::session::{LmdbSession, meta};

impl Groups for LmdbSession {
    fn get_prefix(&mut self, prefix: &[u8], found: &mut FoundEntry<'_>) -> Result<()> {
        if prefix.len() > MAX_KEY_LEN {
            return Ok(());
        }
        let environment = &self.shared.environment;
        let txn = environment.read()?;
        self.each_with_prefix(&txn, prefix, found).map_err(|error| environment.error(error))
    }

    fn get_tag(&mut self, tag: &[u8], found: &mut FoundEntry<'_>) -> Result<()> {
        check_tag(SCHEME, tag)?;
        let environment = &self.shared.environment;
        let txn = environment.read()?;
        self.each_with_tag(&txn, tag, found).map_err(|error| environment.error(error))
    }

    fn set_tagged(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tag: &[u8],
    ) -> Result<SetOutcome> {
        check_tag(SCHEME, tag)?;
        if matches!(options.mode, SetMode::Append | SetMode::Prepend) {
            return Err(Error::Unsupported { engine: SCHEME, operation: "append with a tag" });
        }
        self.store(key, value, options, tag)
    }

    fn delete_tag(&mut self, tag: &[u8]) -> Result<u64> {
        check_tag(SCHEME, tag)?;
        let deleted = self.write(Weight::REMOVAL, |writer| writer.remove_tagged(tag))?;
        self.counters.deletes.add(deleted);
        Ok(deleted)
    }
}

impl LmdbSession {
    fn each_with_prefix(
        &self,
        txn: &RoTxn<'_>,
        prefix: &[u8],
        found: &mut FoundEntry<'_>,
    ) -> heed::Result<()> {
        let entries = &self.shared.databases.entries;
        // LMDB has no empty keys, and cannot look up an empty prefix.
        if prefix.is_empty() {
            for entry in entries.iter(txn)? {
                let (key, stored) = entry?;
                self.hand_out(key, Record::split(stored)?, found);
            }
            return Ok(());
        }
        for entry in entries.prefix_iter(txn, prefix)? {
            let (key, stored) = entry?;
            self.hand_out(key, Record::split(stored)?, found);
        }
        Ok(())
    }

    fn each_with_tag(
        &self,
        txn: &RoTxn<'_>,
        tag: &[u8],
        found: &mut FoundEntry<'_>,
    ) -> heed::Result<()> {
        let databases = &self.shared.databases;
        let Some(pairs) = databases.tags.get_duplicates(txn, tag)? else { return Ok(()) };
        for pair in pairs {
            let (_, key) = pair?;
            let Some(stored) = databases.entries.get(txn, key)? else { continue };
            let record = Record::split(stored)?;
            if record.tag == tag {
                self.hand_out(key, record, found);
            }
        }
        Ok(())
    }

    /// Passes an entry to the caller, unless it has expired.
    fn hand_out(&self, key: &[u8], record: Record<'_>, found: &mut FoundEntry<'_>) {
        if let Some(meta) = meta(record, || self.shared.clock.now_ms()) {
            self.counters.hits.add_one();
            found(key, record.value, meta);
        }
    }
}
