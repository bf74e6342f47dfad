//! A store that refuses in a forked child.
//!
//! Most engines have sockets, transactions or locks that a child must not share with its parent. [`Catalog::open`] wraps
//! every store whose [`Capabilities::forks`] is false. In a child all calls of the store and of its sessions return
//! [`Error::Forked`]. The store is not even dropped there: it would end its parent's server, close its parent's
//! connection in order, or roll its parent's transaction back.
//!
//! [`Catalog::open`]: crate::Catalog::open

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Duration;

use crate::fork::Process;
use crate::{
    Answered, Capabilities, Counted, Counter, DeleteDone, DeleteOutcome, Delta, Error, Facts,
    FoundEntry, Groups, Initial, Leased, Leases, Meta, Pipeline, Put, Result, Session, SetDone,
    SetOptions, SetOutcome, Stats, Store, StoreInfo, TierStats, Token, Watch,
};

/// The store, with a guard unless a child may go on with it.
pub(crate) fn guarded(store: Arc<dyn Store>, engine: &'static str) -> Arc<dyn Store> {
    let capabilities = store.capabilities();
    if capabilities.forks {
        return store;
    }
    Arc::new(GuardedStore { store: Owned::new(store), engine, capabilities })
}

/// A value of the process that made it. Other processes can neither use nor drop it.
#[derive(Debug)]
struct Owned<T> {
    value: ManuallyDrop<T>,
    process: Process,
}

impl<T> Owned<T> {
    fn new(value: T) -> Self {
        Self { value: ManuallyDrop::new(value), process: Process::current() }
    }

    #[inline]
    fn get(&self) -> Option<&T> {
        self.process.is_current().then_some(&self.value)
    }

    #[inline]
    fn get_mut(&mut self) -> Option<&mut T> {
        self.process.is_current().then_some(&mut self.value)
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.process.is_current() {
            // SAFETY: this is the only place that drops it, and `self` is not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

#[derive(Debug)]
struct GuardedStore {
    store: Owned<Arc<dyn Store>>,
    engine: &'static str,
    /// For a child, which cannot ask.
    capabilities: Capabilities,
}

impl GuardedStore {
    fn store(&self) -> Result<&dyn Store> {
        match self.store.get() {
            Some(store) => Ok(&**store),
            None => Err(Error::Forked { engine: self.engine }),
        }
    }
}

impl Store for GuardedStore {
    fn info(&self) -> StoreInfo {
        let unknown = |_| StoreInfo { scheme: self.engine, ..StoreInfo::default() };
        self.store().map_or_else(unknown, Store::info)
    }

    fn capabilities(&self) -> Capabilities {
        self.store().map_or(self.capabilities, Store::capabilities)
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        let mut session = self.store()?.session()?;
        let has_groups = session.groups().is_some();
        let has_leases = session.leases().is_some();
        let has_pipeline = session.pipeline().is_some();
        let engine = session.engine();
        Ok(Box::new(GuardedSession {
            session: Owned::new(session),
            engine,
            has_groups,
            has_leases,
            has_pipeline,
        }))
    }

    fn stats(&self) -> Result<Stats> {
        self.store()?.stats()
    }

    fn external_stats(&self) -> Result<Vec<Stats>> {
        self.store()?.external_stats()
    }

    fn counters(&self) -> Result<Vec<Counter>> {
        self.store()?.counters()
    }

    fn close(&self) -> Result<()> {
        self.store()?.close()
    }

    fn namespace(&self, name: &str) -> Result<Arc<dyn Store>> {
        Ok(guarded(self.store()?.namespace(name)?, self.engine))
    }

    fn remove_namespace(&self, name: &str) -> Result<bool> {
        self.store()?.remove_namespace(name)
    }

    fn tiers(&self) -> Vec<TierStats> {
        self.store().map_or_else(|_| Vec::new(), Store::tiers)
    }
}

struct GuardedSession {
    session: Owned<Box<dyn Session>>,
    engine: &'static str,
    has_groups: bool,
    has_leases: bool,
    has_pipeline: bool,
}

impl GuardedSession {
    #[inline]
    fn session(&mut self) -> Result<&mut dyn Session> {
        match self.session.get_mut() {
            Some(session) => Ok(&mut **session),
            None => Err(Error::Forked { engine: self.engine }),
        }
    }

    fn inner_groups(&mut self) -> Result<&mut dyn Groups> {
        let engine = self.engine;
        let missing = Error::Unsupported { engine, operation: "groups" };
        self.session()?.groups().ok_or(missing)
    }

    fn inner_leases(&mut self) -> Result<&mut dyn Leases> {
        let engine = self.engine;
        let missing = Error::Unsupported { engine, operation: "leases" };
        self.session()?.leases().ok_or(missing)
    }

    #[inline]
    fn inner_pipeline(&mut self) -> Result<&mut dyn Pipeline> {
        let engine = self.engine;
        let missing = Error::Unsupported { engine, operation: "pipeline" };
        self.session()?.pipeline().ok_or(missing)
    }
}

impl Session for GuardedSession {
    fn engine(&self) -> &'static str {
        self.engine
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.session()?.get(key, value)
    }

    fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.session()?.get_onto(key, out)
    }

    fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        self.session()?.look(key)
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        self.session()?.get_and_touch(key, ttl, value)
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        self.session()?.get_many(keys, hit)
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        self.session()?.set(key, value, options)
    }

    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        self.session()?.set_many(entries, done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.session()?.delete(key)
    }

