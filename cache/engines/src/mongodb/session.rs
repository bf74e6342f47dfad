//! One thread's handle: a driver of its own.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use larder_store::{
    Counted, DeleteDone, DeleteOutcome, Delta, Error, Groups, Initial, Meta, Put, Result, Session,
    SetDone, SetMode, SetOptions, SetOutcome,
};
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, Document, RawDocument, doc, rawdoc};
use mongodb::options::ReturnDocument;

use super::document::{
    self, EXPIRES, EntryMetadata, Found, ID, MAX_KEY_LEN, VALUE, VERSION, live, text,
};
use super::link::Link;
use super::store::{Shared, too_long};
use super::unacknowledged::Outbox;
use super::{SCHEME, errors};
use crate::decimal::{self, Digits};
use larder_store::counters::SessionCounters;

/// One thread's handle on a collection.
pub(super) struct MongodbSession {
    pub(super) link: Link,
    /// The connection of unacknowledged plain sets, where the URL asks for them.
    outbox: Option<Outbox>,
    pub(super) counters: Arc<SessionCounters>,
    version: u64,
    pub(super) shared: Arc<Shared>,
}

/// The change of a value that is there.
enum Change {
    To(Vec<u8>),
    TooLarge(usize),
}

impl MongodbSession {
    pub(super) fn new(shared: Arc<Shared>) -> Result<Self> {
        let mut link = Link::new(&shared.target, &shared.n_connections)?;
        link.requests = shared.requests.session();
        let outbox = shared.unanswered.clone().map(|destination| {
            Outbox::new(destination, &shared.target.peer, shared.target.timeout)
        });
        let counters = shared.counters.session();
        // Counts from a random place among 2^63, so that no other session in any process gives the same version.
        let version = RandomState::new().hash_one(std::process::id());
        Ok(Self { link, outbox, counters, version, shared })
    }

    /// A version that no entry has had.
    pub(super) fn next_version(&mut self) -> i64 {
        self.version = self.version.wrapping_add(1) & i64::MAX.cast_unsigned();
        self.version.cast_signed()
    }

    /// Waits until the server has carried out the unacknowledged sets: the session's next operation must find them.
    pub(super) fn settle(&mut self) -> Result<()> {
        let Some(outbox) = &mut self.outbox else { return Ok(()) };
        if outbox.settle()? {
            self.link.requests.sent.add_one();
        }
        Ok(())
    }

    /// Puts an entry with any tag under its key, in one of the modes that do not need the value that is there.
    pub(super) fn put(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tag: Option<&[u8]>,
    ) -> Result<SetOutcome> {
        check(key)?;
        self.check_len(key, value.len(), options.mode)?;
        let deadline_ms = self.shared.deadline_ms(options.ttl);
        let terms =
            EntryMetadata { version: self.next_version(), flags: options.flags, deadline_ms, tag };
        let entry = document::of(key, value, &terms);
        let stored = SetOutcome::Stored(Some(terms.version.cast_unsigned()));
        let filter = rawdoc! { ID: text(key) };
        let is_plain = options.mode == SetMode::Set;
        if is_plain && self.send_unacknowledged([(&*filter, &*entry)].into_iter())? {
            return Ok(stored);
        }
        self.settle()?;
        let filter = doc! { ID: text(key) };
        let now_ms = self.shared.now_ms();
        let (filter, upsert) = match options.mode {
            SetMode::Set => (filter, true),
            // Only an expired entry gives way; a live entry makes the key a duplicate.
            SetMode::Add => {
                (doc! { ID: text(key), EXPIRES: { "$lte": document::date(now_ms) } }, true)
            }
            SetMode::Replace => (live(filter, now_ms), false),
            SetMode::Cas(version) => {
                (live(doc! { ID: text(key), VERSION: version.cast_signed() }, now_ms), false)
            }
            SetMode::Append | SetMode::Prepend => {
                return Err(Error::Unsupported { engine: SCHEME, operation: "append with a tag" });
            }
        };
        let deadline = Instant::now() + self.link.timeout();
        loop {
            let collection = self.link.collection();
            let replaced = self.link.attempt(async {
                collection.replace_one(filter.clone(), &entry).upsert(upsert).await
            })?;
            return match (replaced, options.mode) {
                (Ok(_), SetMode::Set | SetMode::Add) => Ok(stored),
                (Ok(done), _) if done.matched_count > 0 => Ok(stored),
                (Ok(_), SetMode::Cas(_)) => self.lost_cas(key),
                (Ok(_), _) => Ok(SetOutcome::NotStored),
                (Err(error), SetMode::Add) if errors::is_duplicate(&error) => {
                    Ok(SetOutcome::NotStored)
                }
                // Another session was first to insert the key, and there is something to replace now.
                (Err(error), SetMode::Set)
                    if errors::is_duplicate(&error) && Instant::now() < deadline =>
                {
                    continue;
                }
                (Err(error), _) => Err(self.link.failed(&error)),
            };
        }
    }

