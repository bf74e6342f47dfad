//! The open cache.

use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use larder_store::{
    ByteSize, Capabilities, Catalog, Durability, Error, Result, Session, Stats, Store, StoreInfo,
    StoreUrl,
};
use quick_cache::sync::Cache;
use quick_cache::{DefaultHashBuilder, Lifecycle, OptionsBuilder, Weighter};

use super::SCHEME;
use super::config::QuickCacheConfig;
use crate::objects::{Entry, ObjectSession, Objects, Shared, check_size};

/// The version of the crate `quick_cache`; it does not report it.
const VERSION: &str = "0.7.0";

/// The size of an entry besides its key and value, in the mean. An allocator counted 138 to 222 bytes over caches of
/// 100,000 to 2 million entries: the tables double when they are full.
pub(super) const ENTRY_OVERHEAD: usize = 180;

/// The part of a shard that the crate keeps for entries that were asked for again. A larger entry is never stored.
const HOT: f64 = 0.97;

pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config: QuickCacheConfig = url.options(SCHEME)?;
    check_size(SCHEME, config.size)?;
    if config.entry.0 == 0 || config.shards == Some(0) {
        let option = if config.entry.0 == 0 { "entry" } else { "shards" };
        let reason = format!("{option} is 0; write {option}=1 or more");
        return Err(Error::InvalidOptions { engine: SCHEME, reason });
    }
    let shared = Arc::new(Shared::new(QuickCache::new(config)));
    Ok(Arc::new(QuickCacheStore { url: url.to_string(), config, shared }))
}

/// An open cache.
#[derive(Debug)]
struct QuickCacheStore {
    url: String,
    config: QuickCacheConfig,
    shared: Arc<Shared<QuickCache>>,
}

/// The cache, and what it does not count by itself.
struct QuickCache {
    cache: Cache<Box<[u8]>, Entry, Weights, DefaultHashBuilder, Evictions>,
    max_weight: u64,
    evictions: Evictions,
    expirations: AtomicU64,
}

impl fmt::Debug for QuickCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuickCache").field("max_weight", &self.max_weight).finish_non_exhaustive()
    }
}

impl QuickCache {
    fn new(config: QuickCacheConfig) -> Self {
        let usual = usize::try_from(config.size.0 / config.entry.0).unwrap_or(usize::MAX).max(1);
        let mut options = OptionsBuilder::new();
        options.weight_capacity(config.size.0).estimated_items_capacity(usual).hot_allocation(HOT);
        if let Some(shards) = config.shards {
            options.shards(usize::from(shards));
        }
        let options = options.build().expect("both sizes are set");
        let hasher = DefaultHashBuilder::default();
        let evictions = Evictions { count: Arc::default(), hasher: hasher.clone() };
        let new = |max_weight| {
            let (weights, counts) = (Weights { max_weight }, evictions.clone());
            Cache::with_options(options.clone(), weights, hasher.clone(), counts)
        };
        // The number of shards, and with it the longest entry, is known only once there is a cache.
        let max_weight = hot_part(new(u64::MAX).shard_capacity());
        Self { cache: new(max_weight), max_weight, evictions, expirations: AtomicU64::new(0) }
    }
}

/// The bytes that the crate gives to hot entries of a shard, as the crate counts them.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the crate counts in the same way"
)]
fn hot_part(shard: u64) -> u64 {
    (shard as f64 * HOT) as u64
}

/// The weight of each entry. A key that does not fit on top of the largest value counts up to the limit.
#[derive(Debug, Clone, Copy)]
struct Weights {
    max_weight: u64,
}

impl Weighter<Box<[u8]>, Entry> for Weights {
    fn weight(&self, key: &Box<[u8]>, entry: &Entry) -> u64 {
        (entry.bytes(key, ENTRY_OVERHEAD) as u64).min(self.max_weight)
    }
}

/// Counts the entries that make room.
#[derive(Debug, Clone)]
struct Evictions {
    count: Arc<AtomicU64>,
    hasher: DefaultHashBuilder,
}

impl Evictions {
    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }
}

/// A request to the cache, as far as its evictions need it.
#[derive(Debug, Default)]
struct Request {
    /// The hash of the key that is stored, and the version of its new entry.
    stored: Option<(u64, u64)>,
    /// An entry that is freed once no lock is held; of several, the last.
    freed: Option<(Box<[u8]>, Entry)>,
}

impl Lifecycle<Box<[u8]>, Entry> for Evictions {
    type RequestState = Request;

    /// The crate calls this for the entry that a new one of its key replaces, too. That is no eviction.
    fn on_evict(&self, request: &mut Request, key: Box<[u8]>, entry: Entry) {
        let is_replaced = request
            .stored
            .is_some_and(|(hash, version)| entry.version != version && self.hash(&key) == hash);
        self.count.fetch_add(u64::from(!is_replaced), Ordering::Relaxed);
        request.freed = Some((key, entry));
    }
}

fn has_ended(entry: &Entry) -> bool {
    entry.deadline.is_some_and(|deadline| deadline <= Instant::now())
}

impl Objects for QuickCache {
    const SCHEME: &'static str = SCHEME;

    fn get(&self, key: &[u8]) -> Option<Entry> {
        let entry = self.cache.get(key)?;
        if !has_ended(&entry) {
            return Some(entry);
        }
        if self.cache.remove_if(key, has_ended).is_some() {
            self.expirations.fetch_add(1, Ordering::Relaxed);
        }
        None
    }

