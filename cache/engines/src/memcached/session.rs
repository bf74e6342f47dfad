//! One thread's connections to the nodes.

use std::sync::Arc;
use std::time::Duration;

use larder_protocol::storage::{StorageMode, StorageRequest};
use larder_store::counters::Requests;
use larder_store::{
    Answer, CallEnd, Counted, DeleteDone, DeleteOutcome, Delta, Error, Facts, Initial, Leases,
    Meta, Pass, Pipeline, Put, Remaining, Result, Session, SetDone, SetMode, SetOptions,
    SetOutcome,
};

use super::SCHEME;
use super::batch::{Encoding, Item, NodeAnswer, note};
use super::calls::NodeCalls;
use super::limits::{LONGEST_SENT, able};
use super::outstanding::{NodePeer, SentRequest};
use super::pipeline::MemcachedPipeline;
use super::request::{LINE_LEN, add_delete, add_get_many, add_set, asked_of_many};
use super::store::Shared;
use crate::decimal::Digits;
use crate::pipelined::{self, Link, Links, report_all};

/// The most keys of a group for which memory is taken beforehand.
const EXPECTED_KEYS: usize = 1000;

/// A link to each node, opened when it is first needed and again after an error.
#[derive(Debug)]
pub(super) struct MemcachedSession {
    pub(super) shared: Arc<Shared>,
    /// The links of calls.
    pub(super) calls: Links<NodePeer>,
    pub(super) requests: Arc<Requests>,
    /// A value that is read for its length.
    unused: Vec<u8>,
    /// The links of requests that are not waited for, if there have been any.
    pipeline: Option<Box<MemcachedPipeline>>,
}

/// The keys of a batch that a node gets in one request.
struct Group {
    node: usize,
    /// Their indices in the batch.
    indices: Vec<usize>,
    /// The bytes of the keys and of a blank before each.
    len: usize,
}

