//! The introspection of a node: version, settings, counters, the slots of its cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use larder_protocol::resp::{ServerError, Value};
use larder_store::{Durability, Result};

use super::address::Node;
use super::dialogue::Dialogue;
use super::errors;
use super::request::add;
use crate::network::runs_one_of;

/// Settings that are read from the servers, by Redis' own names.
pub(super) const READ_BACK: [&str; 10] = [
    "maxmemory",
    "maxmemory-policy",
    "maxclients",
    "save",
    "appendonly",
    "appendfsync",
    "io-threads",
    "proto-max-bulk-len",
    "lazyfree-lazy-user-del",
    "cluster-enabled",
];

/// The names of the programs whose process id a node may report.
const PROGRAMS: [&str; 3] = ["redis-server", "valkey-server", "keydb-server"];

/// The introspection of a node when the store was opened.
#[derive(Debug)]
pub(super) struct Introspection {
    /// The lines of `INFO`, by name; empty where the server forbids `INFO`.
    pub(super) facts: BTreeMap<String, String>,
    /// The node's settings; those that the node lacks or forbids to read are absent.
    pub(super) settings: BTreeMap<String, String>,
    /// The node's process id, when it runs on this machine.
    pub(super) pid: Option<u32>,
}

impl Introspection {
    /// Asks a node for everything. Only a node that does not answer, or refuses the login, is an error.
    pub(super) fn of(node: &Node, timeout: Duration) -> Result<Self> {
        let mut dialogue = Dialogue::open(node, timeout)?;
        let facts = dialogue.facts()?;
        let settings = dialogue.settings()?;
        let pid = facts.get("process_id").and_then(|pid| pid.parse().ok());
        let pid = pid.filter(|pid| node.place().is_local() && runs_one_of(*pid, &PROGRAMS));
        Ok(Self { facts, settings, pid })
    }

    /// The node's version, with the name of a server that is not Redis: Redis' forks also report a Redis version.
    pub(super) fn version(&self) -> Option<String> {
        let fact = |name: &str| self.facts.get(name);
        if let Some(version) = fact("valkey_version") {
            return Some(format!("Valkey {version}"));
        }
        if let Some(version) = fact("dragonfly_version") {
            return Some(format!("Dragonfly {version}"));
        }
        fact("redis_version").cloned()
    }

    /// The durability of an acknowledged write. Snapshots lose every write since the last snapshot.
    pub(super) fn durability(&self) -> Durability {
        let is_logged = match self.setting("appendonly") {
            Some(setting) => setting == "yes",
            None => self.facts.get("aof_enabled").is_some_and(|enabled| enabled == "1"),
        };
        match self.setting("appendfsync").map(String::as_str) {
            _ if !is_logged => Durability::Volatile,
            Some("always") => Durability::FsyncEach,
            Some("everysec") => Durability::FsyncBatch,
            _ => Durability::OsCache,
        }
    }

    /// A setting, or the line of the same name in the node's `INFO`.
    pub(super) fn setting(&self, name: &str) -> Option<&String> {
        self.settings.get(name).or_else(|| self.facts.get(&name.replace('-', "_")))
    }
}

/// Whether a node is one of a cluster.
pub(super) fn is_cluster(node: &Node, timeout: Duration) -> Result<bool> {
    let facts = facts(node, timeout)?;
    Ok(facts.get("cluster_enabled").is_some_and(|enabled| enabled == "1"))
}

/// The number of entries of a database: `db0:keys=1,expires=0,avg_ttl=0`. An empty database has no such
/// line.
pub(super) fn n_items(facts: &BTreeMap<String, String>, db: &str) -> Option<u64> {
    match facts.get(db) {
        Some(line) => line.strip_prefix("keys=")?.split(',').next()?.parse().ok(),
        None => (!facts.is_empty()).then_some(0),
    }
}

/// The bytes that a node has taken, of those that its limit is for: without what waits to be written to its log or to
/// replicas (<https://redis.io/docs/latest/develop/reference/eviction/>).
pub(super) fn used(facts: &BTreeMap<String, String>) -> Option<u64> {
    let bytes = |name: &str| facts.get(name)?.parse::<u64>().ok();
    Some(bytes("used_memory")?.saturating_sub(bytes("mem_not_counted_for_evict").unwrap_or(0)))
}

/// The bytes that a node may take: its limit, or all memory of its machine.
pub(super) fn capacity(facts: &BTreeMap<String, String>) -> Option<u64> {
    let bytes = |name: &str| facts.get(name)?.parse().ok();
    bytes("maxmemory").filter(|limit| *limit > 0).or_else(|| bytes("total_system_memory"))
}

