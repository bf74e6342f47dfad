//! An open guest: its folder, its servers, and sessions that are programs of its language.
//!
//! Sessions are for probing limits and for the contract suite, and nothing in them is timed. The executor carries out
//! measured turns. The engine of the servers opens them from the catalog. It starts, watches and stops them as in a
//! comparison of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use larder_host::cgroup;
use larder_host::disk;
use larder_host::scratch::ScratchDir;
use larder_store::{
    ByteSize, Capabilities, Catalog, Error, Ownership, Result, Session, Stats, Store, StoreInfo,
    StoreUrl, TierStats,
};
use serde::Serialize;
use serde_json::Value;

use super::interpreter::{INTERPRETER, Interpreter};
use super::process::GuestProcess;
use super::reply::{Opened, PROTOCOL};
use super::session::GuestSession;
use super::tier::{GuestCache, SIZE, ServerAccess};
use super::{COMPILED, Cache, Keeps, Launch, find};

/// The largest value that is expected without a plan, in bytes.
const USUAL_LARGEST: u64 = 1 << 20;

/// The most copies of the largest value in a program at once: on its way in or out, in the client, and as garbage that
/// is not collected yet.
const VALUES_AT_ONCE: u64 = 16;

/// The access of a stack itself, because each tier has its own.
static NOTHING_TO_KNOW: ServerAccess = ServerAccess::NONE;

/// The demands of a plan on a store.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_field_names, reason = "the unit")]
pub(crate) struct Demand {
    /// The bytes that a bounded cache should hold.
    pub(crate) room_bytes: Option<u64>,
    /// The largest value with its key, in bytes.
    pub(crate) largest_bytes: Option<u64>,
    /// The memory of a program that carries the plan out, beside its cache, in bytes.
    pub(crate) plan_bytes: u64,
}

impl Demand {
    /// The most memory of a program that carries the plan out, beside its cache, in bytes.
    fn in_program(self) -> u64 {
        let values = self.largest_bytes.unwrap_or(0).saturating_mul(VALUES_AT_ONCE);
        self.plan_bytes.saturating_add(values)
    }
}

/// An open guest.
#[derive(Debug)]
pub(crate) struct GuestStore {
    shared: Arc<Shared>,
}

/// The state that sessions and executors share. Folders and servers end with its last owner.
#[derive(Debug)]
pub(super) struct Shared {
    /// The program of all sessions, where they share one. It ends before the folders and mounts that it works in, and
    /// before the servers that it speaks to.
    program: Option<Arc<Mutex<RunningProgram>>>,
    pub(super) cache: &'static Cache,
    pub(super) parts: Vec<GuestCache>,
    pub(super) capabilities: Capabilities,
    options: Value,
    demand: Demand,
    /// The store was emptied, and no program has opened it since.
    emptied: Mutex<bool>,
    /// The number of removals of all entries. A program that started before a removal has an outdated cache open.
    generation: AtomicU64,
    n_folders: AtomicU64,
    pool: Mutex<Option<(Arc<[u8]>, PathBuf)>>,
    home: ScratchDir,
    interpreter: Interpreter,
    language_name: String,
    info: StoreInfo,
}

/// A program, and the generation in which it was started; `None` until it is first needed.
pub(super) type RunningProgram = Option<(u64, GuestProcess)>;

/// The content of `open.json`.
#[derive(Debug, Serialize)]
struct OpenFile<'a> {
    protocol: u32,
    #[serde(flatten)]
    part: PartFile<'a>,
    fresh: bool,
    tiers: Vec<PartFile<'a>>,
}

/// A cache or a tier in `open.json`.
#[derive(Debug, Serialize)]
pub(super) struct PartFile<'a> {
    pub(super) cache: &'a str,
    pub(super) options: &'a Value,
    folder: Option<&'a Path>,
    /// The file of Larder's own library.
    library: Option<&'a Path>,
    servers: Vec<String>,
    /// The settings of the servers, as their engine reports them.
    server: BTreeMap<String, String>,
    pub(super) room_bytes: Option<u64>,
    pub(super) largest_bytes: Option<u64>,
    /// The further settings that its client needs.
    access: &'a ServerAccess,
}

