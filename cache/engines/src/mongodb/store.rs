//! The open collection, shared by its sessions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use larder_host::delay_proxy::DelayProxy;
use larder_host::destination::Destination;
use larder_host::disk;
use larder_host::managed::{Server, end_all};
use larder_store::{
    Capabilities, Catalog, Clock, Durability, Error, FileSystem, Ownership, Reach, Result, Session,
    Stats, Store, StoreInfo, StoreUrl,
};
use mongodb::bson::doc;

use super::address::Target;
use super::config::MongodbConfig;
use super::document::{LONG_PAST_MS, MAX_KEY_LEN, OVERHEAD};
use super::introspection::{self, Indexes, Introspection, ServerKind};
use super::link::Link;
use super::session::MongodbSession;
use super::{SCHEME, managed, unacknowledged};
use crate::network;
use larder_store::counters::{Counters, Requests};

/// The note on a server that only speaks like MongoDB.
const NO_FIGURE: &str = "a stand-in: says nothing of MongoDB's speed";

/// Its delay between two writes of its files.
const NO_FILES: &str = "not supported by the stand-in: it has no files";

/// Opens the servers that a URL names, or starts one.
pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config = MongodbConfig::from_url(url)?;
    let (server, direct, stand_in) = if url.hosts().is_empty() {
        let started = managed::start(url, &config)?;
        (Some(started.server), started.target, started.stand_in)
    } else {
        (None, Target::named(url, &config)?, None)
    };
    // Without the relay that may come before the server: this link is not counted with the sessions'.
    let control = Link::new(&direct, &Arc::default())?;
    let mut introspection = Introspection::of(&control, direct.is_local())?;
    if let Some(stand_in) = stand_in {
        introspection.version = Some(stand_in);
    }
    if !config.waits() {
        introspection.check_unacknowledged(&direct.peer)?;
    }
    let indexes = introspection::prepare(&control, server.is_some())?;
    let delay_proxy =
        network::delay_proxy(SCHEME, config.via, config.timeout.0, || direct.destinations())?;
    let target = match delay_proxy.as_ref().and_then(|delay_proxy| delay_proxy.addresses().first())
    {
        Some(address) => direct.clone().through(*address),
        None => direct.clone(),
    };
    let unanswered = if config.waits() {
        None
    } else {
        Some(unacknowledged::destination(target.destinations()?)?)
    };
    let shared = Shared {
        control: Mutex::new(control),
        max_value_len: introspection.largest_document.saturating_sub(OVERHEAD),
        clock: Clock::system(),
        counters: Counters::default(),
        n_connections: Arc::default(),
        requests: Counters::default(),
        unanswered,
        target,
        delay_proxy,
        server,
    };
    let info = shared.describe(url, &config, &introspection, &indexes);
    Ok(Arc::new(MongodbStore { shared: Arc::new(shared), info }))
}

/// An open collection.
#[derive(Debug)]
struct MongodbStore {
    shared: Arc<Shared>,
    info: StoreInfo,
}

/// The state that sessions share; the server and the relay that were started for them end with the last of it.
pub(super) struct Shared {
    /// A way to the servers beside the sessions' links, and not counted with them.
    control: Mutex<Link>,
    pub(super) target: Target,
    pub(super) max_value_len: usize,
    pub(super) counters: Counters,
    pub(super) n_connections: Arc<AtomicU64>,
    pub(super) requests: Counters<Requests>,
    /// The server to which unacknowledged plain sets go.
    pub(super) unanswered: Option<Destination>,
    clock: Clock,
    delay_proxy: Option<DelayProxy>,
    server: Option<Server>,
}

