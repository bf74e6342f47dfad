//! The links of a session to its nodes, and the way of each key to a link.

use std::sync::Arc;

use larder_store::Result;
use larder_store::counters::Requests;

use super::layout::Layout;
use super::outstanding::{Doubts, NodePeer};
use super::routing::Doubt;
use super::shared::Shared;
use crate::pipelined::Links;

/// The links of a session to its nodes.
#[derive(Debug)]
pub(super) struct RedisClient {
    pub(super) shared: Arc<Shared>,
    pub(super) requests: Arc<Requests>,
    pub(super) layout: Arc<Layout>,
    pub(super) doubts: Arc<Doubts>,
    pub(super) links: Links<NodePeer>,
    /// The link to each node of the layout. Nodes that have left the cluster keep their links.
    pub(super) link_of: Vec<usize>,
    /// The place of each key of a batch, kept to reuse its memory.
    pub(super) places: Vec<KeyPlace>,
    /// Whether the caller waits for each answer.
    waits: bool,
    /// Where it does, the place of the node that got the last request.
    pub(super) asked: usize,
}

/// The place of a key of a batch. In their order, the keys of one link and one slot follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KeyPlace {
    pub(super) link: usize,
    slot: u16,
    /// The index of the key in the batch.
    pub(super) index: usize,
}

impl KeyPlace {
    /// Whether a node takes both keys in one command: in a cluster, those of one slot.
    pub(super) fn shares_command(&self, other: &Self) -> bool {
        (self.link, self.slot) == (other.link, other.slot)
    }
}

impl RedisClient {
    /// For a caller that does not wait for answers.
    pub(super) fn for_pipeline(shared: &Arc<Shared>, requests: &Arc<Requests>) -> Self {
        Self::new(shared, requests, Links::new([], shared.terms().timeout), false)
    }

    /// For a caller that waits for each answer.
    pub(super) fn for_calls(shared: &Arc<Shared>, requests: &Arc<Requests>) -> Self {
        Self::new(shared, requests, Links::for_calls([], shared.terms().timeout), true)
    }

    fn new(
        shared: &Arc<Shared>,
        requests: &Arc<Requests>,
        links: Links<NodePeer>,
        waits: bool,
    ) -> Self {
        let layout = shared.layout();
        let mut client = Self {
            shared: Arc::clone(shared),
            requests: Arc::clone(requests),
            layout: Arc::clone(&layout),
            doubts: Arc::default(),
            links,
            link_of: Vec::new(),
            places: Vec::new(),
            waits,
            asked: 0,
        };
        client.follow(layout);
        client
    }

    /// Makes a link for each node of a layout that has none.
    pub(super) fn follow(&mut self, layout: Arc<Layout>) {
        self.link_of.clear();
        for node in layout.nodes() {
            let known = self.links.peers().position(|peer| peer.node.place() == node.place());
            let link = known.unwrap_or_else(|| {
                let link = self.links.len();
                let peer = NodePeer::new(&self.shared, node, &self.doubts, link, self.waits);
                self.links.add(peer);
                link
            });
            self.link_of.push(link);
        }
        self.layout = layout;
        self.doubts.forget();
        // Nothing is outstanding between two requests of a caller that waits.
        if self.waits && self.links.len() > self.link_of.len() {
            for link in 0..self.links.len() {
                if !self.link_of.contains(&link) {
                    self.links.close(link);
                }
            }
        }
    }

    /// Asks for the layout of the cluster again, where it may have changed.
    #[inline]
    pub(super) fn follow_cluster(&mut self) -> Result<()> {
        if self.doubts.are_there() && self.layout.is_cluster() { self.renew() } else { Ok(()) }
    }

    #[cold]
    fn renew(&mut self) -> Result<()> {
        let Some((link, is_lost)) = self.doubts.first() else { return Ok(()) };
        // Another node that has left before gives no advice.
        let node = self.link_of.iter().position(|of_node| *of_node == link);
        self.renew_for(Doubt { node: node.unwrap_or(0), is_lost: is_lost && node.is_some() })
    }

    /// Asks for the layout of the cluster again.
    pub(super) fn renew_for(&mut self, doubt: Doubt) -> Result<()> {
        let layout = self.shared.renewed(&self.layout, doubt, || self.links.time_left())?;
        self.follow(layout);
        Ok(())
    }

    /// The link to the node that has this slot.
    #[inline]
    pub(super) fn link_of_slot(&self, slot: u16) -> usize {
        self.link_of[self.layout.owner_of(slot)]
    }

    /// Finds the links of the keys of a batch.
    pub(super) fn find_places<'k>(&mut self, keys: impl Iterator<Item = (usize, &'k [u8])>) {
        self.places.clear();
        for (index, key) in keys {
            let slot = self.layout.slot_of(key);
            self.places.push(KeyPlace { link: self.link_of_slot(slot), slot, index });
        }
    }
}