/// Opens the guest that a URL names, for its [`Engine`](larder_store::Engine).
pub(super) fn open(url: &StoreUrl, catalog: &Catalog) -> Result<Arc<dyn Store>> {
    let cache = find(url.scheme()).ok_or_else(|| Error::InvalidUrl {
        url: url.to_string(),
        reason: "no guest has this scheme".into(),
    })?;
    // Without a plan the sizes are unknown, so a size that most caches take is expected.
    let demand = Demand { largest_bytes: Some(USUAL_LARGEST), ..Demand::default() };
    Ok(Arc::new(GuestStore::open(cache, url, catalog, demand)?))
}

impl OpenFile<'_> {
    /// The cache, or its tiers.
    fn parts(&self) -> &[PartFile<'_>] {
        if self.tiers.is_empty() { std::slice::from_ref(&self.part) } else { &self.tiers }
    }

    /// The most bytes that the program writes to open the cache: files that have their full size at once.
    fn writes_bytes(&self) -> u64 {
        let parts = self.tiers.iter().chain([&self.part]).filter(|part| part.folder.is_some());
        let room = |part: &PartFile<'_>| {
            let size = part.options.get(SIZE).and_then(Value::as_u64);
            size.max(part.room_bytes).unwrap_or(0)
        };
        parts.map(room).sum()
    }
}

impl GuestStore {
    /// Opens a guest once, to see whether it is installed and in which version.
    pub(crate) fn open(
        cache: &'static Cache,
        url: &StoreUrl,
        catalog: &Catalog,
        demand: Demand,
    ) -> Result<Self> {
        let cache = cache.chosen(url);
        let engine = cache.engine.scheme;
        has_room(cache, demand)?;
        let typed = url;
        let (interpreter, url) = &Interpreter::of(cache, typed)?;
        let options = (cache.options)(engine, &cache.own_options(url))?;
        let parts = match cache.keeps {
            Keeps::Tiers => cache
                .tiers(url)?
                .into_iter()
                .map(|(tier, url)| GuestCache::open(tier, &url, catalog, demand))
                .collect::<Result<_>>()?,
            _ => vec![GuestCache::open(cache, url, catalog, demand)?],
        };
        let home = ScratchDir::create(engine)?;
        for (name, text) in cache.language.program {
            let file = home.path().join(name);
            let folder = file.parent().unwrap_or(home.path());
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(&file, text))
                .map_err(|error| disk::io_error(engine, "writing", &file, error))?;
        }
        (cache.language.prepare)(engine, home.path(), interpreter)?;
        let capabilities = capabilities(&parts);
        let keeps = |is: fn(Keeps) -> bool| parts.iter().any(|part| is(part.cache.keeps));
        let is_in_memory = keeps(Keeps::in_memory);
        // A cache that keeps nothing replays the sets of its own session.
        let is_shared = cache.language.is_shared && !keeps(|keeps| keeps == Keeps::Nothing);
        let mut shared = Shared {
            cache,
            parts,
            capabilities,
            options,
            demand,
            emptied: Mutex::new(true),
            generation: AtomicU64::new(0),
            n_folders: AtomicU64::new(0),
            pool: Mutex::new(None),
            home,
            interpreter: interpreter.clone(),
            language_name: interpreter.language(cache.language.name),
            program: (is_in_memory || is_shared).then(Arc::default),
            info: StoreInfo::default(),
        };
        let (process, opened) = shared.start()?;
        match &shared.program {
            Some(program) if is_shared => *lock(program) = Some((0, process)),
            _ => process.end()?,
        }
        shared.info = shared.describe(typed, opened);
        Ok(Self { shared: Arc::new(shared) })
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Whether its entries on an external server end by a TTL, in the parts that have TTLs.
    pub(crate) fn ends_on_external(&self) -> bool {
        self.shared.ends_on_external()
    }

    /// The servers whose limits are the guest's limits, so that they are found without its client.
    pub(crate) fn limits(&self) -> Option<&Arc<dyn Store>> {
        match (self.shared.cache.keeps, self.shared.parts.as_slice()) {
            (Keeps::Servers { limits: true, .. }, [part]) => part.store(),
            _ => None,
        }
    }

