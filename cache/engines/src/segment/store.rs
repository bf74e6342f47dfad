//! A segment cache as a store.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use larder_host::disk;
use larder_host::place::Place;
use larder_segment::Cache;
use larder_store::{
    ByteSize, Capabilities, Counter, Durability, Error, Ownership, Reach, Result, Session, Span,
    Stats, Store, StoreInfo, Waits,
};

use super::config::{SegmentConfig, check_namespace, refused};
use super::session::SegmentSession;

/// An open segment cache.
#[derive(Debug)]
pub(crate) struct SegmentStore {
    engine: &'static str,
    url: String,
    cache: Arc<Cache>,
    /// The namespace of the sessions' keys; `None` for keys without a namespace.
    namespace: Option<Arc<str>>,
    /// The longest wait of the sessions' writes for one holder of a lock.
    timeout: Span,
    /// A region in a file on a disk waits for its pages.
    waits: Waits,
    /// The file of the region, and the guard of its folder; `None` for a private region.
    file: Option<Arc<(PathBuf, Place)>>,
}

impl SegmentStore {
    /// Wraps an open cache. `file` is its file and the guard of its folder; `None` for a private cache.
    pub(crate) fn new(
        engine: &'static str,
        url: String,
        cache: Arc<Cache>,
        config: SegmentConfig,
        file: Option<(PathBuf, Place)>,
    ) -> Self {
        let SegmentConfig { namespace, timeout, .. } = config;
        let is_on_disk = |(path, _): &(PathBuf, Place)| {
            disk::file_system(path).map_or(true, |system| !system.is_memory())
        };
        let waits = if file.as_ref().is_some_and(is_on_disk) { Waits::Disk } else { Waits::Lock };
        let file = file.map(Arc::new);
        Self { engine, url, cache, namespace: namespace.map(Arc::from), timeout, waits, file }
    }

    /// Refuses a wrong name, and a namespace in a namespace.
    fn check_namespace(&self, name: &str, operation: &'static str) -> Result<()> {
        if self.namespace.is_some() {
            return Err(Error::Unsupported { engine: self.engine, operation });
        }
        check_namespace(self.engine, name)
    }
}

impl Store for SegmentStore {
    fn info(&self) -> StoreInfo {
        let size = |bytes: usize| ByteSize(bytes as u64).to_string();
        let settings = [
            ("size", size(self.cache.size())),
            ("max_key", size(self.cache.max_key())),
            ("max_value", size(self.cache.max_value())),
            ("timeout", self.timeout.to_string()),
        ];
        let shape = self.cache.shape().map(|(name, number)| (name, number.to_string()));
        let namespace = self.namespace.as_ref().map(|name| ("namespace", name.to_string()));
        let settings = settings.into_iter().chain(shape).chain(namespace);
        let path = self.file.as_ref().map(|file| &file.0);
        StoreInfo {
            scheme: self.engine,
            url: self.url.clone(),
            version: Some(env!("CARGO_PKG_VERSION").into()),
            settings: settings.map(|(name, text)| (name.to_owned(), text)).collect(),
            durability: if path.is_some() { Durability::OsCache } else { Durability::Volatile },
            ownership: Ownership::Embedded,
            data_paths: path.cloned().into_iter().collect(),
            file_system: path.and_then(|path| disk::file_system(path).ok()),
            ..StoreInfo::default()
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stores: true,
            ttl: true,
            ttl_resolution: Duration::from_millis(10),
            ttl_restarts: 0,
            ttl_left: true,
            flags: true,
            add: true,
            version: true,
            append: true,
            incr: true,
            touch: true,
            get_and_touch: true,
            batch: true,
            batch_write: false,
            groups: false,
            leases: true,
            tokens: true,
            pipeline: false,
            // Names are flat.
            namespaces: self.namespace.is_none(),
            // A private region is copied for the child, with all entries; a file is shared.
            forks: true,
            clear: true,
            persistent: self.file.is_some(),
            evicts: true,
            reads_wait: self.waits,
            writes_wait: self.waits,
            reach: if self.file.is_some() { Reach::Host } else { Reach::Process },
            max_key_len: Some(self.cache.max_key()),
            max_value_len: Some(self.cache.max_value()),
        }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        let namespace = self.namespace.clone();
        let session = SegmentSession::new(self.engine, &self.cache, namespace, self.timeout.0);
        Ok(Box::new(session))
    }

    fn namespace(&self, name: &str) -> Result<Arc<dyn Store>> {
        self.check_namespace(name, "a namespace in a namespace")?;
        Ok(Arc::new(Self {
            engine: self.engine,
            url: self.url.clone(),
            cache: Arc::clone(&self.cache),
            namespace: Some(name.into()),
            timeout: self.timeout,
            waits: self.waits,
            file: self.file.clone(),
        }))
    }

    fn remove_namespace(&self, name: &str) -> Result<bool> {
        self.check_namespace(name, "the removal of a namespace in a namespace")?;
        self.cache.remove_namespace(name).map_err(|what| refused(self.engine, None, what))
    }

    fn close(&self) -> Result<()> {
        match self.file.as_deref() {
            Some((path, place)) if place.is_kept() => {
                let failed = |source| disk::io_error(self.engine, "writing", path, source);
                self.cache.flush().map_err(failed)
            }
            _ => Ok(()),
        }
    }

    fn stats(&self) -> Result<Stats> {
        let counted = self.cache.stats();
        let mut stats = Stats::default();
        stats.hits = Some(counted.hits);
        stats.misses = Some(counted.misses);
        stats.sets = Some(counted.sets);
        stats.deletes = Some(counted.deletes);
        stats.evictions = Some(counted.evictions());
        stats.expirations = Some(counted.expired);
        stats.items = Some(counted.items);
        stats.bytes = Some(counted.bytes);
        stats.capacity_bytes = Some(self.cache.size() as u64);
        if self.file.is_none() {
            stats.mapped_bytes = self.cache.resident_bytes();
        }
        Ok(stats)
    }

    fn counters(&self) -> Result<Vec<Counter>> {
        // Every field is named here, so that the compiler asks for each new one.
        let larder_segment::Stats {
            hits: _,
            misses: _,
            sets: _,
            deletes: _,
            items: _,
            bytes: _,
            expired: _,
            evicted_small,
            evicted_main,
            evicted_by_index,
            moved,
            busy,
            too_large,
            refused_fills,
            lock_repairs,
            damaged,
        } = self.cache.stats();
        let counters = [
            ("evicted_small", evicted_small),
            ("evicted_main", evicted_main),
            ("evicted_by_index", evicted_by_index),
            ("moved", moved),
            ("busy", busy),
            ("too_large", too_large),
            ("refused_fills", refused_fills),
            ("lock_repairs", lock_repairs),
            ("damaged", damaged),
        ];
        let large = self.cache.large_page_bytes().map(|bytes| ("large_page_bytes", bytes));
        let counters = counters.into_iter().chain(large);
        Ok(counters.map(|(name, value)| Counter { name, value }).collect())
    }
}
