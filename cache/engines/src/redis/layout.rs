//! The nodes and slots of a cluster, and the node of each key.

use std::sync::Arc;

use larder_protocol::resp::Value;
use larder_store::Result;

use super::address::{Greeting, Node};
use super::errors;
use super::routing::Doubt;

/// A cluster has this many slots, over which its keys are spread.
pub(super) const N_SLOTS: u16 = 16384;

/// The text in place of the host of a node without a known name.
pub(super) const UNKNOWN_HOST: &str = "?";

/// The nodes, and the slots of each node.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    nodes: Vec<Arc<Node>>,
    /// The place of each slot's node; empty without a cluster.
    owners: Arc<[u16]>,
    /// The node that reported this layout.
    reporter: Arc<Node>,
}

impl Layout {
    /// The layout of one server.
    pub(super) fn single(node: Arc<Node>) -> Self {
        Self { nodes: vec![Arc::clone(&node)], owners: Arc::default(), reporter: node }
    }

    /// The cluster that the answer of `reporter` to `CLUSTER SLOTS` describes. `None` where the answer has another form.
    pub(super) fn read(
        answer: &Value,
        reporter: &Arc<Node>,
        greeting: &Greeting,
    ) -> Option<Result<Self>> {
        let mut layout = Self::single(Arc::clone(reporter));
        layout.nodes.clear();
        let mut owners = vec![0; usize::from(N_SLOTS)];
        let Value::Array(ranges) = answer else { return None };
        for range in ranges {
            let Value::Array(range) = range else { return None };
            let [Value::Integer(first), Value::Integer(last), Value::Array(primary), ..] =
                &range[..]
            else {
                return None;
            };
            let [host, Value::Integer(port), more @ ..] = &primary[..] else { return None };
            let host = match text(host).unwrap_or_default() {
                // The cluster prefers names and the node has no name; it may still have an address.
                UNKNOWN_HOST => address_in(more).unwrap_or(UNKNOWN_HOST),
                host => host,
            };
            let slots =
                usize::try_from(*first).ok()?..usize::try_from(*last).ok()?.checked_add(1)?;
            let place = layout.place_of(host, u16::try_from(*port).ok()?, reporter, greeting);
            let place = match place {
                Ok(place) => place,
                Err(error) => return Some(Err(error)),
            };
            owners.get_mut(slots)?.fill(u16::try_from(place).ok()?);
        }
        layout.owners = owners.into();
        (!ranges.is_empty()).then_some(Ok(layout))
    }

    /// The place of the node at an address, as `reporter` named it: an empty host means the reporter's own. A node that is
    /// not known yet comes behind the others.
    pub(super) fn place_of(
        &mut self,
        host: &str,
        port: u16,
        reporter: &Node,
        greeting: &Greeting,
    ) -> Result<usize> {
        let host = match host {
            "" => reporter.host().unwrap_or_default(),
            UNKNOWN_HOST => return Err(errors::unknown_host(reporter, port)),
            host => host,
        };
        let is_there = |known: &Arc<Node>| known.host_and_port() == Some((host, port));
        if let Some(place) = self.nodes.iter().position(is_there) {
            return Ok(place);
        }
        self.nodes.push(Arc::new(Node::tcp(host, port, greeting)?));
        Ok(self.nodes.len() - 1)
    }

    /// The nodes that have slots, and the nodes to which requests have been redirected since.
    pub(super) fn nodes(&self) -> &[Arc<Node>] {
        &self.nodes
    }

    /// Whether both layouts come from the same answer.
    pub(super) fn is_as_reported(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.owners, &other.owners)
    }

    /// The nodes to ask for a newer layout, in this order: the reporter of this layout, its other nodes, and those of the
    /// URL. The node of `doubt` comes first, or last if it is lost.
    pub(super) fn sources(&self, seeds: &[Arc<Node>], doubt: Doubt) -> Vec<Arc<Node>> {
        let mut sources: Vec<Arc<Node>> = Vec::new();
        for node in [&self.reporter].into_iter().chain(&self.nodes).chain(seeds) {
            if !sources.iter().any(|known| known.place() == node.place()) {
                sources.push(Arc::clone(node));
            }
        }
        let doubted = &self.nodes[doubt.node];
        sources.sort_by_key(|node| match (node.place() == doubted.place(), doubt.is_lost) {
            (true, false) => 0,
            (false, _) => 1,
            (true, true) => 2,
        });
        sources
    }

    /// The nodes that have slots, or the only one.
    pub(super) fn owners(&self) -> Vec<Arc<Node>> {
        let is_owner = |place: usize| {
            self.owners.is_empty() || self.owners.iter().any(|owner| usize::from(*owner) == place)
        };
        let owners = self.nodes.iter().enumerate().filter(|(place, _)| is_owner(*place));
        owners.map(|(_, node)| Arc::clone(node)).collect()
    }

    /// Whether the nodes are a cluster.
    pub(super) fn is_cluster(&self) -> bool {
        !self.owners.is_empty()
    }

    /// The slot of `key`; 0 without a cluster.
    pub(super) fn slot_of(&self, key: &[u8]) -> u16 {
        if self.owners.is_empty() { 0 } else { crc16(hashed_part(key)) % N_SLOTS }
    }

    /// The place of the node that has this slot.
    pub(super) fn owner_of(&self, slot: u16) -> usize {
        self.owners.get(usize::from(slot)).map_or(0, |place| usize::from(*place))
    }
}

/// The address of a node in the fields behind its port: its id, and a list of names and values.
fn address_in(more: &[Value]) -> Option<&str> {
    let [_, Value::Array(pairs), ..] = more else { return None };
    let mut pairs = pairs.chunks_exact(2);
    pairs.find(|pair| text(&pair[0]) == Some("ip")).and_then(|pair| text(&pair[1]))
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Bulk(text) => str::from_utf8(text).ok(),
        _ => None,
    }
}