    /// Sends plain sets of different keys without waiting for an answer, as pairs of a filter and a document; `false`
    /// where the session waits for answers.
    pub(super) fn send_unacknowledged<'u>(
        &mut self,
        entries: impl Iterator<Item = (&'u RawDocument, &'u RawDocument)>,
    ) -> Result<bool> {
        if self.outbox.as_ref().is_some_and(Outbox::is_full) {
            self.settle()?;
        }
        let Some(outbox) = &mut self.outbox else { return Ok(false) };
        let target = &self.shared.target;
        if outbox.set(&target.database, &target.collection, entries)? {
            self.shared.n_connections.fetch_add(1, Ordering::Relaxed);
        }
        Ok(true)
    }

    /// Stores an entry without a tag, and does not count it.
    pub(super) fn store(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
    ) -> Result<SetOutcome> {
        match options.mode {
            SetMode::Append => self.join(key, value, false),
            SetMode::Prepend => self.join(key, value, true),
            _ => self.put(key, value, options, None),
        }
    }

    /// Whether a key has a live entry.
    fn has(&mut self, key: &[u8]) -> Result<bool> {
        Ok(self.find(key, |_, _| ())?.is_some())
    }

    /// The reason why a compare-and-swap did not apply.
    fn lost_cas(&mut self, key: &[u8]) -> Result<SetOutcome> {
        Ok(if self.has(key)? { SetOutcome::Exists } else { SetOutcome::NotFound })
    }

    /// Reads a live entry.
    fn find<T>(
        &mut self,
        key: &[u8],
        read: impl FnOnce(&Found<'_>, i64) -> T,
    ) -> Result<Option<T>> {
        self.settle()?;
        let now_ms = self.shared.now_ms();
        let (mut read, mut result) = (Some(read), None);
        self.link.find(doc! { ID: text(key) }, Some(1), &mut |document| {
            let found = Found::read(document)?;
            if found.is_live(now_ms) {
                result = read.take().map(|read| read(&found, now_ms));
            }
            Ok(())
        })?;
        Ok(result)
    }

    /// Changes a live value: reads it, and writes the new value under the version that it read. Starts again when
    /// another session was faster. Returns the new version, too; `None` where there is no live value.
    fn change<T>(
        &mut self,
        key: &[u8],
        mut change: impl FnMut(&[u8]) -> Result<(Change, T)>,
    ) -> Result<Option<(T, u64)>> {
        check(key)?;
        let deadline = Instant::now() + self.link.timeout();
        loop {
            let read = self.find(key, |found, _| (found.version, change(found.value)))?;
            let Some((version, changed)) = read else { return Ok(None) };
            let (value, result) = match changed? {
                (Change::To(value), result) => (value, result),
                (Change::TooLarge(len), _) => {
                    let limit = self.shared.max_value_len;
                    return Err(Error::ValueTooLarge { engine: SCHEME, len, limit });
                }
            };
            let value = Binary { subtype: BinarySubtype::Generic, bytes: value };
            let new_version = self.next_version();
            let set = doc! { VALUE: value, VERSION: new_version };
            let filter = doc! { ID: text(key), VERSION: version };
            if self.update(filter, doc! { "$set": set })? {
                return Ok(Some((result, new_version.cast_unsigned())));
            }
            if Instant::now() >= deadline {
                let what = "other sessions change this entry all the time".into();
                return Err(Error::Busy { engine: SCHEME, what });
            }
        }
    }

    /// Puts `more` behind or before the value that is there.
    fn join(&mut self, key: &[u8], more: &[u8], is_front: bool) -> Result<SetOutcome> {
        let limit = self.shared.max_value_len;
        let joined = self.change(key, |value| {
            let len = value.len() + more.len();
            let parts = if is_front { [more, value] } else { [value, more] };
            let change =
                if len > limit { Change::TooLarge(len) } else { Change::To(parts.concat()) };
            Ok((change, ()))
        })?;
        Ok(joined.map_or(SetOutcome::NotStored, |((), version)| SetOutcome::Stored(Some(version))))
    }

    /// The update that gives an entry a new TTL.
    fn new_ttl(&mut self, ttl: Option<Duration>) -> Document {
        let version = self.next_version();
        let mut update = doc! { "$set": { VERSION: version } };
        match self.shared.deadline_ms(ttl) {
            Some(at) => update = doc! { "$set": { VERSION: version, EXPIRES: document::date(at) } },
            None => drop(update.insert("$unset", doc! { EXPIRES: "" })),
        }
        update
    }

    /// Changes fields of one document; whether there was one.
    fn update(&self, filter: Document, update: Document) -> Result<bool> {
        let collection = self.link.collection();
        let done = self.link.run(async { collection.update_one(filter, update).await })?;
        Ok(done.matched_count > 0)
    }

    /// Removes one document; whether there was one.
    fn remove(&self, filter: Document) -> Result<bool> {
        let collection = self.link.collection();
        let done = self.link.run(async { collection.delete_one(filter).await })?;
        Ok(done.deleted_count > 0)
    }

    /// Refuses a value that no document has room for. A plain set removes the older value, too. A mode with a condition
    /// or on the present value changes nothing.
    fn check_len(&mut self, key: &[u8], len: usize, mode: SetMode) -> Result<()> {
        let limit = self.shared.max_value_len;
        if len <= limit {
            return Ok(());
        }
        if mode == SetMode::Set {
            self.settle()?;
            self.remove(doc! { ID: text(key) })?;
        }
        Err(Error::ValueTooLarge { engine: SCHEME, len, limit })
    }
}

