//! Requests that are sent without waiting for the answers to those before.
//!
//! A request is sent once, and to one node. Where a cluster redirects it, it fails as busy, and the layout is renewed
//! before the next request.

use std::time::Duration;

use larder_protocol::resp::MAX_ARRAY_LEN;
use larder_store::{Answered, Delta, Initial, Pipeline, Put, Result, SetMode, SetOptions, Watch};

use super::arguments::{Counting, SetTail, whole_millis};
use super::client::{KeyPlace, RedisClient};
use super::outstanding::{NodePeer, SentRequest};
use super::request::{add, add_argument, begin, begin_argument};
use super::scripts::{self, Name};
use super::shared::Shared;
use crate::decimal::Digits;
use crate::pipelined::Link;

impl RedisClient {
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
    fn open_places<'k>(&mut self, keys: impl Iterator<Item = &'k [u8]>) -> Result<()> {
        self.follow_cluster()?;
        self.find_places(keys.enumerate());
        self.places.iter().try_for_each(|place| self.links.opened(place.link).map(drop))
    }

    /// Asks for values by a command for each slot: a node of a cluster takes the keys of one slot in one command.
    fn get_by_slots(&mut self, id: usize, keys: &[&[u8]]) -> Result<()> {
        self.open_places(keys.iter().copied())?;
        self.places.sort_unstable();
        let of_slots = self.places.chunk_by(KeyPlace::shares_command);
        for group in of_slots.flat_map(|group| group.chunks(MAX_ARRAY_LEN)) {
            let link = self.links.part(group[0].link);
            begin(link.output(), 1 + group.len());
            add_argument(link.output(), b"MGET");
            for KeyPlace { index, .. } in group {
                add_argument(link.output(), keys[*index]);
                link.add_place(*index);
            }
            link.push_read(id, SentRequest::GetMany { n_keys: link.n_keys(), next: None, id: 0 });
        }
        self.requests.sent.add(self.links.parts().count() as u64);
        self.links.end_batch(id);
        Ok(())
    }
}

impl Pipeline for RedisClient {
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
        self.ask(id, key, SentRequest::Get("GET"), |link| add_get(link, key))
    }

    fn get_many(&mut self, id: usize, keys: &[&[u8]]) -> Result<()> {
        keys.iter().try_for_each(|key| self.shared.check(key))?;
        let Some(first) = keys.first().filter(|_| is_one_command(self.layout.is_cluster(), keys))
        else {
            return self.get_by_slots(id, keys);
        };
        let n_keys = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        self.ask(id, first, SentRequest::GetMany { n_keys, next: None, id: 0 }, |link| {
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
        self.open_places(entries.iter().map(|entry| entry.key))?;
        for KeyPlace { link, index, .. } in &self.places {
            let entry = &entries[*index];
            match self.shared.storing(entry) {
                Ok(asked) => {
                    let link = self.links.part(*link);
                    add_put(link, entry, !matches!(asked, SentRequest::Oversized { .. }));
                    link.push_write(id, asked, *index);
                }
                Err(error) => self.links.refuse(id, *index, error),
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

/// Whether one node takes these keys in one command.
fn is_one_command(is_cluster: bool, keys: &[&[u8]]) -> bool {
    !is_cluster && keys.len() <= MAX_ARRAY_LEN
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

/// Adds the command that reads a value.
#[inline]
pub(super) fn add_get(link: &mut Link<NodePeer>, key: &[u8]) {
    link.output().extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
    add_argument(link.output(), key);
}

/// Adds the command that stores an entry. A script goes as its text, because a node that does not know it would refuse
/// its hash.
#[inline]
pub(super) fn add_set(link: &mut Link<NodePeer>, entry: &Put<'_>) {
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
            return link.add_value(value, |out| {
                out.extend_from_slice(b"\r\n");
                tail.words().for_each(|word| add_argument(out, word));
            });
        }
    };
    script.add(Name::Text, link, key, &[], Some(value));
}