    /// The servers that it speaks to.
    pub(crate) fn servers(&self) -> Vec<Arc<dyn Store>> {
        self.shared.parts.iter().filter_map(GuestCache::store).map(Arc::clone).collect()
    }

    /// The most memory that its program takes beyond the written plan, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.language().memory_bytes)(self.shared.demand.in_program())
    }

    /// Ends the program of its sessions until a session needs it again.
    pub(crate) fn rest(&self) {
        self.shared.rest();
    }

    /// Whether each process that it forks has entries of its own.
    pub(crate) fn is_private(&self) -> bool {
        let private = Keeps::Memory { shared: false };
        self.shared.parts.iter().any(|part| part.cache.keeps == private)
    }

    /// The language that its program is written in.
    fn language(&self) -> &'static super::Language {
        self.shared.cache.language
    }

    /// The language as reports name it, with the interpreter where the URL names one.
    pub(crate) fn language_name(&self) -> &str {
        &self.shared.language_name
    }
}

impl Shared {
    /// Starts a program that opens the cache. The first program after the store was emptied opens it empty; later
    /// programs keep its entries.
    pub(super) fn start(&self) -> Result<(GuestProcess, Opened)> {
        // Programs start one after the other, so that a second one opens the cache that the first has made.
        let mut emptied = self.emptied.lock().unwrap_or_else(PoisonError::into_inner);
        let Self { cache, demand, .. } = self;
        let file = match self.parts.as_slice() {
            [part] if cache.keeps != Keeps::Tiers => OpenFile {
                protocol: PROTOCOL,
                part: part.file(*demand),
                fresh: *emptied,
                tiers: Vec::new(),
            },
            parts => OpenFile {
                protocol: PROTOCOL,
                part: PartFile {
                    cache: cache.name,
                    options: &self.options,
                    folder: None,
                    library: None,
                    servers: Vec::new(),
                    server: BTreeMap::new(),
                    room_bytes: demand.room_bytes,
                    largest_bytes: demand.largest_bytes,
                    access: &NOTHING_TO_KNOW,
                },
                fresh: *emptied,
                tiers: parts.iter().map(|part| part.file(*demand)).collect(),
            },
        };
        let launch =
            Launch { home: self.home.path(), parts: file.parts(), plan_bytes: demand.in_program() };
        let compiled = Some(self.home.path().join(COMPILED)).filter(|program| program.exists());
        let program = compiled.as_ref().unwrap_or(&self.interpreter.program);
        let started = GuestProcess::start(
            cache.engine.scheme,
            cache.language,
            program,
            (cache.language.arguments)(&launch),
            self.new_folder("open"),
            &file,
            file.writes_bytes(),
        )?;
        *emptied = false;
        Ok(started)
    }

    /// An unused path, for files that a program is given.
    pub(super) fn new_folder(&self, what: &str) -> PathBuf {
        let number = self.n_folders.fetch_add(1, Ordering::Relaxed);
        self.home.path().join(format!("{what}-{number}"))
    }

    /// The file of the pool that values are cut from. It is written again when the pool is another one.
    pub(super) fn pool_file(&self, pool: &Arc<[u8]>) -> Result<PathBuf> {
        let mut written = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        match &*written {
            Some((known, path)) if Arc::ptr_eq(known, pool) => return Ok(path.clone()),
            Some((_, path)) => {
                // No program reads the old file any more. If it cannot be removed, it goes with the folder.
                let _ = std::fs::remove_file(path);
            }
            None => {}
        }
        let path = self.new_folder("pool");
        std::fs::write(&path, pool)
            .map_err(|error| disk::io_error(self.cache.engine.scheme, "writing", &path, error))?;
        *written = Some((Arc::clone(pool), path.clone()));
        Ok(path)
    }

