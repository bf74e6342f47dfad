//! Our own table: made where it is missing, refused where it is somebody else's, taken away again where it was made here
//! and nobody has left anything in it.

use larder_store::{Error, Result};

use super::SCHEME;
use super::address::Address;
use super::connection::MysqlConnection;
use super::refusal;
use crate::sql::dialect::MYSQL_MAX_KEY_LEN;

/// The options of the table. Only rows of this format have keys of the longest length.
pub(super) const OPTIONS: &str = "ENGINE = InnoDB ROW_FORMAT = DYNAMIC";

/// The longest key of an index of MySQL 5.6 and before, where nobody has allowed longer ones.
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

/// The table as it was found or made.
#[derive(Debug)]
pub(super) struct Found {
    /// Whether it was made.
    pub(super) is_new: bool,
    /// The longest key that it takes.
    pub(super) key_len: usize,
}

/// Makes sure that there is a table of this name and of our layout, with the statements that make it.
pub(super) fn prepare(
    connection: &mut MysqlConnection,
    address: &Address,
    table: &str,
    create: &[String],
) -> Result<Found> {
    if let Some(key_len) = look_at(connection, address, table)? {
        return Ok(Found { is_new: false, key_len });
    }
    let is_new = make(connection, create)?;
    match look_at(connection, address, table)? {
        Some(key_len) => Ok(Found { is_new, key_len }),
        None => Err(refusal::protocol(address, format!("its new table `{table}` is not there"))),
    }
}

/// Makes the table; `false` where somebody else was faster.
fn make(connection: &mut MysqlConnection, create: &[String]) -> Result<bool> {
    const EXISTS: &str = "1050";
    let mut is_new = true;
    for sql in create {
        if let Err(error) = connection.order(sql) {
            if !refusal::is_key_too_long(&error) {
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

/// The longest key of a table of our layout; `None` where there is no table of this name.
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
                "option `table`: {address} has another table of this name in `{}`; write table=NAME, not `{table}`",
                address.database()
            ),
        }),
    }
}

/// Takes the table away if it is empty, and nobody can be writing into it meanwhile.
pub(super) fn drop_if_empty(
    connection: &mut MysqlConnection,
    table: &str,
) -> Result<(), mysql::Error> {
    connection.order(&format!("LOCK TABLES `{table}` WRITE"))?;
    if connection.ask(&format!("SELECT 1 FROM `{table}` LIMIT 1")).is_ok_and(|rows| rows.is_empty())
    {
        connection.order(&format!("DROP TABLE `{table}`"))?;
    }
    connection.order("UNLOCK TABLES")
}

/// The bytes that a table takes with its indices, as InnoDB estimates them; `None` where it does not say.
pub(super) fn n_bytes(connection: &mut MysqlConnection, table: &str) -> Result<Option<u64>> {
    let rows = connection.ask(&format!(
        "SELECT data_length + index_length FROM information_schema.tables \
         WHERE table_schema = database() AND table_name = '{table}'"
    ))?;
    Ok(rows.first().and_then(|row| row.first()?.parse().ok()))
}