    fn insert(&self, key: Box<[u8]>, entry: Entry) {
        let stored = Some((self.evictions.hash(&key), entry.version));
        let mut request = Request { stored, freed: None };
        self.cache.insert_with_lifecycle(key, entry, &mut request);
    }

    fn remove(&self, key: &[u8]) -> Option<Entry> {
        self.cache.remove(key).map(|(_, entry)| entry)
    }

    fn clear(&self) {
        self.cache.clear();
    }

    fn max_value_len(&self) -> usize {
        usize::try_from(self.max_weight).unwrap_or(usize::MAX).saturating_sub(ENTRY_OVERHEAD)
    }
}

impl Store for QuickCacheStore {
    fn info(&self) -> StoreInfo {
        let cache = &self.shared.objects.cache;
        let settings = [
            ("size", ByteSize(cache.capacity()).to_string()),
            ("entry", self.config.entry.to_string()),
            ("shards", cache.num_shards().to_string()),
        ];
        StoreInfo {
            scheme: SCHEME,
            url: self.url.clone(),
            version: Some(VERSION.into()),
            settings: settings.map(|(name, text)| (name.to_owned(), text)).into(),
            durability: Durability::Volatile,
            ..StoreInfo::default()
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { ttl_resolution: Duration::from_nanos(1), ..self.shared.capabilities() }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(ObjectSession::new(Arc::clone(&self.shared))))
    }

    /// Expired entries count until they are read or evicted.
    fn stats(&self) -> Result<Stats> {
        let QuickCache { cache, evictions, expirations, .. } = &self.shared.objects;
        let mut stats = self.shared.counters.stats();
        stats.evictions = Some(evictions.count.load(Ordering::Relaxed));
        stats.expirations = Some(expirations.load(Ordering::Relaxed));
        stats.items = Some(cache.len() as u64);
        stats.bytes = Some(cache.weight());
        stats.capacity_bytes = Some(cache.capacity());
        Ok(stats)
    }
}

#[cfg(test)]
mod tests {
    use larder_store::SetOptions;

    use super::*;

    fn open_url(url: &str) -> Arc<dyn Store> {
        open(&StoreUrl::parse(url).unwrap(), &Catalog::new(&[])).unwrap()
    }

    #[test]
    fn the_longest_value_is_kept_with_any_key_and_a_longer_one_is_refused() {
        for url in ["quick_cache:?size=4k", "quick_cache:?size=1m", "quick_cache:?shards=1"] {
            let store = open_url(url);
            let most = store.capabilities().max_value_len.unwrap();
            let mut session = store.session().unwrap();
            let mut found = Vec::new();
            for key in [&b"k"[..], &[b'k'; 5000]] {
                let outcome = session.set(key, &vec![7; most], &SetOptions::default());
                assert!(outcome.unwrap().is_stored(), "{url}");
                assert!(session.get(key, &mut found).unwrap().is_some(), "{url}");
                assert_eq!(found.len(), most, "{url}");
            }
            let refused = session.set(b"k", &vec![7; most + 1], &SetOptions::default());
            assert!(matches!(refused, Err(Error::ValueTooLarge { .. })), "{url}");
        }
    }

    #[test]
    fn an_entry_that_is_replaced_is_not_evicted_and_one_that_makes_room_is() {
        let store = open_url("quick_cache:?size=64k&shards=1");
        let mut session = store.session().unwrap();
        let mut set = |key: u32, len: usize| {
            let value = vec![7; len];
            session.set(&key.to_le_bytes(), &value, &SetOptions::default()).unwrap();
        };
        for round in 0..50 {
            (0..10).for_each(|key| set(key, 100 + round));
        }
        let evictions = || store.stats().unwrap().evictions.unwrap();
        assert_eq!((evictions(), store.stats().unwrap().items), (0, Some(10)));
        (100..300).for_each(|key| set(key, 1000));
        let left = store.stats().unwrap().items.unwrap();
        assert_eq!(evictions() + left, 210);
    }

    #[test]
    fn an_entry_whose_ttl_is_over_leaves_when_it_is_read() {
        let store = open_url("quick_cache:");
        let mut session = store.session().unwrap();
        let soon = SetOptions { ttl: Some(Duration::from_micros(1)), ..SetOptions::default() };
        session.set(b"k", b"v", &soon).unwrap();
        while session.get(b"k", &mut Vec::new()).unwrap().is_some() {}
        let stats = store.stats().unwrap();
        // The TTL may have been over before the set, which stores nothing then.
        assert_eq!((stats.items, stats.bytes), (Some(0), Some(0)));
        assert!(stats.expirations <= Some(1));
    }

    #[test]
    fn a_size_that_holds_nothing_is_refused_in_one_line() {
        for (url, needle) in [
            ("quick_cache:?size=100", "4 KiB"),
            ("quick_cache:?entry=0", "entry is 0; write entry=1 or more"),
            ("quick_cache:?shards=0", "shards is 0"),
        ] {
            let url = StoreUrl::parse(url).unwrap();
            let text = open(&url, &Catalog::new(&[])).unwrap_err().to_string();
            assert!(text.contains(needle), "{text}");
        }
    }

    #[test]
    fn the_version_is_the_one_that_is_built_in() {
        let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
        let lock = std::fs::read_to_string(lock).unwrap();
        let line = format!("name = \"quick_cache\"\nversion = \"{VERSION}\"");
        assert!(lock.contains(&line), "{VERSION}");
    }
}
