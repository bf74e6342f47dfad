//! One thread's handle on the records of a store, with its buffers.

use std::sync::Arc;
use std::time::Duration;

use larder_store::counters::SessionCounters;
use larder_store::{
    Counted, DeleteDone, DeleteOutcome, Delta, Error, Facts, Initial, Meta, Put, Remaining, Result,
    Session, SetDone, SetOptions, SetOutcome,
};

use super::change::{Change, Outcome};
use super::{Database, Shared};
use crate::header::{HEADER_LEN, Header};

/// One thread's handle on a store of records.
pub(crate) struct RecordSession<D> {
    pub(super) shared: Arc<Shared<D>>,
    pub(super) counters: Arc<SessionCounters>,
    /// A record that is to be written.
    record: Vec<u8>,
    /// The old record, where the new record is made of it.
    found: Vec<u8>,
}

impl<D: Database> RecordSession<D> {
    pub(crate) fn new(shared: &Arc<Shared<D>>) -> Self {
        let counters = shared.records.counters.session();
        Self { shared: Arc::clone(shared), counters, record: Vec::new(), found: Vec::new() }
    }

    /// Does `work` in one transaction.
    pub(super) fn write<T>(
        &mut self,
        mut work: impl FnMut(&mut Change<'_, '_, D>) -> Outcome<T, D>,
    ) -> Result<T> {
        let Self { shared, record, found, .. } = self;
        let records = &*shared.records;
        let (done, earliest_ms) = records.database.write(|txn| {
            let earliest_ms = u64::MAX;
            let mut change = Change { records, txn, record, found, earliest_ms };
            let done = work(&mut change)?;
            Ok((done, change.earliest_ms))
        })?;
        records.note_deadline(earliest_ms);
        Ok(done)
    }
}

impl<D: Database> Session for RecordSession<D> {
    fn engine(&self) -> &'static str {
        D::SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        self.get_onto(key, value)
    }

    fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        check_key::<D>(key)?;
        let records = &*self.shared.records;
        let before = out.len();
        let header = records.database.get(key, out)?;
        let meta = header.and_then(|header| header.meta(|| records.clock.now_ms()));
        if meta.is_none() {
            out.truncate(before);
        }
        Ok(self.counters.looked_up(meta))
    }

    fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        check_key::<D>(key)?;
        let records = &*self.shared.records;
        let facts = records.database.look(key)?.and_then(|(header, len)| {
            header.meta(|| records.clock.now_ms()).map(|meta| Facts::of(meta, len))
        });
        Ok(self.counters.looked_up(facts))
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        keys.iter().try_for_each(|key| check_key::<D>(key))?;
        let records = &*self.shared.records;
        let mut n_hits = 0;
        records.database.get_many(keys, &mut |i, header, value| {
            if let Some(meta) = header.meta(|| records.clock.now_ms()) {
                hit(i, value, meta);
                n_hits += 1;
            }
        })?;
        self.counters.hits.add(n_hits);
        self.counters.misses.add(keys.len() as u64 - n_hits);
        Ok(())
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        value.clear();
        check_key::<D>(key)?;
        let deadline_ms = self.shared.records.deadline_ms(ttl);
        let touched = self.write(|change| change.get_and_touch(key, deadline_ms))?;
        Ok(self.counters.looked_up(touched).map(|Header { flags, version, .. }| {
            // The transaction has left the record there.
            value.extend_from_slice(&self.found[HEADER_LEN..]);
            let ttl = ttl.map_or(Remaining::Forever, Remaining::For);
            Meta { flags, version: Some(version), ttl, stale: false }
        }))
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        check_key::<D>(key)?;
        let terms = self.shared.records.terms(options);
        let outcome = self.write(|change| change.set(key, value, options.mode, terms))??;
        if outcome.is_stored() {
            self.counters.sets.add_one();
        }
        Ok(outcome)
    }

    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        self.store_many(entries, done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        check_key::<D>(key)?;
        let deleted = self.write(|change| change.delete(key))?;
        if deleted {
            self.counters.deletes.add_one();
        }
        Ok(deleted)
    }

    fn delete_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        self.remove_many(keys, done)
    }

    fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        check_key::<D>(key)?;
        let outcome = self.write(|change| change.delete_if(key, version))?;
        if outcome == DeleteOutcome::Deleted {
            self.counters.deletes.add_one();
        }
        Ok(outcome)
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        check_key::<D>(key)?;
        let deadline_ms = self.shared.records.deadline_ms(ttl);
        self.write(|change| change.touch(key, deadline_ms))
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        check_key::<D>(key)?;
        let records = &self.shared.records;
        let absent = absent.map(|initial| (initial.number, records.deadline_ms(initial.ttl)));
        self.write(|change| change.incr(key, delta, absent))?
    }

    fn clear(&mut self) -> Result<()> {
        self.shared.records.database.clear()
    }
}

pub(super) fn check_key<D: Database>(key: &[u8]) -> Result<()> {
    let (engine, limit) = (D::SCHEME, D::MAX_KEY_LEN);
    match key.len() {
        0 => Err(Error::InvalidKey { engine, reason: "it is empty" }),
        len if len > limit => Err(Error::KeyTooLong { engine, len, limit }),
        _ => Ok(()),
    }
}
