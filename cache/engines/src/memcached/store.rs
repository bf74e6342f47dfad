//! A pool of nodes that sessions share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use larder_protocol::ketama::{Ketama, PoolServer};
use larder_store::{
    Capabilities, Catalog, Error, FileSystem, Gate, Ownership, Reach, Result, Session, Stats,
    Store, StoreInfo, StoreUrl, Waits,
};

use super::abilities::Abilities;
use super::address::Node;
use super::config::{Connect, Distribution, MemcachedConfig, MemcachedProgram, Protocol};
use super::introspection::{self, Introspection};
use super::managed::Started;
use super::outstanding::NodePeer;
use super::session::MemcachedSession;
use super::terms::{Terms, Wire};
use super::{SCHEME, innodb, managed};
use crate::network::{self, agreed};
use larder_host::delay_proxy::DelayProxy;
use larder_host::destination::Destination;
use larder_host::disk;
use larder_host::managed::{Server, end_all};
use larder_host::place::Place;
use larder_store::counters::{Counters, Requests};

/// Settings that are read from the servers, by memcached's own names and those of `larder serve`.
const READ_BACK: [&str; 12] = [
    "maxbytes",
    "maxconns",
    "item_size_max",
    "slab_chunk_max",
    "num_threads",
    "evictions",
    "cas_enabled",
    "growth_factor",
    "chunk_size",
    "ext_item_size",
    "lru_maintainer_thread",
    "assistants",
];

/// The settings among them that mean something in MySQL's plugin.
const READ_BACK_OF_INNODB: [&str; 3] = ["maxconns", "num_threads", "cas_enabled"];

/// Opens the pool that a URL names, or starts one.
pub(super) fn open(url: &StoreUrl, catalog: &Catalog) -> Result<Arc<dyn Store>> {
    let config = MemcachedConfig::from_url(url, catalog)?;
    let named = Node::from_url(url, config.encryption()?.as_ref())?;
    let mut started = if named.is_empty() {
        managed::start(&config, url, catalog)?
    } else {
        Started { nodes: named, ..Started::default() }
    };
    let shared = |nodes: Vec<Node>| -> Vec<Arc<Node>> { nodes.into_iter().map(Arc::new).collect() };
    let mut nodes = shared(std::mem::take(&mut started.nodes));
    let behind = shared(std::mem::take(&mut started.behind));
    // The introspections bypass the relay, so that an error describes the failure of the node itself.
    let asked = if behind.is_empty() { &nodes } else { &behind };
    let introspections: Vec<Result<Introspection>> =
        asked.iter().map(|node| Introspection::of(node, config.timeout.0)).collect();
    let destinations = || Ok(nodes.iter().map(|node| node.destination().clone()).collect());
    // A new connection takes two round trips to its first answer, and the greeting of TLS takes one more.
    let round_trips = if config.is_encrypted() { 3 } else { 2 };
    let (via, timeout) = (config.via, config.timeout.0);
    let delay_proxy = network::delay_proxy_for(SCHEME, via, timeout, round_trips, destinations)?;
    if let Some(delay_proxy) = &delay_proxy {
        let through = nodes.iter().zip(delay_proxy.addresses());
        nodes = through.map(|(node, address)| Arc::new(node.through(*address))).collect();
    }
    let shared = Shared::new(nodes, behind, &mut started, delay_proxy, &introspections, &config)?;
    let info = shared.describe(url, &introspections, &config, started);
    Ok(Arc::new(MemcachedStore { shared: Arc::new(shared), info }))
}

/// An open pool.
#[derive(Debug)]
struct MemcachedStore {
    shared: Arc<Shared>,
    info: StoreInfo,
}

/// The state that sessions share; the started servers and the relay end with the last session.
#[derive(Debug)]
pub(super) struct Shared {
    nodes: Vec<Arc<Node>>,
    /// The servers behind a proxy: introspection and the flush go to them, and not to the proxy.
    behind: Vec<Arc<Node>>,
    abilities: Abilities,
    ring: Ketama,
    terms: Terms,
    has_versions: bool,
    n_connections: Arc<AtomicU64>,
    pub(super) requests: Counters<Requests>,
    /// The gates before the nodes, in their order, once somebody has put them there.
    gates: OnceLock<Vec<Arc<dyn Gate>>>,
    delay_proxy: Option<DelayProxy>,
    servers: Vec<Server>,
    /// Directories that vanish after the servers have ended.
    _places: Vec<Place>,
}

