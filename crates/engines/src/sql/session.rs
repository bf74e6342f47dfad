//! One thread's handle: a connection, and each operation as a statement on it.

use std::sync::Arc;
use std::time::Duration;

use larder_store::{
    Error, Groups, Meta, Remaining, Result, Session, SetMode, SetOptions, SetOutcome,
};

use super::connection::{Connection, Row, Statement, Value};
use super::statements::Statements;
use super::table::Table;
use super::versions::Versions;
use crate::counters::{Requests, SessionCounters};
use crate::decimal::{self, Digits};

/// One thread's handle on a table.
#[derive(Debug)]
pub struct SqlSession<C> {
    pub(super) table: Arc<Table>,
    pub(super) connection: C,
    pub(super) counters: Arc<SessionCounters>,
    pub(super) requests: Arc<Requests>,
    versions: Versions,
    /// The old value, where a change depends on it.
    value: Vec<u8>,
    /// The places of the keys in a batch, kept to reuse the memory.
    pub(super) places: Vec<usize>,
}

impl<C: Connection> SqlSession<C> {
    /// A session on this connection.
    pub fn new(table: Arc<Table>, connection: C) -> Self {
        let (counters, requests) = (table.counters.session(), table.requests.session());
        let versions = Versions::new();
        let (value, places) = (Vec::new(), Vec::new());
        Self { table, connection, counters, requests, versions, value, places }
    }

    /// Whether a statement that writes changed anything.
    fn changes(
        &mut self,
        statement: fn(&Statements) -> &Statement,
        values: &[Value<'_>],
    ) -> Result<bool> {
        self.requests.sent.add_one();
        Ok(self.connection.change(statement(&self.table.statements), values)? > 0)
    }

    fn next_version(&self) -> Value<'static> {
        Value::Integer(self.versions.next())
    }

    pub(super) fn now(&self) -> Value<'static> {
        Value::Integer(self.table.now_ms())
    }

    /// Reads an entry, and counts nothing.
    fn read(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        let Self { table, connection, requests, .. } = self;
        requests.sent.add_one();
        let now_ms = table.now_ms();
        let mut found = None;
        let values = [Value::Bytes(key), Value::Integer(now_ms)];
        connection.rows(&table.statements.get, &values, &mut |row| {
            let (bytes, meta) = entry(row, now_ms)?;
            value.extend_from_slice(bytes);
            found = Some(meta);
            Ok(())
        })?;
        Ok(found)
    }

    /// Whether a key exists.
    fn has(&mut self, key: &[u8]) -> Result<bool> {
        let values = [Value::Bytes(key), self.now()];
        let mut is_there = false;
        self.requests.sent.add_one();
        self.connection.rows(&self.table.statements.version, &values, &mut |_| {
            is_there = true;
            Ok(())
        })?;
        Ok(is_there)
    }

    /// Stores a value, with a tag or without one.
    pub(super) fn store(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tag: Value<'_>,
    ) -> Result<SetOutcome> {
        self.table.check_key(key)?;
        if value.len() > self.table.limits.value_len {
            return Err(match options.mode {
                SetMode::Set => self.refused(key, value.len())?,
                _ => self.table.too_large(value.len()),
            });
        }
        let outcome = match options.mode {
            SetMode::Append | SetMode::Prepend => self.join(key, value, options.mode)?,
            _ => self.put(key, value, options, tag)?,
        };
        if outcome == SetOutcome::Stored {
            self.counters.sets.add_one();
        }
        Ok(outcome)
    }

    /// Stores a value in place of the old value.
    fn put(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tag: Value<'_>,
    ) -> Result<SetOutcome> {
        let mode = options.mode;
        let deadline = deadline(&self.table, options.ttl);
        let flags = Value::Integer(options.flags.into());
        let (now, only) = match mode {
            SetMode::Set => (Value::Null, Value::Null),
            // Versions are never negative, so a version that is too large for a database matches no entry.
            SetMode::Cas(version) => {
                (self.now(), Value::Integer(i64::try_from(version).unwrap_or(-1)))
            }
            _ => (self.now(), Value::Null),
        };
        let (key_value, version) = (Value::Bytes(key), self.next_version());
        let values = [key_value, Value::Bytes(value), version, deadline, flags, tag, now, only];
        let or_not = |stored: bool| if stored { SetOutcome::Stored } else { SetOutcome::NotStored };
        match mode {
            SetMode::Add => self.changes(|all| &all.add, &values[..7]).map(or_not),
            SetMode::Replace => self.changes(|all| &all.replace, &values[..7]).map(or_not),
            SetMode::Cas(_) => {
                if self.changes(|all| &all.cas, &values)? {
                    return Ok(SetOutcome::Stored);
                }
                let is_there = self.has(key)?;
                Ok(if is_there { SetOutcome::Exists } else { SetOutcome::NotFound })
            }
            _ => {
                self.changes(|all| &all.set, &values[..6])?;
                Ok(SetOutcome::Stored)
            }
        }
    }

    /// Puts a value behind or before the old value.
    fn join(&mut self, key: &[u8], value: &[u8], mode: SetMode) -> Result<SetOutcome> {
        let room = self.table.limits.value_len - value.len();
        let room = Value::Integer(i64::try_from(room).unwrap_or(i64::MAX));
        let values =
            [Value::Bytes(key), Value::Bytes(value), self.next_version(), self.now(), room];
        let joined = match mode {
            SetMode::Prepend => self.changes(|all| &all.prepend, &values)?,
            _ => self.changes(|all| &all.append, &values)?,
        };
        if joined {
            return Ok(SetOutcome::Stored);
        }
        let mut there = std::mem::take(&mut self.value);
        let found = self.read(key, &mut there);
        let len = there.len() + value.len();
        self.value = there;
        match found? {
            Some(_) if len > self.table.limits.value_len => Err(self.table.too_large(len)),
            // Also where the key was stored since: the value was joined to no entry.
            _ => Ok(SetOutcome::NotStored),
        }
    }

    /// The error for a value that is too large; removes the old entry, which must not stay.
    fn refused(&mut self, key: &[u8], len: usize) -> Result<Error> {
        let values = [Value::Bytes(key), self.now()];
        self.changes(|all| &all.delete, &values)?;
        Ok(self.table.too_large(len))
    }
}

