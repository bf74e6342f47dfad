//! The open server or cluster, shared by its sessions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use larder_store::{
    Capabilities, Catalog, Channel, ChannelKind, Durability, Error, Ownership, Reach, Remaining,
    Result, Session, Stats, Store, StoreInfo, StoreUrl, Waits,
};

use super::address::{Greeting, Node};
use super::channel::RedisChannel;
use super::config::{Connect, RedisConfig};
use super::connection::Terms;
use super::layout::Layout;
use super::session::{Doubt, RedisSession};
use super::survey::{self, Survey};
use super::{SCHEME, managed, refusal};
use crate::network::{self, agreed};
use larder_host::disk;
use larder_host::managed::{Server, end_all};
use larder_host::relay::Relay;
use larder_store::counters::{Counters, Requests};

/// The longest key or value where a server does not report its `proto-max-bulk-len`: the default.
const LONGEST_STRING: usize = 512 << 20;

/// Opens the server or the cluster that a URL names, or starts one.
pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config = RedisConfig::from_url(url)?;
    let mut greeting = Greeting::from_url(url, &config)?;
    if config.is_encrypted() {
        // An error means that another caller has chosen for the whole process, and any choice will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let mut seeds = Node::from_url(url, &greeting)?;
    let mut servers = Vec::new();
    if seeds.is_empty() {
        let started = managed::start(url, &config, greeting)?;
        (servers, seeds, greeting) = (started.servers, started.nodes, started.greeting);
    }
    let mut seeds: Vec<Arc<Node>> = seeds.into_iter().map(Arc::new).collect();
    let timeout = config.timeout.0;
    // The surveys bypass the relay, so that an error describes the failure of the node itself.
    let mut layout = find_layout(&seeds, &greeting, timeout)?;
    let mut nodes = layout.owners();
    let surveys: Vec<Result<Survey>> = nodes.iter().map(|node| Survey::of(node, timeout)).collect();
    let known = known(&seeds, &nodes);
    let destinations = || known.iter().map(|node| node.place().destination(SCHEME)).collect();
    let relay = network::relay(SCHEME, config.via, timeout, destinations)?;
    if let Some(relay) = &relay {
        greeting = greeting.through(&known, relay);
        seeds = seeds
            .iter()
            .map(|node| node.greeted(&greeting).map(Arc::new))
            .collect::<Result<_>>()?;
        layout = find_layout(&seeds, &greeting, timeout)?;
        nodes = layout.owners();
    }
    let shared = Shared {
        terms: Terms { timeout, keep: config.connect == Connect::Session },
        longest_string: longest_string(&surveys),
        tells_ttl: config.ttl_left,
        layout: Mutex::new(Arc::new(layout)),
        seeds,
        greeting,
        n_connections: AtomicU64::new(0),
        requests: Counters::default(),
        relay,
        servers,
    };
    let info = shared.describe(url, &config, &nodes, &surveys);
    Ok(Arc::new(RedisStore { shared: Arc::new(shared), info }))
}

/// The nodes of a URL and those that have slots, each once.
fn known(seeds: &[Arc<Node>], owners: &[Arc<Node>]) -> Vec<Arc<Node>> {
    let mut known: Vec<Arc<Node>> = Vec::new();
    for node in seeds.iter().chain(owners) {
        if !known.iter().any(|other| other.place() == node.place()) {
            known.push(Arc::clone(node));
        }
    }
    known
}

/// Asks the nodes of a URL, one after the other, whether they are a cluster, and for its layout.
fn find_layout(seeds: &[Arc<Node>], greeting: &Greeting, timeout: Duration) -> Result<Layout> {
    let mut first_error = None;
    for seed in seeds {
        match survey::is_cluster(seed, timeout) {
            Ok(true) => return ask_layout(seed, greeting, timeout),
            Ok(false) if seeds.len() == 1 => return Ok(Layout::single(Arc::clone(seed))),
            Ok(false) => {
                let reason = format!(
                    "several hosts are a cluster, and {seed} is not part of one; name one host"
                );
                return Err(Error::InvalidOptions { engine: SCHEME, reason });
            }
            Err(error) => drop(first_error.get_or_insert(error)),
        }
    }
    Err(match (first_error, seeds.len()) {
        (Some(error), 1) => error,
        (Some(Error::Unavailable { what, .. }), n) => {
            let what = format!("none of {n} nodes answers; the first: {what}");
            Error::Unavailable { engine: SCHEME, what, source: None }
        }
        (Some(error), _) => error,
        (None, _) => Error::Unavailable { engine: SCHEME, what: "no node".into(), source: None },
    })
}

/// Asks a node for the slots of its cluster.
fn ask_layout(node: &Arc<Node>, greeting: &Greeting, timeout: Duration) -> Result<Layout> {
    let answer = survey::ask(node, timeout, &[b"CLUSTER", b"SLOTS"])?;
    Layout::read(&answer, node, greeting)
        .unwrap_or_else(|| Err(refusal::unexpected(node, "CLUSTER SLOTS", &answer)))
}

