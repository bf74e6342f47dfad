//! Batches of requests whose caller waits for all answers.

use larder_protocol::resp::Value;
use larder_store::counters::Requests;
use larder_store::{Answer, Result};

use super::address::Node;
use super::client::RedisClient;
use super::layout::Layout;
use super::outstanding::{Doubts, NodePeer, SentRequest};
use super::routing::doubt_in;
use crate::pipelined::{self, Link, Links};

/// One kind of request of a batch.
pub(super) trait BatchRequests {
    /// The command that each request is.
    const COMMAND: &'static str;

    /// The key of a request.
    fn key(&self, i: usize) -> &[u8];

    /// The value that a request brings, if it does.
    fn value(&self, _: usize) -> &[u8] {
        b""
    }

    /// Adds a request, the first of the batch to its node or another.
    fn add(&self, i: usize, link: &mut Link<NodePeer>, is_first: bool);
}

/// The callback for each reply: the index of its request, the reply, and the node that gave it.
pub(super) type Replied<'a> = dyn FnMut(usize, Value, &Node) + 'a;

/// The requests of a batch on their way.
struct Sending<'a, 'r, B> {
    batch: &'a B,
    layout: &'a Layout,
    link_of: &'a [usize],
    doubts: &'a Doubts,
    requests: &'a Requests,
    replied: &'a mut Replied<'r>,
}

impl RedisClient {
    /// Sends the requests with these indices, and passes on each reply as it comes, refusals too. A node that fails is asked for
    /// nothing more, and the others go on. The error is that of the first node that failed.
    pub(super) fn call_each(
        &mut self,
        indices: impl Iterator<Item = usize>,
        batch: &impl BatchRequests,
        replied: &mut Replied<'_>,
    ) -> Result<()> {
        self.begin_call()?;
        let Self { links, layout, link_of, doubts, requests, .. } = self;
        let sending = &mut Sending { batch, layout, link_of, doubts, requests, replied };
        let failed = links.call_each(indices, sending);
        self.end_call();
        failed.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }
}

impl<B: BatchRequests> pipelined::Batch<NodePeer> for Sending<'_, '_, B> {
    fn link_of(&self, i: usize) -> usize {
        self.link_of[self.layout.owner_of(self.layout.slot_of(self.batch.key(i)))]
    }

    fn value_len(&self, i: usize) -> usize {
        self.batch.value(i).len()
    }

    fn ask(&mut self, links: &mut Links<NodePeer>, i: usize, is_first: bool) -> Result<()> {
        let id = u32::try_from(i).unwrap_or(u32::MAX);
        let asked = SentRequest::Own { command: B::COMMAND, id };
        let add = |link: &mut Link<NodePeer>| self.batch.add(i, link, is_first);
        links.ask(self.link_of(i), i, asked, add)?;
        self.requests.sent.add(u64::from(is_first));
        Ok(())
    }

    fn answered(&mut self, _: usize, answer: Answer<'_>) -> Result<()> {
        match answer {
            Answer::Failed(error) => Err(error),
            _ => Ok(()),
        }
    }

    fn replied(&mut self, i: usize, reply: Value, peer: &NodePeer) {
        if let Value::Error(error) = &reply
            && let Some(is_lost) = doubt_in(error)
        {
            self.doubts.note(peer.link, is_lost);
        }
        (self.replied)(i, reply, &peer.node);
    }
}
