//! Batches of requests whose caller waits for all answers.

use larder_protocol::resp::Value;
use larder_store::{Answer, Error, Result};

use super::address::Node;
use super::client::RedisClient;
use super::outstanding::{NodePeer, SentRequest};
use super::routing::doubt_in;
use crate::pipelined::{LONGEST_COPIED, Link, Links, MANY};

/// One kind of request of a batch.
pub(super) trait Batch {
    /// The command that each request is.
    const COMMAND: &'static str;

    /// The key of a request.
    fn key(&self, i: usize) -> &[u8];

    /// The value that a request brings.
    fn value(&self, i: usize) -> &[u8];

    /// Adds a request, the first of the batch to its node or another.
    fn add(&self, i: usize, link: &mut Link<NodePeer>, is_first: bool);
}

/// The callback for each reply: the index of its request, the reply, and the node that gave it.
pub(super) type Replied<'a> = dyn FnMut(usize, Value, &Node) + 'a;

/// The failures of nodes during a batch.
#[derive(Debug, Default)]
struct Failures {
    /// The error of the first node that failed.
    first: Option<Error>,
    /// The requests that have no answer because their node failed.
    lost: Vec<usize>,
}

impl RedisClient {
    /// Sends the requests with these indices, and passes on each reply as it comes, refusals too. A node that fails is asked for
    /// nothing more, and the others go on. The error is that of the first node that failed.
    ///
    /// Neither side ever waits for the other to read: answers are read while requests are sent. Of large values, none is copied,
    /// and other requests take little memory before they are sent.
    pub(super) fn call_each<B: Batch>(
        &mut self,
        indices: &[usize],
        batch: &B,
        replied: &mut Replied<'_>,
    ) -> Result<()> {
        self.begin_call()?;
        let mut failures = Failures::default();
        let (mut begun, mut failed): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        for i in indices {
            let link = self.link_of_slot(self.layout.slot_of(batch.key(*i)));
            if batch.value(*i).len() > LONGEST_COPIED {
                self.collect(|links| !links.is_waiting(link), replied, &mut failures);
            } else if self.links.unsent_bytes() > MANY {
                self.links.flush();
                self.collect(|links| links.unsent_bytes() <= MANY, replied, &mut failures);
            }
            for lost in failures.lost.drain(..) {
                failed.push(self.link_of_slot(self.layout.slot_of(batch.key(lost))));
            }
            if failed.contains(&link) {
                continue;
            }
            let is_first = !begun.contains(&link);
            let id = u32::try_from(*i).unwrap_or(u32::MAX);
            let asked = SentRequest::Own { command: B::COMMAND, id };
            match self.links.ask(link, *i, asked, |link| batch.add(*i, link, is_first)) {
                Ok(()) if is_first => {
                    self.requests.sent.add_one();
                    begun.push(link);
                }
                Ok(()) => {}
                Err(error) => {
                    failures.first.get_or_insert(error);
                    failed.push(link);
                }
            }
        }
        self.collect(|links| links.n_outstanding() == 0, replied, &mut failures);
        self.end_call();
        failures.first.map_or(Ok(()), Err)
    }

    /// Waits until `is_enough`, and passes on the replies that come meanwhile.
    fn collect(
        &mut self,
        is_enough: impl Fn(&Links<NodePeer>) -> bool,
        replied: &mut Replied<'_>,
        failures: &mut Failures,
    ) {
        loop {
            let has_replies =
                |links: &Links<NodePeer>| links.peers().any(|peer| !peer.replies.is_empty());
            self.links.wait_until(
                |links| is_enough(links) || has_replies(links),
                &mut |i, answer| {
                    if let Answer::Failed(error) = answer {
                        failures.first.get_or_insert(error);
                        failures.lost.push(i);
                    }
                },
            );
            for link in 0..self.links.len() {
                let peer = self.links.peer(link);
                for (i, reply) in peer.replies.drain(..) {
                    if let Value::Error(error) = &reply
                        && let Some(is_lost) = doubt_in(error)
                    {
                        self.doubts.note(link, is_lost);
                    }
                    replied(i, reply, &peer.node);
                }
            }
            if is_enough(&self.links) {
                return;
            }
        }
    }
}
