//! The operations on one entry as statements, on any connection: the session's own, or inside a transaction.

use std::sync::Arc;
use std::time::Duration;

use larder_store::{Meta, Remaining, Result, SetMode, SetOptions, SetOutcome};

use super::connection::{Connection, Row, Statement, Value};
use super::statements::Statements;
use super::table::Table;
use super::versions::Versions;
use larder_store::counters::Requests;

/// The state that the operations of a session need beside a connection.
#[derive(Debug)]
pub(super) struct Operations {
    pub(super) table: Arc<Table>,
    pub(super) requests: Arc<Requests>,
    versions: Versions,
}

impl Operations {
    pub(super) fn new(table: Arc<Table>) -> Self {
        let requests = table.requests.session();
        Self { table, requests, versions: Versions::new() }
    }

    /// Whether a statement that writes changed anything.
    pub(super) fn changes(
        &self,
        connection: &mut dyn Connection,
        statement: fn(&Statements) -> &Statement,
        values: &[Value<'_>],
    ) -> Result<bool> {
        self.requests.sent.add_one();
        Ok(connection.change(statement(&self.table.statements), values)? > 0)
    }

    /// A version that no entry has had.
    pub(super) fn next_version(&mut self) -> i64 {
        self.versions.next()
    }

    pub(super) fn now(&self) -> Value<'static> {
        Value::Integer(self.table.now_ms())
    }

