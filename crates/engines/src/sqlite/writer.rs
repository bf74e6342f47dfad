//! One write transaction.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Result};

use super::statements::Statements;

/// How many expired rows are given back at once.
const EXPIRED_AT_ONCE: i64 = 64;

/// How many writes of a process pass between two looks for expired rows. More are given back in that time than can be added.
pub(super) const WRITES_PER_EXPIRY: u64 = 16;

/// An entry as it is read before it is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// There, with this version.
    Version(i64),
    /// Not there, or expired.
    Absent,
}

/// One write transaction.
#[derive(Debug)]
pub(super) struct Writer<'c> {
    connection: &'c Connection,
    statements: &'c Statements,
    /// The time of this transaction, in milliseconds since 1970.
    now_ms: i64,
    /// Rows dropped to make room, and rows given back because they had expired.
    pub(super) evictions: u64,
    pub(super) expirations: u64,
}

impl<'c> Writer<'c> {
    /// Takes the write lock of the file.
    pub(super) fn begin(
        connection: &'c Connection,
        statements: &'c Statements,
        now_ms: impl FnOnce() -> i64,
    ) -> Result<Self> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        // Asked when the lock is held: waiting for it may have taken longer than some entry had left.
        let now_ms = now_ms();
        Ok(Self { connection, statements, now_ms, evictions: 0, expirations: 0 })
    }

    pub(super) fn commit(&self) -> Result<()> {
        self.connection.prepare_cached("COMMIT")?.execute([]).map(drop)
    }

    fn prepare(&self, sql: &str) -> Result<CachedStatement<'c>> {
        self.connection.prepare_cached(sql)
    }

    /// Stores a value whatever is there.
    pub(super) fn set(&self, key: &[u8], value: &[u8], (deadline_ms, flags): Terms) -> Result<()> {
        let mut set = self.prepare(&self.statements.set)?;
        set.execute((key, deadline_ms, flags, value)).map(drop)
    }

    /// Stores a value when the key is absent; says whether it was.
    pub(super) fn add(
        &self,
        key: &[u8],
        value: &[u8],
        (deadline_ms, flags): Terms,
    ) -> Result<bool> {
        let mut add = self.prepare(&self.statements.add)?;
        Ok(add.execute((key, deadline_ms, flags, value, self.now_ms))? > 0)
    }

    /// Stores a value when the key is there, with this version if one is given; says whether it was.
    pub(super) fn replace(
        &self,
        key: &[u8],
        value: &[u8],
        (deadline_ms, flags): Terms,
        version: Option<i64>,
    ) -> Result<bool> {
        let mut replace = self.prepare(&self.statements.replace)?;
        Ok(replace.execute((key, deadline_ms, flags, value, self.now_ms, version))? > 0)
    }

    /// Gives a key that is there another value; its deadline and flags stay.
    pub(super) fn set_value(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.prepare(&self.statements.set_value)?.execute((key, value)).map(drop)
    }

    /// Appends the value under `key` to `value`; says whether it is there.
    pub(super) fn read(&self, key: &[u8], value: &mut Vec<u8>) -> Result<Presence> {
        let mut get = self.prepare(&self.statements.get)?;
        let mut rows = get.query((key, self.now_ms))?;
        let Some(row) = rows.next()? else { return Ok(Presence::Absent) };
        value.extend_from_slice(row.get_ref(0)?.as_blob()?);
        Ok(Presence::Version(row.get(2)?))
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
        self.connection.execute_batch(&self.statements.clear)
    }

    /// Gives expired rows back, a bounded number of them; says how many.
    pub(super) fn expire(&mut self) -> Result<usize> {
        let mut expire = self.prepare(&self.statements.expire)?;
        let n = expire.execute((self.now_ms, EXPIRED_AT_ONCE))?;
        self.expirations += n as u64;
        Ok(n)
    }

    /// Drops rows until the entries are within `bytes`: the expired first, then those written longest ago.
    pub(super) fn make_room(&mut self, bytes: i64) -> Result<()> {
        while self.bytes()? > bytes {
            if self.expire()? == 0 && !self.evict()? {
                break;
            }
        }
        Ok(())
    }

    fn bytes(&self) -> Result<i64> {
        self.prepare(&self.statements.usage)?.query_row([], |row| row.get(0))
    }

    /// Drops the row written longest ago; `false` when there is none.
    fn evict(&mut self) -> Result<bool> {
        loop {
            let mut oldest = self.prepare(&self.statements.oldest)?;
            let oldest = oldest.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some((id, version)) = oldest else { return Ok(false) };
            let (id, version): (i64, i64) = (id, version);
            if id == version {
                self.evictions += 1;
                self.prepare(&self.statements.drop)?.execute([id])?;
                return Ok(true);
            }
            self.prepare(&self.statements.refile)?.execute([id])?;
        }
    }
}

/// What an entry is stored with: its deadline (`None` is never) and flags.
pub(super) type Terms = (Option<i64>, u32);
