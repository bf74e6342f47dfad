//! Which node has a key.

use std::sync::Arc;

use larder_store::Result;
use redis::Value;

use super::address::{Greeting, Node};

/// A cluster has this many slots, over which its keys are spread.
pub(super) const N_SLOTS: u16 = 16384;

/// The nodes, and which of them has which slots. A node keeps its place in every later layout.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    nodes: Vec<Arc<Node>>,
    /// The place of each slot's node; empty where there is no cluster.
    owners: Vec<u16>,
}

impl Layout {
    /// One server.
    pub(super) fn single(node: Arc<Node>) -> Self {
        Self { nodes: vec![node], owners: Vec::new() }
    }

    /// The cluster that the answer of `node` to `CLUSTER SLOTS` describes, whose nodes come behind those known so
    /// far. `None` where the answer is another.
    pub(super) fn read(
        known: Vec<Arc<Node>>,
        answer: &Value,
        node: &Node,
        greeting: &Greeting,
    ) -> Option<Result<Self>> {
        let mut layout = Self { nodes: known, owners: vec![0; usize::from(N_SLOTS)] };
        let Value::Array(ranges) = answer else { return None };
        for range in ranges {
            let Value::Array(range) = range else { return None };
            let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = &range[..]
            else {
                return None;
            };
            let [host, Value::Int(port), ..] = &primary[..] else { return None };
            let host = match host {
                Value::BulkString(host) => str::from_utf8(host).ok()?,
                _ => "",
            };
            let slots =
                usize::try_from(*first).ok()?..usize::try_from(*last).ok()?.checked_add(1)?;
            let place = layout.place_of(host, u16::try_from(*port).ok()?, node, greeting);
            let place = match place {
                Ok(place) => place,
                Err(error) => return Some(Err(error)),
            };
            layout.owners.get_mut(slots)?.fill(u16::try_from(place).ok()?);
        }
        (!ranges.is_empty()).then_some(Ok(layout))
    }

    /// The place of the node at an address, as `teller` named it: without a host, its own is meant. A node that is not
    /// known yet comes behind the others.
    pub(super) fn place_of(
        &mut self,
        host: &str,
        port: u16,
        teller: &Node,
        greeting: &Greeting,
    ) -> Result<usize> {
        let host = if host.is_empty() { teller.host().unwrap_or_default() } else { host };
        let node = Node::tcp(host, port, greeting)?;
        if let Some(place) = self.nodes.iter().position(|known| known.is_same(&node)) {
            return Ok(place);
        }
        self.nodes.push(Arc::new(node));
        Ok(self.nodes.len() - 1)
    }

    /// Every node that was ever heard of.
    pub(super) fn nodes(&self) -> &[Arc<Node>] {
        &self.nodes
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

/// What of a key is hashed: what stands between its first `{` and the next `}`, if anything does.
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
        // The check value of the specification, and what `CLUSTER KEYSLOT` answers.
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

    #[test]
    fn a_layout_keeps_the_places_of_its_nodes() {
        let url = StoreUrl::parse("redis://h1:7000").unwrap();
        let greeting = Greeting::from_url(&url, &RedisConfig::from_url(&url).unwrap()).unwrap();
        let node = Node::from_url(&url, &greeting).unwrap().remove(0);
        let bulk = |text: &str| Value::BulkString(text.into());
        let range = |first, last, host: Value, port| {
            let primary = Value::Array(vec![host, Value::Int(port), bulk("id")]);
            Value::Array(vec![Value::Int(first), Value::Int(last), primary])
        };
        let slots = Value::Array(vec![
            range(8192, 16383, bulk("h2"), 7000),
            range(0, 8191, Value::Nil, 7000),
        ]);
        let known = vec![Arc::new(node.clone())];
        let layout = Layout::read(known, &slots, &node, &greeting).unwrap().unwrap();
        let shown: Vec<String> = layout.nodes().iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["h1:7000", "h2:7000"]);
        assert_eq!([0, 8191, 8192, 16383].map(|slot| layout.owner_of(slot)), [0, 0, 1, 1]);
        let moved = Value::Array(vec![range(0, 16383, bulk("h2"), 7000)]);
        let layout = Layout::read(layout.nodes.clone(), &moved, &node, &greeting).unwrap().unwrap();
        assert_eq!((layout.nodes().len(), layout.owners().len(), layout.owner_of(0)), (2, 1, 1));
        for wrong in [Value::Nil, Value::Array(Vec::new()), Value::Array(vec![Value::Int(1)])] {
            assert!(Layout::read(Vec::new(), &wrong, &node, &greeting).is_none(), "{wrong:?}");
        }
        let beyond = Value::Array(vec![range(0, 16384, bulk("h2"), 7000)]);
        assert!(Layout::read(Vec::new(), &beyond, &node, &greeting).is_none());
    }
}
