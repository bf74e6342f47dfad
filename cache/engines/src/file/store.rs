//! The open store: its folder, its limit, and the state that its sessions share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use larder_store::{
    Capabilities, Catalog, Clock, Durability, Error, FileSystem, Reach, Result, Session, Stats,
    Store, StoreInfo, StoreUrl, Waits,
};

use super::SCHEME;
use super::budget::Budget;
use super::config::FileConfig;
use super::folder::Folder;
use super::format::TRAILER_LEN;
use super::session::FileSession;
use larder_host::disk;
use larder_host::place::Place;
use larder_store::counters::Counters;

/// Longest key, in bytes: long enough for anything that was ever a key, short enough to be read in one piece.
pub(super) const MAX_KEY_LEN: usize = 64 << 10;

pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config = FileConfig::read(url)?;
    let place = Place::on(SCHEME, url, config.mount)?;
    let shared = Shared::open(place, config, Clock::system())?;
    Ok(Arc::new(FileStore { url: url.to_string(), shared: Arc::new(shared) }))
}

/// An open store of files.
#[derive(Debug)]
struct FileStore {
    url: String,
    shared: Arc<Shared>,
}

/// The state that the store and its sessions share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) folder: Folder,
    pub(super) budget: Option<Budget>,
    pub(super) counters: Counters,
    pub(super) expirations: AtomicU64,
    pub(super) clock: Clock,
    config: FileConfig,
    /// The place of the store; a temporary place is removed on drop. The last field, so that all files are closed
    /// before.
    place: Place,
}

impl Shared {
    /// Opens the store at a place.
    pub(super) fn open(place: Place, config: FileConfig, clock: Clock) -> Result<Self> {
        let root = std::path::absolute(place.path())
            .map_err(|error| disk::io_error(SCHEME, "finding", place.path(), error))?;
        let folder = Folder::open(&root, &config)?;
        let budget = config.size.map(|size| Budget::open(&folder, size.0)).transpose()?;
        Ok(Self {
            folder,
            budget,
            counters: Counters::default(),
            expirations: AtomicU64::new(0),
            clock,
            config,
            place,
        })
    }

    /// The largest value that fits under the size limit together with the longest key.
    pub(super) fn max_value_len(&self) -> Option<usize> {
        const BESIDES: usize = TRAILER_LEN + MAX_KEY_LEN + (64 << 10);
        let limit = usize::try_from(self.budget.as_ref()?.limit()).unwrap_or(usize::MAX);
        Some(limit.saturating_sub(BESIDES))
    }

    /// Refuses a value that is larger than any entry may be.
    pub(super) fn check_len(&self, len: usize) -> Result<()> {
        match self.max_value_len() {
            Some(limit) if len > limit => Err(Error::ValueTooLarge { engine: SCHEME, len, limit }),
            _ => Ok(()),
        }
    }
}

impl Store for FileStore {
    fn info(&self) -> StoreInfo {
        let Shared { folder, config, budget, place, .. } = &*self.shared;
        let on = |is_on| if is_on { "on" } else { "off" };
        let limit = budget
            .as_ref()
            .map_or("none".into(), |budget| larder_store::ByteSize(budget.limit()).to_string());
        let settings = [
            ("depth", Some(folder.depth().to_string())),
            ("mount", place.mount().map(|mount| mount.to_string())),
            ("namespace", Some(config.namespace.clone())),
            ("size", Some(limit)),
            ("sync", Some(on(config.sync).into())),
        ];
        let settings = settings.into_iter().filter_map(|(name, text)| Some((name.into(), text?)));
        let file_system = place.file_system();
        // A file system in memory is lost with the power, however it is written.
        let in_memory = file_system.as_ref().is_some_and(FileSystem::is_memory);
        let syncs = config.sync && !in_memory;
        StoreInfo {
            scheme: SCHEME,
            url: self.url.clone(),
            version: None,
            settings: settings.collect(),
            durability: if syncs { Durability::FsyncEach } else { Durability::OsCache },
            data_paths: vec![folder.path().into()],
            file_system,
            ..StoreInfo::default()
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            persistent: self.shared.config.mount.is_none(),
            evicts: self.shared.budget.is_some(),
            reads_wait: Waits::Disk,
            writes_wait: Waits::Disk,
            reach: Reach::Host,
            max_key_len: Some(MAX_KEY_LEN),
            max_value_len: self.shared.max_value_len(),
            ..Capabilities::OF_RECORDS
        }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(FileSession::new(Arc::clone(&self.shared))))
    }

    fn close(&self) -> Result<()> {
        let Shared { config, place, .. } = &*self.shared;
        if config.sync || !place.is_kept() {
            return Ok(());
        }
        let path = place.path();
        disk::flush(path).map_err(|source| disk::io_error(SCHEME, "writing", path, source))
    }

    /// The counters of this store's sessions; with a size limit also the entries and bytes of all processes. Without a
    /// size limit no counter holds these, and counting would take a walk through all files. A file system that is
    /// mounted for the store limits the capacity too.
    fn stats(&self) -> Result<Stats> {
        let mut stats = self.shared.counters.stats();
        stats.expirations = Some(self.shared.expirations.load(Ordering::Relaxed));
        match &self.shared.budget {
            None => stats.evictions = Some(0),
            Some(budget) => {
                stats.evictions = Some(budget.evictions());
                stats.items = Some(budget.usage().items());
                stats.bytes = Some(budget.usage().bytes());
                stats.capacity_bytes = Some(budget.limit());
            }
        }
        // A mounted file system that is smaller than the size limit is the real limit.
        let room = self.shared.place.limit_bytes().into_iter().chain(stats.capacity_bytes).min();
        stats.capacity_bytes = room;
        Ok(stats)
    }
}
