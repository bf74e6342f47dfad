//! One thread's connections to the nodes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_protocol::storage::{StorageMode, StorageRequest};
use larder_store::{
    CallEnd, Counted, DeleteDone, DeleteOutcome, Delta, Error, Facts, Initial, Leases, Meta, Pass,
    Pipeline, Put, Remaining, Result, Session, SetDone, SetMode, SetOptions, SetOutcome,
};

use super::SCHEME;
use super::connection::Connection;
use super::limits::{LONGEST_SENT, able};
use super::many::Part;
use super::pipeline::MemcachedPipeline;
use super::store::Shared;
use super::write_many::report_all;
use crate::decimal::Digits;
use larder_store::counters::Requests;

/// A connection to each node, opened when it is first needed and again after an error.
#[derive(Debug)]
pub(super) struct MemcachedSession {
    pub(super) shared: Arc<Shared>,
    connections: Vec<Connection>,
    requests: Arc<Requests>,
    /// The requests of a batch to each node, kept to reuse their memory.
    pub(super) parts: Vec<Part>,
    /// A value of a batch that does not fit a receive buffer.
    large: Vec<u8>,
    /// The links of requests that are not waited for, which are beside the connections.
    pipeline: MemcachedPipeline,
    /// The longest time of a read, where it is bounded.
    read_timeout: Option<Duration>,
    /// The moment at which the answers to the present read are due.
    deadline: Option<Instant>,
}

