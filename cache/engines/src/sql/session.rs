//! One thread's handle: a connection, and each operation as a statement on it.

use std::sync::Arc;
use std::time::Duration;

use larder_store::{
    Counted, DeleteDone, DeleteOutcome, Delta, Error, Facts, Groups, Initial, Meta, Put, Remaining,
    Result, Session, SetDone, SetMode, SetOptions, SetOutcome,
};

use super::connection::{Transactions, Value};
use super::operations::{Operations, deadline_ms, meta, only};
use super::table::Table;
use crate::decimal::{self, Digits};
use larder_store::counters::SessionCounters;

/// One thread's handle on a table.
#[derive(Debug)]
pub struct SqlSession<C> {
    pub(super) operations: Operations,
    pub(super) connection: C,
    pub(super) counters: Arc<SessionCounters>,
    /// The old value, where a change depends on it.
    value: Vec<u8>,
    /// The places of the keys in a batch, kept to reuse the memory.
    pub(super) places: Vec<usize>,
}

impl<C: Transactions> SqlSession<C> {
    /// A session on this connection.
    pub fn new(table: Arc<Table>, connection: C) -> Self {
        let counters = table.counters.session();
        let (value, places) = (Vec::new(), Vec::new());
        Self { operations: Operations::new(table), connection, counters, value, places }
    }

    pub(super) fn table(&self) -> &Table {
        &self.operations.table
    }

    /// Stores a value, with a tag or without one.
    pub(super) fn store(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tag: Value<'_>,
    ) -> Result<SetOutcome> {
        let Self { operations, connection, counters, .. } = self;
        let outcome = operations.store(connection, key, value, options, tag)?;
        if outcome.is_stored() {
            counters.sets.add_one();
        }
        Ok(outcome)
    }

    /// Gives the number that is there another value, unless another session has written since it was read: `None` then,
    /// and where there is no number.
    fn count(&mut self, key: &[u8], delta: Delta) -> Result<Option<Counting>> {
        let Self { operations, connection, value, .. } = self;
        value.clear();
        let Some(meta) = operations.read(connection, key, value)? else {
            return Ok(Some(Counting::Absent));
        };
        let Some(number) = decimal::add(value, delta) else {
            return Err(Error::NotANumber { engine: operations.table.engine });
        };
        let version = operations.next_version();
        let digits = Digits::new(number);
        let values = [
            Value::Bytes(key),
            Value::Bytes(digits.as_bytes()),
            Value::Integer(version),
            operations.now(),
            only(meta.version.unwrap_or_default()),
        ];
        let changed = operations.changes(connection, |all| &all.set_value, &values)?;
        let counted = Counted { number, version: Some(version.unsigned_abs()) };
        Ok(changed.then_some(Counting::Done(counted)))
    }
}

/// The state of a number that is counted.
enum Counting {
    Absent,
    Done(Counted),
}

impl<C: Transactions> Session for SqlSession<C> {
    fn engine(&self) -> &'static str {
        self.table().engine
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        self.get_onto(key, value)
    }

    fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        let Self { operations, connection, counters, .. } = self;
        operations.table.check_key(key)?;
        let len = out.len();
        let found = operations.read(connection, key, out);
        if found.is_err() {
            out.truncate(len);
        }
        Ok(counters.looked_up(found?))
    }

    fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        let Self { operations, connection, counters, .. } = self;
        operations.table.check_key(key)?;
        let found = counters.looked_up(operations.look(connection, key)?);
        Ok(found.map(|(meta, value_len)| Facts::of(meta, value_len)))
    }

    /// Reads, and then renews the TTL only if the entry still has the version that was read; otherwise it begins again.
    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        value.clear();
        let Self { operations, connection, counters, .. } = self;
        operations.table.check_key(key)?;
        let wanted_ms = operations.table.deadline_ms(ttl);
        let deadline = wanted_ms.map_or(Value::Null, Value::Integer);
        loop {
            value.clear();
            let found = operations.find(connection, |all| &all.get, key, &mut |row, now_ms| {
                value.extend_from_slice(row.bytes(0)?);
                Ok((meta(row, now_ms)?, deadline_ms(row)?))
            })?;
            let Some((mut meta, found_ms)) = found else { return Ok(counters.looked_up(None)) };
            let read = only(meta.version.unwrap_or_default());
            let values = [Value::Bytes(key), deadline, operations.now(), read];
            // An update that changes nothing may count as none.
            if found_ms == wanted_ms
                || operations.changes(connection, |all| &all.touch_if, &values)?
            {
                meta.ttl = ttl.map_or(Remaining::Forever, Remaining::For);
                return Ok(counters.looked_up(Some(meta)));
            }
        }
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        keys.iter().try_for_each(|key| self.table().check_key(key))?;
        self.look_up(keys, hit)
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        self.store(key, value, options, Value::Null)
    }

    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        self.store_batch(entries, done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let Self { operations, connection, counters, .. } = self;
        operations.table.check_key(key)?;
        let deleted = operations.delete(connection, key)?;
        counters.deletes.add(u64::from(deleted));
        Ok(deleted)
    }

    fn delete_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        self.delete_batch(keys, done)
    }

    fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        let Self { operations, connection, counters, .. } = self;
        operations.table.check_key(key)?;
        let values = [Value::Bytes(key), operations.now(), only(version)];
        if operations.changes(connection, |all| &all.delete_if, &values)? {
            counters.deletes.add_one();
            return Ok(DeleteOutcome::Deleted);
        }
        // No version comes again, so an entry that is there by now has another one.
        let is_there = operations.has(connection, key)?;
        Ok(if is_there { DeleteOutcome::Exists } else { DeleteOutcome::NotFound })
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        let Self { operations, connection, .. } = self;
        operations.table.check_key(key)?;
        let values = [Value::Bytes(key), operations.deadline(ttl), operations.now()];
        let touched = operations.changes(connection, |all| &all.touch, &values)?;
        // The entry may have had the same deadline before.
        Ok(touched
            || (!operations.table.statements.counts_found && operations.has(connection, key)?))
    }

    /// Reads, and then writes only if no other session has written since; otherwise it begins again. Each time that
    /// happens, another session has made progress.
    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        self.table().check_key(key)?;
        loop {
            match (self.count(key, delta)?, absent) {
                (Some(Counting::Done(counted)), _) => return Ok(Some(counted)),
                (Some(Counting::Absent), None) => return Ok(None),
                (Some(Counting::Absent), Some(Initial { number, ttl })) => {
                    let options = SetOptions { mode: SetMode::Add, ttl, flags: 0 };
                    let digits = Digits::new(number);
                    let Self { operations, connection, .. } = self;
                    let value = digits.as_bytes();
                    let added = operations.store(connection, key, value, &options, Value::Null)?;
                    if let SetOutcome::Stored(version) = added {
                        return Ok(Some(Counted { number, version }));
                    }
                }
                (None, _) => {}
            }
        }
    }

    fn clear(&mut self) -> Result<()> {
        if !self.table().may_clear {
            return self.table().unsupported("clear on a server that larder did not start");
        }
        let Self { operations, connection, .. } = self;
        operations.changes(connection, |all| &all.clear, &[]).map(drop)
    }

    fn groups(&mut self) -> Option<&mut dyn Groups> {
        Some(self)
    }
}
