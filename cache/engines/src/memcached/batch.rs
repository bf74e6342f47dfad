//! Batches of requests whose caller waits for all answers.

use larder_store::counters::Requests;
use larder_store::{Answer, CallEnd, Error, Pass, Result, SetOutcome};

use super::errors;
use super::outstanding::{NodePeer, SentRequest};
use super::reply::Reply;
use super::session::MemcachedSession;
use super::store::Shared;
use crate::pipelined::{self, Link, Links};

/// A request of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    /// The number by which the caller knows it.
    pub(super) number: usize,
    pub(super) node: usize,
}

/// What a node answers to a request of a batch. A refusal of it alone is [`Answer::Failed`].
#[derive(Debug)]
pub(super) enum NodeAnswer<'i> {
    Answer(Answer<'i>),
    /// An answer that only calls ask for.
    Reply(Reply),
}

impl NodeAnswer<'_> {
    /// The outcome of a set; `None` where this is no answer to one.
    pub(super) fn stored(self) -> Option<Result<SetOutcome>> {
        match self {
            Self::Answer(Answer::Stored(outcome)) => Some(Ok(outcome)),
            Self::Answer(Answer::Failed(refusal)) => Some(Err(refusal)),
            _ => None,
        }
    }
}

/// How the requests of a batch are sent.
pub(super) struct Encoding<V, R, E> {
    /// The length of the value that a request brings.
    pub(super) value_len: V,
    /// The request, as far as its answer cannot be read without it. It gets its place among the items.
    pub(super) request: R,
    /// Adds the bytes of a request.
    pub(super) encode: E,
}

/// The requests of a batch on their way.
struct Sending<'a, V, R, E, A> {
    shared: &'a Shared,
    requests: &'a Requests,
    items: &'a [Item],
    encoding: Encoding<V, R, E>,
    came: A,
    /// The pass of each node that has been asked, where there are gates.
    passes: Vec<Option<Pass<'a>>>,
}

impl MemcachedSession {
    /// Sends a request for each item, at all nodes at once, and passes on the answers as they come. A node that fails is asked for
    /// nothing more, and the others go on. The error is that of a node that failed.
    pub(super) fn call_each<V, R, E>(
        &mut self,
        items: &[Item],
        encoding: Encoding<V, R, E>,
        came: impl FnMut(usize, NodeAnswer<'_>),
    ) -> Result<()>
    where
        V: Fn(usize) -> usize,
        R: Fn(usize, u32) -> SentRequest,
        E: Fn(&mut Link<NodePeer>, usize),
    {
        let Self { shared, calls, requests, .. } = self;
        calls.begin_call();
        let mut passes = Vec::new();
        passes.resize_with(if shared.has_gates() { calls.len() } else { 0 }, || None);
        let mut sending = Sending { shared, requests, items, encoding, came, passes };
        let failures = calls.call_each(0..items.len(), &mut sending);
        for (node, pass) in sending.passes.into_iter().enumerate() {
            let Some(pass) = pass else { continue };
            let failure = failures.iter().find(|(failed, _)| *failed == node);
            pass.end(failure.map_or(CallEnd::Answer, |(_, error)| end_of(error)));
        }
        if !shared.terms().keep {
            (0..calls.len()).for_each(|node| calls.close(node));
        }
        let mut failed = None;
        for (_, error) in failures {
            note(&mut failed, error);
        }
        failed.map_or(Ok(()), Err)
    }
}

/// The end of a call that failed so.
fn end_of(error: &Error) -> CallEnd<'_> {
    if error.is_fault() { CallEnd::Fault(Some(error)) } else { CallEnd::Nothing }
}

/// Keeps the first error, but rather one of a node that was asked than the refusal of a gate: only after the former
/// nobody knows whether a write took effect.
pub(super) fn note(failed: &mut Option<Error>, error: Error) {
    if failed.as_ref().is_none_or(Error::is_not_made) {
        *failed = Some(error);
    }
}

impl<V, R, E, A> pipelined::Batch<NodePeer> for Sending<'_, V, R, E, A>
where
    V: Fn(usize) -> usize,
    R: Fn(usize, u32) -> SentRequest,
    E: Fn(&mut Link<NodePeer>, usize),
    A: FnMut(usize, NodeAnswer<'_>),
{
    fn link_of(&self, i: usize) -> usize {
        self.items[i].node
    }

    fn value_len(&self, i: usize) -> usize {
        (self.encoding.value_len)(self.items[i].number)
    }

    fn ask(&mut self, links: &mut Links<NodePeer>, i: usize, is_first: bool) -> Result<()> {
        let Item { number, node } = self.items[i];
        if is_first && let Some(gate) = self.shared.gate(node) {
            self.passes[node] = Some(Pass::ask(gate)?);
        }
        let asked = (self.encoding.request)(number, u32::try_from(i).unwrap_or(u32::MAX));
        links.ask(node, i, asked, |link| (self.encoding.encode)(link, number))?;
        self.requests.sent.add(u64::from(is_first));
        Ok(())
    }

    fn answered(&mut self, i: usize, answer: Answer<'_>) -> Result<()> {
        match answer {
            Answer::End => Ok(()),
            Answer::Failed(error) if !errors::is_whole_answer(&error) => Err(error),
            answer => {
                (self.came)(self.items[i].number, NodeAnswer::Answer(answer));
                Ok(())
            }
        }
    }

    fn replied(&mut self, i: usize, reply: Reply, _: &NodePeer) {
        (self.came)(self.items[i].number, NodeAnswer::Reply(reply));
    }
}
