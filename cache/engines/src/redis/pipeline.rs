//! Requests that are sent without waiting for the answers to those before.
//!
//! A request is sent once, and to one node. Where a cluster redirects it, it fails as busy, and the layout is renewed
//! before the next request.

use std::sync::Arc;
use std::time::Duration;

use larder_store::{Answered, Delta, Initial, Pipeline, Put, Result, SetMode, SetOptions, Watch};

use super::arguments::{Counting, SetTail, whole_millis};
use super::layout::Layout;
use super::outstanding::{Doubts, NodePeer, SentRequest};
use super::request::{add, add_argument, begin, begin_argument};
use super::routing::Doubt;
use super::scripts;
use super::shared::Shared;
use crate::decimal::Digits;
use crate::pipelined::{Link, Links};
use larder_store::counters::Requests;

/// The links of a session to its nodes.
#[derive(Debug)]
pub(super) struct RedisPipeline {
    shared: Arc<Shared>,
    requests: Arc<Requests>,
    layout: Arc<Layout>,
    doubts: Arc<Doubts>,
    links: Links<NodePeer>,
    /// The link to each node of the layout. Nodes that have left the cluster keep their links.
    link_of: Vec<usize>,
    /// The link, the slot and the place of each key of a batch, kept to reuse its memory.
    places: Vec<(usize, u16, usize)>,
}

impl RedisPipeline {
    pub(super) fn new(
        shared: &Arc<Shared>,
        layout: &Arc<Layout>,
        requests: &Arc<Requests>,
    ) -> Self {
        let links = Links::new([], shared.terms().timeout);
        let mut pipeline = Self {
            shared: Arc::clone(shared),
            requests: Arc::clone(requests),
            layout: Arc::clone(layout),
            doubts: Arc::default(),
            links,
            link_of: Vec::new(),
            places: Vec::new(),
        };
        pipeline.follow(Arc::clone(layout));
        pipeline
    }

    /// Makes a link for each node of a layout that has none.
    fn follow(&mut self, layout: Arc<Layout>) {
        self.link_of.clear();
        for node in layout.nodes() {
            let known = self.links.peers().position(|peer| peer.node.place() == node.place());
            let link = known.unwrap_or_else(|| {
                let link = self.links.len();
                self.links.add(NodePeer::new(&self.shared, node, &self.doubts, link));
                link
            });
            self.link_of.push(link);
        }
        self.layout = layout;
        self.doubts.forget();
    }

    /// Asks for the layout of the cluster again, where it may have changed.
    #[inline]
    fn follow_cluster(&mut self) -> Result<()> {
        if self.doubts.are_there() && self.layout.is_cluster() { self.renew() } else { Ok(()) }
    }

    #[cold]
    fn renew(&mut self) -> Result<()> {
        let Some((link, is_lost)) = self.doubts.first() else { return Ok(()) };
        // Another node that has left before gives no advice.
        let node = self.link_of.iter().position(|of_node| *of_node == link);
        let doubt = Doubt { node: node.unwrap_or(0), is_lost: is_lost && node.is_some() };
        let layout = self.shared.renewed(&self.layout, doubt)?;
        self.follow(layout);
        Ok(())
    }

    /// The link to the node that has this slot.
    #[inline]
    fn link_of_slot(&self, slot: u16) -> usize {
        self.link_of[self.layout.owner_of(slot)]
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
        self.follow_cluster()?;
        let link = self.link_of_slot(self.layout.slot_of(key));
        self.links.ask(link, id, asked, encode)?;
        self.requests.sent.add_one();
        Ok(())
    }

    /// Finds the links of a batch, and opens them. A batch that cannot be sent as a whole is not sent at all.
    fn find_places<'k>(&mut self, keys: impl Iterator<Item = &'k [u8]>) -> Result<()> {
        self.follow_cluster()?;
        self.places.clear();
        for (place, key) in keys.enumerate() {
            let slot = self.layout.slot_of(key);
            let link = self.link_of_slot(slot);
            self.links.opened(link)?;
            self.places.push((link, slot, place));
        }
        Ok(())
    }

    /// Asks for values by a command for each slot: a node of a cluster takes the keys of one slot in one command.
    fn get_by_slots(&mut self, id: usize, keys: &[&[u8]]) -> Result<()> {
        self.find_places(keys.iter().copied())?;
        self.places.sort_unstable();
        let is_same = |a: &(usize, u16, usize), b: &(usize, u16, usize)| (a.0, a.1) == (b.0, b.1);
        for group in self.places.chunk_by(is_same) {
            let link = self.links.part(group[0].0);
            begin(link.output(), 1 + group.len());
            add_argument(link.output(), b"MGET");
            for (_, _, place) in group {
                add_argument(link.output(), keys[*place]);
                link.add_place(*place);
            }
            link.push_read(id, SentRequest::GetMany { n_keys: link.n_keys(), next: None });
        }
        self.requests.sent.add(self.links.parts().count() as u64);
        self.links.end_batch(id);
        Ok(())
    }
}

impl Pipeline for RedisPipeline {
    fn watch_with(&mut self, watch: Box<dyn Watch>) -> Result<()> {
        self.links.watch_with(watch)
    }

    fn connect(&mut self) -> Result<()> {
        self.follow_cluster()?;
        let Self { links, link_of, .. } = self;
        link_of.iter().try_for_each(|link| links.opened(*link).map(drop))
    }

    #[inline]
    fn get(&mut self, id: usize, key: &[u8]) -> Result<()> {
        self.shared.check(key)?;
        self.ask(id, key, SentRequest::Get, |link| {
            link.output().extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
            add_argument(link.output(), key);
        })
    }