/// The smallest limit of the nodes.
fn longest_string(surveys: &[Result<Survey>]) -> usize {
    let told = surveys.iter().flatten();
    let limits = told.filter_map(|survey| survey.setting("proto-max-bulk-len")?.parse().ok());
    limits.min().unwrap_or(LONGEST_STRING)
}

/// An open server or cluster.
#[derive(Debug)]
struct RedisStore {
    shared: Arc<Shared>,
    info: StoreInfo,
}

/// The state that sessions share; the started servers and the relay end with the last session.
#[derive(Debug)]
pub(super) struct Shared {
    /// Never locked during a request to a node.
    layout: Mutex<Arc<Layout>>,
    /// The nodes of the URL, or those that were started.
    seeds: Vec<Arc<Node>>,
    greeting: Greeting,
    terms: Terms,
    longest_string: usize,
    /// Whether a read tells the rest of the TTL.
    tells_ttl: bool,
    n_connections: AtomicU64,
    pub(super) requests: Counters<Requests>,
    relay: Option<Relay>,
    servers: Vec<Server>,
}

impl Shared {
    /// The layout that is known now.
    pub(super) fn layout(&self) -> Arc<Layout> {
        Arc::clone(&self.lock_layout())
    }

    fn lock_layout(&self) -> MutexGuard<'_, Arc<Layout>> {
        self.layout.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A layout newer than `old`: the layout that another session has found meanwhile, or else the report of the first
    /// node that answers.
    pub(super) fn renewed(&self, old: &Layout, doubt: Doubt) -> Result<Arc<Layout>> {
        let known = self.layout();
        if !known.is_as_told(old) {
            return Ok(known);
        }
        let mut first_error = None;
        for node in old.tellers(&self.seeds, doubt) {
            match ask_layout(&node, &self.greeting, self.terms.timeout) {
                Ok(renewed) => {
                    let renewed = Arc::new(renewed);
                    *self.lock_layout() = Arc::clone(&renewed);
                    return Ok(renewed);
                }
                Err(error) => drop(first_error.get_or_insert(error)),
            }
        }
        first_error.map_or(Ok(known), Err)
    }

    /// The layout with the node at an address in it, and the place of that node.
    pub(super) fn place_of(
        &self,
        host: &str,
        port: u16,
        teller: &Node,
    ) -> Result<(Arc<Layout>, usize)> {
        let mut layout = self.lock_layout();
        let mut extended = Layout::clone(&layout);
        let place = extended.place_of(host, port, teller, &self.greeting)?;
        if extended.nodes().len() > layout.nodes().len() {
            *layout = Arc::new(extended);
        }
        Ok((Arc::clone(&layout), place))
    }

    pub(super) fn terms(&self) -> Terms {
        self.terms
    }

    pub(super) fn count_connection(&self) {
        self.n_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether Larder started the servers.
    pub(super) fn is_managed(&self) -> bool {
        !self.servers.is_empty()
    }

    /// Whether requests are sent without waiting for the answers to those before.
    pub(super) fn has_pipeline(&self) -> bool {
        self.terms.keep && !self.tells_ttl
    }

    /// Whether a read tells the rest of the TTL.
    pub(super) fn tells_ttl(&self) -> bool {
        self.tells_ttl
    }

    /// The argument of a script that tells it whether to tell the TTL.
    pub(super) fn asks_ttl(&self) -> &'static [u8] {
        if self.tells_ttl { b"1" } else { b"0" }
    }

    /// A server's TTL in milliseconds, which is negative for none.
    pub(super) fn remaining(&self, left: i64) -> Remaining {
        match u64::try_from(left) {
            _ if !self.tells_ttl => Remaining::Unknown,
            Ok(left) => Remaining::For(Duration::from_millis(left)),
            Err(_) => Remaining::Forever,
        }
    }

    /// The longest key or value that every node takes.
    pub(super) fn longest_string(&self) -> usize {
        self.longest_string
    }

