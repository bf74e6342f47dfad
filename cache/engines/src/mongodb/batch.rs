//! Batches of writes: one command for many entries, whose answer tells the outcome of each.
//!
//! A server counts the documents that a command matched, but not which ones. It tells for each part of a command only
//! whether the part failed, and whether it inserted. So plain sets and `add` go together, and other modes one by one.
//!
//! For the same reason a batch of deletes ends the entries, by an update that inserts an ended entry under each absent
//! key: an insert, or a failed one, means that there was no live entry. A second command removes what the first left.

use std::collections::HashSet;
use std::time::Instant;

use larder_store::{DeleteDone, Error, Put, Result, SetDone, SetMode, SetOutcome};
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{
    Binary, Bson, DateTime, Document, RawArrayBuf, RawDocument, RawDocumentBuf, doc, rawdoc,
};

use super::document::{self, EXPIRES, EntryMetadata, ID, LONG_PAST_MS, VALUE, VERSION, live, text};
use super::errors;
use super::introspection::number;
use super::link::Link;
use super::session::{MongodbSession, check};

/// The most entries in one command: the limit of old servers.
const MOST_ENTRIES: usize = 1000;

/// The most bytes of entries in one command with many.
const MOST_BYTES: usize = 4 << 20;

/// The largest size of an entry's part of a command beside key and value. A key of no ASCII takes four times its
/// length, because it stands there twice.
const AROUND_ENTRY: usize = 256;

/// The outcomes of entries, by their places.
type Outcomes = Vec<Option<Result<SetOutcome>>>;

/// The document that replaces another one, and the condition for it.
struct Replacement {
    place: usize,
    filter: RawDocumentBuf,
    entry: RawDocumentBuf,
    version: u64,
}

/// A failure of one part of a command.
struct PartFailure {
    place: usize,
    code: i32,
    message: String,
}

