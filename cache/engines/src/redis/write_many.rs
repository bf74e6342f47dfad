//! Many writes at once: the commands for each node are sent together.

use larder_protocol::resp::Value;
use larder_store::{Put, Result, SetMode, SetOutcome};

use super::address::Node;
use super::batch::BatchRequests;
use super::errors;
use super::outstanding::NodePeer;
use super::pipeline::add_set;
use super::request::add;
use super::routing::asks_for_single_keys;
use super::session::RedisSession;
use crate::pipelined::{Link, report_all};

/// One kind of write of a batch.
pub(super) trait Writes: BatchRequests {
    /// The outcome of one of them.
    type Outcome;

    /// Reads the answer to a write.
    fn read(&self, i: usize, node: &Node, answer: Value) -> Result<Self::Outcome>;

    /// Carries out one write alone, wherever its key is now.
    fn alone(&self, i: usize, session: &mut RedisSession) -> Result<Self::Outcome>;
}

impl RedisSession {
    /// Carries out the writes whose outcome is not known yet, and passes on all outcomes in order. A node that fails is
    /// left out afterwards, and the others go on. The error is then that of the first node that failed.
    pub(super) fn write_many<W: Writes>(
        &mut self,
        writes: &W,
        mut outcomes: Vec<Option<Result<W::Outcome>>>,
        done: &mut dyn FnMut(usize, Result<W::Outcome>),
    ) -> Result<()> {
        let due: Vec<usize> = (0..outcomes.len()).filter(|i| outcomes[*i].is_none()).collect();
        let mut to_retry = Vec::new();
        let written =
            self.client.call_each(due.into_iter(), writes, &mut |i, answer, node| match answer {
                Value::Error(error) if asks_for_single_keys(&error) => to_retry.push(i),
                Value::Error(error) => outcomes[i] = Some(Err(errors::refused(node, &error))),
                answer => outcomes[i] = Some(writes.read(i, node, answer)),
            });
        let mut failed = written.err();
        to_retry.sort_unstable();
        for i in to_retry {
            match writes.alone(i, self) {
                // Each further write might wait for as long.
                Err(error) if error.is_fault() => {
                    failed.get_or_insert(error);
                    break;
                }
                outcome => outcomes[i] = Some(outcome),
            }
        }
        report_all(outcomes, done);
        failed.map_or(Ok(()), Err)
    }
}

/// The entries of a batch that are to be stored.
pub(super) struct Sets<'a>(pub(super) &'a [Put<'a>]);

impl BatchRequests for Sets<'_> {
    const COMMAND: &'static str = "SET";

    fn key(&self, i: usize) -> &[u8] {
        self.0[i].key
    }

    fn value(&self, i: usize) -> &[u8] {
        self.0[i].value
    }

    fn add(&self, i: usize, link: &mut Link<NodePeer>, _: bool) {
        add_set(link, &self.0[i]);
    }
}

impl Writes for Sets<'_> {
    type Outcome = SetOutcome;

    fn read(&self, i: usize, node: &Node, answer: Value) -> Result<SetOutcome> {
        match (self.0[i].options.mode, &answer) {
            (SetMode::Append | SetMode::Prepend, Value::Integer(0)) | (_, Value::Nil) => {
                Ok(SetOutcome::NotStored)
            }
            (SetMode::Append | SetMode::Prepend, Value::Integer(_)) | (_, Value::Okay) => {
                Ok(SetOutcome::Stored(None))
            }
            (_, other) => Err(errors::unexpected(node, "SET", other)),
        }
    }

    fn alone(&self, i: usize, session: &mut RedisSession) -> Result<SetOutcome> {
        let Put { key, value, options } = &self.0[i];
        larder_store::Session::set(session, key, value, options)
    }
}

/// The keys of a batch that are to be removed.
pub(super) struct Deletes<'a>(pub(super) &'a [&'a [u8]]);

impl BatchRequests for Deletes<'_> {
    const COMMAND: &'static str = "DEL";

    fn key(&self, i: usize) -> &[u8] {
        self.0[i]
    }

    fn add(&self, i: usize, link: &mut Link<NodePeer>, _: bool) {
        add(link.output(), &[b"DEL", self.0[i]]);
    }
}

impl Writes for Deletes<'_> {
    type Outcome = bool;

    fn read(&self, _: usize, node: &Node, answer: Value) -> Result<bool> {
        errors::found(node, "DEL", &answer)
    }

    fn alone(&self, i: usize, session: &mut RedisSession) -> Result<bool> {
        larder_store::Session::delete(session, self.0[i])
    }
}
