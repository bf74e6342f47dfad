//! The open store: its name, and the value for sessions that have not set one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use larder_store::{
    Capabilities, Catalog, Result, Session, Stats, Store, StoreInfo, StoreUrl, Waits,
};

use super::SCHEME;
use super::config::NullConfig;
use super::session::NullSession;

pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let NullConfig {} = url.options(SCHEME)?;
    Ok(Arc::new(NullStore { url: url.to_string(), shared: Arc::default() }))
}

/// An open store of nothing.
#[derive(Debug)]
struct NullStore {
    url: String,
    shared: Arc<Shared>,
}

/// The state that sessions share: the first value that each session set.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The number of replacements of the value; each `get` of a session that has set nothing itself
    /// reads it.
    changes: AtomicU64,
    value: Mutex<Vec<u8>>,
}

impl Shared {
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    pub(super) fn value(&self) -> MutexGuard<'_, Vec<u8>> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn publish(&self, value: &[u8]) {
        let mut shared = self.value();
        shared.clear();
        shared.extend_from_slice(value);
        self.changes.fetch_add(1, Ordering::Release);
    }
}

impl Store for NullStore {
    fn info(&self) -> StoreInfo {
        StoreInfo { scheme: SCHEME, url: self.url.clone(), ..StoreInfo::default() }
    }

    /// Lists every operation, so that any plan runs; `stores: false` says that nothing is kept.
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stores: false,
            ttl: true,
            ttl_resolution: Duration::from_nanos(1),
            flags: true,
            add: true,
            version: true,
            append: true,
            incr: true,
            touch: true,
            get_and_touch: true,
            batch: true,
            batch_write: true,
            pipeline: true,
            forks: true,
            reads_wait: Waits::Never,
            writes_wait: Waits::Never,
            clear: true,
            ..Capabilities::default()
        }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(NullSession::new(Arc::clone(&self.shared))))
    }

    fn stats(&self) -> Result<Stats> {
        Ok(Stats::default())
    }
}
