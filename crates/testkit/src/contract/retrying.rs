//! A store whose sessions retry operations that find a lock taken.
//!
//! Cases run beside each other, on machines that may be busy. A thread may be kept from working while it holds a lock
//! of the shared store. The result is [`Error::Busy`], with nothing done, and does not concern the promise of the case.

use std::sync::Arc;
use std::time::Duration;

use larder_store::{
    Capabilities, Counter, Error, Groups, Meta, Result, Session, SetOptions, SetOutcome, Stats,
    Store, StoreInfo, TierStats,
};

/// The attempts of an operation: each attempt has waited as long as the engine waits.
const ATTEMPTS: u32 = 50;

/// The same store, with sessions that retry.
pub(super) fn retrying(store: Arc<dyn Store>) -> Arc<dyn Store> {
    Arc::new(Retrying(store))
}

/// A store whose sessions retry.
#[derive(Debug)]
struct Retrying(Arc<dyn Store>);

impl Store for Retrying {
    fn info(&self) -> StoreInfo {
        self.0.info()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(RetryingSession(self.0.session()?)))
    }

    fn stats(&self) -> Result<Stats> {
        self.0.stats()
    }

    fn external_stats(&self) -> Result<Vec<Stats>> {
        self.0.external_stats()
    }

    fn counters(&self) -> Result<Vec<Counter>> {
        self.0.counters()
    }

    fn tiers(&self) -> Vec<TierStats> {
        self.0.tiers()
    }
}

/// A session that retries.
struct RetryingSession(Box<dyn Session>);

impl Session for RetryingSession {
    fn engine(&self) -> &'static str {
        self.0.engine()
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        when_free(|| self.0.get(key, value))
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        let mut found = Vec::new();
        when_free(|| {
            // An attempt that ends early has already passed on some keys.
            found.clear();
            self.0.get_many(keys, &mut |i, value, meta| found.push((i, value.to_vec(), meta)))
        })?;
        for (i, value, meta) in found {
            hit(i, &value, meta);
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        when_free(|| self.0.set(key, value, options))
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        when_free(|| self.0.delete(key))
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        when_free(|| self.0.touch(key, ttl))
    }

    fn incr(&mut self, key: &[u8], delta: i64) -> Result<Option<u64>> {
        when_free(|| self.0.incr(key, delta))
    }

    fn clear(&mut self) -> Result<()> {
        when_free(|| self.0.clear())
    }

    fn settle(&mut self) -> Result<()> {
        self.0.settle()
    }

    fn groups(&mut self) -> Option<&mut dyn Groups> {
        self.0.groups()
    }
}

/// The result of an operation once no lock blocks it.
fn when_free<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(Error::Busy { .. }) => {}
            done => return done,
        }
    }
    attempt()
}
