//! The open cache.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use larder_store::{
    Capabilities, Catalog, Durability, Result, Session, Stats, Store, StoreInfo, StoreUrl,
};
use moka::notification::RemovalCause;
use moka::policy::EvictionPolicy;
use moka::{Expiry, sync::Cache};

use super::SCHEME;
use super::config::{MokaConfig, Policy};
use super::weight::Weight;
use crate::objects::{Entry, ObjectSession, Objects, Shared, check_size};

/// The version of moka; the crate does not report it.
const VERSION: &str = "0.12.16";

/// The size of an entry besides its key and value, as an allocator counted it over a million entries: 293 bytes,
/// and 333 with a TTL.
pub(super) const ENTRY_OVERHEAD: usize = 300;

/// A cache is swept once it is above its size by one part in `SLACK`: 1 %.
///
/// moka evicts later than it stores, after 64 writes or 0.3 s. A cache of 20 entries would hold 40 on average, and hit
/// more often than a cache of 20 does. A large cache is left to moka's own batches, because 64 of its entries are less
/// than 1 %.
pub(super) const SLACK: u64 = 100;

/// The number of times that a cleared cache runs its pending tasks to free the old entries.
const EPOCHS: u32 = 8;

pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config: MokaConfig = url.options(SCHEME)?;
    check_size(SCHEME, config.size)?;
    let shared = Arc::new(Shared::new(Moka::new(config)));
    Ok(Arc::new(MokaStore { url: url.to_string(), config, shared }))
}

/// An open cache.
#[derive(Debug)]
struct MokaStore {
    url: String,
    config: MokaConfig,
    shared: Arc<Shared<Moka>>,
}

/// The cache, and what it does not tell by itself.
#[derive(Debug)]
struct Moka {
    cache: Cache<Box<[u8]>, Entry>,
    max_value_len: usize,
    dropped: Arc<DroppedByMoka>,
    held: Arc<Weight>,
    max_weight: u32,
    /// The weight above which the cache is swept.
    most: u64,
    sweeping: Mutex<()>,
}

/// The weight of an entry for moka, whose weights are 32 bits wide.
fn weight(key: &[u8], entry: &Entry, most: u32) -> u32 {
    u32::try_from(entry.bytes(key, ENTRY_OVERHEAD)).unwrap_or(u32::MAX).min(most)
}

/// The entries that moka dropped by itself.
#[derive(Debug, Default)]
struct DroppedByMoka {
    evictions: AtomicU64,
    expirations: AtomicU64,
}

impl Moka {
    fn new(config: MokaConfig) -> Self {
        let dropped = Arc::<DroppedByMoka>::default();
        let held = Arc::<Weight>::default();
        let (counts, holds) = (Arc::clone(&dropped), Arc::clone(&held));
        // An entry heavier than moka can count must not come in. A key that does not fit on top of the largest value
        // counts up to the limit.
        let max_weight = u32::try_from(config.size.0).unwrap_or(u32::MAX);
        let cache = Cache::<Box<[u8]>, Entry>::builder()
            .name(SCHEME)
            .max_capacity(config.size.0)
            .weigher(move |key, entry| weight(key, entry, max_weight))
            .eviction_policy(match config.policy {
                Policy::TinyLfu => EvictionPolicy::tiny_lfu(),
                Policy::Lru => EvictionPolicy::lru(),
            })
            .expire_after(Deadlines)
            .eviction_listener(move |key, entry, cause| {
                let weight = u64::from(weight(&key, &entry, max_weight));
                holds.remove(weight);
                match cause {
                    RemovalCause::Size => drop(counts.evictions.fetch_add(1, Ordering::Relaxed)),
                    RemovalCause::Expired => {
                        counts.expirations.fetch_add(1, Ordering::Relaxed);
                    }
                    RemovalCause::Explicit | RemovalCause::Replaced => {}
                }
            })
            .build();
        Self {
            cache,
            max_value_len: max_weight as usize - ENTRY_OVERHEAD,
            dropped,
            held,
            max_weight,
            most: config.size.0 + config.size.0 / SLACK,
            sweeping: Mutex::default(),
        }
    }

    /// Runs moka's eviction, unless another thread has just run it.
    fn sweep(&self) {
        let _alone = self.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
        if self.held.now() > self.most {
            self.cache.run_pending_tasks();
        }
    }
}

impl Objects for Moka {
    const SCHEME: &'static str = SCHEME;

    fn get(&self, key: &[u8]) -> Option<Entry> {
        self.cache.get(key)
    }

