//! Calls on the link to one node: each sends a request and waits for the answer.

use std::collections::BTreeMap;

use larder_protocol::meta::delete::DeleteReply;
use larder_protocol::storage::StorageRequest;
use larder_protocol::{meta, text};
use larder_store::{Answer, Counted, DeleteOutcome, Delta, Error, Facts, Meta, Result, SetOutcome};

use super::SCHEME;
use super::answer::{Lease, Looked};
use super::errors;
use super::outstanding::{NodePeer, SentRequest};
use super::reply::Reply;
use super::request::{
    add_delete, add_get, add_get_and_touch, add_incr, add_set, add_touch, change_of,
};
use super::terms::Wire;
use crate::pipelined::{Link, Links};

/// Calls on the link to one node.
#[derive(Debug)]
pub(super) struct NodeCalls<'a> {
    links: &'a mut Links<NodePeer>,
    node: usize,
}

/// What a client gets that asks for a value or a lease.
pub(super) enum Leasing {
    Value(Meta),
    Lease { version: u64, is_won: bool, lasts: bool },
}

impl<'a> NodeCalls<'a> {
    /// The link to the node with this number, which is opened if it is not open.
    #[inline]
    pub(super) fn open(links: &'a mut Links<NodePeer>, node: usize) -> Result<Self> {
        links.begin_call();
        links.opened(node)?;
        Ok(Self { links, node })
    }

    /// Ends an operation, after which the connection may have to be closed.
    #[inline]
    pub(super) fn end(self) {
        if !self.links.peer(self.node).terms.keep {
            self.links.close(self.node);
        }
    }

    fn wire(&mut self) -> Wire {
        self.links.peer(self.node).terms.wire
    }

