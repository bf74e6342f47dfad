//! An open BerkeleyDB store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use larder_host::disk;
use larder_host::scratch::Place;
use larder_store::{
    ByteSize, Capabilities, Catalog, Clock, Durability, FileSystem, Ownership, Reach, Result,
    Session, Span, Stats, Store, StoreInfo, StoreUrl, Waits,
};

use super::SCHEME;
use super::config::{BdbConfig, MAX_KEY_LEN, Sync};
use super::environment::Environment;
use super::session::BdbSession;
use super::upkeep;
use crate::header::HEADER_LEN;
use crate::upkeep::Upkeep;
use larder_store::counters::{Counters, Dropped};

/// The largest value: BerkeleyDB counts the bytes of a record in 32 bits.
pub(super) const MAX_VALUE_LEN: usize = u32::MAX as usize - HEADER_LEN;

/// An open BerkeleyDB store.
#[derive(Debug)]
struct BdbStore {
    url: String,
    shared: Arc<Shared>,
}

/// The state that the sessions of a store share; the upkeep ends with the last session.
#[derive(Debug)]
pub(super) struct Shared {
    _upkeep: Upkeep,
    pub(super) core: Arc<Core>,
}

/// The state that sessions and upkeep share.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) environment: Environment,
    pub(super) config: BdbConfig,
    pub(super) clock: Clock,
    pub(super) counters: Counters,
    pub(super) dropped: Dropped,
    /// The last version that was assigned.
    version: AtomicU64,
    /// Whether any entry has had a deadline. While no entry has, a write need not read the entry that it replaces.
    pub(super) has_deadlines: AtomicBool,
}

/// Opens the folder of a URL.
pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config: BdbConfig = url.options(SCHEME)?;
    config.check()?;
    let environment = Environment::open(Place::of(SCHEME, url)?, &config)?;
    let listed = environment
        .bdb()
        .begin()
        .and_then(|txn| Ok(txn.first_to_expire(&mut [0; 8 + MAX_KEY_LEN])?.is_some()));
    let has_deadlines = listed.map_err(|fault| environment.error(fault))?;
    let core = Arc::new(Core {
        environment,
        config,
        clock: Clock::system(),
        counters: Counters::default(),
        dropped: Dropped::default(),
        version: AtomicU64::new(first_version()),
        has_deadlines: AtomicBool::new(has_deadlines),
    });
    let of_upkeep = Arc::clone(&core);
    let upkeep = Upkeep::start(SCHEME, move |ending| upkeep::work(&of_upkeep, ending))?;
    let shared = Arc::new(Shared { _upkeep: upkeep, core });
    Ok(Arc::new(BdbStore { url: url.to_string(), shared }))
}

/// Versions count up from the time in nanoseconds. No version repeats, because no store changes every nanosecond.
fn first_version() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX / 2).max(1)
}

impl Core {
    /// A version that no entry has yet.
    pub(super) fn next_version(&self) -> u64 {
        self.version.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let bdb = self.environment.bdb();
        let mut settings = BTreeMap::from([
            ("type".to_owned(), self.config.kind.as_str().to_owned()),
            ("sync".into(), self.config.sync.as_str().into()),
            ("checkpoint".into(), self.checkpoints()),
        ]);
        // Settings that cannot be read are left out.
        if let Ok((cache, log_file)) = bdb.settings() {
            settings.insert("cache".into(), ByteSize(cache).to_string());
            settings.insert("log_file".into(), ByteSize(log_file.into()).to_string());
        }
        if let Ok((_, page_size)) = bdb.pages() {
            settings.insert("page_size".into(), page_size.to_string());
        }
        settings
    }

    /// When checkpoints are made.
    fn checkpoints(&self) -> String {
        let log = self.config.log;
        match self.config.checkpoint.0 {
            Duration::ZERO => format!("after {log} of log"),
            every => format!("every {}, and after {log} of log", Span(every)),
        }
    }

    /// The durability of an acknowledged write. A checkpoint bounds the loss at a power cut; on a file system in memory
    /// nothing does.
    fn durability(&self, under: Option<&FileSystem>) -> Durability {
        let is_memory = under.is_some_and(FileSystem::is_memory);
        let is_bounded = !is_memory && !self.config.checkpoint.0.is_zero();
        match self.config.sync {
            Sync::Group if !is_memory => Durability::FsyncEach,
            Sync::Nosync | Sync::Write if is_bounded => Durability::FsyncBatch,
            Sync::Nosync => Durability::Volatile,
            Sync::Write | Sync::Group => Durability::OsCache,
        }
    }
}

impl Store for BdbStore {
    fn info(&self) -> StoreInfo {
        let core = &self.shared.core;
        let folder = core.environment.folder();
        let file_system = disk::file_system(folder).ok();
        StoreInfo {
            scheme: SCHEME,
            url: self.url.clone(),
            version: Some(core.environment.bdb().version()),
            settings: core.settings(),
            durability: core.durability(file_system.as_ref()),
            ownership: Ownership::Embedded,
            // Log files come and go, so the folder stands for all files.
            data_paths: vec![folder.to_owned()],
            file_system,
            ..StoreInfo::default()
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stores: true,
            ttl: true,
            ttl_resolution: Duration::from_millis(1),
            ttl_restarts: 0,
            ttl_left: true,
            flags: true,
            add: true,
            version: true,
            append: true,
            incr: true,
            touch: true,
            get_and_touch: true,
            // BerkeleyDB reads many keys at once only where they are neighbours.
            batch: false,
            batch_write: true,
            groups: false,
            leases: false,
            tokens: false,
            pipeline: false,
            namespaces: false,
            forks: false,
            clear: true,
            persistent: true,
            evicts: false,
            reads_wait: Waits::Disk,
            writes_wait: Waits::Disk,
            reach: Reach::Process,
            max_key_len: Some(MAX_KEY_LEN),
            max_value_len: Some(MAX_VALUE_LEN),
        }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(BdbSession::new(Arc::clone(&self.shared))))
    }

    fn close(&self) -> Result<()> {
        self.shared.core.environment.flush()
    }

    fn stats(&self) -> Result<Stats> {
        let core = &self.shared.core;
        let environment = &core.environment;
        let mut stats = core.counters.stats();
        core.dropped.tell(&mut stats);
        stats.evictions = Some(0);
        // BerkeleyDB knows the number of entries only by counting them.
        let (pages, page_size) =
            environment.bdb().pages().map_err(|fault| environment.error(fault))?;
        stats.bytes = Some(u64::from(pages) * u64::from(page_size));
        Ok(stats)
    }
}