    /// Runs moka's eviction where the cache is too far above its size.
    fn insert(&self, key: Box<[u8]>, entry: Entry) {
        let now = self.held.add(u64::from(weight(&key, &entry, self.max_weight)));
        self.cache.insert(key, entry);
        if now > self.most {
            self.sweep();
        }
    }

    fn remove(&self, key: &[u8]) -> Option<Entry> {
        self.cache.remove(key)
    }

    fn clear(&self) {
        self.cache.invalidate_all();
        // Each run removes entries for a tenth of a second at most.
        let mut before = u64::MAX;
        while (1..before).contains(&self.held.now()) {
            before = self.held.now();
            self.cache.run_pending_tasks();
        }
        // A removed entry is freed when no thread can read it any more, two epochs later at the earliest.
        (0..EPOCHS).for_each(|_| self.cache.run_pending_tasks());
        self.held.forget_peak();
    }

    fn max_value_len(&self) -> usize {
        self.max_value_len
    }
}

/// The step in which moka counts deadlines: it keeps the upper 52 bits of the nanoseconds.
const STEP: Duration = Duration::from_nanos(1 << 12);

/// Gives moka the deadline of each entry; moka does the rest. moka rounds down to a whole step, and no entry may end
/// before its TTL has passed, so each deadline gets a step more.
struct Deadlines;

impl Expiry<Box<[u8]>, Entry> for Deadlines {
    fn expire_after_create(&self, _: &Box<[u8]>, entry: &Entry, now: Instant) -> Option<Duration> {
        entry.deadline.map(|deadline| deadline.saturating_duration_since(now) + STEP)
    }

    fn expire_after_update(
        &self,
        key: &Box<[u8]>,
        entry: &Entry,
        now: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        self.expire_after_create(key, entry, now)
    }
}

impl Store for MokaStore {
    fn info(&self) -> StoreInfo {
        let size = self.shared.objects.cache.policy().max_capacity();
        let settings = [
            ("size", size.map(|size| larder_store::ByteSize(size).to_string())),
            ("policy", Some(self.config.policy.as_str().into())),
        ];
        let settings = settings.into_iter().filter_map(|(name, text)| Some((name.into(), text?)));
        StoreInfo {
            scheme: SCHEME,
            url: self.url.clone(),
            version: Some(VERSION.into()),
            settings: settings.collect(),
            durability: Durability::Volatile,
            ..StoreInfo::default()
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { ttl_resolution: STEP, ..self.shared.capabilities() }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(ObjectSession::new(Arc::clone(&self.shared))))
    }

    /// Runs moka's pending tasks first, so that the counts are up to date.
    fn stats(&self) -> Result<Stats> {
        let Moka { cache, dropped, held, .. } = &self.shared.objects;
        cache.run_pending_tasks();
        let mut stats = self.shared.counters.stats();
        stats.evictions = Some(dropped.evictions.load(Ordering::Relaxed));
        stats.expirations = Some(dropped.expirations.load(Ordering::Relaxed));
        stats.items = Some(cache.entry_count());
        stats.bytes = Some(cache.weighted_size());
        stats.bytes_peak = Some(held.peak());
        stats.capacity_bytes = cache.policy().max_capacity();
        Ok(stats)
    }
}

#[cfg(test)]
mod tests {
    use larder_store::SetOptions;

    use super::*;

    #[test]
    fn an_entry_outlives_its_ttl_by_less_than_a_step() {
        let url = StoreUrl::parse("moka:").unwrap();
        let store = open(&url, &Catalog::new(&[])).unwrap();
        let mut session = store.session().unwrap();
        for micros in 300..320 {
            let ttl = Duration::from_micros(micros);
            let before = Instant::now();
            let options = SetOptions { ttl: Some(ttl), ..SetOptions::default() };
            session.set(b"key", b"value", &options).unwrap();
            let after = Instant::now();
            loop {
                let asked = after.elapsed();
                if session.get(b"key", &mut Vec::new()).unwrap().is_none() {
                    assert!(before.elapsed() >= ttl);
                    break;
                }
                assert!(asked <= ttl + store.capabilities().ttl_resolution, "{asked:?}");
            }
        }
    }

    #[test]
    fn the_version_is_the_one_that_is_built_in() {
        let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
        let lock = std::fs::read_to_string(lock).unwrap();
        assert!(lock.contains(&format!("name = \"moka\"\nversion = \"{VERSION}\"")), "{VERSION}");
    }
}
