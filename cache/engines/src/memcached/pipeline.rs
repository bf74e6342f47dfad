//! Requests that are sent without waiting for the answers to those before.

use std::sync::Arc;
use std::time::Duration;

use larder_protocol::meta;
use larder_protocol::storage::{StorageMode, StorageRequest};
use larder_store::{Answered, Delta, Initial, Pipeline, Put, Result, SetMode, SetOptions, Watch};

use super::keys::Cursor;
use super::limits::{LONGEST_SENT, able};
use super::outstanding::{NodePeer, SentRequest};
use super::request::{
    GET, LINE_END, LINE_LEN, add_delete, add_get, add_get_many, add_incr, add_set, add_touch,
    asked_of_many, change_of,
};
use super::store::Shared;
use super::terms::Wire;
use crate::decimal::Digits;
use crate::pipelined::{Link, Links};
use larder_store::counters::Requests;

/// The links of a session to its nodes.
#[derive(Debug)]
pub(super) struct MemcachedPipeline {
    shared: Arc<Shared>,
    requests: Arc<Requests>,
    wire: Wire,
    links: Links<NodePeer>,
    /// The node of each key of a batch, kept to reuse its memory.
    nodes: Vec<usize>,
}

impl MemcachedPipeline {
    pub(super) fn new(shared: &Arc<Shared>, requests: &Arc<Requests>) -> Self {
        let links = Links::new(shared.peers(), shared.terms().timeout);
        let (shared, requests) = (Arc::clone(shared), Arc::clone(requests));
        let wire = shared.terms().wire;
        Self { shared, requests, wire, links, nodes: Vec::new() }
    }

    /// Sends a request of one command about a valid key.
    #[inline]
    fn ask(
        &mut self,
        id: usize,
        key: &[u8],
        asked: SentRequest,
        encode: impl FnOnce(&mut Link<NodePeer>),
    ) -> Result<()> {
        self.links.ask(self.shared.node_of(key), id, asked, encode)?;
        self.requests.sent.add_one();
        Ok(())
    }

    /// Finds the nodes of a batch, and opens their links. A batch that cannot be sent as a whole is not sent at all.
    fn find_nodes<'k>(&mut self, keys: impl Iterator<Item = &'k [u8]>) -> Result<()> {
        self.nodes.clear();
        for key in keys {
            let node = self.shared.node_of(key);
            self.links.opened(node)?;
            self.nodes.push(node);
        }
        Ok(())
    }

    /// How an entry is stored. Where its value is too long to be sent, its key is removed instead.
    #[inline]
    fn storing<'e>(&self, entry: &Put<'e>) -> Result<(StorageRequest<'e>, SentRequest)> {
        let request = self.shared.storage_request(entry)?;
        let value_len = entry.value.len();
        if value_len <= LONGEST_SENT {
            Ok((request, SentRequest::Set { value_len }))
        } else if entry.options.mode == SetMode::Set {
            Ok((request, SentRequest::Oversized { value_len }))
        } else {
            Err(self.shared.too_large(value_len))
        }
    }

    /// Asks for values by several commands.
    fn get_split(&mut self, id: usize, keys: &[&[u8]]) -> Result<()> {
        self.find_nodes(keys.iter().copied())?;
        for (place, key) in keys.iter().enumerate() {
            let link = self.links.part(self.nodes[place]);
            match self.wire {
                Wire::Meta => meta::get::encode(link.output(), key),
                Wire::Text => {
                    if link.peer.line_len + key.len() > LINE_LEN {
                        end_line(id, link);
                        self.requests.sent.add_one();
                    }
                    add_text_key(link, key);
                }
            }
            link.add_place(place);
        }
        for link in self.links.parts() {
            match self.wire {
                Wire::Meta => {
                    link.push_read(id, SentRequest::GetMany { n_keys: link.n_keys(), next: 0 });
                }
                Wire::Text => end_line(id, link),
            }
            self.requests.sent.add_one();
        }
        self.links.end_batch(id);
        Ok(())
    }
}

impl Pipeline for MemcachedPipeline {
    fn watch_with(&mut self, watch: Box<dyn Watch>) -> Result<()> {
        self.links.watch_with(watch)
    }

    fn connect(&mut self) -> Result<()> {
        self.links.connect()
    }

    #[inline]
    fn get(&mut self, id: usize, key: &[u8]) -> Result<()> {
        self.shared.check(key)?;
        let wire = self.wire;
        self.ask(id, key, SentRequest::Get, |link| add_get(wire, link, key))
    }

    fn get_many(&mut self, id: usize, keys: &[&[u8]]) -> Result<()> {
        keys.iter().try_for_each(|key| self.shared.check(key))?;
        let Some(first) = keys.first().filter(|_| self.links.len() == 1) else {
            return self.get_split(id, keys);
        };
        let wire = self.wire;
        let line_len = || keys.iter().map(|key| key.len() + 1).sum::<usize>();
        if wire == Wire::Text && line_len() > LINE_LEN {
            return self.get_split(id, keys);
        }
        self.ask(id, first, asked_of_many(wire, keys.len()), |link| {
            add_get_many(wire, link, keys.iter().copied());
        })
    }

