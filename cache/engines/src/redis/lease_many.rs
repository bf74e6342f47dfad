//! Leases and fills of many keys: the scripts of all keys of a node are one request.

use std::sync::Arc;
use std::time::Duration;

use larder_protocol::resp::Value;
use larder_store::{End, Fill, Leased, Leases, Result, SetOutcome, Token};

use super::address::Node;
use super::arguments::whole_millis;
use super::batch::BatchRequests;
use super::errors;
use super::lease_id::Id;
use super::leases::{Filled, LeaseAsk, lease_id_of, leased};
use super::outstanding::NodePeer;
use super::scripts::{self, Name};
use super::session::RedisSession;
use super::shared::Shared;
use super::write_many::Writes;
use crate::decimal::Digits;
use crate::pipelined::Link;

/// Requests for values or leases.
#[derive(Debug)]
pub(super) struct Asks<'a> {
    pub(super) keys: &'a [&'a [u8]],
    /// The bytes of the lease that each key may get.
    pub(super) ids: Vec<Id>,
    pub(super) ask: LeaseAsk,
    /// The time of a lease, and the rest of a TTL at which an entry counts as stale.
    pub(super) times: (Duration, Duration),
    pub(super) shared: Arc<Shared>,
}

impl BatchRequests for Asks<'_> {
    const COMMAND: &'static str = "EVALSHA";

    fn key(&self, i: usize) -> &[u8] {
        self.keys[i]
    }

    fn add(&self, i: usize, link: &mut Link<NodePeer>, is_first: bool) {
        let words = self.ask.words(&self.ids[i]);
        scripts::GET_OR_LEASE.add(Name::in_batch(is_first), link, self.keys[i], &words, None);
    }
}

impl Writes for Asks<'_> {
    type Outcome = (Leased, Vec<u8>);

    fn read(&self, i: usize, node: &Node, answer: Value) -> Result<Self::Outcome> {
        leased(answer, &self.ids[i], &self.shared)
            .map_err(|other| errors::unexpected(node, "EVALSHA", &other))
    }

    fn alone(&self, i: usize, session: &mut RedisSession) -> Result<Self::Outcome> {
        let (mut value, (time, early)) = (Vec::new(), self.times);
        let leased = session.get_or_lease_early(self.keys[i], &mut value, time, early)?;
        Ok((leased, value))
    }
}

/// Values that were loaded, each under its token.
#[derive(Debug)]
pub(super) struct Fills<'a> {
    pub(super) fills: &'a [Fill<'a>],
    /// Each as it is sent; `None` where its outcome is known.
    pub(super) filled: Vec<Option<Filled<'a>>>,
}

impl BatchRequests for Fills<'_> {
    const COMMAND: &'static str = "EVALSHA";

    fn key(&self, i: usize) -> &[u8] {
        self.fills[i].put.key
    }

    fn value(&self, i: usize) -> &[u8] {
        self.filled[i].as_ref().map_or(b"", |filled| filled.sent)
    }

    fn add(&self, i: usize, link: &mut Link<NodePeer>, is_first: bool) {
        if let Some(filled) = &self.filled[i] {
            let value = Some(filled.sent);
            scripts::FILL.add(Name::in_batch(is_first), link, self.key(i), &filled.words(), value);
        }
    }
}

impl Writes for Fills<'_> {
    type Outcome = SetOutcome;

    fn read(&self, i: usize, node: &Node, answer: Value) -> Result<SetOutcome> {
        let outcome = self.filled[i].as_ref().and_then(|filled| filled.outcome(&answer));
        outcome.unwrap_or_else(|| Err(errors::unexpected(node, "EVALSHA", &answer)))
    }

    fn alone(&self, i: usize, session: &mut RedisSession) -> Result<SetOutcome> {
        let Fill { put, token } = &self.fills[i];
        session.fill(put.key, put.value, &put.options, token)
    }
}

/// Leases that end without a value.
#[derive(Debug)]
pub(super) struct Releases<'a>(pub(super) &'a [(&'a [u8], Token)]);

impl BatchRequests for Releases<'_> {
    const COMMAND: &'static str = "EVALSHA";

    fn key(&self, i: usize) -> &[u8] {
        self.0[i].0
    }

    fn add(&self, i: usize, link: &mut Link<NodePeer>, is_first: bool) {
        let (key, token) = &self.0[i];
        if let Some(id) = lease_id_of(token) {
            scripts::RELEASE.add(Name::in_batch(is_first), link, key, &[&id], None);
        }
    }
}

impl Writes for Releases<'_> {
    type Outcome = bool;

    fn read(&self, _: usize, node: &Node, answer: Value) -> Result<bool> {
        errors::found(node, "EVALSHA", &answer)
    }

    fn alone(&self, i: usize, session: &mut RedisSession) -> Result<bool> {
        let (key, token) = &self.0[i];
        session.release(key, token)
    }
}

/// Values that end.
#[derive(Debug)]
pub(super) struct Ends<'a>(pub(super) &'a [End<'a>]);

impl Ends<'_> {
    /// The arguments of [`scripts::END_VALUE`], without the value.
    fn keep(&self, i: usize) -> Option<Digits> {
        self.0[i].keep.map(|keep| Digits::new(whole_millis(keep)))
    }
}

impl BatchRequests for Ends<'_> {
    const COMMAND: &'static str = "EVALSHA";

    fn key(&self, i: usize) -> &[u8] {
        self.0[i].key
    }

    fn value(&self, i: usize) -> &[u8] {
        self.0[i].value
    }

    fn add(&self, i: usize, link: &mut Link<NodePeer>, is_first: bool) {
        let keep = self.keep(i);
        let words: Vec<&[u8]> = keep.iter().map(Digits::as_bytes).collect();
        scripts::END_VALUE.add(
            Name::in_batch(is_first),
            link,
            self.key(i),
            &words,
            Some(self.value(i)),
        );
    }
}

impl Writes for Ends<'_> {
    type Outcome = bool;

    fn read(&self, _: usize, node: &Node, answer: Value) -> Result<bool> {
        errors::found(node, "EVALSHA", &answer)
    }

    fn alone(&self, i: usize, session: &mut RedisSession) -> Result<bool> {
        let keep = self.keep(i);
        let words: Vec<&[u8]> = keep.iter().map(Digits::as_bytes).collect();
        let (key, value) = (self.key(i), self.value(i));
        let answer = session.run_with(&scripts::END_VALUE, key, &words, Some(value))?;
        session.found("EVALSHA", &answer)
    }
}