impl Shared {
    /// Decides how sessions talk to the pool. Some node must answer; a silent node may come back.
    fn new(
        nodes: Vec<Arc<Node>>,
        behind: Vec<Arc<Node>>,
        started: &mut Started,
        delay_proxy: Option<DelayProxy>,
        introspections: &[Result<Introspection>],
        config: &MemcachedConfig,
    ) -> Result<Self> {
        let answering: Vec<&Introspection> = introspections.iter().flatten().collect();
        if answering.is_empty() {
            return Err(nobody_answers(&nodes, introspections));
        }
        let wire = match config.protocol {
            Protocol::Text => Wire::Text,
            _ if !config.server.may_speak_meta() => Wire::Text,
            Protocol::Auto if !answering.iter().all(|introspection| introspection.speaks_meta) => {
                Wire::Text
            }
            // By meta, a TTL that the store does not know would read as none.
            Protocol::Auto
                if started.store_abilities.is_some_and(|it| it.stores && !it.ttl_left) =>
            {
                Wire::Text
            }
            Protocol::Auto | Protocol::Meta => Wire::Meta,
        };
        let setting =
            |introspection: &Introspection, name: &str| introspection.settings.get(name).cloned();
        let limits = answering
            .iter()
            .filter_map(|introspection| setting(introspection, "item_size_max")?.parse().ok());
        let terms = Terms {
            wire,
            timeout: config.timeout.0,
            keep: config.connect == Connect::Session,
            max_value_len: limits.min(),
        };
        let pool: Vec<PoolServer<'_>> = nodes
            .iter()
            .map(|node| PoolServer { host: &node.pool_host, port: node.pool_port, weight: 1 })
            .collect();
        let ring = match config.distribution {
            Distribution::Ketama => Ketama::weighted(&pool),
            Distribution::KetamaUnweighted => Ketama::unweighted(&pool),
        };
        // The text protocol tells the version of an entry to a reader, but not to the writer of the entry.
        let has_versions = wire == Wire::Meta
            && answering.iter().all(|introspection| {
                introspection.speaks_meta
                    && setting(introspection, "cas_enabled").is_none_or(|on| on == "yes")
            });
        let n_connections = Arc::default();
        let mut abilities = Abilities::of(config);
        if answering.iter().any(|introspection| introspection.larder.is_some()) {
            abilities = abilities.of_larder(started.store_abilities);
        }
        abilities.get_and_touch &=
            wire == Wire::Meta || answering.iter().all(|introspection| introspection.has_gat);
        Ok(Self {
            nodes,
            behind,
            abilities,
            ring,
            terms,
            has_versions,
            n_connections,
            requests: Counters::default(),
            gates: OnceLock::new(),
            delay_proxy,
            servers: std::mem::take(&mut started.servers),
            _places: std::mem::take(&mut started.places),
        })
    }

    /// The index of the node that has `key`.
    pub(super) fn node_of(&self, key: &[u8]) -> usize {
        if self.nodes.len() == 1 { 0 } else { self.ring.server(key) }
    }

    /// The gate before a node, where the pool has gates.
    #[inline]
    pub(super) fn gate(&self, node: usize) -> Option<&dyn Gate> {
        self.gates.get().and_then(|gates| gates.get(node)).map(|gate| &**gate)
    }

    /// Whether there are gates before the nodes.
    pub(super) fn has_gates(&self) -> bool {
        self.gates.get().is_some()
    }

    /// The other ends of the links of a session.
    pub(super) fn peers(&self) -> impl Iterator<Item = NodePeer> {
        self.nodes.iter().map(|node| NodePeer::new(node, self.terms, &self.n_connections))
    }

    /// The nodes to which sessions connect.
    pub(super) fn nodes(&self) -> &[Arc<Node>] {
        &self.nodes
    }

    /// The terms of every conversation with a node.
    pub(super) fn terms(&self) -> Terms {
        self.terms
    }

    /// Whether requests are sent without waiting for the answers to those before.
    pub(super) fn has_pipeline(&self) -> bool {
        self.terms.keep && self.abilities.pipeline
    }

    /// Whether Larder started the servers.
    pub(super) fn is_managed(&self) -> bool {
        !self.servers.is_empty()
    }

    /// Whether every node keeps versions, and tells them.
    pub(super) fn has_versions(&self) -> bool {
        self.has_versions
    }

    /// Whether a lease has a version, by which its holder fills the key.
    pub(super) fn has_leases(&self) -> bool {
        self.has_versions && self.abilities.leases
    }

    /// Whether sessions speak the meta protocol.
    pub(super) fn speaks_meta(&self) -> bool {
        self.terms.wire == Wire::Meta
    }

    /// The abilities of the servers.
    pub(super) fn abilities(&self) -> Abilities {
        self.abilities
    }

    /// Whether sessions connect to nodes that do not have the entries themselves.
    pub(super) fn is_behind_proxy(&self) -> bool {
        !self.behind.is_empty()
    }

    /// The nodes that have the entries.
    fn holders(&self) -> &[Arc<Node>] {
        if self.is_behind_proxy() { &self.behind } else { &self.nodes }
    }

