//! A session's connection: it writes when it has the turn, and then does the upkeep that is due for all sessions.

use std::sync::Arc;

use larder_store::Result;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection as File, ToSql};

use super::eviction::Writer;
use super::store::Shared;
use crate::sql::connection::{Connection, Row, Statement, Value};

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
        let shared = &*self.shared;
        let mut turn = shared.upkeep.turn();
        let write = || {
            let mut prepared = self.file.prepare_cached(&statement.sql)?;
            bind(&mut prepared, statement, values)?;
            prepared.raw_execute()
        };
        let done = write().and_then(|n_changed| {
            let Shared { table, eviction, .. } = shared;
            let writer = Writer { file: &self.file, table, eviction };
            shared.upkeep.after_write(&mut turn, writer, bytes_in(values))?;
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
        let shared = &*self.shared;
        shared.upkeep.stand_back();
        let in_words = |error| shared.error(&error);
        let mut prepared = self.file.prepare_cached(&statement.sql).map_err(in_words)?;
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
            Self::Many(_) => unreachable!("the dialect looks keys up by lists"),
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