/// Bytes that the nodes have for new entries; `None` where a node does not report its part. A node without a limit has
/// the memory of its machine that it does not use itself, because it does not report how much other programs use.
pub(super) fn free(nodes: &[BTreeMap<String, String>]) -> Option<u64> {
    let of_node = |facts: &BTreeMap<String, String>| {
        let bytes = |name: &str| facts.get(name)?.parse::<u64>().ok();
        let used = used(facts)?;
        Some(match bytes("maxmemory")? {
            0 => bytes("total_system_memory")?
                .saturating_sub(bytes("used_memory_rss").unwrap_or(0).max(used)),
            limit => limit.saturating_sub(used),
        })
    };
    let free: Option<Vec<u64>> = nodes.iter().map(of_node).collect();
    let free = free?;
    Some(free.iter().min()?.saturating_mul(free.len() as u64))
}

/// The lines of a node's `INFO` now.
pub(super) fn facts(node: &Node, timeout: Duration) -> Result<BTreeMap<String, String>> {
    Dialogue::open(node, timeout)?.facts()
}

/// The answer of a node to one command, a refusal being an error. The connection is not counted with those of the sessions.
pub(super) fn ask(
    node: &Node,
    timeout: Duration,
    command: &'static str,
    words: &[&[u8]],
) -> Result<Value> {
    match Dialogue::open(node, timeout)?.ask(command, words)? {
        Value::Error(error) => Err(errors::refused(node, &error)),
        answer => Ok(answer),
    }
}

impl Dialogue {
    /// The lines of the node's `INFO`, by name; empty where the server forbids it.
    fn facts(&mut self) -> Result<BTreeMap<String, String>> {
        let text = match self.ask("INFO", &[b"INFO"])? {
            Value::Bulk(text) => text,
            Value::Error(error) if is_forbidden(&error) => return Ok(BTreeMap::new()),
            Value::Error(error) => return Err(errors::refused(self.node(), &error)),
            other => return Err(errors::unexpected(self.node(), "INFO", &other)),
        };
        let text = String::from_utf8_lossy(&text);
        let pair = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_owned(), value.to_owned()))
        };
        Ok(text.lines().filter_map(pair).collect())
    }

    /// Asks for each setting on its own, because old servers take only one name at a time. A setting that a server does
    /// not know is then absent alone.
    fn settings(&mut self) -> Result<BTreeMap<String, String>> {
        let mut request = Vec::new();
        for name in READ_BACK {
            add(&mut request, &[b"CONFIG", b"GET", name.as_bytes()]);
        }
        self.send(&request)?;
        let mut settings = BTreeMap::new();
        for name in READ_BACK {
            if let Value::Array(pair) = self.receive("CONFIG")?
                && let [_, Value::Bulk(value)] = &pair[..]
            {
                settings.insert(name.into(), String::from_utf8_lossy(value).into_owned());
            }
        }
        Ok(settings)
    }
}

/// Whether a server answered that it lacks a command, or forbids it to this user.
fn is_forbidden(error: &ServerError) -> bool {
    matches!(error.code(), "NOPERM" | "ERR")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn introspection(facts: &[(&str, &str)]) -> Introspection {
        let facts = facts.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Introspection { facts, settings: BTreeMap::new(), pid: None }
    }

    #[test]
    fn durability_follows_from_the_log_of_writes() {
        for (appendonly, appendfsync, durability) in [
            ("no", "always", Durability::Volatile),
            ("yes", "no", Durability::OsCache),
            ("yes", "everysec", Durability::FsyncBatch),
            ("yes", "always", Durability::FsyncEach),
        ] {
            let introspection =
                introspection(&[("appendonly", appendonly), ("appendfsync", appendfsync)]);
            assert_eq!(introspection.durability(), durability, "{appendonly}, {appendfsync}");
        }
        assert_eq!(introspection(&[("aof_enabled", "1")]).durability(), Durability::OsCache);
    }

    #[test]
    fn memory_that_the_limit_or_the_machine_leaves_is_free() {
        let node = |limit: &str, used: &str| {
            let facts = [
                ("maxmemory", limit),
                ("used_memory", used),
                ("used_memory_rss", "300"),
                ("total_system_memory", "1000"),
            ];
            introspection(&facts).facts
        };
        assert_eq!(free(&[node("500", "200")]), Some(300));
        assert_eq!(free(&[node("500", "600")]), Some(0));
        let mut logging = node("500", "600");
        logging.insert("mem_not_counted_for_evict".into(), "150".into());
        assert_eq!((used(&logging), free(&[logging])), (Some(450), Some(50)));
        assert_eq!(free(&[node("0", "200")]), Some(700));
        // The fullest node of a cluster is full first.
        assert_eq!(free(&[node("500", "100"), node("500", "450")]), Some(100));
        assert_eq!(free(&[node("500", "100"), BTreeMap::new()]), None, "one does not tell");
    }

    #[test]
    fn a_fork_is_called_by_its_name() {
        let redis = introspection(&[("redis_version", "7.0.15")]);
        assert_eq!(redis.version().as_deref(), Some("7.0.15"));
        let valkey = introspection(&[("redis_version", "7.2.4"), ("valkey_version", "8.0.1")]);
        assert_eq!(valkey.version().as_deref(), Some("Valkey 8.0.1"));
        assert_eq!(introspection(&[]).version(), None);
    }
}
