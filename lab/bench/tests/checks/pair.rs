//! Two machines before one server, each with a local tier that does not learn of the other's writes. Every cache of two
//! tiers on more than one machine is like this.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use larder_engines::ENGINES;
use larder_report::Run;
use larder_store::{
    Capabilities, Catalog, Engine, Medium, Result, Session, Stats, Store, StoreInfo, StoreUrl,
};
use larder_testkit::stores::MapOptions;

use crate::support;

/// The engine of such a pair.
const PAIR: Engine = Engine {
    scheme: "pair",
    aliases: &[],
    summary: "Two stacks over one memcached",
    example: "pair:",
    medium: Medium::Memory,
    capacity_option: None,
    connections_option: None,
    recipes: &[],
    options: || schemars::schema_for!(MapOptions),
    open: |_, _| Ok(Arc::new(Pair::open()?)),
};

/// A run of such a pair.
pub(crate) fn run(workload: &str) -> Run {
    support::run(&Catalog::new(&[PAIR]), &["pair:"], workload)
}

#[derive(Debug)]
struct Pair {
    /// The server ends with the pair.
    _server: Arc<dyn Store>,
    stacks: [Arc<dyn Store>; 2],
    sessions: AtomicUsize,
}

impl Pair {
    fn open() -> Result<Self> {
        let open = |url: &str| ENGINES.open(&StoreUrl::parse(url)?);
        let server = open("memcached:")?;
        let url = format!("tiered:moka:|memcached://{}", server.info().addresses[0]);
        let stacks = [open(&url)?, open(&url)?];
        Ok(Self { _server: server, stacks, sessions: AtomicUsize::new(0) })
    }
}

impl Store for Pair {
    fn info(&self) -> StoreInfo {
        self.stacks[0].info()
    }

    fn capabilities(&self) -> Capabilities {
        self.stacks[0].capabilities()
    }

    /// The sessions go to this machine and to the other in turn.
    fn session(&self) -> Result<Box<dyn Session>> {
        let next = self.sessions.fetch_add(1, Ordering::Relaxed);
        self.stacks[next % 2].session()
    }

    fn stats(&self) -> Result<Stats> {
        self.stacks[0].stats()
    }

    /// The test owns the server behind both machines, so no other program has entries there.
    fn external_stats(&self) -> Result<Vec<Stats>> {
        Ok(Vec::new())
    }
}