    /// Sends a request and waits for the answer. A refusal is an error.
    fn call(
        &mut self,
        asked: SentRequest,
        encode: impl FnOnce(&mut Link<NodePeer>),
    ) -> Result<Answer<'static>> {
        self.links.ask(self.node, 0, asked, encode)?;
        match self.links.wait_for_answer(self.node) {
            Answer::Failed(error) => Err(error),
            answer => Ok(answer),
        }
    }

    /// The same for an answer that only calls ask for.
    fn call_for_reply(
        &mut self,
        asked: SentRequest,
        encode: impl FnOnce(&mut Link<NodePeer>),
    ) -> Result<Reply> {
        self.call(asked, encode)?;
        let reply = self.links.take_reply(self.node);
        reply.ok_or_else(|| self.mismatch())
    }

    /// The same for a value, which goes behind the bytes of `out`; an error leaves `out` as it was.
    #[inline]
    fn call_for_value(
        &mut self,
        asked: SentRequest,
        encode: impl FnOnce(&mut Link<NodePeer>),
        out: &mut Vec<u8>,
    ) -> Result<Answer<'static>> {
        self.links.ask(self.node, 0, asked, encode)?;
        match self.links.wait_for_value(self.node, out) {
            Answer::Failed(error) => Err(error),
            answer => Ok(answer),
        }
    }

    /// The error of an answer that is none to its request. No peer passes one on.
    #[cold]
    fn mismatch(&mut self) -> Error {
        errors::unasked(&self.links.peer(self.node).node, b"")
    }

    /// Puts the value behind the bytes of `out`.
    #[inline]
    pub(super) fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        let wire = self.wire();
        match self.call_for_value(SentRequest::Get, |link| add_get(wire, link, key), out)? {
            Answer::Hit { meta, .. } => Ok(Some(meta)),
            _ => Ok(None),
        }
    }

    /// As [`Self::get_onto`], in a request that also gives the entry a new TTL. If it has met the lease of an absent key, the
    /// lease has got the new TTL: it is taken away, because it would end too late.
    pub(super) fn get_and_touch(
        &mut self,
        key: &[u8],
        exptime: i64,
        out: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        let wire = self.wire();
        let asked = if wire == Wire::Meta { SentRequest::GetAndTouch } else { SentRequest::Get };
        let encode = |link: &mut Link<NodePeer>| add_get_and_touch(wire, link, key, exptime);
        if let Answer::Hit { meta, .. } = self.call_for_value(asked, encode, out)? {
            return Ok(Some(meta));
        }
        if let Some(Reply::Lease(Lease { version: Some(version), .. })) =
            self.links.take_reply(self.node)
        {
            self.delete_if(key, version)?;
        }
        Ok(None)
    }

    /// Asks for a value, which goes behind the bytes of `out`, or for a lease.
    pub(super) fn get_or_lease(
        &mut self,
        key: &[u8],
        exptime: i64,
        out: &mut Vec<u8>,
    ) -> Result<Leasing> {
        let encode = |link: &mut Link<NodePeer>| {
            meta::get::encode_or_lease(link.output(), key, exptime);
        };
        match self.call_for_value(SentRequest::GetOrLease { id: 0 }, encode, out)? {
            Answer::Hit { meta, .. } => Ok(Leasing::Value(meta)),
            _ => match self.links.take_reply(self.node) {
                Some(Reply::Lease(lease)) => Leasing::of(lease),
                _ => Err(no_room_for_a_lease()),
            },
        }
    }

    /// Looks at an entry without its value, which only the meta protocol can.
    pub(super) fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        Ok(self.look_closely(key)?.filter(|found| !found.is_lease).map(|found| found.facts))
    }

    /// The same, but it tells a lease from a miss.
    pub(super) fn look_closely(&mut self, key: &[u8]) -> Result<Option<Looked>> {
        let encode = |link: &mut Link<NodePeer>| meta::get::encode_look(link.output(), key);
        match self.call_for_reply(SentRequest::Look { id: 0 }, encode)? {
            Reply::Looked(found) => Ok(found),
            _ => Err(self.mismatch()),
        }
    }

    /// Whether the entry of a key still has this version.
    pub(super) fn has_version(&mut self, key: &[u8], version: u64) -> Result<bool> {
        let found = self.look_closely(key)?;
        Ok(found.is_some_and(|found| found.facts.meta.version == Some(version)))
    }

    pub(super) fn set(&mut self, request: &StorageRequest<'_>, value: &[u8]) -> Result<SetOutcome> {
        let (wire, asked) = (self.wire(), SentRequest::Set { value_len: value.len() });
        match self.call(asked, |link| add_set(wire, link, request, value))? {
            Answer::Stored(outcome) => Ok(outcome),
            _ => Err(self.mismatch()),
        }
    }

    pub(super) fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let wire = self.wire();
        match self.call(SentRequest::Delete, |link| add_delete(wire, link, key))? {
            Answer::Found(is_found) => Ok(is_found),
            _ => Err(self.mismatch()),
        }
    }

    /// Deletes on condition of a version, which only the meta protocol can.
    pub(super) fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        let changed = self.change(|out| meta::delete::encode_if(out, key, version))?;
        Ok(match changed {
            DeleteReply::Deleted => DeleteOutcome::Deleted,
            DeleteReply::Exists => DeleteOutcome::Exists,
            DeleteReply::NotFound => DeleteOutcome::NotFound,
        })
    }

    /// Marks an entry of this version as stale.
    pub(super) fn mark(
        &mut self,
        key: &[u8],
        version: u64,
        exptime: Option<i64>,
    ) -> Result<DeleteReply> {
        self.change(|out| meta::delete::encode_mark(out, key, version, exptime))
    }

    fn change(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> Result<DeleteReply> {
        let asked = SentRequest::Change { id: 0 };
        match self.call_for_reply(asked, |link| encode(link.output()))? {
            Reply::Changed(reply) => Ok(reply),
            _ => Err(self.mismatch()),
        }
    }

    /// Marks an entry in one request with a look at it: its version after that. `None` if it was changed before.
    pub(super) fn mark_again(&mut self, key: &[u8], version: u64) -> Result<Option<u64>> {
        let asked = SentRequest::MarkAndLook { id: 0 };
        let encode = |link: &mut Link<NodePeer>| encode_mark_again(link.output(), key, version);
        match self.call_for_reply(asked, encode)? {
            Reply::Marked(marked, found) => Ok(version_of_its_mark(marked, found)),
            _ => Err(self.mismatch()),
        }
    }

    /// Gives an entry a new TTL. If it has met the lease of an absent key, it takes that away.
    pub(super) fn touch(&mut self, key: &[u8], exptime: i64) -> Result<bool> {
        let wire = self.wire();
        let encode = |link: &mut Link<NodePeer>| add_touch(wire, link, key, exptime);
        if wire == Wire::Text {
            return match self.call(SentRequest::Touch, encode)? {
                Answer::Found(is_found) => Ok(is_found),
                _ => Err(self.mismatch()),
            };
        }
        let flags = match self.call_for_reply(SentRequest::TouchClosely, encode)? {
            Reply::Touched(Some(flags)) => flags,
            Reply::Touched(None) => return Ok(false),
            _ => return Err(self.mismatch()),
        };
        if !flags.is_lease(0) {
            return Ok(true);
        }
        let Some(found) = self.look_closely(key)? else { return Ok(false) };
        if let Some(version) = found.facts.meta.version.filter(|_| found.is_lease) {
            self.delete_if(key, version)?;
        }
        Ok(!found.is_lease)
    }

    /// Changes a number. `absent` has the number of an absent key and its end, which only the meta protocol takes.
    pub(super) fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<(u64, i64)>,
    ) -> Result<Option<Counted>> {
        let (wire, change) = (self.wire(), change_of(delta, absent));
        match self.call(SentRequest::Incr, |link| add_incr(wire, link, key, &change))? {
            Answer::Counted(counted) => Ok(counted),
            _ => Err(self.mismatch()),
        }
    }

    pub(super) fn flush_all(&mut self) -> Result<()> {
        self.call(SentRequest::Flush, |link| text::flush_all::encode(link.output())).map(drop)
    }

    pub(super) fn noop(&mut self) -> Result<()> {
        self.call(SentRequest::Noop, |link| meta::noop::encode(link.output())).map(drop)
    }

    pub(super) fn version(&mut self) -> Result<String> {
        let encode = |link: &mut Link<NodePeer>| text::version::encode(link.output());
        match self.call_for_reply(SentRequest::Version, encode)? {
            Reply::Version(version) => Ok(version),
            _ => Err(self.mismatch()),
        }
    }

    /// A group of statistics, by name.
    pub(super) fn stats(&mut self, group: &str) -> Result<BTreeMap<String, String>> {
        let encode = |link: &mut Link<NodePeer>| text::stats::encode(link.output(), group);
        match self.call_for_reply(SentRequest::Stats, encode)? {
            Reply::Stats(stats) => Ok(stats),
            _ => Err(self.mismatch()),
        }
    }
}

impl Leasing {
    /// What a lease is to this client.
    pub(super) fn of(lease: Lease) -> Result<Self> {
        let Lease { version, is_won, lasts } = lease;
        let version = version.ok_or_else(no_room_for_a_lease)?;
        Ok(Self::Lease { version, is_won, lasts })
    }
}

/// Adds a mark of an entry, and a look at it.
pub(super) fn encode_mark_again(out: &mut Vec<u8>, key: &[u8], version: u64) {
    meta::delete::encode_mark(out, key, version, None);
    meta::get::encode_look(out, key);
}

/// The version of an entry after a mark; `None` if it was changed before.
pub(super) fn version_of_its_mark(marked: DeleteReply, found: Option<Looked>) -> Option<u64> {
    // Another client may have marked it between the two, and then has the version that was found.
    let is_its = |found: &Looked| found.facts.meta.stale && found.is_won;
    let found = found.filter(|found| marked == DeleteReply::Deleted && is_its(found));
    found.and_then(|found| found.facts.meta.version)
}

/// The error of a server that gives neither a value nor a lease.
pub(super) fn no_room_for_a_lease() -> Error {
    let what = "no room for a lease; give the server more memory".to_owned();
    Error::Full { engine: SCHEME, what }
}
