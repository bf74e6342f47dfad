//! The cost of `sqlite:` on top of SQLite: deadlines, versions, counts of bytes, room for the next.
//!
//! Run with `cargo bench -p larder-engines --bench floor_sqlite`.

mod embedded;

use std::path::Path;

use embedded::{Bare, Result, measure};
use rusqlite::Connection;

struct Rusqlite(Connection);

fn main() -> Result<()> {
    measure("sqlite", |path: &Path| {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        connection.execute_batch(
            "CREATE TABLE bare (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, value BLOB NOT NULL)",
        )?;
        Ok(Rusqlite(connection))
    })
}

impl Bare for Rusqlite {
    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<()> {
        let mut get = self.0.prepare_cached("SELECT value FROM bare WHERE key = ?1")?;
        let mut rows = get.query([key])?;
        let row = rows.next()?.ok_or("a miss")?;
        value.clear();
        value.extend_from_slice(row.get_ref(0)?.as_blob()?);
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut set = self.0.prepare_cached(
            "INSERT INTO bare (key, value) VALUES (?1, ?2) \
             ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        )?;
        set.execute((key, value))?;
        Ok(())
    }
}
