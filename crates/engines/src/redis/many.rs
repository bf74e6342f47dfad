//! Many keys at once: one request a node.

use larder_store::{Error, Meta, Result};
use redis::{ServerErrorKind, Value};

use super::refusal;
use super::request::Request;
use super::session::{Redirect, RedisSession};

/// The part of a batch that one node has.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// The slots of keys and which of the keys they are, in this order: a node takes the keys of one slot in one command.
    places: Vec<(u16, usize)>,
    request: Request,
}

impl Part {
    fn clear(&mut self) {
        self.places.clear();
        self.request.clear();
    }

    /// Packs a command for the keys of each slot, one behind the other.
    fn pack(&mut self, keys: &[&[u8]]) {
        self.places.sort_unstable();
        for group in self.places.chunk_by(|a, b| a.0 == b.0) {
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
        let result = self.send_parts(keys).and_then(|()| self.receive_parts(hit, &mut moved));
        self.is_stale |= self.layout.is_cluster() && (result.is_err() || !moved.is_empty());
        result?;
        let mut value = Vec::new();
        for i in moved {
            if let Some(meta) = larder_store::Session::get(self, keys[i], &mut value)? {
                hit(i, &value, meta);
            }
        }
        Ok(())
    }

    fn send_parts(&mut self, keys: &[&[u8]]) -> Result<()> {
        let Self { shared, connections, parts, .. } = self;
        let asked = connections.iter_mut().zip(parts).filter(|(_, part)| !part.places.is_empty());
        for (connection, part) in asked {
            part.pack(keys);
            if connection.begin()? {
                shared.count_connection();
            }
            connection.send(&part.request, b"")?;
        }
        Ok(())
    }

    /// Reads every answer, also behind a refusal. Keys that a node does not have any more come into `moved`.
    fn receive_parts(
        &mut self,
        hit: &mut dyn FnMut(usize, &[u8], Meta),
        moved: &mut Vec<usize>,
    ) -> Result<()> {
        let mut first_error: Option<Error> = None;
        let Self { connections, parts, .. } = self;
        let asked = connections.iter_mut().zip(parts).filter(|(_, part)| !part.places.is_empty());
        for (connection, part) in asked {
            for group in part.places.chunk_by(|a, b| a.0 == b.0) {
                let error = match connection.receive()? {
                    Value::Array(values) if values.len() == group.len() => {
                        for ((_, i), value) in group.iter().zip(&values) {
                            match value {
                                Value::BulkString(value) => hit(*i, value, Meta::default()),
                                Value::Nil => {}
                                other => {
                                    return Err(refusal::unexpected(
                                        connection.node(),
                                        "MGET",
                                        other,
                                    ));
                                }
                            }
                        }
                        continue;
                    }
                    Value::ServerError(error) => {
                        // While a slot moves, its keys are on two nodes, and are asked for one by one.
                        let is_moving = error.kind() == Some(ServerErrorKind::TryAgain);
                        if is_moving || Redirect::of(&error).is_some() {
                            moved.extend(group.iter().map(|(_, i)| *i));
                            continue;
                        }
                        refusal::refused(connection.node(), &error)
                    }
                    other => refusal::unexpected(connection.node(), "MGET", &other),
                };
                first_error.get_or_insert(error);
            }
            connection.end();
        }
        first_error.map_or(Ok(()), Err)
    }
}
