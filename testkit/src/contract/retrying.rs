//! A store whose sessions retry operations that find a lock taken by another session.
//!
//! Cases run beside each other, on machines that may be busy. A thread may be kept from working while it holds a lock
//! of the shared store. The result is [`Error::Busy`], with nothing done, and does not concern the promise of the case.
//! If no other session has the entries open, no session can hold a lock, and [`Error::Busy`] is a failure.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use larder_store::{
    Capabilities, Counter, DeleteDone, DeleteOutcome, Delta, Error, Facts, Groups, Initial, Leases,
    Meta, Pipeline, Put, Result, Session, SetDone, SetOptions, SetOutcome, Stats, Store, StoreInfo,
    TierStats,
};

use super::idle_sessions::{IdleSessions, PooledSession};

/// The attempts of an operation: each attempt has waited as long as the engine waits.
const ATTEMPTS: u32 = 50;

/// The sessions that have the same entries open, through one store or several.
#[derive(Debug, Clone, Default)]
pub(super) struct Sessions(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    opened: AtomicUsize,
    closed: AtomicUsize,
}

impl Sessions {
    /// The same store, with sessions that retry and count among these.
    pub(super) fn retrying(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Retrying { store, sessions: self.clone(), idle: None })
    }

    /// The same, where a session waits for another case after its own.
    pub(super) fn reusing(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Retrying { store, sessions: self.clone(), idle: Some(Arc::default()) })
    }

    fn count(&self) -> Counted {
        self.0.opened.fetch_add(1, Ordering::SeqCst);
        Counted(self.clone())
    }

    fn opened(&self) -> usize {
        self.0.opened.load(Ordering::SeqCst)
    }

    fn closed(&self) -> usize {
        self.0.closed.load(Ordering::SeqCst)
    }

    /// The result of an operation once no lock of another session blocks it.
    fn when_free<T>(&self, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
        for _ in 1..ATTEMPTS {
            let closed_before = self.closed();
            match attempt() {
                // Another session has been open for at least a part of the attempt.
                Err(Error::Busy { .. }) if self.opened() - closed_before > 1 => {}
                done => return done,
            }
        }
        attempt()
    }
}

/// A store whose sessions retry.
#[derive(Debug)]
struct Retrying {
    store: Arc<dyn Store>,
    sessions: Sessions,
    /// The sessions that wait, in a store whose sessions do.
    idle: Option<Arc<IdleSessions>>,
}

impl Store for Retrying {
    fn info(&self) -> StoreInfo {
        self.store.info()
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        let counted = self.sessions.count();
        let open = || self.store.session();
        let session = match &self.idle {
            Some(idle) => idle.take(open)?,
            None => open()?.into(),
        };
        Ok(Box::new(RetryingSession { session, counted }))
    }

    fn stats(&self) -> Result<Stats> {
        self.store.stats()
    }

    fn external_stats(&self) -> Result<Vec<Stats>> {
        self.store.external_stats()
    }

    fn counters(&self) -> Result<Vec<Counter>> {
        self.store.counters()
    }

    fn close(&self) -> Result<()> {
        self.store.close()
    }

    fn namespace(&self, name: &str) -> Result<Arc<dyn Store>> {
        Ok(self.sessions.retrying(self.store.namespace(name)?))
    }

    fn remove_namespace(&self, name: &str) -> Result<bool> {
        self.sessions.when_free(|| self.store.remove_namespace(name))
    }

    fn tiers(&self) -> Vec<TierStats> {
        self.store.tiers()
    }
}

/// A session that retries.
struct RetryingSession {
    session: PooledSession,
    // Dropped last, because a session may hold a lock until it is closed.
    counted: Counted,
}

/// A session among its kind, from before it is opened until after it is closed.
struct Counted(Sessions);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.closed.fetch_add(1, Ordering::SeqCst);
    }
}

impl Session for RetryingSession {
    fn engine(&self) -> &'static str {
        self.session.engine()
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.counted.0.when_free(|| self.session.get(key, value))
    }

    fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.counted.0.when_free(|| self.session.get_onto(key, out))
    }

    fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        self.counted.0.when_free(|| self.session.look(key))
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        self.counted.0.when_free(|| self.session.get_and_touch(key, ttl, value))
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        let mut found = Vec::new();
        self.counted.0.when_free(|| {
            // An attempt that ends early has already passed on some keys.
            found.clear();
            self.session.get_many(keys, &mut |i, value, meta| found.push((i, value.to_vec(), meta)))
        })?;
        for (i, value, meta) in found {
            hit(i, &value, meta);
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        self.counted.0.when_free(|| self.session.set(key, value, options))
    }

    /// An entry that finds a lock taken is stored again by itself, with all entries behind it that have its key.
    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        let mut outcomes = Vec::new();
        self.session.set_many(entries, &mut |i, outcome| outcomes.push((i, outcome)))?;
        let mut retried = HashSet::new();
        for (i, outcome) in outcomes {
            let Put { key, value, options } = entries[i];
            if matches!(outcome, Err(Error::Busy { .. })) {
                retried.insert(key);
            }
            done(i, if retried.contains(key) { self.set(key, value, &options) } else { outcome });
        }
        Ok(())
    }

    fn delete_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        let mut outcomes = Vec::new();
        self.session.delete_many(keys, &mut |i, outcome| outcomes.push((i, outcome)))?;
        for (i, outcome) in outcomes {
            let is_busy = matches!(outcome, Err(Error::Busy { .. }));
            done(i, if is_busy { self.delete(keys[i]) } else { outcome });
        }
        Ok(())
    }

    fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        self.counted.0.when_free(|| self.session.delete_if(key, version))
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.counted.0.when_free(|| self.session.delete(key))
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        self.counted.0.when_free(|| self.session.touch(key, ttl))
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<larder_store::Counted>> {
        self.counted.0.when_free(|| self.session.incr(key, delta, absent))
    }

    fn clear(&mut self) -> Result<()> {
        self.counted.0.when_free(|| self.session.clear())
    }

    fn set_patience(&mut self, patience: Duration) -> Result<()> {
        self.session.set_patience(patience)
    }

    fn set_read_timeout(&mut self, longest: Option<Duration>) -> Result<()> {
        self.session.set_read_timeout(longest)
    }

    fn settle(&mut self) -> Result<()> {
        self.session.settle()
    }

    fn groups(&mut self) -> Option<&mut dyn Groups> {
        self.session.groups()
    }

    fn leases(&mut self) -> Option<&mut dyn Leases> {
        self.session.leases()
    }

    /// No request is tried again: the answers would no longer come in the order of the requests.
    fn pipeline(&mut self) -> Option<&mut dyn Pipeline> {
        self.session.pipeline()
    }
}

#[cfg(test)]
mod tests {
    use larder_store::StoreUrl;

    use super::*;
    use crate::stores::ENGINES;

    #[test]
    fn a_lock_is_waited_for_only_beside_another_session() {
        let sessions = Sessions::default();
        let url = StoreUrl::parse("faulty:?fault=fail&every=2").unwrap();
        let store = sessions.retrying(ENGINES.open(&url).unwrap());
        let mut session = store.session().unwrap();
        let set = |session: &mut dyn Session| session.set(b"key", b"x", &SetOptions::default());
        set(&mut *session).unwrap();
        assert!(matches!(set(&mut *session), Err(Error::Busy { .. })));
        let other = store.session().unwrap();
        for _ in 0..10 {
            set(&mut *session).unwrap();
        }
        drop(other);
        let alone: Vec<_> = (0..2).map(|_| set(&mut *session)).collect();
        assert!(alone.iter().any(Result::is_err), "{alone:?}");
    }
}
