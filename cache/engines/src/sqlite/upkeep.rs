//! The upkeep by sessions that write: in turns, they drop expired entries, make room, and keep the log short.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, Result};

use super::eviction::Writer;

/// The number of writes of a process between two removals of expired rows. A removal drops more rows than those writes
/// can have added.
const WRITES_PER_EXPIRY: u64 = 16;

/// The part of the limit that is written between two checks of the pages in use.
const LOOKS_PER_LIMIT: u64 = 64;

/// The part of the limit that is kept free: the writes of four processes between two checks.
const FREE_PART: i64 = 16;

/// The bytes that are written between two checks of the log's length. SQLite itself lets as much gather before it
/// copies the log into the file.
const LOG_BYTES: u64 = 4 << 20;

/// The length of the log at which writers wait for readers to empty it.
const MAX_LOG_BYTES: u64 = 4 * LOG_BYTES;

/// The time for which the writers wait.
const LOG_PATIENCE: Duration = Duration::from_millis(50);

/// The growth of the log by a small write: about two pages.
const SMALL_WRITE_BYTES: u64 = 8 << 10;

/// The state that the writing sessions of a process share.
#[derive(Debug)]
pub(super) struct WriteState {
    turn: Mutex<WriteTurn>,
    /// Whether the session that has the turn waits for readers.
    readers_stand_back: AtomicBool,
    /// Bytes that the pages in use may take, and bytes of one page.
    size: u64,
    page_size: u64,
    log: PathBuf,
    timeout: Duration,
}

/// The turn to write, held by the session that writes.
#[derive(Debug, Default)]
pub(super) struct WriteTurn {
    n_writes: u64,
    /// Bytes written since the last check of the pages in use, and of the length of the log.
    since_room: u64,
    since_log: u64,
}

impl WriteState {
    pub(super) fn new(size: u64, page_size: u64, log: PathBuf, timeout: Duration) -> Self {
        // The first write checks the pages in use, because another process may have written them.
        let turn = WriteTurn { since_room: size, ..WriteTurn::default() };
        let readers_stand_back = AtomicBool::new(false);
        Self { turn: Mutex::new(turn), readers_stand_back, size, page_size, log, timeout }
    }

    /// Waits for the turn to write. Sessions of one process queue here, because SQLite's own way to wait is to
    /// sleep and ask again.
    pub(super) fn turn(&self) -> MutexGuard<'_, WriteTurn> {
        // The counts only decide when to check, so a panic elsewhere does not spoil them.
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For a session that is about to read: waits for a writer that waits for readers.
    pub(super) fn stand_back(&self) {
        if self.readers_stand_back.load(Ordering::Relaxed) {
            drop(self.turn());
        }
    }

    /// The upkeep that is due after a write of an entry of this length.
    pub(super) fn after_write(
        &self,
        turn: &mut WriteTurn,
        writer: Writer<'_>,
        entry_len: usize,
    ) -> Result<()> {
        let (bytes, dropped) = (entry_len as u64, &writer.table.dropped);
        turn.n_writes += 1;
        if turn.n_writes % WRITES_PER_EXPIRY == 1 {
            dropped.count(0, writer.expire()?);
        }
        // A key is stored twice, in its row and in the index; 128 bytes are for the rest of both.
        turn.since_room += 2 * bytes + 128;
        if turn.since_room >= self.size / LOOKS_PER_LIMIT {
            let (evictions, expirations) = writer.transaction(|| self.make_room(writer))?;
            dropped.count(evictions, expirations);
            turn.since_room = 0;
        }
        turn.since_log += bytes + SMALL_WRITE_BYTES;
        self.after_commit(turn, writer.file);
        Ok(())
    }

    /// The upkeep of the log that is due, which no transaction in progress allows.
    pub(super) fn after_commit(&self, turn: &mut WriteTurn, file: &Connection) {
        if turn.since_log >= LOG_BYTES && file.is_autocommit() {
            turn.since_log = 0;
            self.shorten_log(file);
        }
    }

    /// Drops rows until the pages in use leave a part of the limit free: expired rows first, then old ones. Returns how
    /// many were evicted and how many had expired.
    fn make_room(&self, writer: Writer<'_>) -> Result<(u64, u64)> {
        let (mut evictions, mut expirations) = (0, 0);
        let max_pages = i64::try_from(self.size / self.page_size).unwrap_or(i64::MAX);
        let keep_pages = max_pages - max_pages / FREE_PART;
        loop {
            let surplus = u64::try_from(writer.pages_in_use()? - keep_pages).unwrap_or(0);
            if surplus == 0 {
                return Ok((evictions, expirations));
            }
            let expired = writer.expire()?;
            expirations += expired;
            // A page is free only when all its rows are gone, so at least this many bytes must go.
            let mut freed = if expired > 0 { surplus * self.page_size } else { 0 };
            while freed < surplus * self.page_size {
                let Some(bytes) = writer.evict()? else { return Ok((evictions, expirations)) };
                evictions += 1;
                freed += bytes + 1;
            }
        }
    }

    /// Empties the log when it has grown beyond the length that SQLite's own checkpoints leave.
    ///
    /// SQLite's checkpoints give up when a reader still needs the log, and with enough readers there is always such a
    /// reader. So the readers of this process stand back until the current reads end. Readers of other processes cannot
    /// be asked; when they do not end in time, the next check finds the log again.
    fn shorten_log(&self, connection: &Connection) {
        if log_len(&self.log) > MAX_LOG_BYTES {
            self.readers_stand_back.store(true, Ordering::SeqCst);
            let _ = connection.busy_timeout(LOG_PATIENCE);
            let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            let _ = connection.busy_timeout(self.timeout);
            self.readers_stand_back.store(false, Ordering::SeqCst);
        }
    }
}

fn log_len(log: &Path) -> u64 {
    log.metadata().map_or(0, |metadata| metadata.len())
}
