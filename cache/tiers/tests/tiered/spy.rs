//! A spied tier: it keeps its entries, notes its requests, fails on demand, and runs a test's function in the middle of
//! an operation.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use larder_engines::ENGINES;
use larder_store::{
    Capabilities, Catalog, Counted, DeleteOutcome, Delta, Engine, Error, Initial, Leases, Medium,
    Meta, Ownership, Result, Session, SetMode, SetOptions, SetOutcome, Stats, Store, StoreInfo,
    StoreUrl,
};
use larder_testkit::stores;
use schemars::{JsonSchema, Schema, schema_for};
use serde::Deserialize;

const SCHEME: &str = "spy";

/// The engines of this build, those of the test kit, and `spy:`.
pub(crate) fn catalog() -> Catalog {
    static ALL: LazyLock<Catalog> = LazyLock::new(|| {
        let all = ENGINES.iter().chain(stores::ENGINES.iter()).copied().chain([ENGINE]);
        Catalog::new(all.collect::<Vec<_>>().leak())
    });
    *ALL
}

const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "A map that is watched",
    example: "spy:",
    medium: Medium::Memory,
    capacity_option: Some("max"),
    connections_option: None,
    recipes: &[],
    options: || -> Schema { schema_for!(SpyOptions) },
    open,
};

#[expect(clippy::struct_excessive_bools, reason = "each is an option of the URL")]
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct SpyOptions {
    /// Largest value, in bytes; what it tells of its limits does not name it.
    max: u64,
    /// Longest key, in bytes; 0 is any. Here the limits do name it.
    max_key: usize,
    ttl: bool,
    ttl_left: bool,
    leases: bool,
    /// Reads tell versions.
    versions: bool,
    /// It is a server, number 77, which tells of this many connections, or of none.
    server: bool,
    connections: Option<u64>,
}

impl Default for SpyOptions {
    fn default() -> Self {
        Self {
            max: u64::MAX,
            max_key: 0,
            ttl: true,
            ttl_left: true,
            leases: false,
            versions: true,
            server: false,
            connections: None,
        }
    }
}

/// A test's handle on the tier with this path.
#[derive(Debug)]
pub(crate) struct Spy {
    map: Arc<dyn Store>,
    log: Mutex<Vec<String>>,
    /// The fault of the next operations, and their number.
    fault: Mutex<(Fault, u32)>,
    /// Operations of this name fail, too.
    failing: Mutex<&'static str>,
    failures: AtomicU64,
    max: AtomicU64,
    meanwhile: Mutex<Meanwhile>,
}

/// The way in which an operation fails.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// The operation would fail again.
    Lasting,
    /// The operation may succeed on another attempt.
    Passing,
    /// The operation is refused, as by a layer, and is not made.
    Refused,
}

/// The functions that run when the next operation has begun, and before it returns.
#[derive(Default)]
struct Meanwhile {
    begun: Option<Deed>,
    done: Option<Deed>,
}

type Deed = Box<dyn FnOnce() + Send>;

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meanwhile").finish_non_exhaustive()
    }
}

/// The spy of the tier that stacks name by `spy:PATH`.
pub(crate) fn spy(path: &str) -> Arc<Spy> {
    static SPIES: LazyLock<Mutex<HashMap<String, Arc<Spy>>>> = LazyLock::new(Mutex::default);
    let mut spies = SPIES.lock().unwrap();
    Arc::clone(spies.entry(path.to_owned()).or_insert_with(|| {
        Arc::new(Spy {
            map: stores::ENGINES.open(&StoreUrl::parse("map:").unwrap()).unwrap(),
            log: Mutex::default(),
            fault: Mutex::new((Fault::Lasting, 0)),
            failing: Mutex::new("none"),
            failures: AtomicU64::new(0),
            max: AtomicU64::new(u64::MAX),
            meanwhile: Mutex::default(),
        })
    }))
}