    /// The names of the caches of its tiers; empty unless it is a stack.
    pub(super) fn tier_names(&self) -> Vec<&'static str> {
        let is_stack = self.cache.keeps == Keeps::Tiers;
        self.parts.iter().filter(|_| is_stack).map(|part| part.cache.name).collect()
    }

    /// Its tiers, with all counters at 0; empty unless it is a stack.
    pub(super) fn tiers(&self) -> Vec<TierStats> {
        let tier = |(place, name): (u32, &str)| TierStats {
            name: format!("L{place} {name}:"),
            ..TierStats::default()
        };
        (1..).zip(self.tier_names()).map(tier).collect()
    }

    /// The most bytes of a key and its value together, where a setting of the cache limits them. In a stack it is a
    /// setting of the lowest tier, which decides whether a value is stored.
    pub(super) fn bound(&self) -> Option<usize> {
        let name = self.parts.last()?.cache.can.bound?;
        self.info.settings.get(&self.of_tier(self.parts.len(), name))?.parse().ok()
    }

    /// The same counters with the capacity in the cache's settings, where it is there, or of a smaller mount below.
    fn with_what_it_takes(&self, mut stats: Stats) -> Stats {
        let Some(part) = self.parts.last().filter(|part| !part.cache.can.takes.is_empty()) else {
            return stats;
        };
        let number = |name: &&str| -> Option<u64> {
            self.info.settings.get(&self.of_tier(self.parts.len(), name))?.parse().ok()
        };
        let told: Option<u64> = part.cache.can.takes.iter().map(number).product();
        stats.capacity_bytes = told.into_iter().chain(part.mounted_bytes()).min();
        stats
    }

    /// The name of a setting. In a stack it begins with the tier.
    fn of_tier(&self, level: usize, name: &str) -> String {
        match self.cache.keeps {
            Keeps::Tiers => format!("l{level}.{name}"),
            _ => name.to_owned(),
        }
    }

    /// Whether a part on external servers has TTLs.
    pub(super) fn ends_on_external(&self) -> bool {
        self.parts.iter().any(|part| part.is_somebodys() && part.capabilities().ttl)
    }

    /// Whether servers are behind it.
    pub(super) fn has_servers(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.cache.keeps, Keeps::Servers { .. }))
    }

    /// Ends the program of its sessions, unless it holds entries in its memory. An idle one would disturb a
    /// measurement.
    pub(super) fn rest(&self) {
        let is_in_memory = |part: &GuestCache| part.cache.keeps.in_memory();
        if let Some(program) =
            self.program.as_ref().filter(|_| !self.parts.iter().any(is_in_memory))
        {
            *lock(program) = None;
        }
    }

    /// Whether an open program can go on after the removal of all entries: it can if it only has connections.
    pub(super) fn outlives_clearing(&self) -> bool {
        self.parts.iter().all(|part| matches!(part.cache.keeps, Keeps::Servers { .. }))
    }

    /// The number of removals of all entries.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Removes all entries. On servers, their engine removes them.
    pub(super) fn clear(&self) -> Result<()> {
        // No program starts meanwhile. Earlier programs are of the last generation, and their open cache is gone.
        let mut emptied = self.emptied.lock().unwrap_or_else(PoisonError::into_inner);
        let cleared = self.parts.iter().try_for_each(GuestCache::clear);
        if !self.outlives_clearing() {
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        cleared?;
        *emptied = true;
        Ok(())
    }

    fn describe(&self, url: &StoreUrl, opened: Opened) -> StoreInfo {
        let mut info = StoreInfo {
            scheme: self.cache.engine.scheme,
            url: url.to_string(),
            version: Some(format!("{}, {}", opened.cache, opened.language)),
            ..StoreInfo::default()
        };
        for (level, part) in (1..).zip(&self.parts) {
            part.describe(&mut info);
            let settings = part.settings().into_iter();
            info.settings.extend(settings.map(|(name, text)| (self.of_tier(level, &name), text)));
        }
        if self.interpreter.is_named {
            let program = self.interpreter.program.display().to_string();
            info.settings.insert(INTERPRETER.into(), program);
        }
        // The lowest tier has all entries, so it decides the durability.
        info.durability = self.parts.last().map(GuestCache::durability).unwrap_or_default();
        info.settings.extend(opened.settings);
        info
    }
}

impl Store for GuestStore {
    fn info(&self) -> StoreInfo {
        self.shared.info.clone()
    }

    fn capabilities(&self) -> Capabilities {
        self.shared.capabilities
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        let of_its_own = || Arc::new(Mutex::new(None));
        let program = self.shared.program.as_ref().map_or_else(of_its_own, Arc::clone);
        Ok(Box::new(GuestSession::new(Arc::clone(&self.shared), program)))
    }