    /// Passes on the row that a statement finds for a key, with the time of the question; `None` for an absent key.
    pub(super) fn find<T>(
        &self,
        connection: &mut dyn Connection,
        statement: fn(&Statements) -> &Statement,
        key: &[u8],
        read: &mut dyn FnMut(&dyn Row, i64) -> Result<T>,
    ) -> Result<Option<T>> {
        self.requests.sent.add_one();
        let now_ms = self.table.now_ms();
        let mut found = None;
        let values = [Value::Bytes(key), Value::Integer(now_ms)];
        connection.rows(statement(&self.table.statements), &values, &mut |row| {
            found = Some(read(row, now_ms)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Reads an entry; its value goes behind the bytes that `out` has.
    pub(super) fn read(
        &self,
        connection: &mut dyn Connection,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        self.find(connection, |all| &all.get, key, &mut |row, now_ms| {
            let meta = meta(row, now_ms)?;
            out.extend_from_slice(row.bytes(0)?);
            Ok(meta)
        })
    }

    /// Whether a key exists.
    pub(super) fn has(&self, connection: &mut dyn Connection, key: &[u8]) -> Result<bool> {
        let found = self.find(connection, |all| &all.version, key, &mut |_, _| Ok(()))?;
        Ok(found.is_some())
    }

    /// Stores a value, with a tag or without one.
    pub(super) fn store(
        &mut self,
        connection: &mut dyn Connection,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tag: Value<'_>,
    ) -> Result<SetOutcome> {
        self.table.check_key(key)?;
        if value.len() > self.table.limits.value_len {
            if options.mode == SetMode::Set {
                // The old entry must not stay.
                self.delete(connection, key)?;
            }
            return Err(self.table.too_large(value.len()));
        }
        match options.mode {
            SetMode::Append | SetMode::Prepend => self.join(connection, key, value, options.mode),
            _ => self.put(connection, key, value, options, tag),
        }
    }

    /// Stores a value in place of the old value.
    fn put(
        &mut self,
        connection: &mut dyn Connection,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tag: Value<'_>,
    ) -> Result<SetOutcome> {
        let deadline = self.deadline(options.ttl);
        let flags = Value::Integer(options.flags.into());
        let now = self.now();
        let version = self.next_version();
        let mut values = vec![
            Value::Bytes(key),
            Value::Bytes(value),
            Value::Integer(version),
            deadline,
            flags,
            tag,
        ];
        let stored = SetOutcome::Stored(Some(version.unsigned_abs()));
        let or_not = |is_stored: bool| if is_stored { stored } else { SetOutcome::NotStored };
        match options.mode {
            SetMode::Add => {
                values.push(now);
                self.changes(connection, |all| &all.add, &values).map(or_not)
            }
            SetMode::Replace => {
                values.push(now);
                self.changes(connection, |all| &all.replace, &values).map(or_not)
            }
            SetMode::Cas(version) => {
                values.extend([now, only(version)]);
                if self.changes(connection, |all| &all.cas, &values)? {
                    return Ok(stored);
                }
                let is_there = self.has(connection, key)?;
                Ok(if is_there { SetOutcome::Exists } else { SetOutcome::NotFound })
            }
            _ => {
                self.changes(connection, |all| &all.set, &values)?;
                Ok(stored)
            }
        }
    }

    /// Puts a value behind or before the old value.
    fn join(
        &mut self,
        connection: &mut dyn Connection,
        key: &[u8],
        value: &[u8],
        mode: SetMode,
    ) -> Result<SetOutcome> {
        let limit = self.table.limits.value_len;
        let room = Value::Integer(i64::try_from(limit - value.len()).unwrap_or(i64::MAX));
        let version = self.next_version();
        let new = Value::Integer(version);
        let values = [Value::Bytes(key), Value::Bytes(value), new, self.now(), room];
        let joined = match mode {
            SetMode::Prepend => self.changes(connection, |all| &all.prepend, &values)?,
            _ => self.changes(connection, |all| &all.append, &values)?,
        };
        if joined {
            return Ok(SetOutcome::Stored(Some(version.unsigned_abs())));
        }
        let there = self.look(connection, key)?;
        match there.map(|(_, len)| len + value.len()) {
            Some(len) if len > limit => Err(self.table.too_large(len)),
            // Also where the key was stored since: the value was joined to no entry.
            _ => Ok(SetOutcome::NotStored),
        }
    }

    /// The metadata of an entry, and the length of its value.
    pub(super) fn look(
        &self,
        connection: &mut dyn Connection,
        key: &[u8],
    ) -> Result<Option<(Meta, usize)>> {
        self.find(connection, |all| &all.look, key, &mut |row, now_ms| {
            let len = row.integer(0)?.and_then(|len| usize::try_from(len).ok());
            Ok((meta(row, now_ms)?, len.unwrap_or_default()))
        })
    }

    /// Removes an entry; `false` when it was not there.
    pub(super) fn delete(&self, connection: &mut dyn Connection, key: &[u8]) -> Result<bool> {
        let values = [Value::Bytes(key), self.now()];
        self.changes(connection, |all| &all.delete, &values)
    }

    /// When an entry with this TTL expires, for a statement.
    pub(super) fn deadline(&self, ttl: Option<Duration>) -> Value<'static> {
        self.table.deadline_ms(ttl).map_or(Value::Null, Value::Integer)
    }
}

/// A version that an entry must have, for a statement. Versions are never negative, so a version that is too large for a
/// database matches no entry.
pub(super) fn only(version: u64) -> Value<'static> {
    Value::Integer(i64::try_from(version).unwrap_or(-1))
}

/// When the entry of a row expires; `None` is never.
pub(super) fn deadline_ms(row: &dyn Row) -> Result<Option<i64>> {
    row.integer(3)
}

/// The metadata of a row.
pub(super) fn meta(row: &dyn Row, now_ms: i64) -> Result<Meta> {
    let ttl = deadline_ms(row)?.map_or(Remaining::Forever, |deadline_ms| {
        let left = u64::try_from(deadline_ms - now_ms).unwrap_or_default();
        Remaining::For(Duration::from_millis(left))
    });
    // Only numbers of 32 bits are stored.
    let flags = row.integer(1)?.and_then(|flags| u32::try_from(flags).ok()).unwrap_or_default();
    let version = row.integer(2)?.map(i64::unsigned_abs);
    Ok(Meta { flags, version, ttl, stale: false })
}

/// Value and metadata of a row.
pub(super) fn entry(row: &dyn Row, now_ms: i64) -> Result<(&[u8], Meta)> {
    Ok((row.bytes(0)?, meta(row, now_ms)?))
}