impl Spy {
    /// The requests since the last call.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.log())
    }

    /// The entry under a key, read past the stack.
    pub(crate) fn held(&self, key: &str) -> Option<(Vec<u8>, Meta)> {
        let mut value = Vec::new();
        let meta = self.map.session().unwrap().get(key.as_bytes(), &mut value).unwrap();
        meta.map(|meta| (value, meta))
    }

    /// Stores an entry past the stack, as another process would.
    pub(crate) fn put(&self, key: &str, value: &[u8], ttl: Option<Duration>) {
        let options = SetOptions { ttl, flags: 7, ..SetOptions::default() };
        self.map.session().unwrap().set(key.as_bytes(), value, &options).unwrap();
    }

    /// Loses an entry, as a tier that makes room does.
    pub(crate) fn lose(&self, key: &str) {
        self.map.session().unwrap().delete(key.as_bytes()).unwrap();
    }

    /// Makes every operation fail from now on, or none of them.
    pub(crate) fn fail(&self, fails: bool) {
        self.fail_with(Fault::Lasting, if fails { u32::MAX } else { 0 });
    }

    /// Lets this number of the next operations fail.
    pub(crate) fn fail_with(&self, fault: Fault, times: u32) {
        *self.fault.lock().unwrap() = (fault, times);
    }

    /// Makes every operation of this name fail from now on, or every one of a key, such as `get k`.
    pub(crate) fn fail_each(&self, operation: &'static str) {
        *self.failing.lock().unwrap() = operation;
    }

    /// The number of operations that failed on demand.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::SeqCst)
    }

    /// Runs `deed` when the next operation has begun and has done nothing yet.
    pub(crate) fn when_begun(&self, deed: impl FnOnce() + Send + 'static) {
        self.meanwhile.lock().unwrap().begun = Some(Box::new(deed));
    }

    /// Runs `deed` when the next operation is done, before its caller knows.
    pub(crate) fn when_done(&self, deed: impl FnOnce() + Send + 'static) {
        self.meanwhile.lock().unwrap().done = Some(Box::new(deed));
    }

    pub(crate) fn end(&self) {
        let deed = self.meanwhile.lock().unwrap().done.take();
        if let Some(deed) = deed {
            deed();
        }
        // In a race of threads, this gives the other threads a chance.
        thread::yield_now();
    }

    fn log(&self) -> MutexGuard<'_, Vec<String>> {
        self.log.lock().unwrap()
    }

    pub(crate) fn note(&self, operation: &str, key: &[u8]) -> Result<()> {
        let request = format!("{operation} {}", String::from_utf8_lossy(key));
        self.log().push(request.clone());
        let deed = self.meanwhile.lock().unwrap().begun.take();
        if let Some(deed) = deed {
            deed();
        }
        let mut fault = self.fault.lock().unwrap();
        let failing = *self.failing.lock().unwrap();
        let is_failing = failing == operation || failing == request;
        if fault.1 == 0 && !is_failing {
            return Ok(());
        }
        fault.1 = fault.1.max(1);
        fault.1 -= u32::from(fault.1 < u32::MAX);
        self.failures.fetch_add(1, Ordering::SeqCst);
        let what = "told to fail".to_owned();
        Err(match fault.0 {
            Fault::Lasting => Error::Corrupted { engine: SCHEME, what },
            Fault::Passing => Error::Unavailable { engine: SCHEME, what, source: None },
            Fault::Refused => Error::not_made(SCHEME, what),
        })
    }
}

fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let options: SpyOptions = url.options(SCHEME)?;
    let spy = spy(url.path());
    spy.max.store(options.max, Ordering::SeqCst);
    Ok(Arc::new(SpyStore { spy, options }))
}

#[derive(Debug)]
struct SpyStore {
    spy: Arc<Spy>,
    options: SpyOptions,
}

impl Store for SpyStore {
    fn info(&self) -> StoreInfo {
        let mut info = StoreInfo { scheme: SCHEME, ..self.spy.map.info() };
        if self.options.server {
            info.ownership = Ownership::Managed;
            info.server_pids = vec![77];
        }
        info
    }

    fn capabilities(&self) -> Capabilities {
        let SpyOptions { ttl, ttl_left, max_key, leases, .. } = self.options;
        let max_key_len = Some(max_key).filter(|len| *len > 0);
        // The nearest tier has no tokens, so that the stack's own are tested.
        let tokens = false;
        let map = self.spy.map.capabilities();
        Capabilities { ttl, ttl_left, max_key_len, leases, tokens, ..map }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        let map = self.spy.map.session()?;
        let (spy, options) = (Arc::clone(&self.spy), self.options);
        Ok(Box::new(SpySession { spy, map, options }))
    }

    fn stats(&self) -> Result<Stats> {
        let mut stats = self.spy.map.stats()?;
        stats.capacity_bytes = Some(self.options.max);
        stats.connections = self.options.connections;
        Ok(stats)
    }
}

pub(crate) struct SpySession {
    pub(crate) spy: Arc<Spy>,
    pub(crate) map: Box<dyn Session>,
    options: SpyOptions,
}

impl SpySession {
    fn check(&self, key: &[u8]) -> Result<()> {
        let limit = self.options.max_key;
        if limit > 0 && key.len() > limit {
            return Err(Error::KeyTooLong { engine: SCHEME, len: key.len(), limit });
        }
        Ok(())
    }
}

impl Session for SpySession {
    fn engine(&self) -> &'static str {
        SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.spy.note("get", key)?;
        self.check(key)?;
        let mut found = self.map.get(key, value);
        self.spy.end();
        if let (Ok(Some(meta)), false) = (&mut found, self.options.versions) {
            meta.version = None;
        }
        found
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        self.spy.note("get_many", &keys.join(&b' '))?;
        keys.iter().try_for_each(|key| self.check(key))?;
        let mut found = Vec::new();
        self.map.get_many(keys, &mut |i, value, meta| found.push((i, value.to_vec(), meta)))?;
        self.spy.end();
        for (i, value, meta) in found {
            hit(i, &value, meta);
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        let mode = match options.mode {
            SetMode::Set => "set",
            SetMode::Add => "add",
            _ => "other",
        };
        self.spy.note(mode, key)?;
        let limit = self.spy.max.load(Ordering::SeqCst);
        if value.len() as u64 > limit {
            self.map.delete(key)?;
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            return Err(Error::ValueTooLarge { engine: SCHEME, len: value.len(), limit });
        }
        self.check(key)?;
        let outcome = self.map.set(key, value, options);
        self.spy.end();
        outcome
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.spy.note("delete", key)?;
        self.check(key)?;
        let was_there = self.map.delete(key);
        self.spy.end();
        was_there
    }

    fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        self.spy.note("delete_if", key)?;
        self.map.delete_if(key, version)
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        self.spy.note("touch", key)?;
        self.map.touch(key, ttl)
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        self.spy.note("incr", key)?;
        self.map.incr(key, delta, absent)
    }

    fn leases(&mut self) -> Option<&mut dyn Leases> {
        if self.options.leases { Some(self) } else { None }
    }

    fn clear(&mut self) -> Result<()> {
        self.spy.note("clear", b"")?;
        self.map.clear()?;
        self.spy.end();
        Ok(())
    }
}