    fn describe(
        &self,
        url: &StoreUrl,
        config: &RedisConfig,
        nodes: &[Arc<Node>],
        surveys: &[Result<Survey>],
    ) -> StoreInfo {
        let told: Vec<(&Node, &Survey)> = nodes
            .iter()
            .zip(surveys)
            .filter_map(|(node, survey)| Some((&**node, survey.as_ref().ok()?)))
            .collect();
        let mut settings = BTreeMap::new();
        for name in survey::READ_BACK {
            let values = told.iter().map(|(node, survey)| (*node, survey.setting(name)));
            settings.extend(agreed(values).map(|value| (name.to_owned(), value)));
        }
        let shown = |nodes: Vec<&Node>| {
            nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        settings.insert("nodes".into(), shown(nodes.iter().map(|node| &**node).collect()));
        let silent = nodes.iter().zip(surveys).filter(|(_, survey)| survey.is_err());
        let silent: Vec<&Node> = silent.map(|(node, _)| &**node).collect();
        if !silent.is_empty() {
            settings.insert("not_answering".into(), shown(silent));
        }
        let is_encrypted = nodes.iter().any(|node| node.is_encrypted());
        settings.insert("tls".into(), if is_encrypted { "on" } else { "off" }.into());
        settings.insert("db".into(), self.greeting.db().to_string());
        let connect = if self.terms.keep { "session" } else { "operation" };
        settings.insert("connect".into(), connect.into());
        settings.extend(network::relay_settings(config.via, self.relay.as_ref()));
        let versions = told.iter().map(|(node, survey)| (*node, survey.version()));
        let is_logged = told.iter().any(|(_, survey)| survey.durability() > Durability::Volatile);
        let logged = self.servers.iter().filter(|_| is_logged);
        let data_paths: Vec<_> = logged.filter_map(managed::log).collect();
        StoreInfo {
            scheme: SCHEME,
            url: url.to_string(),
            version: agreed(versions),
            settings,
            durability: told
                .iter()
                .map(|(_, survey)| survey.durability())
                .min()
                .unwrap_or_default(),
            ownership: if self.is_managed() { Ownership::Managed } else { Ownership::External },
            server_pids: match &self.servers[..] {
                [] => told.iter().filter_map(|(_, survey)| survey.pid).collect(),
                servers => servers.iter().map(Server::pid).collect(),
            },
            addresses: nodes.iter().map(|node| node.reached_at()).collect(),
            file_system: data_paths.first().and_then(|path| disk::file_system(path).ok()),
            data_paths,
        }
    }
}

impl Store for RedisStore {
    fn info(&self) -> StoreInfo {
        self.info.clone()
    }

    fn capabilities(&self) -> Capabilities {
        let shared = &self.shared;
        let setting = |name: &str| self.info.settings.get(name).map_or("", String::as_str);
        let is_unix = |node: &Arc<Node>| node.host().is_none();
        let is_host = shared.relay.is_none() && shared.layout().nodes().iter().all(is_unix);
        Capabilities {
            stores: true,
            ttl: true,
            ttl_resolution: Duration::from_millis(1),
            ttl_restarts: 0,
            ttl_left: shared.tells_ttl(),
            flags: false,
            add: true,
            // Redis keeps no versions; its transactions notice changes by other connections, not by a number.
            version: false,
            append: true,
            incr: true,
            touch: true,
            get_and_touch: true,
            batch: true,
            batch_write: true,
            groups: false,
            leases: true,
            tokens: false,
            pipeline: shared.has_pipeline(),
            namespaces: false,
            forks: false,
            clear: shared.is_managed(),
            persistent: !shared.is_managed() && self.info.durability > Durability::Volatile,
            evicts: setting("maxmemory-policy").starts_with("allkeys")
                && setting("maxmemory") != "0",
            reads_wait: Waits::Network,
            writes_wait: Waits::Network,
            reach: if is_host { Reach::Host } else { Reach::Network },
            max_key_len: Some(shared.longest_string()),
            max_value_len: Some(shared.longest_string()),
        }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(RedisSession::new(Arc::clone(&self.shared))))
    }

    fn channel(&self, kind: ChannelKind<'_>) -> Result<Arc<dyn Channel>> {
        Ok(Arc::new(RedisChannel::new(&self.shared, kind)?))
    }

    fn close(&self) -> Result<()> {
        end_all(&self.shared.servers)
    }

    fn stats(&self) -> Result<Stats> {
        let shared = &self.shared;
        let facts: Vec<BTreeMap<String, String>> = shared
            .layout()
            .owners()
            .iter()
            .map(|node| survey::facts(node, shared.terms.timeout))
            .collect::<Result<_>>()?;
        // A sum is known when every node reports its part.
        let sum = |of: &dyn Fn(&BTreeMap<String, String>) -> Option<u64>| -> Option<u64> {
            facts.iter().map(of).sum()
        };
        let fact = |name: &'static str| sum(&|node| node.get(name)?.parse().ok());
        let db = format!("db{}", shared.greeting.db());
        let mut stats = Stats::default();
        // A server counts the look at a TTL as one more hit.
        stats.hits = fact("keyspace_hits").filter(|_| !shared.tells_ttl());
        stats.misses = fact("keyspace_misses");
        stats.evictions = fact("evicted_keys");
        stats.expirations = fact("expired_keys");
        stats.connections = Some(shared.n_connections.load(Ordering::Relaxed));
        stats.requests_sent = Some(shared.requests.sent());
        stats.items = sum(&|node| survey::n_items(node, &db));
        stats.bytes = sum(&survey::used);
        stats.capacity_bytes = sum(&survey::capacity);
        stats.free_bytes = survey::free(&facts);
        Ok(stats)
    }
}
