//! A pool of nodes that sessions share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use larder_protocol::ketama::{Ketama, PoolServer};
use larder_protocol::key::MAX_KEY_LEN;
use larder_store::{
    Capabilities, Catalog, Durability, Error, Ownership, Reach, Result, Session, Stats, Store,
    StoreInfo, StoreUrl,
};

use super::address::{Address, Node};
use super::config::{Connect, Distribution, MemcachedConfig, Protocol};
use super::connection::{Connection, Terms, Wire};
use super::session::MemcachedSession;
use super::survey::{self, Survey};
use super::{SCHEME, managed};
use crate::network::{self, agreed};
use larder_host::managed::Server;
use larder_host::relay::Relay;

/// Settings that are read back, by memcached's own names.
const READ_BACK: [&str; 10] = [
    "maxbytes",
    "maxconns",
    "item_size_max",
    "slab_chunk_max",
    "num_threads",
    "evictions",
    "cas_enabled",
    "growth_factor",
    "chunk_size",
    "lru_maintainer_thread",
];

/// Opens the pool that a URL names, or starts one.
pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config = MemcachedConfig::from_url(url)?;
    let mut nodes = Node::from_url(url)?;
    let mut servers = Vec::new();
    if nodes.is_empty() {
        (servers, nodes) = managed::start(&config)?.into_iter().unzip();
    }
    let mut nodes: Vec<Arc<Node>> = nodes.into_iter().map(Arc::new).collect();
    // Without the relay that may come before them, so that a node which does not answer is told of by what it does.
    let surveys: Vec<Result<Survey>> =
        nodes.iter().map(|node| Survey::of(node, config.timeout.0)).collect();
    let destinations = || Ok(nodes.iter().map(|node| node.destination()).collect());
    let relay = network::relay(SCHEME, config.via, config.timeout.0, destinations)?;
    if let Some(relay) = &relay {
        let through = nodes.iter().zip(relay.addresses());
        nodes = through.map(|(node, address)| Arc::new(node.through(*address))).collect();
    }
    let shared = Shared::new(nodes, servers, relay, &surveys, &config)?;
    let info = shared.describe(url, &surveys, &config);
    Ok(Arc::new(MemcachedStore { shared: Arc::new(shared), info }))
}

/// An open pool.
#[derive(Debug)]
struct MemcachedStore {
    shared: Arc<Shared>,
    info: StoreInfo,
}

/// What sessions share; the servers and the relay that were started for them end with the last of it.
#[derive(Debug)]
pub(super) struct Shared {
    nodes: Vec<Arc<Node>>,
    ring: Ketama,
    terms: Terms,
    has_versions: bool,
    n_connections: AtomicU64,
    relay: Option<Relay>,
    servers: Vec<Server>,
}

impl Shared {
    /// Settles how the pool is spoken to. Some node must answer; one that does not may come back.
    fn new(
        nodes: Vec<Arc<Node>>,
        servers: Vec<Server>,
        relay: Option<Relay>,
        surveys: &[Result<Survey>],
        config: &MemcachedConfig,
    ) -> Result<Self> {
        let told: Vec<&Survey> = surveys.iter().flatten().collect();
        if told.is_empty() {
            return Err(nobody_answers(&nodes, surveys));
        }
        let wire = match config.protocol {
            Protocol::Text => Wire::Text,
            Protocol::Auto if !told.iter().all(|survey| survey.speaks_meta) => Wire::Text,
            Protocol::Auto | Protocol::Meta => Wire::Meta,
        };
        let setting = |survey: &Survey, name: &str| survey.settings.get(name).cloned();
        let limits =
            told.iter().filter_map(|survey| setting(survey, "item_size_max")?.parse().ok());
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
        let has_versions =
            told.iter().all(|survey| setting(survey, "cas_enabled").is_none_or(|on| on == "yes"));
        let n_connections = AtomicU64::new(0);
        Ok(Self { nodes, ring, terms, has_versions, n_connections, relay, servers })
    }

    /// Which node has `key`.
    pub(super) fn node_of(&self, key: &[u8]) -> usize {
        if self.nodes.len() == 1 { 0 } else { self.ring.server(key) }
    }

    /// A connection to each node, not opened yet.
    pub(super) fn connections(&self) -> Vec<Connection> {
        self.nodes.iter().map(|node| Connection::new(Arc::clone(node), self.terms)).collect()
    }