/// Refuses a key that is too long.
pub(super) fn check(key: &[u8]) -> Result<()> {
    if key.len() > MAX_KEY_LEN { Err(too_long(key.len())) } else { Ok(()) }
}

impl Session for MongodbSession {
    fn engine(&self) -> &'static str {
        SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        self.get_onto(key, value)
    }

    fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        check(key)?;
        let len = out.len();
        let found = self.find(key, |found, now_ms| {
            out.extend_from_slice(found.value);
            found.meta(now_ms)
        });
        if found.is_err() {
            out.truncate(len);
        }
        Ok(self.counters.looked_up(found?))
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        value.clear();
        check(key)?;
        self.settle()?;
        let update = self.new_ttl(ttl);
        let now_ms = self.shared.now_ms();
        let collection = self.link.collection();
        let found = self.link.run(async {
            let filter = live(doc! { ID: text(key) }, now_ms);
            let change = collection.find_one_and_update(filter, update);
            change.return_document(ReturnDocument::After).await
        })?;
        let Some(document) = found else { return Ok(self.counters.looked_up(None)) };
        let found = Found::read(&document)?;
        value.extend_from_slice(found.value);
        Ok(self.counters.looked_up(Some(found.meta(now_ms))))
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        keys.iter().try_for_each(|key| check(key))?;
        if keys.is_empty() {
            return Ok(());
        }
        self.settle()?;
        let mut places: Vec<(String, usize)> =
            keys.iter().enumerate().map(|(i, key)| (text(key), i)).collect();
        places.sort_unstable();
        let mut wanted: Vec<&str> = places.iter().map(|(key, _)| &**key).collect();
        wanted.dedup();
        let n_wanted = u32::try_from(wanted.len()).ok();
        let wanted: Vec<Bson> = wanted.into_iter().map(Bson::from).collect();
        let now_ms = self.shared.now_ms();
        let mut n_hits = 0;
        self.link.find(doc! { ID: { "$in": wanted } }, n_wanted, &mut |document| {
            let found = Found::read(document)?;
            let first = places.partition_point(|(key, _)| &**key < found.key);
            let same = places[first..].iter().take_while(|(key, _)| key == found.key);
            for (_, i) in same.filter(|_| found.is_live(now_ms)) {
                n_hits += 1;
                hit(*i, found.value, found.meta(now_ms));
            }
            Ok(())
        })?;
        self.counters.hits.add(n_hits);
        self.counters.misses.add((keys.len() as u64).saturating_sub(n_hits));
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        let outcome = self.store(key, value, options)?;
        if outcome.is_stored() {
            self.counters.sets.add_one();
        }
        Ok(outcome)
    }

    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        self.store_batch(entries, done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        check(key)?;
        self.settle()?;
        let was_there = self.remove(live(doc! { ID: text(key) }, self.shared.now_ms()))?;
        if was_there {
            self.counters.deletes.add_one();
        }
        Ok(was_there)
    }

    fn delete_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        self.delete_batch(keys, done)
    }

    fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        check(key)?;
        self.settle()?;
        let filter = doc! { ID: text(key), VERSION: version.cast_signed() };
        if self.remove(live(filter, self.shared.now_ms()))? {
            self.counters.deletes.add_one();
            return Ok(DeleteOutcome::Deleted);
        }
        // No version comes again, so an entry that is there by now has another one.
        Ok(if self.has(key)? { DeleteOutcome::Exists } else { DeleteOutcome::NotFound })
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        check(key)?;
        self.settle()?;
        let update = self.new_ttl(ttl);
        self.update(live(doc! { ID: text(key) }, self.shared.now_ms()), update)
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        loop {
            let number = self.change(key, |value| {
                let sum = decimal::add(value, delta).ok_or(Error::NotANumber { engine: SCHEME })?;
                Ok((Change::To(Digits::new(sum).as_bytes().to_vec()), sum))
            })?;
            if let Some((number, version)) = number {
                return Ok(Some(Counted { number, version: Some(version) }));
            }
            let Some(Initial { number, ttl }) = absent else { return Ok(None) };
            let options = SetOptions { mode: SetMode::Add, ttl, flags: 0 };
            let digits = Digits::new(number);
            // Another session may be first to store a number, which then counts.
            if let SetOutcome::Stored(version) = self.put(key, digits.as_bytes(), &options, None)? {
                return Ok(Some(Counted { number, version }));
            }
        }
    }

    fn clear(&mut self) -> Result<()> {
        if !self.shared.is_managed() {
            let operation = "clear on a server that larder did not start";
            return Err(Error::Unsupported { engine: SCHEME, operation });
        }
        self.settle()?;
        self.shared.clear()
    }

    fn settle(&mut self) -> Result<()> {
        Self::settle(self)
    }

    fn groups(&mut self) -> Option<&mut dyn Groups> {
        Some(self)
    }
}

impl Drop for MongodbSession {
    /// Unacknowledged writes are carried out before the session ends: the next reader finds them.
    fn drop(&mut self) {
        // No caller is left to report a failure to.
        let _ = self.settle();
    }
}
