//! A session's connection: it writes when it has the turn, and then does the upkeep that is due for all sessions.

use std::sync::{Arc, MutexGuard};

use larder_store::Result;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection as File, ToSql};

use super::eviction::Writer;
use super::store::Shared;
use super::upkeep::WriteTurn;
use crate::sql::connection::{Connection, Row, Statement, Transactions, Value};

/// A connection to the file of a store.
#[derive(Debug)]
pub(super) struct SqliteConnection {
    pub(super) file: File,
    shared: Arc<Shared>,
}

impl SqliteConnection {
    pub(super) fn new(shared: Arc<Shared>, file: File) -> Self {
        Self { file, shared }
    }
}

impl Connection for SqliteConnection {
    fn change(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<u64> {
        let Self { file, shared } = self;
        let turn = shared.upkeep.turn();
        Turn { file, shared, held: turn }.change(statement, values)
    }

    fn rows(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<()> {
        self.shared.upkeep.stand_back();
        read(&self.file, &self.shared, statement, values, row)
    }
}

impl Transactions for SqliteConnection {
    /// SQLite gives up no transaction that has the lock from its beginning on.
    fn transaction(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Connection) -> Result<()>,
    ) -> Result<()> {
        let Self { file, shared } = self;
        let in_words = |error: rusqlite::Error| shared.error(&error);
        let mut turn = Turn { file, shared, held: shared.upkeep.turn() };
        let begun = file.prepare_cached("BEGIN IMMEDIATE").and_then(|mut begin| begin.execute([]));
        begun.map_err(in_words)?;
        let done = work(&mut turn).and_then(|()| {
            let ended = file.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
            ended.map(drop).map_err(in_words)
        });
        if done.is_err() && !file.is_autocommit() {
            // When even this fails, SQLite has already undone the transaction.
            let _ = file.execute_batch("ROLLBACK");
        }
        shared.upkeep.after_commit(&mut turn.held, file);
        done
    }
}

/// A connection whose session has the turn to write.
struct Turn<'c> {
    file: &'c File,
    shared: &'c Shared,
    held: MutexGuard<'c, WriteTurn>,
}

impl Connection for Turn<'_> {
    fn change(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<u64> {
        let Self { file, shared, held } = self;
        let write = || {
            let mut prepared = file.prepare_cached(&statement.sql)?;
            bind(&mut prepared, statement, values)?;
            prepared.raw_execute()
        };
        let done = write().and_then(|n_changed| {
            let Shared { table, eviction, .. } = shared;
            let writer = Writer { file, table, eviction };
            shared.upkeep.after_write(held, writer, bytes_in(values))?;
            Ok(n_changed as u64)
        });
        done.map_err(|error| shared.error(&error))
    }

    fn rows(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<()> {
        read(self.file, self.shared, statement, values, row)
    }
}

/// Runs a statement that reads.
fn read(
    file: &File,
    shared: &Shared,
    statement: &Statement,
    values: &[Value<'_>],
    row: &mut dyn FnMut(&dyn Row) -> Result<()>,
) -> Result<()> {
    let in_words = |error| shared.error(&error);
    let mut prepared = file.prepare_cached(&statement.sql).map_err(in_words)?;
    bind(&mut prepared, statement, values).map_err(in_words)?;
    let mut rows = prepared.raw_query();
    while let Some(found) = rows.next().map_err(in_words)? {
        row(&SqliteRow { shared, row: found })?;
        if statement.finds_one {
            break;
        }
    }
    Ok(())
}

/// Puts values into the places of a statement.
pub(super) fn bind(
    prepared: &mut rusqlite::Statement<'_>,
    statement: &Statement,
    values: &[Value<'_>],
) -> rusqlite::Result<()> {
    let mut places = statement.in_order(values).enumerate();
    places.try_for_each(|(place, value)| prepared.raw_bind_parameter(place + 1, value))
}

/// Bytes of the entry that is written.
fn bytes_in(values: &[Value<'_>]) -> usize {
    let len = |value: &Value<'_>| if let Value::Bytes(bytes) = value { bytes.len() } else { 0 };
    values.iter().map(len).sum()
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
            Self::Integer(number) => ValueRef::Integer(number),
            Self::Null => ValueRef::Null,
            Self::Many(_) | Self::Integers(_) => unreachable!("the dialect has no arrays"),
        }))
    }
}

/// A row of an answer.
struct SqliteRow<'r> {
    shared: &'r Shared,
    row: &'r rusqlite::Row<'r>,
}

impl Row for SqliteRow<'_> {
    fn bytes(&self, column: usize) -> Result<&[u8]> {
        let bytes = self.row.get_ref(column).and_then(|value| Ok(value.as_blob()?));
        bytes.map_err(|error| self.shared.error(&error))
    }

    fn integer(&self, column: usize) -> Result<Option<i64>> {
        self.row.get(column).map_err(|error| self.shared.error(&error))
    }
}
