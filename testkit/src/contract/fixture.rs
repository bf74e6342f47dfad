//! The fixture of a case: the store of its URL, shared with the other cases or opened separately.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use larder_store::{Capabilities, Catalog, Error, Session, Stats, Store, StoreUrl};
use libtest_mimic::Failed;

use super::need::{Need, Subject};
use super::retrying::Sessions;
use crate::patient::patient;

/// The byte limit of stores that are opened with one: small enough to be filled quickly, large enough for a real
/// server to work with.
pub(super) const SMALL_LIMIT: u64 = 16 << 20;

/// One URL of the suite and, from its first case on, the open store that its cases share.
pub(super) struct Target {
    catalog: Catalog,
    url: String,
    open: OnceLock<Result<Open, Refusal>>,
    /// The sessions of the shared store, and of every other store with the same path or host.
    sessions: Sessions,
}

struct Open {
    store: Arc<dyn Store>,
    subject: Subject,
}

/// The reason why a target has no store.
#[derive(Clone)]
pub(super) enum Refusal {
    /// The engine cannot run on this machine, because a program or library is not installed.
    Unavailable(String),
    /// The engine should run and does not.
    Failed(String),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Unavailable { .. } => Self::Unavailable(error.to_string()),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl Target {
    pub(super) fn new(catalog: Catalog, url: &str) -> Self {
        Self { catalog, url: url.into(), open: OnceLock::new(), sessions: Sessions::default() }
    }

    /// The facts about the store; the first call opens it.
    pub(super) fn subject(&self) -> Result<&Subject, Refusal> {
        self.opened().as_ref().map(|open| &open.subject).map_err(Refusal::clone)
    }

    fn opened(&self) -> &Result<Open, Refusal> {
        self.open.get_or_init(|| {
            let url = patient(&self.catalog, StoreUrl::parse(&self.url)?);
            let engine = self.catalog.find(url.scheme())?;
            let store = self.catalog.open(&url)?;
            let store = match self.catalog.guest(url.scheme()) {
                Some(_) => self.sessions.reusing(store),
                None => self.sessions.retrying(store),
            };
            let (capabilities, info) = (store.capabilities(), store.info());
            let unchecked = info.settings.get("writes").is_some_and(|how| how == "unchecked");
            let bounded = match engine.capacity_option {
                Some(option) => {
                    let url = url.or_option(option, &SMALL_LIMIT.to_string());
                    let store = self.catalog.open(&url)?;
                    // A store with such an option but without a reported capacity is not bounded by it.
                    store.stats()?.capacity_bytes.map(|_| store.capabilities())
                }
                None => None,
            };
            let durability = info.durability;
            let ownership = info.ownership;
            let (counts, has_counters) = (counts(&store.stats()?), !store.counters()?.is_empty());
            let subject = Subject {
                engine,
                capabilities,
                durability,
                ownership,
                bounded,
                unchecked,
                counts,
                has_counters,
            };
            Ok(Open { store, subject })
        })
    }
}

/// Whether any counter is known of those that the suite holds to be exact.
fn counts(stats: &Stats) -> bool {
    let Stats { hits, misses, sets, deletes, evictions, expirations, items, bytes, .. } = stats;
    [hits, misses, sets, deletes, evictions, expirations, items, bytes].iter().any(|n| n.is_some())
}

/// The fixture of one case.
pub(super) struct Fixture {
    target: Arc<Target>,
    case: &'static str,
    /// The sessions of the stores that this case opens for itself.
    sessions: Sessions,
}

impl Fixture {
    /// The fixture of a case whose target has an open store.
    pub(super) fn new(target: Arc<Target>, case: &'static str) -> Self {
        Self { target, case, sessions: Sessions::default() }
    }

    fn open(&self) -> Result<&Open, Failed> {
        self.target.opened().as_ref().map_err(|_| Failed::from("the store is not open"))
    }

