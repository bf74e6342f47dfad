//! An open LMDB store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use larder_store::{
    ByteSize, Capabilities, Catalog, Clock, Durability, FileSystem, Ownership, Reach, Result,
    Session, Stats, Store, StoreInfo, StoreUrl, Waits,
};

use super::SCHEME;
use super::batch::Bounds;
use super::config::{LmdbConfig, MAX_KEY_LEN, Sync};
use super::databases::Databases;
use super::environment::Environment;
use super::expiry;
use super::group_commit::GroupCommit;
use super::recently_read::RecentlyRead;
use super::session::LmdbSession;
use super::usage;
use super::writer::NamespaceLimits;
use crate::upkeep::Upkeep;
use larder_host::disk;
use larder_host::place::Place;
use larder_store::counters::{Counters, Dropped};

/// An open LMDB store.
#[derive(Debug)]
pub(super) struct LmdbStore {
    url: String,
    config: LmdbConfig,
    shared: Arc<Shared>,
    /// The thread that gives expired entries back.
    _upkeep: Upkeep,
}

/// The state that the sessions of a store share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) environment: Arc<Environment>,
    pub(super) databases: Databases,
    /// The key of the namespace's usage record. No database and no other namespace has a name of this form.
    pub(super) usage_key: String,
    pub(super) limits: NamespaceLimits,
    /// The keys that were read lately.
    pub(super) used: RecentlyRead,
    /// The bounds of one transaction.
    pub(super) bounds: Bounds,
    /// The writes that wait to share a transaction; `None` where each has its own.
    pub(super) group_commit: Option<GroupCommit>,
    pub(super) clock: Clock,
    pub(super) counters: Counters,
    pub(super) dropped: Dropped,
}

/// Opens the folder of a URL.
pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config: LmdbConfig = url.options(SCHEME)?;
    config.check()?;
    let shared = Arc::new(Shared::open(Place::of(SCHEME, url)?, &config)?);
    let of_upkeep = Arc::clone(&shared);
    let upkeep = Upkeep::start(SCHEME, move |ending| expiry::work(&of_upkeep, ending))?;
    Ok(Arc::new(LmdbStore { url: url.to_string(), config, shared, _upkeep: upkeep }))
}

impl Shared {
    /// Opens the folder at a place, and the namespace in it.
    pub(super) fn open(place: Place, config: &LmdbConfig) -> Result<Self> {
        let environment = Environment::open(place, config)?;
        let databases = Databases::open(&environment, &config.namespace)?;
        let page_size = environment.map().page_size();
        let map_pages = environment.map().size() / page_size;
        let limits = NamespaceLimits {
            bytes: config.size.0,
            // A quarter stays free for the pages that a write copies; without it not even a delete would work.
            pages: map_pages - map_pages / 4,
            value_len: config.max_value_len(),
        };
        let bounds = Bounds::new(limits, page_size as u64);
        let patience = match config.sync {
            Sync::Group => config.group_wait.0,
            Sync::Nosync | Sync::Each => Duration::ZERO,
        };
        // One processor is the leader's.
        let n_others = thread::available_parallelism().map_or(0, |n| n.get() - 1);
        let n_awake = if config.sync.is_synced() { 0 } else { n_others };
        let group_commit =
            (config.sync != Sync::Each).then(|| GroupCommit::new(bounds.most(), patience, n_awake));
        Ok(Self {
            environment,
            databases,
            usage_key: format!("{}.usage", config.namespace),
            limits,
            used: RecentlyRead::new(limits.bytes),
            bounds,
            group_commit,
            clock: Clock::system(),
            counters: Counters::default(),
            dropped: Dropped::default(),
        })
    }
}

impl LmdbStore {
    fn settings(&self) -> BTreeMap<String, String> {
        let environment = &self.shared.environment;
        let env = environment.env();
        let flags = env.flags().ok().flatten().map_or_else(
            || "unknown".into(),
            |flags| flags.iter_names().map(|(name, _)| name).collect::<Vec<_>>().join(" "),
        );
        let mut settings = BTreeMap::from([
            ("flags".into(), flags),
            ("map_size".into(), ByteSize(environment.map().size() as u64).to_string()),
            ("namespace".into(), self.config.namespace.clone()),
            ("page_size".into(), environment.map().page_size().to_string()),
            ("readers".into(), env.max_readers().to_string()),
            ("size".into(), self.config.size.to_string()),
            ("sync".into(), self.config.sync.as_str().into()),
        ]);
        let of_class = match self.config.sync {
            Sync::Nosync => Some(("checkpoint", self.config.checkpoint)),
            Sync::Group => Some(("group_wait", self.config.group_wait)),
            Sync::Each => None,
        };
        settings.extend(of_class.map(|(name, span)| (name.into(), span.to_string())));
        settings
    }

    /// The durability of an acknowledged write. A sync to memory survives no more than the page cache does.
    fn durability(&self, under: Option<&FileSystem>) -> Durability {
        if under.is_some_and(FileSystem::is_memory) {
            return Durability::OsCache;
        }
        match self.config.sync {
            Sync::Group | Sync::Each => Durability::FsyncEach,
            Sync::Nosync if self.config.checkpoint.0.is_zero() => Durability::OsCache,
            Sync::Nosync => Durability::FsyncBatch,
        }
    }
}

impl Store for LmdbStore {
    fn info(&self) -> StoreInfo {
        let environment = &self.shared.environment;
        let file_system = disk::file_system(environment.folder()).ok();
        let version = heed::lmdb_version();
        StoreInfo {
            scheme: SCHEME,
            url: self.url.clone(),
            version: Some(format!("{}.{}.{}", version.major, version.minor, version.patch)),
            settings: self.settings(),
            durability: self.durability(file_system.as_ref()),
            ownership: Ownership::Embedded,
            data_paths: environment.files(),
            file_system,
            ..StoreInfo::default()
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            batch: true,
            batch_write: true,
            groups: true,
            persistent: true,
            evicts: true,
            reads_wait: Waits::Seldom,
            writes_wait: if self.config.sync.is_synced() { Waits::Disk } else { Waits::Seldom },
            reach: Reach::Host,
            max_key_len: Some(MAX_KEY_LEN),
            max_value_len: Some(self.shared.limits.value_len),
            ..Capabilities::OF_RECORDS
        }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(LmdbSession::new(Arc::clone(&self.shared))))
    }

    fn close(&self) -> Result<()> {
        self.shared.environment.flush()
    }

    fn stats(&self) -> Result<Stats> {
        let Shared { environment, databases, usage_key, dropped, .. } = &*self.shared;
        let mut stats = self.shared.counters.stats();
        let txn = environment.read()?;
        let read = || {
            let items = databases.entries.len(&txn)?;
            let bytes = databases.main.get(&txn, usage_key)?.map_or(0, usage::bytes);
            Ok((items, bytes))
        };
        let (items, bytes) = read().map_err(|error| environment.error(error))?;
        dropped.write_to(&mut stats);
        stats.items = Some(items);
        stats.bytes = Some(bytes);
        stats.capacity_bytes = Some(self.config.size.0);
        Ok(stats)
    }
}
