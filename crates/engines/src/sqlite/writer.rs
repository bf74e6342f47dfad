//! Writes: each is one statement and so one transaction, unless it reads first.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Result};

use super::statements::Statements;

/// What an entry is stored with: its deadline (`None` is never) and flags.
pub(super) type Terms = (Option<i64>, u32);

/// How many expired rows are dropped at once.
const EXPIRED_AT_ONCE: i64 = 64;

/// How many rows that were rewritten a dropped row may find before it: a bound on how long one write can take.
const SECOND_CHANCES: usize = 16;

/// A connection that writes, at one point in time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writer<'c> {
    pub(super) connection: &'c Connection,
    pub(super) statements: &'c Statements,
    /// Milliseconds since 1970.
    pub(super) now_ms: i64,
    /// The version that an entry gets, unless its own is larger already.
    pub(super) version: i64,
}

impl<'c> Writer<'c> {
    fn prepare(&self, sql: &str) -> Result<CachedStatement<'c>> {
        self.connection.prepare_cached(sql)
    }

    /// Does `work` in one transaction, which takes the write lock before it reads.
    pub(super) fn transaction<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.prepare("BEGIN IMMEDIATE")?.execute([])?;
        let done = work().and_then(|done| {
            self.prepare("COMMIT")?.execute([])?;
            Ok(done)
        });
        if done.is_err() && !self.connection.is_autocommit() {
            // SQLite has undone it already when even this fails.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        done
    }

    /// Stores a value whatever is there.
    pub(super) fn set(&self, key: &[u8], value: &[u8], (deadline_ms, flags): Terms) -> Result<()> {
        let mut set = self.prepare(&self.statements.set)?;
        set.execute((key, value, self.version, deadline_ms, flags)).map(drop)
    }

    /// Stores a value when the key is absent; says whether it was.
    pub(super) fn add(
        &self,
        key: &[u8],
        value: &[u8],
        (deadline_ms, flags): Terms,
    ) -> Result<bool> {
        let mut add = self.prepare(&self.statements.add)?;
        Ok(add.execute((key, value, self.version, deadline_ms, flags, self.now_ms))? > 0)
    }

    /// Stores a value when the key is there, with the version `only` if one is given; says whether it was.
    pub(super) fn replace(
        &self,
        key: &[u8],
        value: &[u8],
        (deadline_ms, flags): Terms,
        only: Option<i64>,
    ) -> Result<bool> {
        let mut replace = self.prepare(&self.statements.replace)?;
        let parameters = (key, value, self.version, deadline_ms, flags, self.now_ms, only);
        Ok(replace.execute(parameters)? > 0)
    }

    /// Gives a key that is there another value; its deadline and flags stay.
    pub(super) fn set_value(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.prepare(&self.statements.set_value)?.execute((key, value, self.version)).map(drop)
    }

    /// Appends the value under `key` to `value`; says whether it is there.
    pub(super) fn read(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let mut get = self.prepare(&self.statements.get)?;
        let mut rows = get.query((key, self.now_ms))?;
        let Some(row) = rows.next()? else { return Ok(false) };
        value.extend_from_slice(row.get_ref(0)?.as_blob()?);
        Ok(true)
    }

    /// Gives an entry another deadline; says whether it is there.
    pub(super) fn touch(&self, key: &[u8], deadline_ms: Option<i64>) -> Result<bool> {
        let mut touch = self.prepare(&self.statements.touch)?;
        Ok(touch.execute((key, deadline_ms, self.now_ms))? > 0)
    }

    /// Removes an entry; says whether it was there and had not expired.
    pub(super) fn delete(&self, key: &[u8]) -> Result<bool> {
        let mut delete = self.prepare(&self.statements.delete)?;
        let was_live = delete.query_row((key, self.now_ms), |row| row.get(0)).optional()?;
        Ok(was_live.unwrap_or(false))
    }

    /// Removes everything.
    pub(super) fn clear(&self) -> Result<()> {
        self.transaction(|| self.connection.execute_batch(&self.statements.clear))
    }

    /// Drops expired rows, a bounded number of them; says how many.
    pub(super) fn expire(&self) -> Result<u64> {
        let mut expire = self.prepare(&self.statements.expire)?;
        Ok(expire.execute((self.now_ms, EXPIRED_AT_ONCE))? as u64)
    }

    /// Drops the row whose turn it is and says how many bytes it held; `None` when only the newest is left.
    pub(super) fn evict(&self) -> Result<Option<u64>> {
        for chance in 0.. {
            let mut oldest = self.prepare(&self.statements.oldest)?;
            let oldest = oldest.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some((id, rewritten)) = oldest else { break };
            let (id, rewritten): (i64, bool) = (id, rewritten);
            if !rewritten || chance == SECOND_CHANCES {
                let mut drop = self.prepare(&self.statements.drop)?;
                let bytes: i64 = drop.query_row([id], |row| row.get(0))?;
                return Ok(Some(bytes.unsigned_abs()));
            }
            self.prepare(&self.statements.refile)?.execute([id])?;
        }
        Ok(None)
    }

    /// How many pages of the file are in use.
    pub(super) fn pages_in_use(&self) -> Result<i64> {
        pages_in_use(self.connection)
    }
}

/// How many pages of a file are in use.
pub(super) fn pages_in_use(connection: &Connection) -> Result<i64> {
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    Ok(count("PRAGMA page_count")? - count("PRAGMA freelist_count")?)
}
