//! The state that the sessions of a store share.

use std::time::Duration;

use larder_store::{Capabilities, Clock, Error, Result, Stats};

use super::connection::Connection;
use super::statements::Statements;
use larder_store::counters::{Counters, Dropped, Requests};

/// The table of a store, and its counters.
#[derive(Debug)]
pub struct Table {
    /// The scheme of the engine, for messages.
    pub engine: &'static str,
    /// The statements.
    pub statements: Statements,
    /// The limits of the table's columns.
    pub limits: Limits,
    /// Whether sessions may clear the table: not on a server that was not started for this store.
    pub may_clear: bool,
    /// The clock by which entries expire.
    pub clock: Clock,
    /// The counters of the table's sessions.
    pub counters: Counters,
    /// Statements that the sessions send.
    pub requests: Counters<Requests>,
    /// Rows that left the table without being deleted.
    pub dropped: Dropped,
}

/// The largest lengths, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The longest key.
    pub key_len: usize,
    /// The largest value.
    pub value_len: usize,
}

impl Table {
    /// A table with these statements, which sessions may clear.
    pub fn new(engine: &'static str, statements: Statements, limits: Limits) -> Self {
        Self {
            engine,
            statements,
            limits,
            may_clear: true,
            clock: Clock::system(),
            counters: Counters::default(),
            requests: Counters::default(),
            dropped: Dropped::default(),
        }
    }

    /// Whether the table is on a server that ends with the store, together with all rows.
    pub(super) fn ends_with_store(&self) -> bool {
        self.may_clear
    }

    /// Milliseconds since 1970, as databases count.
    pub fn now_ms(&self) -> i64 {
        i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX)
    }

    /// When an entry with this TTL expires; `None` is never.
    pub(super) fn deadline_ms(&self, ttl: Option<Duration>) -> Option<i64> {
        let deadline_ms = match ttl? {
            // Long past, even if the clock is set back.
            Duration::ZERO => 1,
            ttl => self.clock.deadline_ms(ttl),
        };
        Some(i64::try_from(deadline_ms).unwrap_or(i64::MAX))
    }

    /// The capabilities of the table's sessions. The engine adds reach, durability and eviction.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            batch: true,
            batch_write: true,
            groups: true,
            clear: self.may_clear,
            max_key_len: Some(self.limits.key_len),
            max_value_len: Some(self.limits.value_len),
            ..Capabilities::OF_RECORDS
        }
    }

    /// The counters, and the number of rows.
    pub fn stats(&self, connection: &mut dyn Connection) -> Result<Stats> {
        let mut stats = self.counters.stats();
        stats.requests_sent = Some(self.requests.sent());
        connection.rows(&self.statements.count, &[], &mut |row| {
            stats.items = row.integer(0)?.map(i64::unsigned_abs);
            Ok(())
        })?;
        self.dropped.write_to(&mut stats);
        Ok(stats)
    }

    pub(super) fn check_key(&self, key: &[u8]) -> Result<()> {
        if key.len() <= self.limits.key_len {
            return Ok(());
        }
        Err(self.key_too_long(key.len()))
    }

    pub(super) fn key_too_long(&self, len: usize) -> Error {
        Error::KeyTooLong { engine: self.engine, len, limit: self.limits.key_len }
    }

    pub(super) fn too_large(&self, len: usize) -> Error {
        Error::ValueTooLarge { engine: self.engine, len, limit: self.limits.value_len }
    }

    pub(super) fn unsupported<T>(&self, operation: &'static str) -> Result<T> {
        Err(Error::Unsupported { engine: self.engine, operation })
    }
}
