//! A file and its format, and SQLite's errors as messages.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_store::{Error, Result, Span, at_least_once};
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, ffi};

use super::SCHEME;
use super::config::SqliteConfig;
use crate::sql::dialect::SQLITE;
use crate::sql::statements::Statements;
use larder_host::disk;

/// Marks a file as Larder's: "LRDR".
const APPLICATION_ID: i64 = 0x4c52_4452;

/// The format of the tables.
const FORMAT: i64 = 2;

/// The earlier format, whose tables have no tags.
const FORMAT_WITHOUT_TAGS: i64 = 1;

/// Statements that a connection keeps prepared: all that a session uses.
const PREPARED: usize = 64;

/// Opens a file for a session. A missing file is made.
pub(super) fn open(path: &Path, config: &SqliteConfig) -> Result<Connection> {
    let until = Instant::now() + config.timeout.0;
    loop {
        // When two processes open a new file at once, SQLite reports to one of them without a wait that the file is
        // busy.
        match try_open(path, config) {
            Err(error) if is_busy(&error) && Instant::now() < until => {
                sleep(Duration::from_millis(5));
            }
            opened => return opened.map_err(|error| in_words(path, config, &error)),
        }
    }
}

/// Tells SQLite not to keep statistics of its memory: they cost every allocation a lock that all sessions share.
fn without_statistics() {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    at_least_once(&IS_TOLD, || {
        // SAFETY: this option takes one int. SQLite refuses the option once it has begun to work, which only leaves the
        // statistics on.
        unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0) };
    });
}

fn try_open(path: &Path, config: &SqliteConfig) -> rusqlite::Result<Connection> {
    without_statistics();
    // A connection belongs to one session and so to one thread at a time; it needs no lock of its own.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(config.timeout.0)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    // Sets the size of a new file's pages, and so comes before the first write.
    connection.pragma_update(None, "page_size", signed(config.page_size.0))?;
    connection.pragma_update(None, "cache_size", -signed(config.cache.0 / 1024))?;
    connection.pragma_update(None, "mmap_size", signed(config.mmap.0))?;
    connection.pragma_update(None, "synchronous", config.sync.pragma())?;
    Ok(connection)
}

/// Makes the tables of a namespace in a file that is new or Larder's; any other file is refused untouched.
pub(super) fn prepare(
    connection: &mut Connection,
    path: &Path,
    config: &SqliteConfig,
    statements: &Statements,
) -> Result<()> {
    let until = Instant::now() + config.timeout.0;
    let refusal = loop {
        match try_prepare(connection, statements) {
            Err(error) if is_busy(&error) && Instant::now() < until => {
                sleep(Duration::from_millis(5));
            }
            prepared => break prepared.map_err(|error| in_words(path, config, &error))?,
        }
    };
    let Some(refusal) = refusal else { return Ok(()) };
    let what = format!("{} {refusal}", path.display());
    Err(Error::Unavailable { engine: SCHEME, what, source: None })
}

/// Makes the tables, or returns why the file is refused.
fn try_prepare(
    connection: &mut Connection,
    statements: &Statements,
) -> rusqlite::Result<Option<&'static str>> {
    let refusal = refusal(connection)?;
    if refusal.is_some() {
        return Ok(refusal);
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if number(&transaction, "PRAGMA user_version")? == FORMAT_WITHOUT_TAGS {
        add_tags(&transaction)?;
    }
    for create in &statements.create {
        transaction.execute_batch(create)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()?;
    Ok(None)
}

/// Writes the log into the file and waits until that is on the disk; `false` where a transaction still needs the log.
pub(super) fn flush(connection: &Connection, config: &SqliteConfig) -> rusqlite::Result<bool> {
    // Without syncs SQLite would leave the pages to the system.
    connection.pragma_update(None, "synchronous", "FULL")?;
    let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    connection.pragma_update(None, "synchronous", config.sync.pragma())?;
    busy.map(|busy: i64| busy == 0)
}

/// The reason why a file that is neither new nor Larder's is refused.
fn refusal(connection: &mut Connection) -> rusqlite::Result<Option<&'static str>> {
    // One transaction, because another process may be making the tables.
    let transaction = connection.transaction()?;
    let is_ours = match number(&transaction, "PRAGMA application_id")? {
        0 => number(&transaction, "SELECT count(*) FROM sqlite_schema")? == 0,
        id => id == APPLICATION_ID,
    };
    let is_later = number(&transaction, "PRAGMA user_version")? > FORMAT;
    Ok(match (is_ours, is_later) {
        (false, _) => Some("is a database that larder did not make; choose another file"),
        (true, true) => Some("was made by a newer larder; use that, or choose another file"),
        (true, false) => None,
    })
}

/// Adds the columns and indices of the newer format to the tables of all namespaces. SQLite adds a column at the end of
/// a row, where it makes the write of an entry with a tag a little more expensive.
fn add_tags(connection: &Connection) -> rusqlite::Result<()> {
    // SQLite's own tables, such as those of ANALYZE, take no columns.
    let mut tables = connection.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )?;
    let tables: Vec<String> =
        tables.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for table in tables {
        connection.execute_batch(&format!("ALTER TABLE \"{table}\" ADD COLUMN tag BLOB"))?;
        for create in Statements::new(&SQLITE, &table, "").create {
            connection.execute_batch(&create)?;
        }
    }
    Ok(())
}

fn number(connection: &Connection, sql: &str) -> rusqlite::Result<i64> {
    connection.query_row(sql, [], |row| row.get(0))
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// An error of SQLite as a message.
pub(super) fn in_words(path: &Path, config: &SqliteConfig, error: &rusqlite::Error) -> Error {
    let shown = path.display();
    let full = || {
        let source = io::ErrorKind::StorageFull.into();
        disk::io_error(SCHEME, "writing", path, source)
    };
    let corrupted =
        |what: &str| Error::Corrupted { engine: SCHEME, what: format!("{shown} {what}") };
    let message = match error {
        rusqlite::Error::SqliteFailure(failure, message) => {
            message.clone().unwrap_or_else(|| failure.to_string())
        }
        error => error.to_string(),
    };
    let failed =
        |kind| disk::io_error(SCHEME, "using", path, io::Error::new(kind, message.clone()));
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => full(),
        Some(ErrorCode::SystemIoFailure) if disk::has_no_room(path.parent().unwrap_or(path)) => {
            full()
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy {
            engine: SCHEME,
            what: format!("{shown} was locked for {}; raise `timeout`", Span(config.timeout.0)),
        },
        Some(ErrorCode::NotADatabase) => {
            corrupted("is not an SQLite database; delete it or choose another file")
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            corrupted(&format!("cannot be used ({message}); delete it"))
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            failed(io::ErrorKind::PermissionDenied)
        }
        Some(ErrorCode::CannotOpen) => disk::io_error(SCHEME, "opening", path, cause(path)),
        Some(_) => failed(io::ErrorKind::Other),
        // A column of another type than the schema says.
        None => corrupted(&format!("holds data that larder did not write ({message}); delete it")),
    }
}

/// The reason why a file cannot be opened. SQLite does not report the cause, so this opens the file
/// again.
fn cause(path: &Path) -> io::Error {
    let mut options = std::fs::OpenOptions::new();
    let opened = options.read(true).write(true).create(true).truncate(false).open(path);
    opened.err().unwrap_or_else(|| io::Error::other("SQLite cannot open it"))
}
