//! An open SQLite store.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use larder_store::{
    Capabilities, Catalog, Clock, Durability, Error, Ownership, Reach, Result, Session, Stats,
    Store, StoreInfo, StoreUrl,
};
use rusqlite::Connection;

use super::SCHEME;
use super::config::{MAX_KEY_LEN, SqliteConfig, Sync};
use super::connection;
use super::session::SqliteSession;
use super::statements::Statements;
use super::writer::WRITES_PER_EXPIRY;
use crate::counters::{Counters, Dropped};
use crate::disk;
use crate::scratch::Place;

/// How long the log may grow before writers wait for readers to empty it: four times what SQLite gathers before it
/// copies the log into the file by itself.
const MAX_LOG_BYTES: u64 = 16 << 20;

/// How much is written between two looks at the length of the log: as much as SQLite itself lets gather before it
/// copies the log into the file.
const LOG_BYTES: u64 = 4 << 20;

/// What a small write puts into the log: about two pages.
const SMALL_WRITE_BYTES: u64 = 8 << 10;

/// How long they wait.
const LOG_PATIENCE: Duration = Duration::from_millis(50);

/// An open SQLite store.
#[derive(Debug)]
pub(super) struct SqliteStore {
    url: String,
    /// For questions about the store. While it is open, SQLite keeps the files beside the database.
    connection: Mutex<Connection>,
    shared: Arc<Shared>,
}

/// What the sessions of a store have in common.
#[derive(Debug)]
pub(super) struct Shared {
    path: PathBuf,
    config: SqliteConfig,
    pub(super) statements: Statements,
    pub(super) max_bytes: i64,
    pub(super) max_value_len: usize,
    clock: Clock,
    /// Held by the session of this process that writes.
    pub(super) turn: Mutex<Turn>,
    /// Whether that session waits for those that read.
    readers_stand_back: AtomicBool,
    pub(super) counters: Counters,
    pub(super) dropped: Dropped,
    connections: AtomicU64,
    _place: Place,
}

/// What the sessions that write hand on to each other.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Writes since the last look for expired rows; the first write of a process looks.
    n_writes: u64,
    /// Bytes written since the last look at the length of the log.
    log_bytes: u64,
}

impl Turn {
    /// Whether this write is to give expired rows back.
    pub(super) fn looks_for_expired(&mut self) -> bool {
        self.n_writes += 1;
        self.n_writes % WRITES_PER_EXPIRY == 1
    }

    /// Whether it is time to look at the length of the log, when a value of this length has been written.
    pub(super) fn looks_at_log(&mut self, value_len: usize) -> bool {
        self.log_bytes += SMALL_WRITE_BYTES + value_len as u64;
        let looks = self.log_bytes >= LOG_BYTES;
        if looks {
            self.log_bytes = 0;
        }
        looks
    }
}

/// Opens the file of a URL.
pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config: SqliteConfig = url.options(SCHEME)?;
    config.check()?;
    let place = Place::of(SCHEME, url)?;
    let path = match &place {
        Place::Own(folder) => folder.path().join("cache.db"),
        Place::Given(path) => std::path::absolute(path)
            .map_err(|source| disk::io_error(SCHEME, "opening", path, source))?,
    };
    let statements = Statements::new(&config.namespace);
    let mut connection = connection::open(&path, &config)?;
    connection::prepare_file(&mut connection, &path, &config, &statements)?;
    let shared = Shared {
        max_bytes: i64::try_from(config.size.0).unwrap_or(i64::MAX),
        max_value_len: config.max_value_len(),
        path,
        config,
        statements,
        clock: Clock::system(),
        turn: Mutex::default(),
        readers_stand_back: AtomicBool::new(false),
        counters: Counters::default(),
        dropped: Dropped::default(),
        connections: AtomicU64::new(0),
        _place: place,
    };
    let connection = Mutex::new(connection);
    Ok(Arc::new(SqliteStore { url: url.to_string(), connection, shared: Arc::new(shared) }))
}