    fn delete_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        self.session()?.delete_many(keys, done)
    }

    fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        self.session()?.delete_if(key, version)
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        self.session()?.touch(key, ttl)
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        self.session()?.incr(key, delta, absent)
    }

    fn clear(&mut self) -> Result<()> {
        self.session()?.clear()
    }

    fn settle(&mut self) -> Result<()> {
        self.session()?.settle()
    }

    fn set_patience(&mut self, patience: Duration) -> Result<()> {
        self.session()?.set_patience(patience)
    }

    fn groups(&mut self) -> Option<&mut dyn Groups> {
        if self.has_groups { Some(self) } else { None }
    }

    fn leases(&mut self) -> Option<&mut dyn Leases> {
        if self.has_leases { Some(self) } else { None }
    }

    fn pipeline(&mut self) -> Option<&mut dyn Pipeline> {
        if self.has_pipeline { Some(self) } else { None }
    }
}

impl Groups for GuardedSession {
    fn get_prefix(&mut self, prefix: &[u8], found: &mut FoundEntry<'_>) -> Result<()> {
        self.inner_groups()?.get_prefix(prefix, found)
    }

    fn get_tag(&mut self, tag: &[u8], found: &mut FoundEntry<'_>) -> Result<()> {
        self.inner_groups()?.get_tag(tag, found)
    }

    fn set_tagged(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tag: &[u8],
    ) -> Result<SetOutcome> {
        self.inner_groups()?.set_tagged(key, value, options, tag)
    }

    fn delete_tag(&mut self, tag: &[u8]) -> Result<u64> {
        self.inner_groups()?.delete_tag(tag)
    }
}

impl Leases for GuardedSession {
    fn get_or_lease_early(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        self.inner_leases()?.get_or_lease_early(key, value, time, early)
    }

    fn fill(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        token: &Token,
    ) -> Result<SetOutcome> {
        self.inner_leases()?.fill(key, value, options, token)
    }

    fn release(&mut self, key: &[u8], token: &Token) -> Result<bool> {
        self.inner_leases()?.release(key, token)
    }

    fn expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool> {
        self.inner_leases()?.expire(key, keep)
    }

    fn token(&mut self, key: &[u8]) -> Result<Token> {
        self.inner_leases()?.token(key)
    }

    fn renew(&mut self, key: &[u8], held: Option<&Token>) -> Result<Option<Token>> {
        self.inner_leases()?.renew(key, held)
    }
}

/// A child that asks is refused, so it has no requests that are outstanding, and no answers.
impl Pipeline for GuardedSession {
    fn watch_with(&mut self, watch: Box<dyn Watch>) -> Result<()> {
        self.inner_pipeline()?.watch_with(watch)
    }

    fn connect(&mut self) -> Result<()> {
        self.inner_pipeline()?.connect()
    }

    fn get(&mut self, id: usize, key: &[u8]) -> Result<()> {
        self.inner_pipeline()?.get(id, key)
    }

    fn get_many(&mut self, id: usize, keys: &[&[u8]]) -> Result<()> {
        self.inner_pipeline()?.get_many(id, keys)
    }

    fn set(&mut self, id: usize, key: &[u8], value: &[u8], options: &SetOptions) -> Result<()> {
        self.inner_pipeline()?.set(id, key, value, options)
    }

    fn set_many(&mut self, id: usize, entries: &[Put<'_>]) -> Result<()> {
        self.inner_pipeline()?.set_many(id, entries)
    }

    fn delete(&mut self, id: usize, key: &[u8]) -> Result<()> {
        self.inner_pipeline()?.delete(id, key)
    }

    fn touch(&mut self, id: usize, key: &[u8], ttl: Option<Duration>) -> Result<()> {
        self.inner_pipeline()?.touch(id, key, ttl)
    }

    fn flush(&mut self) {
        if let Ok(pipeline) = self.inner_pipeline() {
            pipeline.flush();
        }
    }

    fn unsent_bytes(&mut self) -> usize {
        self.inner_pipeline().map_or(0, Pipeline::unsent_bytes)
    }

    fn n_outstanding(&mut self) -> usize {
        self.inner_pipeline().map_or(0, Pipeline::n_outstanding)
    }

    fn is_ready(&mut self) -> bool {
        self.inner_pipeline().is_ok_and(Pipeline::is_ready)
    }

    fn receive(&mut self, link: usize, room: &mut [u8], answered: &mut Answered<'_>) {
        if let Ok(pipeline) = self.inner_pipeline() {
            pipeline.receive(link, room, answered);
        }
    }

    fn wait(&mut self, room: &mut [u8], answered: &mut Answered<'_>) {
        if let Ok(pipeline) = self.inner_pipeline() {
            pipeline.wait(room, answered);
        }
    }

    fn expire(&mut self, answered: &mut Answered<'_>) {
        if let Ok(pipeline) = self.inner_pipeline() {
            pipeline.expire(answered);
        }
    }
}