    fn set(&mut self, id: usize, key: &[u8], value: &[u8], options: &SetOptions) -> Result<()> {
        let entry = Put { key, value, options: *options };
        let (request, asked) = self.storing(&entry)?;
        let (wire, is_sent) = (self.wire, matches!(asked, SentRequest::Set { .. }));
        self.ask(id, key, asked, |link| {
            if is_sent {
                add_set(wire, link, &request, value);
            } else {
                add_delete(wire, link, key);
            }
        })
    }

    fn set_many(&mut self, id: usize, entries: &[Put<'_>]) -> Result<()> {
        // Any node will do for a key that is refused below.
        self.find_nodes(entries.iter().map(|entry| entry.key))?;
        for (place, entry) in entries.iter().enumerate() {
            let (request, asked) = match self.storing(entry) {
                Ok(storing) => storing,
                Err(error) => {
                    self.links.refuse(id, place, error);
                    continue;
                }
            };
            let link = self.links.part(self.nodes[place]);
            if matches!(asked, SentRequest::Set { .. }) {
                add_set(self.wire, link, &request, entry.value);
            } else {
                add_delete(self.wire, link, entry.key);
            }
            link.push_write(id, asked, place);
        }
        self.requests.sent.add(self.links.parts().count() as u64);
        self.links.end_batch(id);
        Ok(())
    }

    fn delete(&mut self, id: usize, key: &[u8]) -> Result<()> {
        self.shared.check(key)?;
        let wire = self.wire;
        self.ask(id, key, SentRequest::Delete, |link| add_delete(wire, link, key))
    }

    fn touch(&mut self, id: usize, key: &[u8], ttl: Option<Duration>) -> Result<()> {
        self.shared.check(key)?;
        able(self.shared.abilities().touch, "touch")?;
        let (exptime, wire) = (self.shared.exptime(ttl)?, self.wire);
        self.ask(id, key, SentRequest::Touch, |link| add_touch(wire, link, key, exptime))
    }

    /// The text protocol has no `incr` with an initial number. There an `add` of it follows at once, which stores nothing
    /// where the key was counted.
    fn incr(&mut self, id: usize, key: &[u8], delta: Delta, absent: Option<Initial>) -> Result<()> {
        self.shared.check(key)?;
        able(self.shared.abilities().incr, "incr")?;
        let exptime = |Initial { number, ttl }| Ok((number, self.shared.exptime(ttl)?));
        let change = change_of(delta, absent.map(exptime).transpose()?);
        let wire = self.wire;
        let behind = change.absent.filter(|_| wire == Wire::Text);
        let asked = match behind {
            Some((initial, _)) => SentRequest::IncrOrAdd { initial },
            None => SentRequest::Incr,
        };
        self.ask(id, key, asked, |link| {
            add_incr(wire, link, key, &change);
            if let Some((number, exptime)) = behind {
                add_initial(link, key, number, exptime);
            }
        })?;
        self.requests.sent.add(u64::from(behind.is_some()));
        Ok(())
    }

    #[inline]
    fn flush(&mut self) {
        self.links.flush();
    }

    #[inline]
    fn unsent_bytes(&mut self) -> usize {
        self.links.unsent_bytes()
    }

    #[inline]
    fn n_outstanding(&mut self) -> usize {
        self.links.n_outstanding()
    }

    #[inline]
    fn is_ready(&mut self) -> bool {
        self.links.is_ready()
    }

    #[inline]
    fn receive(&mut self, link: usize, room: &mut [u8], answered: &mut Answered<'_>) {
        self.links.receive(link, room, answered);
    }

    fn wait(&mut self, room: &mut [u8], answered: &mut Answered<'_>) {
        self.links.wait(room, answered);
    }

    fn expire(&mut self, answered: &mut Answered<'_>) {
        self.links.expire(answered);
    }
}

/// Adds a key to the line that is being put together.
fn add_text_key(link: &mut Link<NodePeer>, key: &[u8]) {
    if link.peer.line_len == 0 {
        link.output().extend_from_slice(GET);
    }
    link.output().push(b' ');
    link.output().extend_from_slice(key);
    link.peer.line_len += key.len() + 1;
    link.peer.keys.push(key);
}

/// Ends the line that is being put together.
fn end_line(id: usize, link: &mut Link<NodePeer>) {
    link.output().extend_from_slice(LINE_END);
    link.peer.line_len = 0;
    let n_keys = link.n_keys();
    link.push_read(id, SentRequest::GetManyText { n_keys, cursor: Cursor::default() });
}

/// Adds a request that stores a number under an absent key.
fn add_initial(link: &mut Link<NodePeer>, key: &[u8], number: u64, exptime: i64) {
    let digits = Digits::new(number);
    let (value, mode) = (digits.as_bytes(), StorageMode::Add);
    let request = StorageRequest { key, len: value.len(), flags: 0, exptime, mode };
    add_set(Wire::Text, link, &request, value);
}