impl<C: Connection> Session for SqlSession<C> {
    fn engine(&self) -> &'static str {
        self.table.engine
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        self.table.check_key(key)?;
        let found = self.read(key, value)?;
        Ok(self.counters.looked_up(found))
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        keys.iter().try_for_each(|key| self.table.check_key(key))?;
        self.look_up(keys, hit)
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        self.store(key, value, options, Value::Null)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.table.check_key(key)?;
        let values = [Value::Bytes(key), self.now()];
        let deleted = self.changes(|all| &all.delete, &values)?;
        if deleted {
            self.counters.deletes.add_one();
        }
        Ok(deleted)
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        self.table.check_key(key)?;
        let values = [Value::Bytes(key), deadline(&self.table, ttl), self.now()];
        let touched = self.changes(|all| &all.touch, &values)?;
        // The entry may have had the same deadline before.
        Ok(touched || (!self.table.statements.counts_found && self.has(key)?))
    }

    /// Reads, and then writes only if no other session has written since; otherwise it begins again. Each time that
    /// happens, another session has made progress.
    fn incr(&mut self, key: &[u8], delta: i64) -> Result<Option<u64>> {
        self.table.check_key(key)?;
        loop {
            let mut value = std::mem::take(&mut self.value);
            let found = self.read(key, &mut value);
            let sum = decimal::add(&value, delta);
            self.value = value;
            let Some(meta) = found? else { return Ok(None) };
            let Some(sum) = sum else {
                return Err(Error::NotANumber { engine: self.table.engine });
            };
            let digits = Digits::new(sum);
            let only = i64::try_from(meta.version.unwrap_or_default()).unwrap_or(-1);
            let values = [
                Value::Bytes(key),
                Value::Bytes(digits.as_bytes()),
                self.next_version(),
                self.now(),
                Value::Integer(only),
            ];
            if self.changes(|all| &all.set_value, &values)? {
                return Ok(Some(sum));
            }
        }
    }

    fn clear(&mut self) -> Result<()> {
        if !self.table.may_clear {
            return self.table.unsupported("clear on a server that larder did not start");
        }
        self.changes(|all| &all.clear, &[]).map(drop)
    }

    fn groups(&mut self) -> Option<&mut dyn Groups> {
        Some(self)
    }
}

fn deadline(table: &Table, ttl: Option<Duration>) -> Value<'static> {
    table.deadline_ms(ttl).map_or(Value::Null, Value::Integer)
}

/// Value and metadata of a row.
pub(super) fn entry(row: &dyn Row, now_ms: i64) -> Result<(&[u8], Meta)> {
    let ttl = row.integer(3)?.map_or(Remaining::Forever, |deadline_ms| {
        let left = u64::try_from(deadline_ms - now_ms).unwrap_or_default();
        Remaining::For(Duration::from_millis(left))
    });
    // Only numbers of 32 bits are stored.
    let flags = row.integer(1)?.and_then(|flags| u32::try_from(flags).ok()).unwrap_or_default();
    let version = row.integer(2)?.map(i64::unsigned_abs);
    Ok((row.bytes(0)?, Meta { flags, version, ttl }))
}