impl MongodbSession {
    /// Stores many entries. Runs of plain sets and `add` with different keys take one command each.
    pub(super) fn store_batch(
        &mut self,
        entries: &[Put<'_>],
        done: &mut SetDone<'_>,
    ) -> Result<()> {
        let most_bytes = MOST_BYTES.min(self.shared.max_value_len);
        let mut next = 0;
        while next < entries.len() {
            let len = run_len(&entries[next..], most_bytes);
            let run = &entries[next..next + len.max(1)];
            let outcomes = match len {
                0 | 1 => vec![Some(self.store_one(&run[0])?)],
                _ => self.store_run(run)?,
            };
            for (i, outcome) in outcomes.into_iter().enumerate() {
                let outcome = outcome.unwrap_or(Ok(SetOutcome::NotStored));
                if outcome.as_ref().is_ok_and(|outcome| outcome.is_stored()) {
                    self.counters.sets.add_one();
                }
                done(next + i, outcome);
            }
            next += run.len();
        }
        Ok(())
    }

    /// Stores one entry. A refusal is its outcome; any other error ends the batch.
    fn store_one(&mut self, entry: &Put<'_>) -> Result<Result<SetOutcome>> {
        match self.store(entry.key, entry.value, &entry.options) {
            Err(error @ (Error::KeyTooLong { .. } | Error::ValueTooLarge { .. })) => Ok(Err(error)),
            Err(error) => Err(error),
            outcome => Ok(outcome),
        }
    }

    /// Stores entries with different keys.
    fn store_run(&mut self, run: &[Put<'_>]) -> Result<Outcomes> {
        let mut replacements: Vec<_> =
            run.iter().enumerate().map(|(i, put)| self.replacement(i, put)).collect();
        let mut outcomes: Outcomes =
            replacements.iter().map(|new| Some(Ok(new.stored()))).collect();
        let is_plain = run.iter().all(|put| put.options.mode == SetMode::Set);
        if is_plain && self.send_unacknowledged(replacements.iter().map(Replacement::parts))? {
            return Ok(outcomes);
        }
        self.settle()?;
        let deadline = Instant::now() + self.link.timeout();
        while !replacements.is_empty() {
            let updates = replacements.iter().map(Replacement::parts);
            let (_, failures) = self.link.update_many(updates)?;
            let mut again = Vec::new();
            for PartFailure { place, code, message } in failures {
                let place = replacements[place].place;
                let is_add = run[place].options.mode == SetMode::Add;
                outcomes[place] = Some(match errors::is_duplicate_code(code) {
                    true if is_add => Ok(SetOutcome::NotStored),
                    // Another session was first to insert the key, and there is something to replace now.
                    true if Instant::now() < deadline => {
                        again.push(place);
                        continue;
                    }
                    _ => Err(self.link.refused(code, &message)),
                });
            }
            replacements.retain(|new| again.contains(&new.place));
        }
        Ok(outcomes)
    }

    /// The command's part for an entry that is stored in any case, or only when its key is absent.
    fn replacement(&mut self, place: usize, Put { key, value, options }: &Put<'_>) -> Replacement {
        let version = self.next_version();
        let deadline_ms = self.shared.deadline_ms(options.ttl);
        let terms = EntryMetadata { version, flags: options.flags, deadline_ms, tag: None };
        let mut filter = rawdoc! { ID: text(key) };
        if options.mode == SetMode::Add {
            filter.append(EXPIRES, rawdoc! { "$lte": DateTime::from_millis(self.shared.now_ms()) });
        }
        let entry = document::of(key, value, &terms);
        Replacement { place, filter, entry, version: version.cast_unsigned() }
    }

    /// Removes many keys.
    pub(super) fn delete_batch(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        let mut was_there = vec![false; keys.len()];
        let mut seen = HashSet::new();
        // Only the first of equal keys can be there.
        let places: Vec<usize> =
            (0..keys.len()).filter(|i| check(keys[*i]).is_ok() && seen.insert(keys[*i])).collect();
        self.settle()?;
        for places in places.chunks(MOST_ENTRIES) {
            let wanted: Vec<_> = places.iter().map(|i| keys[*i]).collect();
            for (place, ended) in places.iter().zip(self.end_entries(&wanted)?) {
                was_there[*place] = ended;
            }
        }
        for (i, (key, was_there)) in keys.iter().zip(was_there).enumerate() {
            self.counters.deletes.add(u64::from(was_there));
            done(i, check(key).map(|()| was_there));
        }
        Ok(())
    }

    /// Removes keys, which differ; whether each had a live entry.
    fn end_entries(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        // One version for all marks what this call has ended.
        let version = self.next_version();
        let now_ms = self.shared.now_ms();
        let nothing = Binary { subtype: BinarySubtype::Generic, bytes: Vec::new() };
        let end = doc! {
            "$set": { VERSION: version, EXPIRES: document::date(LONG_PAST_MS) },
            "$setOnInsert": { VALUE: nothing },
        };
        let end = self.link.raw(&end)?;
        let filters: Result<Vec<_>> =
            keys.iter().map(|key| self.link.raw(&live(doc! { ID: text(key) }, now_ms))).collect();
        let filters = filters?;
        let updates = filters.iter().map(|filter| (&**filter, &*end));
        let (inserted, failures) = self.link.update_many(updates)?;
        let mut was_there = vec![true; keys.len()];
        for place in inserted {
            was_there[place] = false;
        }
        let mut refused = None;
        for PartFailure { place, code, message } in failures {
            // The key has an entry that has expired, or that another session inserted meanwhile.
            was_there[place] = false;
            if !errors::is_duplicate_code(code) {
                refused = Some(self.link.refused(code, &message));
            }
        }
        let ended: Vec<Bson> = keys.iter().map(|key| text(key).into()).collect();
        let ended = doc! { ID: { "$in": ended }, VERSION: version };
        let collection = self.link.collection();
        self.link.run(async { collection.delete_many(ended).await })?;
        refused.map_or(Ok(was_there), Err)
    }
}

impl Replacement {
    fn stored(&self) -> SetOutcome {
        SetOutcome::Stored(Some(self.version))
    }

    fn parts(&self) -> (&RawDocument, &RawDocument) {
        (&self.filter, &self.entry)
    }
}

/// The number of entries, from the first on, that one command can store.
fn run_len(entries: &[Put<'_>], most_bytes: usize) -> usize {
    let (mut keys, mut n_bytes) = (HashSet::new(), 0);
    let mut len = 0;
    for Put { key, value, options } in entries.iter().take(MOST_ENTRIES) {
        n_bytes += 4 * key.len() + value.len() + AROUND_ENTRY;
        let goes_along = matches!(options.mode, SetMode::Set | SetMode::Add);
        if !goes_along || check(key).is_err() || n_bytes > most_bytes || !keys.insert(*key) {
            break;
        }
        len += 1;
    }
    len
}

/// The command by which documents replace or change others, where they exist and fulfil a filter, and are inserted
/// otherwise.
pub(super) fn upserts<'u>(
    collection: &str,
    updates: impl Iterator<Item = (&'u RawDocument, &'u RawDocument)>,
) -> RawDocumentBuf {
    let mut parts = RawArrayBuf::new();
    for (filter, update) in updates {
        let mut part = RawDocumentBuf::new();
        part.append_ref("q", filter);
        part.append_ref("u", update);
        part.append("upsert", true);
        parts.push(part);
    }
    let mut command = RawDocumentBuf::new();
    command.append("update", collection);
    command.append("updates", parts);
    // The parts have different keys, so one that fails says nothing of the others.
    command.append("ordered", false);
    command
}

impl Link {
    /// Runs such a command: the places of the parts that inserted, and of the parts that failed.
    fn update_many<'u>(
        &self,
        updates: impl Iterator<Item = (&'u RawDocument, &'u RawDocument)>,
    ) -> Result<(Vec<usize>, Vec<PartFailure>)> {
        let mut command = upserts(self.collection().name(), updates);
        if let Some(concern) = self.write_concern() {
            command.append_ref("writeConcern", concern);
        }
        let answer = self.run(async { self.database().run_raw_command(command).await })?;
        if let Ok(error) = answer.get_document("writeConcernError") {
            return Err(self.concern_not_met(error));
        }
        let parts =
            |name: &str| answer.get_array(name).into_iter().flatten().filter_map(Bson::as_document);
        let mut failures = Vec::new();
        for part in parts("writeErrors") {
            let code = number(part, "code").and_then(|code| i32::try_from(code).ok());
            failures.push(PartFailure {
                place: self.place(part)?,
                code: code.unwrap_or_default(),
                message: part.get_str("errmsg").unwrap_or_default().into(),
            });
        }
        let inserted: Result<_> = parts("upserted").map(|part| self.place(part)).collect();
        Ok((inserted?, failures))
    }

    /// The place of a part of a command, in an answer.
    fn place(&self, part: &Document) -> Result<usize> {
        let place = number(part, "index").and_then(|place| usize::try_from(place).ok());
        place.ok_or_else(|| self.unexpected("an outcome without its index"))
    }
}
