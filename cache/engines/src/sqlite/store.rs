//! An open SQLite store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use larder_store::{
    Capabilities, Catalog, Durability, Error, Ownership, Reach, Result, Session, Stats, Store,
    StoreInfo, StoreUrl, Waits,
};

use super::SCHEME;
use super::config::{MAX_KEY_LEN, SqliteConfig, Sync};
use super::connection::SqliteConnection;
use super::eviction::{Eviction, pages_in_use};
use super::file;
use super::inherited::{self, OpenFile};
use super::upkeep::WriteState;
use crate::sql::dialect::SQLITE;
use crate::sql::session::SqlSession;
use crate::sql::statements::Statements;
use crate::sql::table::{Limits, Table};
use larder_host::disk;
use larder_host::place::Place;

/// The suffix of SQLite's write-ahead log.
const LOG_SUFFIX: &str = "-wal";

/// An open SQLite store.
#[derive(Debug)]
pub(super) struct SqliteStore {
    url: String,
    /// For questions about the store. While this connection is open, SQLite keeps the files beside the database.
    connection: Mutex<SqliteConnection>,
    shared: Arc<Shared>,
}

/// The state that the sessions of a store share.
#[derive(Debug)]
pub(super) struct Shared {
    path: PathBuf,
    config: SqliteConfig,
    pub(super) table: Arc<Table>,
    pub(super) eviction: Eviction,
    pub(super) upkeep: WriteState,
    page_size: u64,
    connections: AtomicU64,
    _opened: OpenFile,
    place: Place,
}

/// Opens the file of a URL.
pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config: SqliteConfig = url.options(SCHEME)?;
    config.check()?;
    let place = Place::of(SCHEME, url)?;
    let path = match &place {
        Place::Own(_) | Place::Mounted(_) => place.path().join("cache.db"),
        Place::Given(path) => std::path::absolute(path)
            .map_err(|source| disk::io_error(SCHEME, "opening", path, source))?,
    };
    let statements = Statements::new(&SQLITE, &config.namespace, "");
    inherited::refuse(&path)?;
    let mut connection = file::open(&path, &config)?;
    let opened = OpenFile::note(&path)?;
    file::prepare(&mut connection, &path, &config, &statements)?;
    // An existing file keeps its own page size.
    let page_size = connection
        .query_row("PRAGMA page_size", [], |row| row.get::<_, u32>(0).map(u64::from))
        .map_err(|error| file::in_words(&path, &config, &error))?;
    config.check_size(page_size)?;
    let log = beside(&path, LOG_SUFFIX);
    let limits = Limits { key_len: MAX_KEY_LEN, value_len: config.max_value_len(page_size) };
    let shared = Arc::new(Shared {
        table: Arc::new(Table::new(SCHEME, statements, limits)),
        eviction: Eviction::new(&config.namespace),
        upkeep: WriteState::new(config.size.0, page_size, log, config.timeout.0),
        page_size,
        path,
        config,
        connections: AtomicU64::new(0),
        _opened: opened,
        place,
    });
    let connection = Mutex::new(SqliteConnection::new(Arc::clone(&shared), connection));
    Ok(Arc::new(SqliteStore { url: url.to_string(), connection, shared }))
}

impl Shared {
    /// An error of SQLite as a message.
    pub(super) fn error(&self, error: &rusqlite::Error) -> Error {
        file::in_words(&self.path, &self.config, error)
    }

    /// The database, and the files that SQLite keeps beside it.
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
    /// The settings in force, read back from SQLite; a setting that cannot be read is left out.
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
            let value = connection.file.query_row(&format!("PRAGMA {name}"), [], |row| {
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
        let ours = self.shared.table.capabilities();
        Capabilities {
            persistent: true,
            evicts: true,
            reads_wait: Waits::Disk,
            writes_wait: Waits::Disk,
            reach: Reach::Host,
            ..ours
        }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        let shared = Arc::clone(&self.shared);
        let connection = file::open(&shared.path, &shared.config)?;
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let table = Arc::clone(&shared.table);
        Ok(Box::new(SqlSession::new(table, SqliteConnection::new(shared, connection))))
    }

    fn close(&self) -> Result<()> {
        if !self.shared.place.is_kept() {
            return Ok(());
        }
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let flushed = file::flush(&connection.file, &self.shared.config);
        if flushed.map_err(|error| self.shared.error(&error))? {
            return Ok(());
        }
        let what =
            format!("the log of {} is in use; close its sessions", self.shared.path.display());
        Err(Error::Busy { engine: SCHEME, what })
    }

    fn stats(&self) -> Result<Stats> {
        let Shared { table, connections, page_size, config, .. } = &*self.shared;
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stats = table.stats(&mut *connection)?;
        let pages = pages_in_use(&connection.file).map_err(|error| self.shared.error(&error))?;
        stats.bytes = Some(pages.unsigned_abs() * page_size);
        stats.capacity_bytes = Some(config.size.0);
        stats.connections = Some(connections.load(Ordering::Relaxed));
        Ok(stats)
    }
}
