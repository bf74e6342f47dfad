//! Making room: the choice of rows, and their removal.
//!
//! Row ids grow, so the row with the smallest id is the row stored longest ago. A rewrite leaves the id alone and marks
//! the row. When the turn of a marked row comes, it gets a new id instead of being dropped, and loses the mark. This is
//! the clock algorithm, with writes for references, and at no cost to writes that need no room.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Result};

use super::connection::bind;
use crate::sql::connection::Value;
use crate::sql::table::Table;

/// The number of expired rows that are dropped at once.
const EXPIRED_AT_ONCE: i64 = 64;

/// The most rewritten rows that an eviction passes over before it drops a row: a bound on the time of one
/// write.
const SECOND_CHANCES: usize = 16;

/// The statements that make room, with their parameters in brackets.
#[derive(Debug)]
pub(super) struct Eviction {
    /// Finds the id of the row whose turn it is to make room, and whether the row is marked; never the newest row.
    oldest: String,
    /// `[id]`: gives a row a new id and removes its mark.
    refile: String,
    /// `[id]`: deletes a row, and gives the bytes of key and value.
    drop: String,
}

impl Eviction {
    /// The statements on the table of a namespace.
    pub(super) fn new(namespace: &str) -> Self {
        let table = format!("\"{namespace}\"");
        Self {
            oldest: format!(
                "SELECT id, rewritten FROM {table} WHERE id < (SELECT max(id) FROM {table}) \
                 ORDER BY id LIMIT 1"
            ),
            refile: format!(
                "UPDATE {table} SET id = (SELECT max(id) + 1 FROM {table}), rewritten = 0 WHERE id = ?1"
            ),
            drop: format!(
                "DELETE FROM {table} WHERE id = ?1 RETURNING length(key) + length(value)"
            ),
        }
    }
}

/// A connection that has the turn to write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writer<'c> {
    pub(super) file: &'c Connection,
    pub(super) table: &'c Table,
    pub(super) eviction: &'c Eviction,
}

impl<'c> Writer<'c> {
    fn prepare(&self, sql: &str) -> Result<CachedStatement<'c>> {
        self.file.prepare_cached(sql)
    }

    /// Does `work` in one transaction, which takes the write lock before it reads. The transaction of a batch is one
    /// already.
    pub(super) fn transaction<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if !self.file.is_autocommit() {
            return work();
        }
        self.prepare("BEGIN IMMEDIATE")?.execute([])?;
        let done = work().and_then(|done| {
            self.prepare("COMMIT")?.execute([])?;
            Ok(done)
        });
        if done.is_err() && !self.file.is_autocommit() {
            // When even this fails, SQLite has already undone the transaction.
            let _ = self.file.execute_batch("ROLLBACK");
        }
        done
    }

    /// Drops expired rows, a bounded number of them; returns how many.
    pub(super) fn expire(&self) -> Result<u64> {
        let statement = &self.table.statements.expire;
        let mut expire = self.prepare(&statement.sql)?;
        let values = [Value::Integer(self.table.now_ms()), Value::Integer(EXPIRED_AT_ONCE)];
        bind(&mut expire, statement, &values)?;
        Ok(expire.raw_execute()? as u64)
    }

    /// Drops the row whose turn it is and returns its bytes; `None` when only the newest row is left.
    pub(super) fn evict(&self) -> Result<Option<u64>> {
        for chance in 0.. {
            let mut oldest = self.prepare(&self.eviction.oldest)?;
            let oldest = oldest.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some((id, rewritten)) = oldest else { break };
            let (id, rewritten): (i64, bool) = (id, rewritten);
            if !rewritten || chance == SECOND_CHANCES {
                let mut drop = self.prepare(&self.eviction.drop)?;
                let bytes: i64 = drop.query_row([id], |row| row.get(0))?;
                return Ok(Some(bytes.unsigned_abs()));
            }
            self.prepare(&self.eviction.refile)?.execute([id])?;
        }
        Ok(None)
    }

    /// The number of pages of the file in use.
    pub(super) fn pages_in_use(&self) -> Result<i64> {
        pages_in_use(self.file)
    }
}

/// The number of pages of a file in use.
pub(super) fn pages_in_use(file: &Connection) -> Result<i64> {
    let count = |sql: &str| file.query_row(sql, [], |row| row.get::<_, i64>(0));
    Ok(count("PRAGMA page_count")? - count("PRAGMA freelist_count")?)
}
