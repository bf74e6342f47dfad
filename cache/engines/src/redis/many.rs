//! Many keys at once: one request for each node.

use larder_protocol::resp::Value;
use larder_store::{Error, Meta, Result, Session as _};

use super::batch::Batch;
use super::errors;
use super::outstanding::NodePeer;
use super::routing::asks_for_single_keys;
use super::script_answer::whole;
use super::scripts::{self, Name};
use super::session::RedisSession;
use crate::pipelined::Link;

/// Keys that are read with their remaining TTLs, each by a script.
struct ReadsWithTtl<'a>(&'a [&'a [u8]]);

impl Batch for ReadsWithTtl<'_> {
    const COMMAND: &'static str = "EVALSHA";

    fn key(&self, i: usize) -> &[u8] {
        self.0[i]
    }

    fn value(&self, _: usize) -> &[u8] {
        b""
    }

    fn add(&self, i: usize, link: &mut Link<NodePeer>, _: bool) {
        scripts::READ.add(Name::Hash, link, self.0[i], &[b"1"], None);
    }
}

impl RedisSession {
    /// Asks every node that has some of the keys, and passes on what is found.
    pub(super) fn ask_many(
        &mut self,
        keys: &[&[u8]],
        hit: &mut dyn FnMut(usize, &[u8], Meta),
    ) -> Result<()> {
        let alone = if self.shared.reports_ttl() {
            self.ask_many_with_ttl(keys, hit)
        } else {
            self.client.call_for_many(keys, hit)
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
    fn ask_many_with_ttl(
        &mut self,
        keys: &[&[u8]],
        hit: &mut dyn FnMut(usize, &[u8], Meta),
    ) -> Result<Vec<usize>> {
        let all: Vec<usize> = (0..keys.len()).collect();
        let (mut alone, mut refused): (Vec<usize>, Option<Error>) = (Vec::new(), None);
        let shared = &self.shared;
        self.client.call_each(&all, &ReadsWithTtl(keys), &mut |i, answer, node| match answer {
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
        })?;
        refused.map_or(Ok(alone), Err)
    }
}