    /// Empties the servers behind a proxy.
    pub(super) fn flush_behind(&self) -> Result<()> {
        self.behind.iter().try_for_each(|node| introspection::flush(node, self.terms.timeout))
    }

    /// The smallest item limit that the nodes report.
    pub(super) fn max_value_len(&self) -> Option<usize> {
        self.terms.max_value_len
    }

    fn describe(
        &self,
        url: &StoreUrl,
        introspections: &[Result<Introspection>],
        config: &MemcachedConfig,
        started: Started,
    ) -> StoreInfo {
        let answering: Vec<(&Node, &Introspection)> = self
            .holders()
            .iter()
            .zip(introspections)
            .filter_map(|(node, introspection)| Some((&**node, introspection.as_ref().ok()?)))
            .collect();
        let mut settings = BTreeMap::new();
        let read_back = match config.server {
            MemcachedProgram::Innodb => &READ_BACK_OF_INNODB[..],
            MemcachedProgram::Memcached
            | MemcachedProgram::Twemproxy
            | MemcachedProgram::Larder => &READ_BACK,
        };
        for name in read_back.iter().copied() {
            let values = answering
                .iter()
                .map(|(node, introspection)| (*node, introspection.settings.get(name)));
            settings.extend(agreed(values).map(|value| (name.to_owned(), value)));
        }
        let stores = answering.iter().map(|(node, introspection)| {
            (*node, introspection.larder.as_ref().map(|larder| larder.store.as_str()))
        });
        settings.extend(agreed(stores).map(|store| ("larder_store".to_owned(), store)));
        let shown = |nodes: Vec<&Node>| {
            nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        settings.insert("nodes".into(), shown(self.nodes.iter().map(|node| &**node).collect()));
        if self.is_behind_proxy() {
            let behind = self.behind.iter().map(|node| &**node).collect();
            settings.insert("behind".into(), shown(behind));
        }
        let own = started.settings.into_iter().map(|(name, value)| (name.to_owned(), value));
        settings.extend(own);
        let silent = self
            .holders()
            .iter()
            .zip(introspections)
            .filter(|(_, introspection)| introspection.is_err());
        let silent: Vec<&Node> = silent.map(|(node, _)| &**node).collect();
        if !silent.is_empty() {
            settings.insert("not_answering".into(), shown(silent));
        }
        let protocol = if self.terms.wire == Wire::Meta { "meta" } else { "text" };
        settings.insert("protocol".into(), protocol.into());
        let is_encrypted = self.nodes.iter().any(|node| node.is_encrypted());
        settings.insert("tls".into(), if is_encrypted { "on" } else { "off" }.into());
        let connect = if config.connect == Connect::Session { "session" } else { "operation" };
        settings.insert("connect".into(), connect.into());
        settings.extend(network::delay_proxy_settings(config.via, self.delay_proxy.as_ref()));
        let versions =
            answering.iter().map(|(node, introspection)| (*node, introspection.version.as_ref()));
        let version = agreed(versions);
        let version = match (version, started.version) {
            (Some(number), Some(words)) if config.server == MemcachedProgram::Innodb => {
                Some(format!("{number} {words}"))
            }
            (Some(number), Some(words)) => Some(format!("{words}, memcached {number}")),
            (version, _) => version,
        };
        let file_system = started.data.first().and_then(|data| disk::file_system(data).ok());
        let is_memory = file_system.as_ref().is_some_and(FileSystem::is_memory);
        StoreInfo {
            scheme: SCHEME,
            url: url.to_string(),
            version,
            settings,
            durability: match config.server {
                MemcachedProgram::Innodb => innodb::durability(config, is_memory),
                // The least of all nodes; memcached keeps nothing beyond its end.
                _ => answering
                    .iter()
                    .map(|(_, introspection)| {
                        introspection.larder.as_ref().map(|larder| larder.durability)
                    })
                    .map(Option::unwrap_or_default)
                    .min()
                    .unwrap_or_default(),
            },
            data_paths: started.data,
            file_system,
            ownership: if self.is_managed() { Ownership::Managed } else { Ownership::External },
            server_pids: match &self.servers[..] {
                [] => answering.iter().filter_map(|(_, introspection)| introspection.pid).collect(),
                servers => servers.iter().map(Server::pid).collect(),
            },
            addresses: match &self.delay_proxy {
                Some(delay_proxy) => {
                    delay_proxy.addresses().iter().map(ToString::to_string).collect()
                }
                None => self.nodes.iter().map(ToString::to_string).collect(),
            },
        }
    }
}

impl Store for MemcachedStore {
    fn info(&self) -> StoreInfo {
        self.info.clone()
    }

