//! The introspection of a node: version, settings, counters.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use larder_store::{Durability, Error, Result};

use super::address::Node;
use super::calls::NodeCalls;
use super::outstanding::NodePeer;
use super::terms::{Terms, Wire};
use crate::network::runs_one_of;
use crate::pipelined::Links;

/// The first version whose meta commands tell the version of each write.
const FIRST_META: [u32; 3] = [1, 6, 13];

/// The first version whose text protocol has `gat`.
const FIRST_GAT: [u32; 3] = [1, 5, 3];

/// The name in `stats` of the store behind a `larder serve`.
const LARDER_STORE: &str = "larder_store";

/// The name in `stats slabs` of the memory in pages of all classes.
const GIVEN_TO_SLABS: &str = "total_malloced";
/// The size of a page; a page in the global pool belongs to no class.
const PAGE: u64 = 1 << 20;

/// The introspection of a node when the store was opened.
#[derive(Debug)]
pub(super) struct Introspection {
    /// The node's version, if it reports one.
    pub(super) version: Option<String>,
    /// The node's settings by memcached's own names; empty where it does not report them.
    pub(super) settings: BTreeMap<String, String>,
    /// The node's process id, when it is a memcached on this machine.
    pub(super) pid: Option<u32>,
    /// Whether the node speaks the meta protocol.
    pub(super) speaks_meta: bool,
    /// Whether the node has `gat` in the text protocol.
    pub(super) has_gat: bool,
    /// The store behind the node, if the node is a `larder serve`.
    pub(super) larder: Option<Larder>,
}

/// The store behind a `larder serve`, as the server names it.
#[derive(Debug, Clone)]
pub(super) struct Larder {
    /// Its URL.
    pub(super) store: String,
    /// The durability of an acknowledged set.
    pub(super) durability: Durability,
}

impl Larder {
    /// Reads the counters of a node; `None` where it is another server.
    fn of(counters: &BTreeMap<String, String>) -> Option<Self> {
        let store = counters.get(LARDER_STORE)?.clone();
        let known = [
            Durability::Unacknowledged,
            Durability::Volatile,
            Durability::OsCache,
            Durability::FsyncBatch,
            Durability::FsyncEach,
        ];
        let reported = counters.get("larder_durability")?;
        let durability = known.into_iter().find(|known| known.as_str() == reported);
        Some(Self { store, durability: durability.unwrap_or_default() })
    }
}

impl Introspection {
    /// Asks a node for everything. Only a node that does not answer at all is an error.
    pub(super) fn of(node: &Arc<Node>, timeout: Duration) -> Result<Self> {
        let control = &mut control(node, timeout);
        let version = optional(link(control).and_then(|mut node| node.version()))?;
        let settings = optional(ask(control, |node| node.stats("settings")))?.unwrap_or_default();
        let counters = optional(ask(control, |node| node.stats("")))?.unwrap_or_default();
        let pid = counters.get("pid").and_then(|pid| pid.parse().ok());
        let pid = pid.filter(|pid| node.is_local() && runs_one_of(*pid, &["memcached", "larder"]));
        let speaks_meta = optional(link(control).and_then(|mut node| node.noop()))?.is_some()
            && version.as_deref().is_none_or(|version| is_from(version, FIRST_META));
        let has_gat = version.as_deref().is_some_and(|version| is_from(version, FIRST_GAT));
        let larder = Larder::of(&counters);
        Ok(Self { version, settings, pid, speaks_meta, has_gat, larder })
    }
}

/// The counters of a node now.
pub(super) fn counters(node: &Arc<Node>, timeout: Duration) -> Result<BTreeMap<String, String>> {
    ask(&mut control(node, timeout), |node| node.stats(""))
}

/// As [`counters`], with the memory that the node has given to slabs.
pub(super) fn counters_with_slabs(
    node: &Arc<Node>,
    timeout: Duration,
) -> Result<BTreeMap<String, String>> {
    let control = &mut control(node, timeout);
    let mut counters = ask(control, |node| node.stats(""))?;
    // A server with fewer commands than memcached may not know the group.
    let slabs = optional(ask(control, |node| node.stats("slabs")))?.unwrap_or_default();
    let given = slabs.into_iter().find(|(name, _)| name == GIVEN_TO_SLABS);
    counters.extend(given);
    Ok(counters)
}

/// Bytes that the pool has given to slabs; `None` where a node has no slabs. A `larder serve` names its capacity there.
pub(super) fn allocated(counters: &[BTreeMap<String, String>]) -> Option<u64> {
    let of_node = |node: &BTreeMap<String, String>| {
        let given = node.get(GIVEN_TO_SLABS).filter(|_| !node.contains_key(LARDER_STORE))?;
        given.parse::<u64>().ok()
    };
    counters.iter().map(of_node).sum()
}

