//! The open server or cluster, shared by its sessions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use larder_protocol::MAX_VALUE_LEN;
use larder_store::{
    Capabilities, Catalog, Channel, ChannelKind, Durability, Error, Ownership, Reach, Result,
    Session, Stats, Store, StoreInfo, StoreUrl, Waits,
};

use super::address::{Greeting, Node};
use super::channel::RedisChannel;
use super::config::{Connect, RedisConfig};
use super::introspection::{self, Introspection};
use super::layout::Layout;
use super::session::RedisSession;
use super::shared::{Shared, Terms, ask_layout};
use super::{SCHEME, managed};
use crate::network::{self, agreed};
use larder_host::disk;
use larder_host::managed::{Server, end_all};
use larder_store::counters::Counters;

/// The longest key or value where a server does not report its `proto-max-bulk-len`: the default.
const LONGEST_STRING: usize = 512 << 20;

/// Opens the server or the cluster that a URL names, or starts one.
pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config = RedisConfig::from_url(url)?;
    let mut greeting = Greeting::from_url(url, &config)?;
    let mut seeds = Node::from_url(url, &config, &greeting)?;
    let mut servers = Vec::new();
    if seeds.is_empty() {
        let started = managed::start(url, &config, greeting)?;
        (servers, seeds, greeting) = (started.servers, started.nodes, started.greeting);
    }
    let mut seeds: Vec<Arc<Node>> = seeds.into_iter().map(Arc::new).collect();
    let timeout = config.timeout.0;
    // The introspections bypass the relay, so that an error describes the failure of the node itself.
    let mut layout = find_layout(&seeds, &greeting, timeout)?;
    let mut nodes = layout.owners();
    let introspections: Vec<Result<Introspection>> =
        nodes.iter().map(|node| Introspection::of(node, timeout)).collect();
    let known = known(&seeds, &nodes);
    let destinations = || known.iter().map(|node| node.place().destination(SCHEME)).collect();
    let delay_proxy = network::delay_proxy(SCHEME, config.via, timeout, destinations)?;
    if let Some(delay_proxy) = &delay_proxy {
        greeting = greeting.through(&known, delay_proxy);
        seeds = seeds
            .iter()
            .map(|node| node.greeted(&greeting).map(Arc::new))
            .collect::<Result<_>>()?;
        layout = find_layout(&seeds, &greeting, timeout)?;
        nodes = layout.owners();
    }
    let shared = Shared {
        terms: Terms { timeout, keep: config.connect == Connect::Session },
        longest_string: longest_string(&introspections),
        reports_ttl: config.ttl_left,
        layout: Mutex::new(Arc::new(layout)),
        seeds,
        greeting,
        n_connections: AtomicU64::new(0),
        requests: Counters::default(),
        delay_proxy,
        servers,
    };
    let info = describe(&shared, url, &config, &nodes, &introspections);
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
        match introspection::is_cluster(seed, timeout) {
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

/// The smallest limit of the nodes.
fn longest_string(introspections: &[Result<Introspection>]) -> usize {
    let answering = introspections.iter().flatten();
    let limits = answering
        .filter_map(|introspection| introspection.setting("proto-max-bulk-len")?.parse().ok());
    // Longer answers are not read.
    limits.min().unwrap_or(LONGEST_STRING).min(MAX_VALUE_LEN)
}

/// An open server or cluster.
#[derive(Debug)]
struct RedisStore {
    shared: Arc<Shared>,
    info: StoreInfo,
}

fn describe(
    shared: &Shared,
    url: &StoreUrl,
    config: &RedisConfig,
    nodes: &[Arc<Node>],
    introspections: &[Result<Introspection>],
) -> StoreInfo {
    let answering: Vec<(&Node, &Introspection)> = nodes
        .iter()
        .zip(introspections)
        .filter_map(|(node, introspection)| Some((&**node, introspection.as_ref().ok()?)))
        .collect();
    let mut settings = BTreeMap::new();
    for name in introspection::READ_BACK {
        let values =
            answering.iter().map(|(node, introspection)| (*node, introspection.setting(name)));
        settings.extend(agreed(values).map(|value| (name.to_owned(), value)));
    }
    let shown =
        |nodes: Vec<&Node>| nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    settings.insert("nodes".into(), shown(nodes.iter().map(|node| &**node).collect()));
    let silent =
        nodes.iter().zip(introspections).filter(|(_, introspection)| introspection.is_err());
    let silent: Vec<&Node> = silent.map(|(node, _)| &**node).collect();
    if !silent.is_empty() {
        settings.insert("not_answering".into(), shown(silent));
    }
    let is_encrypted = nodes.iter().any(|node| node.is_encrypted());
    settings.insert("tls".into(), if is_encrypted { "on" } else { "off" }.into());
    settings.insert("db".into(), shared.greeting.db().to_string());
    let connect = if shared.terms.keep { "session" } else { "operation" };
    settings.insert("connect".into(), connect.into());
    settings.extend(network::delay_proxy_settings(config.via, shared.delay_proxy.as_ref()));
    let versions = answering.iter().map(|(node, introspection)| (*node, introspection.version()));
    let is_logged = answering
        .iter()
        .any(|(_, introspection)| introspection.durability() > Durability::Volatile);
    let logged = shared.servers.iter().filter(|_| is_logged);
    let data_paths: Vec<_> = logged.filter_map(managed::log).collect();
    StoreInfo {
        scheme: SCHEME,
        url: url.to_string(),
        version: agreed(versions),
        settings,
        durability: answering
            .iter()
            .map(|(_, introspection)| introspection.durability())
            .min()
            .unwrap_or_default(),
        ownership: if shared.is_managed() { Ownership::Managed } else { Ownership::External },
        server_pids: match &shared.servers[..] {
            [] => answering.iter().filter_map(|(_, introspection)| introspection.pid).collect(),
            servers => servers.iter().map(Server::pid).collect(),
        },
        addresses: nodes.iter().map(|node| node.reached_at().to_string()).collect(),
        file_system: data_paths.first().and_then(|path| disk::file_system(path).ok()),
        data_paths,
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
        let is_host = shared.delay_proxy.is_none() && shared.layout().nodes().iter().all(is_unix);
        Capabilities {
            stores: true,
            ttl: true,
            ttl_resolution: Duration::from_millis(1),
            ttl_restarts: 0,
            ttl_left: shared.reports_ttl(),
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
            .map(|node| introspection::facts(node, shared.terms.timeout))
            .collect::<Result<_>>()?;
        // A sum is known when every node reports its part.
        let sum = |of: &dyn Fn(&BTreeMap<String, String>) -> Option<u64>| -> Option<u64> {
            facts.iter().map(of).sum()
        };
        let fact = |name: &'static str| sum(&|node| node.get(name)?.parse().ok());
        let db = format!("db{}", shared.greeting.db());
        let mut stats = Stats::default();
        // A server counts the look at a TTL as one more hit.
        stats.hits = fact("keyspace_hits").filter(|_| !shared.reports_ttl());
        stats.misses = fact("keyspace_misses");
        stats.evictions = fact("evicted_keys");
        stats.expirations = fact("expired_keys");
        stats.connections = Some(shared.n_connections.load(Ordering::Relaxed));
        stats.requests_sent = Some(shared.requests.sent());
        stats.items = sum(&|node| introspection::n_items(node, &db));
        stats.bytes = sum(&introspection::used);
        stats.capacity_bytes = sum(&introspection::capacity);
        stats.free_bytes = introspection::free(&facts);
        Ok(stats)
    }
}
