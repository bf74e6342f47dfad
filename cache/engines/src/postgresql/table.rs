//! The table on a server: made where it is missing, and dropped again by the store that made it where it is empty.

use larder_store::{Error, Result};

use super::SCHEME;
use super::config::{Persistence, PostgresqlConfig};
use super::connection::PostgresqlConnection;
use crate::sql::statements::Statements;

/// The columns of the table by name, as the server lists them.
const COLUMNS: &str =
    "deadline_ms bigint, flags bigint, key bytea, tag bytea, value bytea, version bigint";

/// The numbers of Larder's advisory locks, among those of other programs. A store that makes or drops a table holds the
/// first exclusively; a store that uses the table shares the second.
const MAKING: i32 = 0x6c61_7264;
const USING: i32 = MAKING + 1;

/// A table that exists.
#[derive(Debug)]
pub(super) struct OwnTable {
    /// The table's name, which needs no escapes.
    name: String,
    pub(super) persistence: Persistence,
    /// Whether this store made the table.
    is_new: bool,
}

impl OwnTable {
    /// Finds the table, or makes it. A table with other columns, or of another persistence than `wanted`, is refused.
    ///
    /// As long as the connection lasts, and on each that is opened in its place, no other store drops the table.
    pub(super) fn open(
        connection: &mut PostgresqlConnection,
        config: &PostgresqlConfig,
        wanted: Option<Persistence>,
        statements: &Statements,
    ) -> Result<Self> {
        let name = &config.namespace;
        let (making, using) = (lock(MAKING, name), lock(USING, name));
        connection.simple(&format!("BEGIN; SELECT pg_advisory_xact_lock({making})"))?;
        let found = find(connection, name, wanted)?;
        if found.is_none() {
            for statement in &statements.create {
                connection.simple(statement)?;
            }
        }
        connection.hold(format!("SELECT pg_advisory_lock_shared({using})"))?;
        connection.simple("COMMIT")?;
        let is_new = found.is_none();
        let persistence = found.unwrap_or(config.table);
        Ok(Self { name: name.clone(), persistence, is_new })
    }

    /// Drops the table if this store made it, it is empty, and no other store has it open.
    pub(super) fn close(&self, connection: &mut PostgresqlConnection, now_ms: i64) -> Result<()> {
        if !self.is_new {
            return Ok(());
        }
        let Self { name, .. } = self;
        let (making, using) = (lock(MAKING, name), lock(USING, name));
        let question = format!(
            "BEGIN; SELECT pg_advisory_xact_lock({making}), pg_advisory_unlock_shared({using}); \
             SELECT pg_try_advisory_xact_lock({using}) AND NOT EXISTS \
             (SELECT FROM \"{name}\" WHERE deadline_ms IS NULL OR deadline_ms > {now_ms})"
        );
        let answer = connection.simple(&question)?;
        let is_unused = answer.last().and_then(|row| row.last()?.as_deref()) == Some("t");
        let drop = if is_unused { format!("DROP TABLE \"{name}\"; ") } else { String::new() };
        connection.simple(&format!("{drop}COMMIT"))?;
        Ok(())
    }

    /// The query for the bytes that the table takes, with its indices.
    pub(super) fn size_question(&self) -> String {
        format!("SELECT pg_total_relation_size('\"{}\"')", self.name)
    }
}

/// The advisory lock of a table.
fn lock(purpose: i32, name: &str) -> String {
    format!("{purpose}, hashtext('{name}')")
}

/// The persistence of the table of this name, if the table exists and can be used.
fn find(
    connection: &mut PostgresqlConnection,
    name: &str,
    wanted: Option<Persistence>,
) -> Result<Option<Persistence>> {
    let question = format!(
        "SELECT c.relkind, c.relpersistence, \
         string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attname::text COLLATE \"C\") \
         FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
         WHERE c.oid = to_regclass('\"{name}\"') GROUP BY 1, 2"
    );
    let rows = connection.simple(&question)?;
    let Some(row) = rows.first() else { return Ok(None) };
    let column = |at: usize| row.get(at).and_then(Option::as_deref).unwrap_or_default();
    let refused = |reason: String| Err(Error::InvalidOptions { engine: SCHEME, reason });
    if column(0) != "r" || column(2) != COLUMNS {
        return refused(format!(
            "{} has another table `{name}`, with other columns; choose another name by `namespace=`",
            connection.peer()
        ));
    }
    let persistence = match column(1) {
        "u" => Persistence::Unlogged,
        _ => Persistence::Logged,
    };
    match wanted {
        Some(wanted) if wanted != persistence => refused(format!(
            "option `table`: {} has `{name}` as {} already; leave out the option, or name another by `namespace=`",
            connection.peer(),
            persistence.as_str()
        )),
        _ => Ok(Some(persistence)),
    }
}
