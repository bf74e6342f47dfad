//! Many keys at once: one request for each node.

use larder_protocol::resp::{MAX_ARRAY_LEN, Value};
use larder_store::counters::Requests;
use larder_store::{Answer, Error, Meta, Result, Session as _};

use super::batch::BatchRequests;
use super::client::{KeyPlace, RedisClient};
use super::errors;
use super::outstanding::{Doubts, NodePeer, SentRequest};
use super::request::{add_argument, begin};
use super::routing::{asks_for_single_keys, doubt_in};
use super::script_answer::whole;
use super::scripts::{self, Name};
use super::session::RedisSession;
use crate::pipelined::{self, Link, Links};

/// The callback for each hit: the index of its key, the value, and its metadata.
type Hit<'a> = dyn FnMut(usize, &[u8], Meta) + 'a;

/// Keys that are read with their remaining TTLs, each by a script.
struct ReadsWithTtl<'a>(&'a [&'a [u8]]);

impl BatchRequests for ReadsWithTtl<'_> {
    const COMMAND: &'static str = "EVALSHA";

    fn key(&self, i: usize) -> &[u8] {
        self.0[i]
    }

    fn add(&self, i: usize, link: &mut Link<NodePeer>, _: bool) {
        scripts::READ.add(Name::Hash, link, self.0[i], &[b"1"], None);
    }
}

impl RedisSession {
    /// Asks every node that has some of the keys, and passes on what is found.
    pub(super) fn ask_many(&mut self, keys: &[&[u8]], hit: &mut Hit<'_>) -> Result<()> {
        let alone = if self.shared.reports_ttl() {
            self.ask_many_with_ttl(keys, hit)
        } else {
            self.client.get_each(keys, hit)
        };
        let mut value = Vec::new();
        for i in alone? {
            if let Some(meta) = self.get(keys[i], &mut value)? {
                hit(i, &value, meta);
            }
        }
        Ok(())
    }

    /// The indices of keys that are to be asked for once more, each by itself.
    fn ask_many_with_ttl(&mut self, keys: &[&[u8]], hit: &mut Hit<'_>) -> Result<Vec<usize>> {
        let (mut alone, mut refused): (Vec<usize>, Option<Error>) = (Vec::new(), None);
        let shared = &self.shared;
        self.client.call_each(0..keys.len(), &ReadsWithTtl(keys), &mut |i, answer, node| {
            match answer {
                // A server that does not know the script yet gets it with the first of these requests.
                Value::Error(error) if asks_for_single_keys(&error) => alone.push(i),
                Value::Error(error) => drop(refused.get_or_insert(errors::refused(node, &error))),
                answer => match whole(answer, shared) {
                    Ok(Some((value, meta))) => hit(i, &value, meta),
                    Ok(None) => {}
                    Err(other) => {
                        refused.get_or_insert(errors::unexpected(node, "EVALSHA", &other));
                    }
                },
            }
        })?;
        refused.map_or(Ok(alone), Err)
    }
}

/// Reads of many keys on their way: a command for the keys of each slot, or without a cluster for all.
struct Reads<'a, 'h> {
    keys: &'a [&'a [u8]],
    groups: Vec<&'a [KeyPlace]>,
    doubts: &'a Doubts,
    requests: &'a Requests,
    hit: &'a mut Hit<'h>,
    alone: Vec<usize>,
    refused: Option<Error>,
}

impl RedisClient {
    /// As [`RedisSession::ask_many`]. The indices of keys that are to be asked for once more, each by itself.
    fn get_each(&mut self, keys: &[&[u8]], hit: &mut Hit<'_>) -> Result<Vec<usize>> {
        self.begin_call()?;
        self.find_places(keys.iter().copied().enumerate());
        // Without a cluster they are in order already.
        if self.layout.is_cluster() {
            self.places.sort_unstable();
        }
        let Self { links, places, requests, doubts, .. } = self;
        let of_slots = places.chunk_by(KeyPlace::shares_command);
        let groups: Vec<_> = of_slots.flat_map(|group| group.chunks(MAX_ARRAY_LEN)).collect();
        let numbers = 0..groups.len();
        let (alone, refused) = (Vec::new(), None);
        let mut reading = Reads { keys, groups, doubts, requests, hit, alone, refused };
        let failed = links.call_each(numbers, &mut reading);
        let Reads { alone, refused, .. } = reading;
        self.end_call();
        let failed = failed.into_iter().next().map(|(_, error)| error);
        failed.or(refused).map_or(Ok(alone), Err)
    }
}

impl pipelined::Batch<NodePeer> for Reads<'_, '_> {
    fn link_of(&self, i: usize) -> usize {
        self.groups[i][0].link
    }

    fn value_len(&self, _: usize) -> usize {
        0
    }

    fn ask(&mut self, links: &mut Links<NodePeer>, i: usize, is_first: bool) -> Result<()> {
        let (keys, group) = (self.keys, self.groups[i]);
        let [id, n_keys] = [i, group.len()].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let asked = SentRequest::GetMany { n_keys, next: None, id };
        links.ask(group[0].link, i, asked, |link| {
            begin(link.output(), 1 + group.len());
            add_argument(link.output(), b"MGET");
            for KeyPlace { index, .. } in group {
                add_argument(link.output(), keys[*index]);
            }
        })?;
        self.requests.sent.add(u64::from(is_first));
        Ok(())
    }

    fn answered(&mut self, i: usize, answer: Answer<'_>) -> Result<()> {
        match answer {
            Answer::Entry { place, value, meta } => {
                (self.hit)(self.groups[i][place].index, value, meta);
                Ok(())
            }
            Answer::Failed(error) => Err(error),
            _ => Ok(()),
        }
    }

    fn replied(&mut self, i: usize, refusal: Value, peer: &NodePeer) {
        let Value::Error(error) = refusal else { return };
        if let Some(is_lost) = doubt_in(&error) {
            self.doubts.note(peer.link, is_lost);
        }
        if asks_for_single_keys(&error) {
            self.alone.extend(self.groups[i].iter().map(|place| place.index));
        } else {
            self.refused.get_or_insert_with(|| errors::refused(&peer.node, &error));
        }
    }
}
