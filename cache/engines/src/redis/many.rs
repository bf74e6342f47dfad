//! Many keys at once: one request for each node.

use larder_store::{Error, Meta, Result};
use redis::{ServerErrorKind, Value};

use super::address::Node;
use super::errors;
use super::request::Request;
use super::routing::{Doubt, Redirect};
use super::script_answer::whole;
use super::scripts;
use super::session::RedisSession;

/// The part of a batch for one node.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// The slot and the index of each key, sorted by slot: a node takes the keys of one slot in one command.
    places: Vec<(u16, usize)>,
    request: Request,
}

impl Part {
    fn clear(&mut self) {
        self.places.clear();
        self.request.clear();
    }

    /// Packs the commands, one behind the other.
    fn pack(&mut self, keys: &[&[u8]], reports_ttl: bool) {
        self.places.sort_unstable();
        for group in groups(&self.places, reports_ttl) {
            if reports_ttl {
                let hash = scripts::READ.hash().as_bytes();
                self.request.add(&[b"EVALSHA", hash, b"1", keys[group[0].1], b"1"]);
                continue;
            }
            self.request.begin(1 + group.len());
            self.request.argument(b"MGET");
            for (_, i) in group {
                self.request.argument(keys[*i]);
            }
        }
    }
}

impl RedisSession {
    /// Asks every node that has some of the keys, then reads the answers.
    pub(super) fn ask_many(
        &mut self,
        keys: &[&[u8]],
        hit: &mut dyn FnMut(usize, &[u8], Meta),
    ) -> Result<()> {
        self.renew_layout()?;
        self.parts.iter_mut().for_each(Part::clear);
        for (i, key) in keys.iter().enumerate() {
            let slot = self.layout.slot_of(key);
            self.parts[self.layout.owner_of(slot)].places.push((slot, i));
        }
        let mut moved = Vec::new();
        self.send_parts(keys)?;
        self.receive_parts(hit, &mut moved)?;
        let mut value = Vec::new();
        for i in moved {
            if let Some(meta) = larder_store::Session::get(self, keys[i], &mut value)? {
                hit(i, &value, meta);
            }
        }
        Ok(())
    }

    fn send_parts(&mut self, keys: &[&[u8]]) -> Result<()> {
        for (node, part) in asked_parts(&mut self.parts) {
            let connection = &mut self.connections[node];
            part.pack(keys, self.shared.reports_ttl());
            let sent = connection.begin(self.bound).and_then(|is_new| {
                if is_new {
                    self.shared.count_connection();
                }
                self.requests.sent.add_one();
                connection.send(&part.request, b"")
            });
            if sent.is_err() {
                self.doubt = Some(Doubt::lost(node));
            }
            sent?;
        }
        Ok(())
    }

    /// Reads every answer, also after a refusal. Keys that a node no longer has are added to `moved`.
    fn receive_parts(
        &mut self,
        hit: &mut dyn FnMut(usize, &[u8], Meta),
        moved: &mut Vec<usize>,
    ) -> Result<()> {
        let mut first_error: Option<Error> = None;
        let reports_ttl = self.shared.reports_ttl();
        for (node, part) in asked_parts(&mut self.parts) {
            let connection = &mut self.connections[node];
            for group in groups(&part.places, reports_ttl) {
                let answer = connection.receive().inspect_err(|_| {
                    self.doubt = Some(Doubt::lost(node));
                })?;
                let error = match answer {
                    Value::Array(_) | Value::Nil if reports_ttl => {
                        let read = whole(answer, &self.shared).map_err(|other| {
                            errors::unexpected(connection.node(), "EVALSHA", &other)
                        })?;
                        if let Some((value, meta)) = read {
                            hit(group[0].1, &value, meta);
                        }
                        continue;
                    }
                    Value::Array(values) if values.len() == group.len() => {
                        give(group, &values, connection.node(), hit)?;
                        continue;
                    }
                    Value::ServerError(error) => {
                        self.doubt = self.doubt.or(Doubt::by(&error, node));
                        // While a slot moves, its keys are on two nodes, and each key needs a request of its own.
                        // A server that does not know the script yet gets it with the first of these requests.
                        let is_alone = matches!(
                            error.kind(),
                            Some(ServerErrorKind::TryAgain | ServerErrorKind::NoScript)
                        );
                        if is_alone || Redirect::of(&error).is_some() {
                            moved.extend(group.iter().map(|(_, i)| *i));
                            continue;
                        }
                        errors::refused(connection.node(), &error)
                    }
                    other => errors::unexpected(connection.node(), "MGET", &other),
                };
                first_error.get_or_insert(error);
            }
            connection.end();
        }
        first_error.map_or(Ok(()), Err)
    }
}

/// The keys that share a command: those of one slot, or each alone where its remaining TTL is reported.
fn groups(places: &[(u16, usize)], reports_ttl: bool) -> impl Iterator<Item = &[(u16, usize)]> {
    places.chunk_by(move |a, b| a.0 == b.0 && !reports_ttl)
}

/// The parts of a batch that have keys, with the places of their nodes.
fn asked_parts(parts: &mut [Part]) -> impl Iterator<Item = (usize, &mut Part)> {
    parts.iter_mut().enumerate().filter(|(_, part)| !part.places.is_empty())
}

/// Passes on the values of the keys of one slot.
fn give(
    group: &[(u16, usize)],
    values: &[Value],
    node: &Node,
    hit: &mut dyn FnMut(usize, &[u8], Meta),
) -> Result<()> {
    for ((_, i), value) in group.iter().zip(values) {
        match value {
            Value::BulkString(value) => hit(*i, value, Meta::default()),
            Value::Nil => {}
            other => return Err(errors::unexpected(node, "MGET", other)),
        }
    }
    Ok(())
}