impl MemcachedSession {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let connections = shared.connections();
        let parts = connections.iter().map(|_| Part::default()).collect();
        let requests = shared.requests.session();
        let pipeline = MemcachedPipeline::new(&shared, &requests);
        Self {
            shared,
            connections,
            requests,
            parts,
            large: Vec::new(),
            pipeline,
            read_timeout: None,
            deadline: None,
        }
    }

    /// Carries out a read, which may take several requests, within the time that reads have.
    #[inline]
    pub(super) fn in_time<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let Some(longest) = self.read_timeout else { return read(self) };
        self.deadline = Some(Instant::now() + longest);
        let result = read(self);
        self.deadline = None;
        result
    }

    /// Carries out one operation on the node that has `key`.
    pub(super) fn on_node_of<T>(
        &mut self,
        key: &[u8],
        operation: impl FnOnce(&mut Connection) -> Result<T>,
    ) -> Result<T> {
        self.shared.check(key)?;
        let node = if self.connections.len() == 1 { 0 } else { self.shared.node_of(key) };
        self.on_node(node, operation)
    }

    pub(super) fn on_node<T>(
        &mut self,
        node: usize,
        operation: impl FnOnce(&mut Connection) -> Result<T>,
    ) -> Result<T> {
        let Self { shared, connections, requests, deadline, .. } = self;
        let pass = shared.gate(node).map(Pass::ask).transpose()?;
        let connection = &mut connections[node];
        let result = connection.begin(*deadline).and_then(|is_new| {
            if is_new {
                shared.count_connection();
            }
            requests.sent.add_one();
            let result = operation(connection);
            connection.end(&result);
            result
        });
        if let Some(pass) = pass {
            pass.end(CallEnd::of(&result));
        }
        result
    }

    /// Asks every node that has keys left, then reads the answers; repeats while a node has keys left. A node that fails
    /// is left out, and the others answer. The error is then that of a node that failed.
    pub(super) fn ask_and_answer(
        &mut self,
        mut ask: impl FnMut(&mut Connection, &mut Part) -> Result<()>,
        mut answer: impl FnMut(&mut Connection, &mut Part, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let Self { shared, connections, requests, parts, large, deadline, .. } = self;
        let mut failed = None;
        // Each node that has been asked has its pass here, where there are gates.
        let mut passes: Vec<Option<Pass<'_>>> = Vec::new();
        if shared.has_gates() {
            passes.resize_with(parts.len(), || None);
        }
        while parts.iter().any(Part::is_open) {
            let nodes = connections.iter_mut().zip(&mut *parts).enumerate();
            for (node, (connection, part)) in nodes.filter(|(_, (_, part))| part.is_open()) {
                let pass = match shared.gate(node).map(Pass::ask).transpose() {
                    Ok(pass) => pass,
                    Err(refusal) => {
                        part.clear();
                        note(&mut failed, refusal);
                        continue;
                    }
                };
                let asked = connection.begin(*deadline).and_then(|is_new| {
                    if is_new {
                        shared.count_connection();
                    }
                    requests.sent.add_one();
                    ask(connection, part)
                });
                if asked.is_ok() {
                    if pass.is_some() {
                        passes[node] = pass;
                    }
                    continue;
                }
                connection.end(&asked);
                end(pass, part, asked, &mut failed);
            }
            let nodes = connections.iter_mut().zip(&mut *parts).enumerate();
            for (node, (connection, part)) in nodes.filter(|(_, (_, part))| part.is_asked()) {
                let answered = answer(connection, part, large);
                connection.end(&answered);
                end(passes.get_mut(node).and_then(Option::take), part, answered, &mut failed);
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

/// Ends the request to a node. After an error the node is asked for none of the keys that are left.
fn end(pass: Option<Pass<'_>>, part: &mut Part, result: Result<()>, failed: &mut Option<Error>) {
    if let Some(pass) = pass {
        pass.end(CallEnd::of(&result));
    }
    if let Err(error) = result {
        part.clear();
        note(failed, error);
    }
}

/// Keeps the first error, but rather one of a node that was asked than the refusal of a gate: only after the former
/// nobody knows whether a write took effect.
pub(super) fn note(failed: &mut Option<Error>, error: Error) {
    if failed.as_ref().is_none_or(Error::is_not_made) {
        *failed = Some(error);
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
        let mut value = std::mem::take(&mut self.large);
        let meta = self.get(key, &mut value);
        let len = value.len();
        self.large = value;
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
        self.parts.iter_mut().for_each(Part::clear);
        for (i, key) in keys.iter().enumerate() {
            self.parts[self.shared.node_of(key)].push(i);
        }
        self.in_time(|session| {
            session.ask_and_answer(
                |connection, part| connection.ask_many(keys, part),
                |connection, part, large| connection.answer_many(keys, part, large, hit),
            )
        })
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
        self.parts.iter_mut().for_each(Part::clear);
        let (mut headers, mut outcomes) = (Vec::new(), Vec::new());
        for (i, entry) in entries.iter().enumerate() {
            match self.shared.storage_request(entry) {
                Ok(header) => {
                    self.parts[self.shared.node_of(entry.key)].push(i);
                    headers.push(Some(header));
                    outcomes.push(None);
                }
                Err(error) => {
                    headers.push(None);
                    outcomes.push(Some(Err(error)));
                }
            }
        }
        let result = self.ask_and_answer(
            |connection, part| connection.send_sets(entries, &headers, part),
            |connection, part, _| connection.receive_sets(entries, part, &mut outcomes),
        );
        report_all(outcomes, done);
        result
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.on_node_of(key, |connection| connection.delete(key))
    }

    fn delete_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        self.parts.iter_mut().for_each(Part::clear);
        let mut outcomes = Vec::new();
        for (i, key) in keys.iter().enumerate() {
            outcomes.push(self.shared.check(key).err().map(Err));
            if outcomes[i].is_none() {
                self.parts[self.shared.node_of(key)].push(i);
            }
        }
        let result = self.ask_and_answer(
            |connection, part| connection.send_deletes(keys, part),
            |connection, part, _| connection.receive_deletes(part, &mut outcomes),
        );
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
        self.read_timeout = longest;
        self.connections.iter_mut().for_each(|connection| connection.set_read_timeout(longest));
        Ok(())
    }

    fn leases(&mut self) -> Option<&mut dyn Leases> {
        if self.shared.has_leases() { Some(self) } else { None }
    }

    fn pipeline(&mut self) -> Option<&mut dyn Pipeline> {
        if self.shared.has_pipeline() { Some(&mut self.pipeline) } else { None }
    }

    fn clear(&mut self) -> Result<()> {
        if !self.shared.is_managed() {
            let operation = "clear on a server that larder did not start";
            return Err(Error::Unsupported { engine: SCHEME, operation });
        }
        if self.shared.is_behind_proxy() {
            return self.shared.flush_behind();
        }
        (0..self.connections.len()).try_for_each(|node| self.on_node(node, Connection::flush_all))
    }
}
