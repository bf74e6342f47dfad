//! An open SQLite store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
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
use super::upkeep::Upkeep;
use super::writer::pages_in_use;
use crate::counters::{Counters, Dropped};
use larder_host::disk;
use larder_host::scratch::Place;

/// What SQLite adds to a file's name for its write-ahead log.
const LOG_SUFFIX: &str = "-wal";

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
    pub(super) max_value_len: usize,
    clock: Clock,
    pub(super) upkeep: Upkeep,
    page_size: u64,
    pub(super) counters: Counters,
    pub(super) dropped: Dropped,
    connections: AtomicU64,
    _place: Place,
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
    // A file that was there keeps its own.
    let page_size = connection
        .query_row("PRAGMA page_size", [], |row| row.get::<_, u32>(0).map(u64::from))
        .map_err(|error| connection::in_words(&path, &config, &error))?;
    config.check_size(page_size)?;
    let log = beside(&path, LOG_SUFFIX);
    let shared = Shared {
        max_value_len: config.max_value_len(page_size),
        upkeep: Upkeep::new(config.size.0, page_size, log, config.timeout.0),
        page_size,
        path,
        config,
        statements,
        clock: Clock::system(),
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

    /// The database and what SQLite keeps beside it.
    fn files(&self) -> Vec<PathBuf> {
        let files = ["", LOG_SUFFIX, "-shm"].map(|suffix| beside(&self.path, suffix));
        files.into_iter().filter(|file| file.exists()).collect()
    }
}

/// A file that SQLite keeps beside a database.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
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
            data_paths: self.shared.files(),
            file_system,
            ..StoreInfo::default()
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
            groups: false,
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
        let Shared { counters, dropped, connections, statements, page_size, .. } = &*self.shared;
        let mut stats = counters.stats();
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || {
            let items = connection.query_row(&statements.count, [], |row| row.get::<_, i64>(0))?;
            Ok((items.unsigned_abs(), pages_in_use(&connection)?.unsigned_abs()))
        };
        let (items, pages) = read().map_err(|error| self.shared.error(&error))?;
        stats.bytes = Some(pages * page_size);
        stats.items = Some(items);
        stats.capacity_bytes = Some(self.shared.config.size.0);
        stats.connections = Some(connections.load(Ordering::Relaxed));
        dropped.tell(&mut stats);
        Ok(stats)
    }
}