    /// The store that all cases of the URL share. Keys come from [`Fixture::key`], so that cases do not collide. A case
    /// about the whole store (counters, limits, `clear`) needs [`Fixture::fresh`].
    pub(super) fn store(&self) -> Result<&Arc<dyn Store>, Failed> {
        Ok(&self.open()?.store)
    }

    /// A session of the shared store.
    pub(super) fn session(&self) -> Result<Box<dyn Session>, Failed> {
        Ok(self.store()?.session()?)
    }

    /// The capabilities of the shared store.
    pub(super) fn capabilities(&self) -> Result<Capabilities, Failed> {
        Ok(self.open()?.subject.capabilities)
    }

    /// A key that no other case and no other run on the same server uses.
    pub(super) fn key(&self, name: impl std::fmt::Display) -> Vec<u8> {
        let case = self.case.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{:x}-{:x}-{name}", run_id(), case & 0xffff_ffff).into_bytes()
    }

    /// A store for this case alone. With a path or a host in the URL it still holds entries of other cases.
    pub(super) fn fresh(&self) -> Result<Arc<dyn Store>, Failed> {
        Ok(self.open_url(&self.target.url)?)
    }

    /// As [`Fixture::fresh`], with a byte limit of [`SMALL_LIMIT`] unless the URL has one of its own.
    pub(super) fn bounded(&self) -> Result<Arc<dyn Store>, Failed> {
        let option = self.open()?.subject.engine.capacity_option.ok_or("takes no byte limit")?;
        let url = StoreUrl::parse(&self.target.url)?.or_option(option, &SMALL_LIMIT.to_string());
        Ok(self.open_parsed(url)?)
    }

    /// Whether the shared store has something that a case needs.
    pub(super) fn has(&self, need: Need) -> Result<bool, Failed> {
        Ok((need.has)(&self.open()?.subject))
    }

    /// The URL.
    pub(super) fn url(&self) -> &str {
        &self.target.url
    }

    /// The URL with these options added.
    pub(super) fn url_with(&self, options: &str) -> String {
        let mark = if self.target.url.contains('?') { '&' } else { '?' };
        format!("{}{mark}{options}", self.target.url)
    }

    /// The URL with its path replaced.
    pub(super) fn url_at(&self, path: &Path) -> String {
        let url = &self.target.url;
        let scheme = url.split(':').next().unwrap_or_default();
        let query = url.split_once('?').map(|(_, query)| format!("?{query}")).unwrap_or_default();
        format!("{scheme}:{}{query}", path.display())
    }

    /// Opens any URL with the catalog of the suite.
    pub(super) fn open_url(&self, url: &str) -> larder_store::Result<Arc<dyn Store>> {
        self.open_parsed(StoreUrl::parse(url)?)
    }

    fn open_parsed(&self, url: StoreUrl) -> larder_store::Result<Arc<dyn Store>> {
        let own = StoreUrl::parse(&self.target.url)?;
        let has_place =
            !own.hosts().is_empty() || !own.path().is_empty() || !own.tiers().is_empty();
        let is_shared = has_place && (url.hosts(), url.path()) == (own.hosts(), own.path());
        let sessions = if is_shared { &self.target.sessions } else { &self.sessions };
        let store = self.target.catalog.open(&patient(&self.target.catalog, url))?;
        Ok(sessions.retrying(store))
    }
}

/// A directory that vanishes with its owner.
pub(super) struct TestDir(PathBuf);

impl TestDir {
    /// Makes a new directory.
    pub(super) fn create() -> Result<Self, Failed> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("larder-contract-{:x}-{n}", run_id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// A path in it that does not exist yet: engines make their own file or folder there.
    pub(super) fn path(&self) -> PathBuf {
        self.0.join("store")
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        // A failed clean-up does not fail the test.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A number for this run: the time mixed with the process id, so that two runs on one server do not collide.
fn run_id() -> u64 {
    static ID: OnceLock<u64> = OnceLock::new();
    *ID.get_or_init(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_micros());
        let now = u64::try_from(now & 0xff_ffff_ffff).unwrap_or_default();
        now ^ (u64::from(std::process::id()) << 24)
    })
}
