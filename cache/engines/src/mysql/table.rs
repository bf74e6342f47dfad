//! The store's table. It is made where it is missing, and refused where another program made it. The store that made
//! it drops it again if it is empty.

use std::sync::Arc;

use larder_store::{Error, Result};

use super::SCHEME;
use super::address::Address;
use super::connection::MysqlConnection;
use super::errors;
use crate::sql::connection::{Connection, Row, Statement, Value};
use crate::sql::dialect::MYSQL_MAX_KEY_LEN;

/// The options of the table. Only rows of this format have keys of the longest length.
pub(super) const OPTIONS: &str = "ENGINE = InnoDB ROW_FORMAT = DYNAMIC";

/// The longest key of an index in MySQL 5.6 and before, unless the server is set to allow longer ones.
const SHORT_KEY_LEN: usize = 767;

/// The columns, with their types.
const COLUMNS: [(&str, &str); 6] = [
    ("key", "varbinary"),
    ("deadline_ms", "bigint"),
    ("flags", "bigint"),
    ("version", "bigint"),
    ("tag", "varbinary"),
    ("value", "longblob"),
];

/// The number of times that the table is made again after other clients have dropped it.
const ATTEMPTS: usize = 10;

/// The table, found or made.
#[derive(Debug)]
pub(super) struct OpenTable {
    /// Whether this store made the table.
    pub(super) is_new: bool,
    /// The longest key that the table takes.
    pub(super) key_len: usize,
}

/// Makes sure that there is a table of this name with this layout; `create` has the statements that make it.
pub(super) fn prepare(
    connection: &mut MysqlConnection,
    address: &Address,
    table: &str,
    create: &[String],
) -> Result<OpenTable> {
    if let Some(key_len) = look_at(connection, address, table)? {
        return Ok(OpenTable { is_new: false, key_len });
    }
    let is_new = make(connection, create)?;
    match look_at(connection, address, table)? {
        Some(key_len) => Ok(OpenTable { is_new, key_len }),
        None => Err(errors::protocol(address, format!("its new table `{table}` is missing"))),
    }
}

/// As [`prepare`], and no other store drops the table as long as the returned connection lives.
pub(super) fn prepare_and_hold(
    connection: &mut MysqlConnection,
    address: &Address,
    table: &str,
    create: &[String],
) -> Result<(OpenTable, MysqlConnection)> {
    // A transaction that has named a table holds the table's metadata lock until it ends. At this level of isolation
    // the transaction keeps no old rows.
    let greeting = [
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SESSION autocommit = 0",
        &format!("SELECT 1 FROM `{table}` LIMIT 0"),
    ];
    let mut attempt = 1;
    loop {
        let found = prepare(connection, address, table, create)?;
        let greeting = greeting.map(ToOwned::to_owned).into();
        let mut hold = MysqlConnection::greeted(Arc::new(address.clone()), greeting);
        match hold.order("DO 1") {
            Ok(()) => return Ok((found, hold)),
            Err(error) if errors::lacks_table(&error) && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(hold.explain(&error)),
        }
    }
}

/// The connections that remove expired rows and hold the table. They work often enough to hold the table again soon
/// after a restart of the server.
pub(super) struct Sweeper {
    pub(super) rows: MysqlConnection,
    /// `None` on a server that ends with the store.
    pub(super) hold: Option<MysqlConnection>,
}

impl Connection for Sweeper {
    fn change(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<u64> {
        if let Some(hold) = &mut self.hold {
            hold.order("DO 1").map_err(|error| hold.explain(&error))?;
        }
        self.rows.change(statement, values)
    }

    fn rows(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<()> {
        self.rows.rows(statement, values, row)
    }
}

/// Makes the table; `false` where another client was faster.
fn make(connection: &mut MysqlConnection, create: &[String]) -> Result<bool> {
    const EXISTS: &str = "1050";
    let mut is_new = true;
    for sql in create {
        if let Err(error) = connection.order(sql) {
            if !errors::is_key_too_long(&error) {
                return Err(connection.explain(&error));
            }
            let [long, short] = [MYSQL_MAX_KEY_LEN, SHORT_KEY_LEN].map(|len| format!("({len})"));
            let ordered = connection.order(&sql.replacen(&long, &short, 1));
            ordered.map_err(|error| connection.explain(&error))?;
        }
        let warnings = connection.ask("SHOW WARNINGS")?;
        is_new &= !warnings.iter().any(|row| row.get(1).is_some_and(|code| code == EXISTS));
    }
    Ok(is_new)
}

/// The longest key of a table with this layout; `None` where there is no table of this name.
fn look_at(
    connection: &mut MysqlConnection,
    address: &Address,
    table: &str,
) -> Result<Option<usize>> {
    let rows = connection.ask(&format!(
        "SELECT column_name, data_type, character_maximum_length, engine \
         FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name) \
         WHERE table_schema = database() AND table_name = '{table}' ORDER BY ordinal_position"
    ))?;
    let Some(first) = rows.first() else { return Ok(None) };
    let is_ours = rows.len() == COLUMNS.len()
        && rows.iter().zip(COLUMNS).all(|(row, (name, kind))| row[0] == name && row[1] == kind)
        && rows.iter().all(|row| row[3] == "InnoDB");
    match first[2].parse() {
        Ok(key_len) if is_ours => Ok(Some(key_len)),
        _ => Err(Error::InvalidOptions {
            engine: SCHEME,
            reason: format!(
                "option `namespace`: {address} has another table of this name in `{}`; write namespace=NAME, not `{table}`",
                address.database()
            ),
        }),
    }
}

/// Drops the table if all its entries have expired, and no other store has it open.
pub(super) fn drop_if_unused(
    connection: &mut MysqlConnection,
    table: &str,
    now_ms: i64,
) -> Result<(), mysql::Error> {
    let question = format!(
        "SELECT 1 FROM `{table}` WHERE deadline_ms IS NULL OR deadline_ms > {now_ms} LIMIT 1"
    );
    let is_empty = |connection: &mut MysqlConnection| {
        connection.ask(&question).is_ok_and(|rows| rows.is_empty())
    };
    // Later clients queue behind a request for this lock, so a table with entries is not locked.
    if !is_empty(connection) {
        return Ok(());
    }
    // The server may take a moment to end a connection that was just closed here; other holders keep the table for
    // longer.
    connection.order("SET lock_wait_timeout = 1")?;
    connection.order(&format!("LOCK TABLES `{table}` WRITE"))?;
    if is_empty(connection) {
        connection.order(&format!("DROP TABLE `{table}`"))?;
    }
    connection.order("UNLOCK TABLES")
}

/// The bytes that a table takes with its indices, as InnoDB estimates them; `None` where InnoDB does not say.
pub(super) fn n_bytes(connection: &mut MysqlConnection, table: &str) -> Result<Option<u64>> {
    let rows = connection.ask(&format!(
        "SELECT data_length + index_length FROM information_schema.tables \
         WHERE table_schema = database() AND table_name = '{table}'"
    ))?;
    Ok(rows.first().and_then(|row| row.first()?.parse().ok()))
}