impl Shared {
    /// Milliseconds since 1970, as MongoDB has them.
    pub(super) fn now_ms(&self) -> i64 {
        i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX)
    }

    /// When an entry that is stored now with this TTL expires.
    pub(super) fn deadline_ms(&self, ttl: Option<Duration>) -> Option<i64> {
        // Dates have an end, and a server that reckons with them must not come to it.
        const LAST_MS: u64 = 253_402_300_799_999;
        let ttl = ttl?;
        if ttl.is_zero() {
            return Some(LONG_PAST_MS);
        }
        let deadline_ms = self.clock.deadline_ms(ttl).min(LAST_MS);
        Some(i64::try_from(deadline_ms).unwrap_or(i64::MAX))
    }

    /// Whether the server is ours.
    pub(super) fn is_managed(&self) -> bool {
        self.server.is_some()
    }

    /// Makes the collection again, empty.
    pub(super) fn clear(&self) -> Result<()> {
        let control = self.control();
        control.run(async { control.collection().drop().await })?;
        introspection::prepare(&control, self.is_managed()).map(drop)
    }

    fn control(&self) -> MutexGuard<'_, Link> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(
        &self,
        url: &StoreUrl,
        config: &MongodbConfig,
        introspection: &Introspection,
        indexes: &Indexes,
    ) -> StoreInfo {
        let mut settings = BTreeMap::new();
        let mut tell = |name: &str, value: Option<String>| {
            settings.extend(value.map(|value| (name.to_owned(), value)));
        };
        // A replica set has a default of its own, which is a majority with newer servers.
        let default_w = if introspection.set_name.is_some() { "the set's default" } else { "1" };
        tell("w", Some(config.w.as_deref().unwrap_or(default_w).into()));
        tell("journal", config.journal.map(|on| if on { "on" } else { "off" }.into()));
        tell("nodes", Some(self.target.peer.clone()));
        tell("database", Some(self.target.database.clone()));
        tell("collection", Some(self.target.collection.clone()));
        tell("storage_engine", introspection.storage_engine.clone());
        tell("replica_set", introspection.set_name.clone());
        tell("read_preference", config.readPreference.clone());
        tell("tls", Some(if self.target.is_encrypted() { "on" } else { "off" }.into()));
        for (name, index) in indexes {
            tell(name, Some(index.clone()));
        }
        let delay = config.sync_delay.map(|delay| match introspection.kind {
            ServerKind::StandIn => NO_FILES.into(),
            _ => delay.to_string(),
        });
        tell("sync_delay", delay);
        if introspection.kind == ServerKind::StandIn {
            tell("stand_in", Some(NO_FIGURE.into()));
            tell("ttl_index", Some("none: the stand-in removes no expired entries".into()));
        }
        settings.extend(network::delay_proxy_settings(config.via, self.delay_proxy.as_ref()));
        let is_kept = introspection.durability(None) > Durability::Volatile;
        let server = self.server.as_ref();
        let kept = server.filter(|_| is_kept);
        let data_paths: Vec<PathBuf> =
            kept.map(|server| server.directory().to_owned()).into_iter().collect();
        let file_system = data_paths.first().and_then(|path| disk::file_system(path).ok());
        let durability = match introspection.durability(config.journal) {
            _ if !config.waits() => Durability::Unacknowledged,
            // A sync to memory survives no more than the page cache does.
            durability if file_system.as_ref().is_some_and(FileSystem::is_memory) => {
                durability.min(Durability::OsCache)
            }
            durability => durability,
        };
        StoreInfo {
            scheme: SCHEME,
            url: url.to_string(),
            version: introspection.version.clone(),
            settings,
            durability,
            ownership: if self.is_managed() { Ownership::Managed } else { Ownership::External },
            server_pids: server.map(Server::pid).or(introspection.pid).into_iter().collect(),
            addresses: self.target.addresses(),
            file_system,
            data_paths,
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("nodes", &self.target.peer)
            .field("delay_proxy", &self.delay_proxy)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Store for MongodbStore {
    fn info(&self) -> StoreInfo {
        self.info.clone()
    }

    fn capabilities(&self) -> Capabilities {
        let is_managed = self.shared.is_managed();
        Capabilities {
            batch: true,
            batch_write: true,
            groups: true,
            clear: is_managed,
            persistent: !is_managed && self.info.durability > Durability::Volatile,
            reach: Reach::Network,
            max_key_len: Some(MAX_KEY_LEN),
            max_value_len: Some(self.shared.max_value_len),
            ..Capabilities::OF_RECORDS
        }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(MongodbSession::new(Arc::clone(&self.shared))?))
    }

    fn close(&self) -> Result<()> {
        end_all(&self.shared.server)
    }

    fn stats(&self) -> Result<Stats> {
        let shared = &self.shared;
        let control = shared.control();
        let mut stats = shared.counters.stats();
        stats.connections = Some(shared.n_connections.load(Ordering::Relaxed));
        stats.requests_sent = Some(shared.requests.sent());
        let collection = control.collection();
        stats.items = Some(control.run(async { collection.estimated_document_count().await })?);
        let command = doc! { "collStats": collection.name() };
        // Not every user may ask for it.
        let answer = control.attempt(async { control.database().run_command(command).await })?;
        let size = answer.ok().and_then(|answer| introspection::number(&answer, "size"));
        stats.bytes = size.and_then(|size| u64::try_from(size).ok());
        Ok(stats)
    }

    /// The servers that Larder has not started, with the free space of their file system.
    fn external_stats(&self) -> Result<Vec<Stats>> {
        if self.info().ownership != Ownership::External {
            return Ok(Vec::new());
        }
        let mut stats = self.stats()?;
        let control = self.shared.control();
        let command = doc! { "dbStats": 1 };
        let answer = control.attempt(async { control.database().run_command(command).await })?;
        let number = |name: &str| {
            let number =
                answer.as_ref().ok().and_then(|answer| introspection::number(answer, name))?;
            u64::try_from(number).ok()
        };
        let (all, used) = (number("fsTotalSize"), number("fsUsedSize"));
        stats.free_bytes = all.zip(used).map(|(all, used)| all.saturating_sub(used));
        Ok(vec![stats])
    }
}

/// The reason against a key that no document can have.
pub(super) fn too_long(len: usize) -> Error {
    Error::KeyTooLong { engine: SCHEME, len, limit: MAX_KEY_LEN }
}
