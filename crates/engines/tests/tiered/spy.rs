//! A tier that is watched: it keeps what it is told, notes what it is asked, and fails when it is told to.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::Duration;

use larder_engines::ENGINES;
use larder_store::{
    Capabilities, Catalog, Engine, Error, Medium, Meta, Result, Session, SetMode, SetOptions,
    SetOutcome, Stats, Store, StoreInfo, StoreUrl,
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
    recipe: None,
    options: || -> Schema { schema_for!(SpyOptions) },
    open,
};

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct SpyOptions {
    /// Largest value, in bytes; what it tells of its limits does not name it.
    max: u64,
    ttl: bool,
    ttl_left: bool,
}

impl Default for SpyOptions {
    fn default() -> Self {
        Self { max: u64::MAX, ttl: true, ttl_left: true }
    }
}

/// What a test knows of the tier with this path.
#[derive(Debug)]
pub(crate) struct Spy {
    map: Arc<dyn Store>,
    log: Mutex<Vec<String>>,
    pub(crate) fails: AtomicBool,
    max: AtomicU64,
}

/// The tier that stacks name by `spy:PATH`.
pub(crate) fn spy(path: &str) -> Arc<Spy> {
    static SPIES: LazyLock<Mutex<HashMap<String, Arc<Spy>>>> = LazyLock::new(Mutex::default);
    let mut spies = SPIES.lock().unwrap();
    Arc::clone(spies.entry(path.to_owned()).or_insert_with(|| {
        Arc::new(Spy {
            map: stores::ENGINES.open(&StoreUrl::parse("map:").unwrap()).unwrap(),
            log: Mutex::default(),
            fails: AtomicBool::new(false),
            max: AtomicU64::new(u64::MAX),
        })
    }))
}

impl Spy {
    /// What it was asked since somebody looked last.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.log())
    }

    /// What it holds under a key, whoever may ask it.
    pub(crate) fn held(&self, key: &str) -> Option<(Vec<u8>, Meta)> {
        let mut value = Vec::new();
        let meta = self.map.session().unwrap().get(key.as_bytes(), &mut value).unwrap();
        meta.map(|meta| (value, meta))
    }

    /// Stores past the stack, as another process would.
    pub(crate) fn put(&self, key: &str, value: &[u8], ttl: Option<Duration>) {
        let options = SetOptions { ttl, flags: 7, ..SetOptions::default() };
        self.map.session().unwrap().set(key.as_bytes(), value, &options).unwrap();
    }

    /// Loses an entry, as a tier does that makes room.
    pub(crate) fn lose(&self, key: &str) {
        self.map.session().unwrap().delete(key.as_bytes()).unwrap();
    }

    pub(crate) fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }

    fn log(&self) -> MutexGuard<'_, Vec<String>> {
        self.log.lock().unwrap()
    }

    fn note(&self, operation: &str, key: &[u8]) -> Result<()> {
        self.log().push(format!("{operation} {}", String::from_utf8_lossy(key)));
        if self.fails.load(Ordering::SeqCst) {
            return Err(Error::Corrupted { engine: SCHEME, what: "told to fail".into() });
        }
        Ok(())
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
        StoreInfo { scheme: SCHEME, ..self.spy.map.info() }
    }

    fn capabilities(&self) -> Capabilities {
        let SpyOptions { ttl, ttl_left, .. } = self.options;
        Capabilities { ttl, ttl_left, ..self.spy.map.capabilities() }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        let map = self.spy.map.session()?;
        Ok(Box::new(SpySession { spy: Arc::clone(&self.spy), map }))
    }

    fn stats(&self) -> Result<Stats> {
        let mut stats = self.spy.map.stats()?;
        stats.capacity_bytes = Some(self.options.max);
        Ok(stats)
    }
}

struct SpySession {
    spy: Arc<Spy>,
    map: Box<dyn Session>,
}

impl Session for SpySession {
    fn engine(&self) -> &'static str {
        SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.spy.note("get", key)?;
        self.map.get(key, value)
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        self.spy.note("get_many", &keys.join(&b' '))?;
        self.map.get_many(keys, hit)
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
        self.map.set(key, value, options)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.spy.note("delete", key)?;
        self.map.delete(key)
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        self.spy.note("touch", key)?;
        self.map.touch(key, ttl)
    }

    fn incr(&mut self, key: &[u8], delta: i64) -> Result<Option<u64>> {
        self.spy.note("incr", key)?;
        self.map.incr(key, delta)
    }

    fn clear(&mut self) -> Result<()> {
        self.spy.note("clear", b"")?;
        self.map.clear()
    }
}