impl Shared {
    /// Milliseconds since 1970, as SQLite counts.
    pub(super) fn now_ms(&self) -> i64 {
        i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX)
    }

    /// When an entry with this TTL expires; `None` is never.
    pub(super) fn deadline_ms(&self, ttl: Option<Duration>) -> Option<i64> {
        let deadline_ms = match ttl? {
            // Long past, whatever happens to the clock.
            Duration::ZERO => 1,
            ttl => self.clock.deadline_ms(ttl),
        };
        Some(i64::try_from(deadline_ms).unwrap_or(i64::MAX))
    }

    /// An error of SQLite in a person's words.
    pub(super) fn error(&self, error: &rusqlite::Error) -> Error {
        connection::in_words(&self.path, &self.config, error)
    }

    /// Empties the log when it has grown beyond what SQLite's own checkpoints leave; for the session whose turn it is.
    ///
    /// Those give up when some reader still needs the log, and with enough readers there is always one. So the
    /// readers of this process stand back for as long as the rest of a read takes. Those of others cannot be asked;
    /// when they do not let go in time, the log is met again at the next look.
    pub(super) fn shorten_log(&self, connection: &Connection) {
        if self.beside("-wal").metadata().is_ok_and(|log| log.len() > MAX_LOG_BYTES) {
            self.readers_stand_back.store(true, Ordering::SeqCst);
            let _ = connection.busy_timeout(LOG_PATIENCE);
            let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            let _ = connection.busy_timeout(self.config.timeout.0);
            self.readers_stand_back.store(false, Ordering::SeqCst);
        }
    }

    /// Lets a session pass that waits for the readers of this process.
    pub(super) fn stand_back(&self) {
        if self.readers_stand_back.load(Ordering::Relaxed) {
            drop(self.turn.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The database and what SQLite keeps beside it.
    fn files(&self) -> Vec<PathBuf> {
        let files = ["", "-wal", "-shm"].map(|suffix| self.beside(suffix));
        files.into_iter().filter(|file| file.exists()).collect()
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(suffix);
        name.into()
    }
}

impl SqliteStore {
    /// The settings in force, read back from SQLite; one that cannot be read is left out.
    fn settings(&self) -> BTreeMap<String, String> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let names = [
            "journal_mode",
            "synchronous",
            "page_size",
            "cache_size",
            "mmap_size",
            "busy_timeout",
            "wal_autocheckpoint",
        ];
        let read = |name: &str| {
            let value = connection.query_row(&format!("PRAGMA {name}"), [], |row| {
                Ok(match row.get_ref(0)? {
                    rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                    other => other.as_str().unwrap_or_default().to_owned(),
                })
            });
            let value = value.ok()?;
            let value = match (name, value.as_str()) {
                ("synchronous", "0") => "off".into(),
                ("synchronous", "1") => "normal".into(),
                ("synchronous", "2") => "full".into(),
                _ => value,
            };
            Some((name.to_owned(), value))
        };
        let own = [
            ("namespace".to_owned(), self.shared.config.namespace.clone()),
            ("size".to_owned(), self.shared.config.size.to_string()),
        ];
        names.into_iter().filter_map(read).chain(own).collect()
    }
}

impl Store for SqliteStore {
    fn info(&self) -> StoreInfo {
        let folder = self.shared.path.parent().unwrap_or(&self.shared.path);
        let file_system = disk::file_system(folder).ok();
        // A sync to memory survives no more than the page cache does.
        let in_memory = file_system.as_ref().is_some_and(larder_store::FileSystem::is_memory);
        StoreInfo {
            scheme: SCHEME,
            url: self.url.clone(),
            version: Some(rusqlite::version().into()),
            settings: self.settings(),
            durability: match self.shared.config.sync {
                _ if in_memory => Durability::OsCache,
                Sync::Off => Durability::OsCache,
                Sync::Normal => Durability::FsyncBatch,
                Sync::Full => Durability::FsyncEach,
            },
            ownership: Ownership::Embedded,
            server_pids: Vec::new(),
            data_paths: self.shared.files(),
            file_system,
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stores: true,
            ttl: true,
            ttl_resolution: Duration::from_millis(1),
            ttl_left: true,
            flags: true,
            add: true,
            version: true,
            append: true,
            incr: true,
            touch: true,
            batch: true,
            clear: true,
            persistent: true,
            evicts: true,
            reach: Reach::Host,
            max_key_len: Some(MAX_KEY_LEN),
            max_value_len: Some(self.shared.max_value_len),
        }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        let connection = connection::open(&self.shared.path, &self.shared.config)?;
        self.shared.connections.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(SqliteSession::new(Arc::clone(&self.shared), connection)))
    }

    fn stats(&self) -> Result<Stats> {
        let Shared { counters, dropped, connections, statements, .. } = &*self.shared;
        let mut stats = counters.stats();
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let usage = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let (bytes, items): (i64, i64) = connection
            .query_row(&statements.usage, [], usage)
            .map_err(|error| self.shared.error(&error))?;
        stats.bytes = Some(bytes.unsigned_abs());
        stats.items = Some(items.unsigned_abs());
        stats.capacity_bytes = Some(self.shared.config.size.0);
        stats.connections = Some(connections.load(Ordering::Relaxed));
        dropped.tell(&mut stats);
        Ok(stats)
    }
}