/// Bytes that the pool has for new entries of any size; `None` where a node does not report its part.
///
/// Of memcached, only memory in no slab class counts. A page of a class stays with the class, and its free chunks are of no use to
/// entries of another size. A node that has evicted has no free memory.
pub(super) fn free(counters: &[BTreeMap<String, String>]) -> Option<u64> {
    let of_node = |node: &BTreeMap<String, String>| -> Option<u64> {
        let number = |name: &str| node.get(name)?.parse::<u64>().ok();
        let limit = number("limit_maxbytes")?;
        // A `larder serve` has no slabs, and 0 where its store does not know a figure.
        let is_larder = node.contains_key(LARDER_STORE);
        if is_larder && limit == 0 {
            return None;
        }
        let given = number(if is_larder { "bytes" } else { GIVEN_TO_SLABS })?;
        let returned = number("slab_global_page_pool").unwrap_or(0).saturating_mul(PAGE);
        let free = limit.saturating_sub(given).saturating_add(returned);
        Some(if number("evictions")? > 0 { 0 } else { free })
    };
    let free: Option<Vec<u64>> = counters.iter().map(of_node).collect();
    let free = free?;
    Some(free.iter().min()?.saturating_mul(free.len() as u64))
}

/// Empties a node.
pub(super) fn flush(node: &Arc<Node>, timeout: Duration) -> Result<()> {
    link(&mut control(node, timeout))?.flush_all()
}

/// Whether a node answers.
pub(super) fn answers(node: &Arc<Node>, timeout: Duration) -> bool {
    link(&mut control(node, timeout)).and_then(|mut node| node.version()).is_ok()
}

/// A link beside those of the sessions, which is not counted with them.
fn control(node: &Arc<Node>, timeout: Duration) -> Links<NodePeer> {
    control_by(Wire::Text, node, timeout)
}

/// The same in either protocol.
pub(super) fn control_by(wire: Wire, node: &Arc<Node>, timeout: Duration) -> Links<NodePeer> {
    let terms = Terms { wire, timeout, keep: true, max_value_len: None };
    Links::for_calls([NodePeer::new(node, terms, &Arc::default())], timeout)
}

/// Carries out one operation.
pub(super) fn ask<T>(
    control: &mut Links<NodePeer>,
    operation: impl FnOnce(&mut NodeCalls<'_>) -> Result<T>,
) -> Result<T> {
    operation(&mut link(control)?)
}

/// The link to its only node.
fn link(control: &mut Links<NodePeer>) -> Result<NodeCalls<'_>> {
    NodeCalls::open(control, 0)
}

/// `None` for a request that the server does not know: proxies and MySQL's plugin have fewer commands than memcached.
pub(super) fn optional<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Protocol { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a version is no older than `first`.
fn is_from(version: &str, first: [u32; 3]) -> bool {
    let mut numbers = [0; 3];
    let parts = version.split(|c: char| !c.is_ascii_digit());
    for (number, part) in numbers.iter_mut().zip(parts) {
        *number = part.parse().unwrap_or(0);
    }
    numbers >= first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_no_slab_class_has_is_free() {
        const MIB: u64 = 1 << 20;
        let node = |limit: u64, given: u64, pool: u64, evictions: u64| {
            let counts = [
                ("limit_maxbytes", limit * MIB),
                (GIVEN_TO_SLABS, given * MIB),
                ("slab_global_page_pool", pool),
                ("evictions", evictions),
                // Few bytes in many pages: chunks of one size are free, and no page.
                ("bytes", 1),
            ];
            BTreeMap::from(counts.map(|(name, count)| (name.to_owned(), count.to_string())))
        };
        assert_eq!(free(&[node(16, 0, 0, 0)]), Some(16 * MIB));
        assert_eq!(free(&[node(16, 15, 0, 0)]), Some(MIB));
        assert_eq!(free(&[node(16, 16, 2, 0)]), Some(2 * MIB));
        assert_eq!(free(&[node(16, 17, 0, 0)]), Some(0));
        assert_eq!(free(&[node(16, 10, 0, 1)]), Some(0), "it evicts already");
        // The fullest node of a pool is full first.
        assert_eq!(free(&[node(64, 0, 0, 0), node(16, 15, 0, 0)]), Some(2 * MIB));
        assert_eq!(free(&[node(64, 0, 0, 0), BTreeMap::new()]), None, "one does not tell");
        // A `larder serve` gives all of its memory as that of one slab class.
        let larder = |limit: u64, bytes: u64| {
            let mut node = node(limit, limit, 0, 0);
            node.insert("bytes".into(), (bytes * MIB).to_string());
            node.insert(LARDER_STORE.into(), "memory:".into());
            node
        };
        assert_eq!(free(&[larder(16, 4)]), Some(12 * MIB));
        assert_eq!(free(&[larder(0, 4)]), None, "its store does not know its size");
    }

    #[test]
    fn old_versions_speak_another_meta() {
        for (version, meta) in
            [("1.6.18", true), ("1.6.13-rc1", true), ("1.6.9", false), ("1.4.39", false)]
        {
            assert_eq!(is_from(version, FIRST_META), meta, "{version}");
        }
    }
}