    fn external_stats(&self) -> Result<Vec<Stats>> {
        let servers = self.shared.parts.iter().filter_map(GuestCache::store);
        let told: Result<Vec<_>> = servers.map(|servers| servers.external_stats()).collect();
        Ok(told?.into_iter().flatten().collect())
    }

    fn close(&self) -> Result<()> {
        let servers = self.shared.parts.iter().filter_map(GuestCache::store);
        let closed: Vec<Result<()>> = servers.map(|servers| servers.close()).collect();
        closed.into_iter().collect()
    }

    /// For a stack, the capacity and the evictions of its lowest tier. That tier has all entries, so entries that an
    /// upper tier drops are not lost. Other counters of the servers do not count requests to the stack.
    fn stats(&self) -> Result<Stats> {
        let stats =
            self.shared.parts.last().map_or_else(|| Ok(Stats::default()), GuestCache::stats)?;
        let stats = self.shared.with_what_it_takes(stats);
        if self.shared.cache.keeps != Keeps::Tiers {
            return Ok(stats);
        }
        let mut own = Stats::default();
        own.evictions = stats.evictions;
        own.bytes = stats.bytes;
        own.capacity_bytes = stats.capacity_bytes;
        Ok(own)
    }
}

/// Refuses a program that a limit of memory would have killed.
fn has_room(cache: &Cache, demand: Demand) -> Result<()> {
    let needed = (cache.language.memory_bytes)(demand.in_program());
    let Some(limit) = cgroup::limit_bytes().filter(|limit| *limit < needed) else {
        return Ok(());
    };
    let what = format!(
        "a program in {} takes up to {} of memory, more than the limit of {}; give it a larger --memory, or use fewer \
         --requests or --keys",
        cache.language.name,
        ByteSize(needed),
        ByteSize(limit)
    );
    Err(Error::Unavailable { engine: cache.engine.scheme, what, source: None })
}

/// Locks a program. A panic in another holder does not harm the program, so a poisoned lock is taken too.
pub(super) fn lock(program: &Mutex<RunningProgram>) -> MutexGuard<'_, RunningProgram> {
    program.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The capabilities of a store of these parts.
fn capabilities(parts: &[GuestCache]) -> Capabilities {
    let all = |has: fn(&Capabilities) -> bool| parts.iter().all(|part| has(&part.capabilities()));
    let each = || parts.iter().map(GuestCache::capabilities);
    Capabilities {
        stores: all(|can| can.stores),
        ttl: all(|can| can.ttl),
        ttl_resolution: each().map(|can| can.ttl_resolution).max().unwrap_or(Duration::ZERO),
        // A tier's client is never told the time left, so each tier above the lowest begins the TTL again.
        ttl_restarts: u32::try_from(parts.len() - 1).unwrap_or(u32::MAX),
        touch: all(|can| can.touch),
        batch: all(|can| can.batch),
        clear: all(|can| can.clear),
        evicts: each().any(|can| can.evicts),
        reach: each().map(|can| can.reach).max().unwrap_or_default(),
        max_key_len: each().filter_map(|can| can.max_key_len).min(),
        max_value_len: each().filter_map(|can| can.max_value_len).min(),
        ..Capabilities::default()
    }
}

impl GuestCache {
    fn file(&self, demand: Demand) -> PartFile<'_> {
        PartFile {
            cache: self.cache.name,
            options: &self.options,
            folder: self.folder(),
            library: self.library.as_deref(),
            servers: self.servers(),
            server: self.settings(),
            room_bytes: demand.room_bytes,
            largest_bytes: demand.largest_bytes,
            access: self.access(),
        }
    }
}

/// The owner of the servers of several parts: external, if the servers of any part are.
pub(super) fn ownership(one: Ownership, other: Ownership) -> Ownership {
    match (one, other) {
        (Ownership::External, _) | (_, Ownership::External) => Ownership::External,
        (Ownership::Managed, _) | (_, Ownership::Managed) => Ownership::Managed,
        _ => Ownership::Embedded,
    }
}