    fn get_many(&mut self, id: usize, keys: &[&[u8]]) -> Result<()> {
        keys.iter().try_for_each(|key| self.shared.check(key))?;
        let Some(first) = keys.first().filter(|_| !self.layout.is_cluster()) else {
            return self.get_by_slots(id, keys);
        };
        let n_keys = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        self.ask(id, first, SentRequest::GetMany { n_keys, next: None }, |link| {
            begin(link.output(), 1 + keys.len());
            add_argument(link.output(), b"MGET");
            for key in keys {
                add_argument(link.output(), key);
            }
        })
    }

    fn set(&mut self, id: usize, key: &[u8], value: &[u8], options: &SetOptions) -> Result<()> {
        let entry = Put { key, value, options: *options };
        let asked = self.shared.storing(&entry)?;
        let is_sent = !matches!(asked, SentRequest::Oversized { .. });
        self.ask(id, key, asked, |link| add_put(link, &entry, is_sent))
    }

    fn set_many(&mut self, id: usize, entries: &[Put<'_>]) -> Result<()> {
        // Any node will do for a key that is refused below.
        self.find_places(entries.iter().map(|entry| entry.key))?;
        for (link, _, place) in &self.places {
            let entry = &entries[*place];
            match self.shared.storing(entry) {
                Ok(asked) => {
                    let link = self.links.part(*link);
                    add_put(link, entry, !matches!(asked, SentRequest::Oversized { .. }));
                    link.push_write(id, asked, *place);
                }
                Err(error) => self.links.refuse(id, *place, error),
            }
        }
        self.requests.sent.add(self.links.parts().count() as u64);
        self.links.end_batch(id);
        Ok(())
    }

    fn delete(&mut self, id: usize, key: &[u8]) -> Result<()> {
        self.shared.check(key)?;
        self.ask(id, key, SentRequest::Found("DEL"), |link| add(link.output(), &[b"DEL", key]))
    }

    fn touch(&mut self, id: usize, key: &[u8], ttl: Option<Duration>) -> Result<()> {
        self.shared.check(key)?;
        let Some(ttl) = ttl else {
            let script = scripts::PERSIST.text.as_bytes();
            return self.ask(id, key, SentRequest::Found("EVAL"), |link| {
                add(link.output(), &[b"EVAL", script, b"1", key]);
            });
        };
        let digits = Digits::new(whole_millis(ttl));
        self.ask(id, key, SentRequest::Found("PEXPIRE"), |link| {
            add(link.output(), &[b"PEXPIRE", key, digits.as_bytes()]);
        })
    }

    /// The first request on a connection brings the text of the script, and the others name it by its hash.
    fn incr(&mut self, id: usize, key: &[u8], delta: Delta, absent: Option<Initial>) -> Result<()> {
        self.shared.check(key)?;
        let arguments = Counting::new(delta, absent);
        self.ask(id, key, SentRequest::Incr, |link| {
            let knows = std::mem::replace(&mut link.peer.knows_incr, true);
            let (command, script): (&[u8], _) = if knows {
                (b"EVALSHA", scripts::INCR.hash())
            } else {
                (b"EVAL", scripts::INCR.text)
            };
            begin(link.output(), 4 + arguments.words().count());
            for argument in [command, script.as_bytes(), b"1", key] {
                add_argument(link.output(), argument);
            }
            arguments.words().for_each(|word| add_argument(link.output(), word));
        })
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

impl Shared {
    /// What storing an entry asks for. Where its value is too long to be sent, its key is removed instead.
    #[inline]
    fn storing(&self, entry: &Put<'_>) -> Result<SentRequest> {
        let Put { key, value, options } = entry;
        self.check_set(key, options)?;
        let value_len = value.len();
        match options.mode {
            SetMode::Set if value_len > self.longest_string() => {
                Ok(SentRequest::Oversized { value_len })
            }
            _ if value_len > self.longest_string() => Err(self.too_large(value_len)),
            SetMode::Append | SetMode::Prepend => Ok(SentRequest::Join),
            _ => Ok(SentRequest::Set),
        }
    }
}

/// Adds the command that stores an entry, or that which removes its key.
#[inline]
fn add_put(link: &mut Link<NodePeer>, entry: &Put<'_>, is_sent: bool) {
    if is_sent {
        add_set(link, entry);
    } else {
        add(link.output(), &[b"DEL", entry.key]);
    }
}

/// Adds the command that stores an entry. A script goes as its text, because a node that does not know it would refuse
/// its hash.
#[inline]
fn add_set(link: &mut Link<NodePeer>, entry: &Put<'_>) {
    let Put { key, value, options } = entry;
    let script = match options.mode {
        SetMode::Append => &scripts::APPEND,
        SetMode::Prepend => &scripts::PREPEND,
        _ => {
            let tail = SetTail::of(options);
            begin(link.output(), 3 + tail.words().count());
            link.output().extend_from_slice(b"$3\r\nSET\r\n");
            add_argument(link.output(), key);
            begin_argument(link.output(), value.len());
            link.add_value(value, b"\r\n");
            tail.words().for_each(|word| add_argument(link.output(), word));
            return;
        }
    };
    begin(link.output(), 5);
    for argument in [&b"EVAL"[..], script.text.as_bytes(), b"1", key] {
        add_argument(link.output(), argument);
    }
    begin_argument(link.output(), value.len());
    link.add_value(value, b"\r\n");
}
