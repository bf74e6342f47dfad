//! Entries that are found by the beginning of their keys, or by a tag.

use larder_store::{Error, FoundEntry, Groups, Result, SetMode, SetOptions, SetOutcome, check_tag};
use mongodb::bson::{Document, doc};

use super::SCHEME;
use super::document::{self, Found, ID, TAG, live, text};
use super::session::MongodbSession;

impl MongodbSession {
    /// Gives every live entry that a filter finds.
    fn give(&mut self, filter: Document, found: &mut FoundEntry<'_>) -> Result<()> {
        self.settle()?;
        let now_ms = self.shared.now_ms();
        let counters = &self.counters;
        self.link.find(filter, None, &mut |document| {
            let entry = Found::read(document)?;
            let key = document::bytes(entry.key).ok_or_else(|| Error::Corrupted {
                engine: SCHEME,
                what: "a document whose `_id` is not the key of an entry".into(),
            })?;
            if entry.is_live(now_ms) {
                counters.hits.add_one();
                found(&key, entry.value, entry.meta(now_ms));
            }
            Ok(())
        })
    }
}

impl Groups for MongodbSession {
    fn get_prefix(&mut self, prefix: &[u8], found: &mut FoundEntry<'_>) -> Result<()> {
        let mut range = doc! { "$gte": text(prefix) };
        if let Some(end) = document::behind(prefix) {
            range.insert("$lt", text(&end));
        }
        self.give(doc! { ID: range }, found)
    }

    fn get_tag(&mut self, tag: &[u8], found: &mut FoundEntry<'_>) -> Result<()> {
        check_tag(SCHEME, tag)?;
        self.give(doc! { TAG: text(tag) }, found)
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
        let outcome = self.put(key, value, options, Some(tag))?;
        if outcome.is_stored() {
            self.counters.sets.add_one();
        }
        Ok(outcome)
    }

    fn delete_tag(&mut self, tag: &[u8]) -> Result<u64> {
        check_tag(SCHEME, tag)?;
        self.settle()?;
        let filter = live(doc! { TAG: text(tag) }, self.shared.now_ms());
        let collection = self.link.collection();
        let done = self.link.run(async { collection.delete_many(filter).await })?;
        self.counters.deletes.add(done.deleted_count);
        Ok(done.deleted_count)
    }
}