impl MemcachedSession {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let calls = Links::for_calls(shared.peers(), shared.terms().timeout);
        let requests = shared.requests.session();
        Self { shared, calls, requests, unused: Vec::new(), pipeline: None }
    }

    /// Carries out a read, which may take several requests, within the time that reads have.
    #[inline]
    pub(super) fn in_time<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        pipelined::in_time(self, |session| &mut session.calls, read)
    }

    /// Carries out one operation on the node that has `key`.
    pub(super) fn on_node_of<T>(
        &mut self,
        key: &[u8],
        operation: impl FnOnce(&mut NodeCalls<'_>) -> Result<T>,
    ) -> Result<T> {
        self.shared.check(key)?;
        self.on_node(self.shared.node_of(key), operation)
    }

    pub(super) fn on_node<T>(
        &mut self,
        node: usize,
        operation: impl FnOnce(&mut NodeCalls<'_>) -> Result<T>,
    ) -> Result<T> {
        let Self { shared, calls, requests, .. } = self;
        let pass = shared.gate(node).map(Pass::ask).transpose()?;
        let result = NodeCalls::open(calls, node).and_then(|mut connection| {
            requests.sent.add_one();
            let result = operation(&mut connection);
            connection.end();
            result
        });
        if let Some(pass) = pass {
            pass.end(CallEnd::of(&result));
        }
        result
    }

    /// The item of a batch for a key.
    pub(super) fn item(&self, number: usize, key: &[u8]) -> Item {
        Item { number, node: self.shared.node_of(key) }
    }

    /// The groups of keys that nodes get in one request.
    fn groups_of(&self, keys: &[&[u8]]) -> Vec<Group> {
        let longest = if self.shared.speaks_meta() { usize::MAX } else { LINE_LEN };
        let mut groups: Vec<Group> = Vec::new();
        // The last group of each node.
        let mut last: Vec<Option<usize>> = vec![None; self.calls.len()];
        for (index, key) in keys.iter().enumerate() {
            let (node, len) = (self.shared.node_of(key), key.len() + 1);
            match last[node].map(|group| &mut groups[group]) {
                Some(group) if group.len + len <= longest => {
                    group.indices.push(index);
                    group.len += len;
                }
                _ => {
                    last[node] = Some(groups.len());
                    let expected = keys.len() / self.calls.len() + 1;
                    let mut indices = Vec::with_capacity(expected.min(EXPECTED_KEYS));
                    indices.push(index);
                    groups.push(Group { node, indices, len });
                }
            }
        }
        groups
    }
}

impl Session for MemcachedSession {
    fn engine(&self) -> &'static str {
        SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        self.get_onto(key, value)
    }

    fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.in_time(|session| session.on_node_of(key, |connection| connection.get_onto(key, out)))
    }

    /// The server's own time since the last access is left out: it counts from the set until the entry is read often.
    fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        if self.shared.speaks_meta() {
            let found =
                self.in_time(|session| session.on_node_of(key, |connection| connection.look(key)))?;
            let was_hit =
                |facts: &Facts| facts.was_hit.filter(|_| self.shared.abilities().tells_hits);
            return Ok(found.map(|facts| Facts { was_hit: was_hit(&facts), ..facts }));
        }
        let mut value = std::mem::take(&mut self.unused);
        let meta = self.get(key, &mut value);
        let len = value.len();
        self.unused = value;
        Ok(meta?.map(|meta| Facts::of(meta, len)))
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        value.clear();
        able(self.shared.abilities().get_and_touch, "get_and_touch")?;
        let exptime = self.shared.exptime(ttl)?;
        let found =
            self.on_node_of(key, |connection| connection.get_and_touch(key, exptime, value))?;
        let remaining = ttl.map_or(Remaining::Forever, Remaining::For);
        let remaining = if self.shared.speaks_meta() { remaining } else { Remaining::Unknown };
        Ok(found.map(|meta| Meta { ttl: remaining, ..meta }))
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        keys.iter().try_for_each(|key| self.shared.check(key))?;
        let (wire, groups) = (self.shared.terms().wire, self.groups_of(keys));
        let item = |(number, group): (usize, &Group)| Item { number, node: group.node };
        let items: Vec<Item> = groups.iter().enumerate().map(item).collect();
        let encoding = Encoding {
            value_len: |_| 0,
            request: |g: usize, _| asked_of_many(wire, groups[g].indices.len()),
            encode: |link: &mut Link<NodePeer>, g: usize| {
                add_get_many(wire, link, groups[g].indices.iter().map(|i| keys[*i]));
            },
        };
        let mut refused = None;
        let asked = self.in_time(|session| {
            session.call_each(&items, encoding, |g, came| match came {
                NodeAnswer::Answer(Answer::Entry { place, value, meta }) => {
                    hit(groups[g].indices[place], value, meta);
                }
                NodeAnswer::Answer(Answer::Failed(refusal)) => note(&mut refused, refusal),
                _ => {}
            })
        });
        asked.and(refused.map_or(Ok(()), Err))
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        let request = self.shared.storage_request(&Put { key, value, options: *options })?;
        if value.len() > LONGEST_SENT {
            if options.mode == SetMode::Set {
                self.delete(key)?;
            }
            return Err(self.shared.too_large(value.len()));
        }
        self.on_node_of(key, |connection| connection.set(&request, value))
    }

    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        if entries.iter().any(|entry| entry.value.len() > LONGEST_SENT) {
            for (i, Put { key, value, options }) in entries.iter().enumerate() {
                done(i, self.set(key, value, options));
            }
            return Ok(());
        }
        let (mut items, mut headers, mut outcomes) = (Vec::new(), Vec::new(), Vec::new());
        for (i, entry) in entries.iter().enumerate() {
            match self.shared.storage_request(entry) {
                Ok(header) => {
                    items.push(self.item(i, entry.key));
                    headers.push(Some(header));
                    outcomes.push(None);
                }
                Err(error) => {
                    headers.push(None);
                    outcomes.push(Some(Err(error)));
                }
            }
        }
        let wire = self.shared.terms().wire;
        let encoding = Encoding {
            value_len: |i: usize| entries[i].value.len(),
            request: |i: usize, _| SentRequest::Set { value_len: entries[i].value.len() },
            encode: |link: &mut Link<NodePeer>, i: usize| {
                if let Some(header) = &headers[i] {
                    add_set(wire, link, header, entries[i].value);
                }
            },
        };
        let result = self.call_each(&items, encoding, |i, came| outcomes[i] = came.stored());
        report_all(outcomes, done);
        result
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.on_node_of(key, |connection| connection.delete(key))
    }

    fn delete_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        let mut outcomes: Vec<Option<Result<bool>>> =
            keys.iter().map(|key| self.shared.check(key).err().map(Err)).collect();
        let is_sent = |i: &usize| outcomes[*i].is_none();
        let items: Vec<Item> =
            (0..keys.len()).filter(is_sent).map(|i| self.item(i, keys[i])).collect();
        let wire = self.shared.terms().wire;
        let encoding = Encoding {
            value_len: |_| 0,
            request: |_, _| SentRequest::Delete,
            encode: |link: &mut Link<NodePeer>, i: usize| add_delete(wire, link, keys[i]),
        };
        let result = self.call_each(&items, encoding, |i, came| {
            outcomes[i] = match came {
                NodeAnswer::Answer(Answer::Found(is_found)) => Some(Ok(is_found)),
                NodeAnswer::Answer(Answer::Failed(refusal)) => Some(Err(refusal)),
                _ => None,
            };
        });
        report_all(outcomes, done);
        result
    }

    fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        able(self.shared.has_versions(), "delete_if")?;
        self.on_node_of(key, |connection| connection.delete_if(key, version))
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        able(self.shared.abilities().touch, "touch")?;
        let exptime = self.shared.exptime(ttl)?;
        self.on_node_of(key, |connection| connection.touch(key, exptime))
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        able(self.shared.abilities().incr, "incr")?;
        let absent = match absent {
            Some(Initial { number, ttl }) => Some((number, self.shared.exptime(ttl)?)),
            None => None,
        };
        if self.shared.speaks_meta() {
            return self.on_node_of(key, |connection| connection.incr(key, delta, absent));
        }
        loop {
            let counted = self.on_node_of(key, |connection| connection.incr(key, delta, None))?;
            let (None, Some((number, exptime))) = (counted, absent) else { return Ok(counted) };
            // One of several sessions wins the add, and the others count on from its number.
            let digits = Digits::new(number);
            let (value, mode) = (digits.as_bytes(), StorageMode::Add);
            let request = StorageRequest { key, len: value.len(), flags: 0, exptime, mode };
            if self.on_node_of(key, |connection| connection.set(&request, value))?.is_stored() {
                return Ok(Some(Counted { number, version: None }));
            }
        }
    }

    fn set_read_timeout(&mut self, longest: Option<Duration>) -> Result<()> {
        self.calls.set_longest_read(longest);
        Ok(())
    }

    fn leases(&mut self) -> Option<&mut dyn Leases> {
        if self.shared.has_leases() { Some(self) } else { None }
    }

    fn pipeline(&mut self) -> Option<&mut dyn Pipeline> {
        if !self.shared.has_pipeline() {
            return None;
        }
        let Self { shared, requests, pipeline, .. } = self;
        let of_session = || Box::new(MemcachedPipeline::new(shared, requests));
        Some(&mut **pipeline.get_or_insert_with(of_session))
    }

    fn clear(&mut self) -> Result<()> {
        if !self.shared.is_managed() {
            let operation = "clear on a server that larder did not start";
            return Err(Error::Unsupported { engine: SCHEME, operation });
        }
        if self.shared.is_behind_proxy() {
            return self.shared.flush_behind();
        }
        #[expect(
            clippy::redundant_closure_for_method_calls,
            reason = "a method of a type with a lifetime does not fit"
        )]
        (0..self.calls.len())
            .try_for_each(|node| self.on_node(node, |connection| connection.flush_all()))
    }
}