    fn capabilities(&self) -> Capabilities {
        let shared = &self.shared;
        let able = shared.abilities;
        let is_unix = |node: &Arc<Node>| matches!(node.reached_at(), Destination::Unix(_));
        let reach = if shared.nodes.iter().all(is_unix) { Reach::Host } else { Reach::Network };
        Capabilities {
            stores: able.stores,
            ttl: able.ttl,
            ttl_resolution: Duration::from_secs(1),
            ttl_restarts: 0,
            ttl_left: shared.terms.wire == Wire::Meta && able.ttl_left,
            flags: able.flags,
            add: true,
            version: shared.has_versions,
            append: able.append,
            incr: able.incr,
            touch: able.touch,
            get_and_touch: able.get_and_touch,
            batch: true,
            batch_write: true,
            groups: false,
            leases: shared.has_leases(),
            tokens: false,
            pipeline: shared.has_pipeline(),
            namespaces: false,
            forks: false,
            clear: shared.is_managed(),
            persistent: false,
            evicts: able.evicts
                && self.info.settings.get("evictions").is_none_or(|setting| setting != "off"),
            reads_wait: Waits::Network,
            writes_wait: Waits::Network,
            reach,
            max_key_len: Some(able.max_key_len),
            max_value_len: shared.max_value_len().filter(|_| able.tells_limit),
        }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(MemcachedSession::new(Arc::clone(&self.shared))))
    }

    fn gate_servers(&self, make: &mut dyn FnMut(&str) -> Arc<dyn Gate>) -> bool {
        let nodes = self.shared.nodes();
        if nodes.len() < 2 {
            return false;
        }
        let gates = nodes.iter().map(|node| make(&node.to_string())).collect();
        self.shared.gates.set(gates).is_ok()
    }

    fn close(&self) -> Result<()> {
        end_all(&self.shared.servers)
    }

    /// The statistics of servers that Larder started have the memory in slabs too, which takes a second request.
    fn stats(&self) -> Result<Stats> {
        if !self.shared.is_managed() {
            return Ok(self.stats_of(&self.ask(introspection::counters)?));
        }
        let counters = self.ask(introspection::counters_with_slabs)?;
        let mut stats = self.stats_of(&counters);
        stats.allocated_bytes = introspection::allocated(&counters);
        Ok(stats)
    }

    /// The statistics of external nodes, with their free memory, which takes a second request.
    fn external_stats(&self) -> Result<Vec<Stats>> {
        if self.shared.is_managed() {
            return Ok(Vec::new());
        }
        let counters = self.ask(introspection::counters_with_slabs)?;
        let mut stats = self.stats_of(&counters);
        if self.shared.abilities.counts_evictions {
            stats.free_bytes = introspection::free(&counters);
        }
        Ok(vec![stats])
    }
}

/// The settings of a node, by memcached's own names.
type NodeSettings = BTreeMap<String, String>;

impl MemcachedStore {
    /// Asks all nodes that have entries.
    fn ask(
        &self,
        question: fn(&Arc<Node>, Duration) -> Result<NodeSettings>,
    ) -> Result<Vec<NodeSettings>> {
        let timeout = self.shared.terms.timeout;
        self.shared.holders().iter().map(|node| question(node, timeout)).collect()
    }

    fn stats_of(&self, counters: &[NodeSettings]) -> Stats {
        let (shared, able) = (&self.shared, self.shared.abilities);
        // A sum is known when every node reports its part.
        let sum = |name: &str| -> Option<u64> {
            counters.iter().map(|node| node.get(name)?.parse::<u64>().ok()).sum()
        };
        let mut stats = Stats::default();
        stats.hits = sum("get_hits");
        stats.misses = sum("get_misses");
        stats.sets = sum("cmd_set");
        stats.deletes = sum("delete_hits");
        stats.connections = Some(shared.n_connections.load(Ordering::Relaxed));
        stats.requests_sent = Some(shared.requests.sent());
        stats.items = sum("curr_items").filter(|_| able.counts_items);
        stats.bytes = sum("bytes").filter(|_| able.counts_bytes);
        stats.evictions = sum("evictions").filter(|_| able.counts_evictions);
        // A `larder serve` says 0 where its store does not know its capacity.
        let capacity = sum("limit_maxbytes").filter(|capacity| *capacity > 0);
        stats.capacity_bytes = capacity.filter(|_| able.counts_evictions);
        stats
    }
}

/// The error of a pool in which no node answers: the first node's error, and the number of nodes.
fn nobody_answers(nodes: &[Arc<Node>], introspections: &[Result<Introspection>]) -> Error {
    let what = match introspections.iter().find_map(|introspection| introspection.as_ref().err()) {
        Some(Error::Unavailable { what, .. }) => what.clone(),
        Some(error) => error.to_string(),
        None => "no node".into(),
    };
    let what = match nodes.len() {
        0 | 1 => what,
        n => format!("none of {n} nodes answers; the first: {what}"),
    };
    Error::Unavailable { engine: SCHEME, what, source: None }
}