/// The hashed part of a key: the bytes between its first `{` and the next `}`, if there are any.
fn hashed_part(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|byte| *byte == b'{') else { return key };
    let tag = &key[open + 1..];
    match tag.iter().position(|byte| *byte == b'}') {
        None | Some(0) => key,
        Some(close) => &tag[..close],
    }
}

/// CRC-16/XMODEM, by which the cluster specification spreads keys over slots.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        let index = (crc >> 8) ^ u16::from(*byte);
        (crc << 8) ^ TABLE[usize::from(index)]
    })
}

/// The remainder of every byte.
const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte: u16 = 0;
    while byte < 256 {
        let mut crc = byte << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::config::RedisConfig;
    use larder_store::StoreUrl;

    #[test]
    fn slots_are_those_of_the_cluster_specification() {
        // The check value of the specification, and answers of `CLUSTER KEYSLOT`.
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, part) in [
            ("{user1000}.following", "user1000"),
            ("foo{}{bar}", "foo{}{bar}"),
            ("foo{{bar}}zap", "{bar"),
            ("foo{bar}{zap}", "bar"),
            ("foo{bar", "foo{bar"),
        ] {
            assert_eq!(hashed_part(key.as_bytes()), part.as_bytes(), "{key}");
        }
    }

    fn bulk(text: &str) -> Value {
        Value::Bulk(text.into())
    }

    /// A range of slots, and the fields of its node behind the port.
    fn range(first: i64, last: i64, host: Value, more: &[Value]) -> Value {
        let primary = [&[host, Value::Integer(7000), bulk("id")], more].concat();
        Value::Array(vec![Value::Integer(first), Value::Integer(last), Value::Array(primary)])
    }

    fn reporter() -> (Arc<Node>, Greeting) {
        let url = StoreUrl::parse("redis://h1:7000").unwrap();
        let greeting = Greeting::from_url(&url, &RedisConfig::from_url(&url).unwrap()).unwrap();
        (Arc::new(Node::tcp("h1", 7000, &greeting).unwrap()), greeting)
    }

    fn names(nodes: &[Arc<Node>]) -> Vec<String> {
        nodes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_layout_has_the_nodes_that_have_slots() {
        let (node, greeting) = reporter();
        let read = |answer: &Value| Layout::read(answer, &node, &greeting);
        let slots = Value::Array(vec![
            range(0, 8191, Value::Nil, &[]),
            range(8192, 16382, bulk("h2"), &[]),
            range(16383, 16383, Value::Nil, &[]),
        ]);
        let mut layout = read(&slots).unwrap().unwrap();
        assert_eq!(names(layout.nodes()), ["h1:7000", "h2:7000"]);
        assert_eq!([0, 8191, 8192, 16383].map(|slot| layout.owner_of(slot)), [0, 0, 1, 0]);
        let reported = layout.clone();
        assert_eq!(layout.place_of("h3", 7000, &node, &greeting).unwrap(), 2);
        assert!(
            layout.is_as_reported(&reported) && names(&layout.owners()) == ["h1:7000", "h2:7000"]
        );
        let moved = read(&Value::Array(vec![range(0, 16383, bulk("h2"), &[])])).unwrap().unwrap();
        assert_eq!((names(moved.nodes()), moved.owner_of(0)), (vec!["h2:7000".into()], 0));
        assert!(!moved.is_as_reported(&reported));
        let beyond = Value::Array(vec![range(0, 16384, bulk("h2"), &[])]);
        let wrong = [Value::Nil, Value::Array(Vec::new()), Value::Array(vec![Value::Integer(1)])];
        for wrong in wrong.iter().chain([&beyond]) {
            assert!(read(wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn a_node_without_a_name_is_found_by_its_address() {
        let (node, greeting) = reporter();
        let read = |more: &[Value]| {
            let slots = Value::Array(vec![range(0, 16383, bulk(UNKNOWN_HOST), more)]);
            Layout::read(&slots, &node, &greeting).unwrap()
        };
        let metadata = Value::Array(["hostname", "", "ip", "192.0.2.7"].map(bulk).to_vec());
        assert_eq!(names(read(&[metadata]).unwrap().nodes()), ["192.0.2.7:7000"]);
        for more in [&[][..], &[Value::Array(vec![bulk("ip")])]] {
            let error = read(more).unwrap_err().to_string();
            assert!(error.contains("h1:7000 does not know the host"), "{error}");
        }
    }

    #[test]
    fn the_node_that_knows_best_is_asked_first_and_a_lost_node_last() {
        let (node, greeting) = reporter();
        let half = |first, last, host| range(first, last, bulk(host), &[]);
        let slots =
            Value::Array(vec![half(0, 99, "h2"), half(100, 199, "h1"), half(200, 16383, "h3")]);
        let layout = Layout::read(&slots, &node, &greeting).unwrap().unwrap();
        let seeds = ["h1", "h4"].map(|host| Arc::new(Node::tcp(host, 7000, &greeting).unwrap()));
        for (doubt, order) in [
            (Doubt { node: 0, is_lost: true }, ["h1", "h3", "h4", "h2"]),
            (Doubt { node: 1, is_lost: true }, ["h2", "h3", "h4", "h1"]),
            (Doubt::moved(2), ["h3", "h1", "h2", "h4"]),
        ] {
            let asked = names(&layout.sources(&seeds, doubt));
            assert_eq!(asked, order.map(|host| format!("{host}:7000")), "{doubt:?}");
        }
    }
}