    pub(super) fn count_connection(&self) {
        self.n_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the servers are ours.
    pub(super) fn is_managed(&self) -> bool {
        !self.servers.is_empty()
    }

    /// Whether every node keeps versions.
    pub(super) fn has_versions(&self) -> bool {
        self.has_versions
    }

    /// The smallest item limit of the nodes that tell theirs.
    pub(super) fn max_value_len(&self) -> Option<usize> {
        self.terms.max_value_len
    }

    fn describe(
        &self,
        url: &StoreUrl,
        surveys: &[Result<Survey>],
        config: &MemcachedConfig,
    ) -> StoreInfo {
        let told: Vec<(&Node, &Survey)> = self
            .nodes
            .iter()
            .zip(surveys)
            .filter_map(|(node, survey)| Some((&**node, survey.as_ref().ok()?)))
            .collect();
        let mut settings = BTreeMap::new();
        for name in READ_BACK {
            let values = told.iter().map(|(node, survey)| (*node, survey.settings.get(name)));
            settings.extend(agreed(values).map(|value| (name.to_owned(), value)));
        }
        let shown = |nodes: Vec<&Node>| {
            nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        settings.insert("nodes".into(), shown(self.nodes.iter().map(|node| &**node).collect()));
        let silent = self.nodes.iter().zip(surveys).filter(|(_, survey)| survey.is_err());
        let silent: Vec<&Node> = silent.map(|(node, _)| &**node).collect();
        if !silent.is_empty() {
            settings.insert("not_answering".into(), shown(silent));
        }
        let protocol = if self.terms.wire == Wire::Meta { "meta" } else { "text" };
        settings.insert("protocol".into(), protocol.into());
        let connect = if config.connect == Connect::Session { "session" } else { "operation" };
        settings.insert("connect".into(), connect.into());
        settings.extend(network::relay_settings(config.via, self.relay.as_ref()));
        let versions = told.iter().map(|(node, survey)| (*node, survey.version.as_ref()));
        StoreInfo {
            scheme: SCHEME,
            url: url.to_string(),
            version: agreed(versions),
            settings,
            durability: Durability::Volatile,
            ownership: if self.is_managed() { Ownership::Managed } else { Ownership::External },
            server_pids: match &self.servers[..] {
                [] => told.iter().filter_map(|(_, survey)| survey.pid).collect(),
                servers => servers.iter().map(Server::pid).collect(),
            },
            addresses: match &self.relay {
                Some(relay) => relay.addresses().iter().map(ToString::to_string).collect(),
                None => self.nodes.iter().map(ToString::to_string).collect(),
            },
            ..StoreInfo::default()
        }
    }
}

impl Store for MemcachedStore {
    fn info(&self) -> StoreInfo {
        self.info.clone()
    }

    fn capabilities(&self) -> Capabilities {
        let shared = &self.shared;
        let is_unix = |node: &Arc<Node>| matches!(node.reached_at(), Address::Unix(_));
        let reach = if shared.nodes.iter().all(is_unix) { Reach::Host } else { Reach::Network };
        Capabilities {
            stores: true,
            ttl: true,
            ttl_resolution: Duration::from_secs(1),
            ttl_left: shared.terms.wire == Wire::Meta,
            flags: true,
            add: true,
            version: shared.has_versions,
            append: true,
            incr: true,
            touch: true,
            batch: true,
            groups: false,
            clear: shared.is_managed(),
            persistent: false,
            evicts: self.info.settings.get("evictions").is_none_or(|setting| setting != "off"),
            reach,
            max_key_len: Some(MAX_KEY_LEN),
            max_value_len: shared.max_value_len(),
        }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(MemcachedSession::new(Arc::clone(&self.shared))))
    }

    fn stats(&self) -> Result<Stats> {
        let shared = &self.shared;
        let counters: Vec<BTreeMap<String, String>> = shared
            .nodes
            .iter()
            .map(|node| survey::counters(node, shared.terms.timeout))
            .collect::<Result<_>>()?;
        // A sum is known when every node tells its part.
        let sum = |name: &str| -> Option<u64> {
            counters.iter().map(|node| node.get(name)?.parse::<u64>().ok()).sum()
        };
        let mut stats = Stats::default();
        stats.hits = sum("get_hits");
        stats.misses = sum("get_misses");
        stats.sets = sum("cmd_set");
        stats.deletes = sum("delete_hits");
        stats.evictions = sum("evictions");
        stats.connections = Some(shared.n_connections.load(Ordering::Relaxed));
        stats.items = sum("curr_items");
        stats.bytes = sum("bytes");
        stats.capacity_bytes = sum("limit_maxbytes");
        Ok(stats)
    }
}

/// The error of a pool in which nobody answers: the first node's, and how many more there are.
fn nobody_answers(nodes: &[Arc<Node>], surveys: &[Result<Survey>]) -> Error {
    let what = match surveys.iter().find_map(|survey| survey.as_ref().err()) {
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
