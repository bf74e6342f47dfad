//! One thread's connections to the nodes.

use std::sync::Arc;
use std::time::Duration;

use larder_store::{
    Counted, DeleteDone, Delta, Error, Facts, Initial, Leases, Meta, Pipeline, Put, Remaining,
    Result, Session, SetDone, SetMode, SetOptions, SetOutcome,
};
use redis::{ServerError, Value};

use super::address::Node;
use super::arguments::{Counting, millis, whole_millis};
use super::connection::Connection;
use super::layout::{Layout, UNKNOWN_HOST};
use super::lease_id::Ids;
use super::many::Part;
use super::pipeline::RedisPipeline;
use super::request::Request;
use super::routing::{Doubt, Redirect};
use super::scripts::{self, Script};
use super::shared::Shared;
use super::write_many::{Deletes, Sets, WritePart, add_set};
use super::{SCHEME, errors};
use crate::decimal::Digits;
use larder_store::counters::Requests;

/// The most times that a cluster may redirect a request to another node.
const REDIRECTS: usize = 5;

/// A connection to each node, opened when it is first needed and again after an error.
#[derive(Debug)]
pub(super) struct RedisSession {
    pub(super) shared: Arc<Shared>,
    pub(super) layout: Arc<Layout>,
    pub(super) connections: Vec<Connection>,
    pub(super) requests: Arc<Requests>,
    /// The reason why the layout of the cluster may have changed.
    pub(super) doubt: Option<Doubt>,
    pub(super) request: Request,
    /// The place of the node that got the last request.
    pub(super) asked: usize,
    /// The requests of a batch to each node, kept to reuse their memory.
    pub(super) parts: Vec<Part>,
    pub(super) writes: Vec<WritePart>,
    pub(super) ids: Ids,
    /// The links of requests that are not waited for, which are beside the connections.
    pipeline: RedisPipeline,
    /// The longest wait of a read, where it is bounded.
    read_timeout: Option<Duration>,
    /// The longest wait of the present operation, where it is a read and bounded.
    pub(super) bound: Option<Duration>,
}

impl RedisSession {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let (layout, requests) = (shared.layout(), shared.requests.session());
        let pipeline = RedisPipeline::new(&shared, &layout, &requests);
        let mut session = Self {
            shared,
            requests,
            layout: Arc::clone(&layout),
            connections: Vec::new(),
            doubt: None,
            request: Request::default(),
            asked: 0,
            parts: Vec::new(),
            writes: Vec::new(),
            ids: Ids::new(),
            pipeline,
            read_timeout: None,
            bound: None,
        };
        session.follow_layout(layout);
        session
    }

    /// Makes a connection for each node of a layout. A node that was known keeps its connection.
    fn follow_layout(&mut self, layout: Arc<Layout>) {
        let mut known = std::mem::take(&mut self.connections);
        let terms = self.shared.terms();
        let connection = |node: &Arc<Node>| {
            let place =
                known.iter().position(|connection| connection.node().place() == node.place());
            match place {
                Some(place) => known.swap_remove(place),
                None => Connection::new(Arc::clone(node), terms),
            }
        };
        self.connections = layout.nodes().iter().map(connection).collect();
        self.parts.resize_with(layout.nodes().len(), Part::default);
        self.writes.resize_with(layout.nodes().len(), WritePart::default);
        self.layout = layout;
        self.doubt = None;
    }

    /// Carries out a read, each of whose waits has the bound of reads.
    pub(super) fn in_time<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = std::mem::replace(&mut self.bound, self.read_timeout);
        let result = read(self);
        self.bound = before;
        result
    }

    /// Asks for the layout of the cluster again, where it may have changed.
    pub(super) fn renew_layout(&mut self) -> Result<()> {
        if let Some(doubt) = self.doubt
            && self.layout.is_cluster()
        {
            let layout = self.shared.renewed(&self.layout, doubt)?;
            self.follow_layout(layout);
        }
        Ok(())
    }

    /// Sends the request to the node that has `key`. A refusal is an error.
    fn ask(&mut self, key: &[u8]) -> Result<Value> {
        self.ask_with(key, b"")
    }

    /// As [`Self::ask`], with the value for the request's gap.
    fn ask_with(&mut self, key: &[u8], value: &[u8]) -> Result<Value> {
        match self.routed(key, value)? {
            Value::ServerError(error) => Err(self.refused(&error)),
            answer => Ok(answer),
        }
    }

    /// Sends the request to the node that has `key`. A refusal is an answer, unless it names another node.
    pub(super) fn routed(&mut self, key: &[u8], value: &[u8]) -> Result<Value> {
        self.renew_layout()?;
        let answer = self.exchange(self.layout.owner_of(self.layout.slot_of(key)), value)?;
        match Redirect::in_answer(&answer) {
            Some(redirect) if self.layout.is_cluster() => self.redirected(redirect, value),
            _ => Ok(answer),
        }
    }

    /// Follows the redirections of a cluster.
    #[cold]
    fn redirected(&mut self, mut redirect: Redirect, value: &[u8]) -> Result<Value> {
        for _ in 0..REDIRECTS {
            let reporter = Arc::clone(&self.layout.nodes()[self.asked]);
            if !redirect.is_once {
                self.doubt = Some(Doubt::moved(self.asked));
                self.renew_layout()?;
            }
            let node = self.place_of(&redirect, &reporter)?;
            let answer = if redirect.is_once {
                self.exchange_once(node, value)
            } else {
                self.exchange(node, value)
            }?;
            match Redirect::in_answer(&answer) {
                Some(next) => redirect = next,
                None => return Ok(answer),
            }
        }
        self.doubt = Some(Doubt::moved(self.asked));
        let node = self.connections[self.asked].node();
        Err(errors::sent_around(node, REDIRECTS, redirect.slot))
    }

    /// The place of the node to which a request is redirected.
    fn place_of(&mut self, redirect: &Redirect, reporter: &Node) -> Result<usize> {
        if redirect.host == UNKNOWN_HOST && !redirect.is_once {
            return Ok(self.layout.owner_of(redirect.slot));
        }
        let (layout, place) = self.shared.place_of(&redirect.host, redirect.port, reporter)?;
        self.follow_layout(layout);
        Ok(place)
    }

    /// Sends the request to a node and waits for its answer.
    fn exchange(&mut self, node: usize, value: &[u8]) -> Result<Value> {
        self.operate(node, |connection, request| connection.exchange(request, value))
    }

    /// As [`Self::exchange`], to a node that is about to get the key's slot. Such a node answers only after `ASKING` on
    /// the same connection.
    fn exchange_once(&mut self, node: usize, value: &[u8]) -> Result<Value> {
        self.operate(node, |connection, request| {
            connection.send(&request.behind(&[b"ASKING"]), value)?;
            let (asking, answer) = (connection.receive()?, connection.receive()?);
            Ok(if matches!(asking, Value::ServerError(_)) { asking } else { answer })
        })
    }

    /// Runs an operation on the connection to a node.
    fn operate(
        &mut self,
        node: usize,
        act: impl FnOnce(&mut Connection, &Request) -> Result<Value>,
    ) -> Result<Value> {
        self.asked = node;
        let connection = &mut self.connections[node];
        let answer = connection.begin(self.bound).and_then(|is_new| {
            if is_new {
                self.shared.count_connection();
            }
            self.requests.sent.add_one();
            act(connection, &self.request)
        });
        connection.end();
        if answer.is_err() {
            self.doubt = Some(Doubt::lost(node));
        }
        answer
    }

    pub(super) fn refused(&mut self, error: &ServerError) -> Error {
        self.doubt = self.doubt.or(Doubt::by(error, self.asked));
        errors::refused(self.connections[self.asked].node(), error)
    }

    pub(super) fn unexpected(&self, command: &str, answer: &Value) -> Error {
        errors::unexpected(self.connections[self.asked].node(), command, answer)
    }

    /// Replaces the request by one command.
    fn command(&mut self, arguments: &[&[u8]]) {
        self.request.clear();
        self.request.add(arguments);
    }

    /// Whether a command found its key.
    pub(super) fn found(&self, command: &str, answer: &Value) -> Result<bool> {
        errors::found(self.connections[self.asked].node(), command, answer)
    }

    /// Puts `text` behind or before the existing value.
    fn join(&mut self, script: &Script, key: &[u8], text: &[u8]) -> Result<SetOutcome> {
        let answer = self.run(script, key, &[text])?;
        let found = self.found("EVALSHA", &answer)?;
        Ok(if found { SetOutcome::Stored(None) } else { SetOutcome::NotStored })
    }
}

impl Session for RedisSession {
    fn engine(&self) -> &'static str {
        SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        self.shared.check(key)?;
        if self.shared.reports_ttl() {
            return self.in_time(|session| session.read_whole(key, &[], value));
        }
        self.command(&[b"GET", key]);
        match self.in_time(|session| session.routed(key, b""))? {
            // The library has copied the value out of its receive buffer, so a second copy would be in vain.
            Value::BulkString(found) => *value = found,
            Value::Nil => return Ok(None),
            Value::ServerError(error) => {
                return self.in_time(|session| session.read_kept(&error, key, &[], value));
            }
            other => return Err(self.unexpected("GET", &other)),
        }
        Ok(Some(Meta::default()))
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        keys.iter().try_for_each(|key| self.shared.check(key))?;
        self.in_time(|session| session.ask_many(keys, hit))
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        self.shared.check_set(key, options)?;
        let limit = self.shared.longest_string();
        if value.len() > limit {
            if options.mode == SetMode::Set {
                self.delete(key)?;
            }
            return Err(self.shared.too_large(value.len()));
        }
        match options.mode {
            SetMode::Append => return self.join(&scripts::APPEND, key, value),
            SetMode::Prepend => return self.join(&scripts::PREPEND, key, value),
            _ => {}
        }
        self.request.clear();
        add_set(&mut self.request, key, value, options);
        match self.ask_with(key, value)? {
            Value::Okay => Ok(SetOutcome::Stored(None)),
            Value::Nil => Ok(SetOutcome::NotStored),
            other => Err(self.unexpected("SET", &other)),
        }
    }

    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        let limit = self.shared.longest_string();
        if entries.iter().any(|entry| entry.value.len() > limit) {
            for (i, Put { key, value, options }) in entries.iter().enumerate() {
                done(i, self.set(key, value, options));
            }
            return Ok(());
        }
        let refused =
            |Put { key, options, .. }: &Put<'_>| self.shared.check_set(key, options).err();
        let outcomes = entries.iter().map(|entry| refused(entry).map(Err)).collect();
        self.write_many(&Sets(entries), outcomes, done)
    }

    /// It uses `DEL` and not `UNLINK`, because another thread frees the memory of a large unlinked value after the
    /// answer. The cost of an operation must show in the operation.
    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.shared.check(key)?;
        self.command(&[b"DEL", key]);
        let answer = self.ask(key)?;
        self.found("DEL", &answer)
    }

    fn delete_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        let outcomes = keys.iter().map(|key| self.shared.check(key).err().map(Err)).collect();
        self.write_many(&Deletes(keys), outcomes, done)
    }

    /// A server has no command that tells the length without a trace, so its time since the last access is left out.
    fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        self.shared.check(key)?;
        let answer = self.in_time(|session| session.run(&scripts::LOOK, key, &[]))?;
        let (len, left, stale) = match &answer {
            Value::Nil => return Ok(None),
            Value::Array(found) => match &found[..] {
                [Value::Int(len), Value::Int(left), Value::Int(stale)] => {
                    (usize::try_from(*len), *left, *stale != 0)
                }
                _ => return Err(self.unexpected("EVALSHA", &answer)),
            },
            _ => return Err(self.unexpected("EVALSHA", &answer)),
        };
        let len = len.map_err(|_| self.unexpected("EVALSHA", &answer))?;
        let ttl = match u64::try_from(left) {
            Ok(left) => Remaining::For(Duration::from_millis(left)),
            Err(_) => Remaining::Forever,
        };
        Ok(Some(Facts::of(Meta { ttl, stale, ..Meta::default() }, len)))
    }

    /// `GETEX` came with Redis 6.2.
    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        value.clear();
        self.shared.check(key)?;
        match ttl.map(millis) {
            None => self.command(&[b"GETEX", key, b"PERSIST"]),
            Some((unit, number)) => {
                self.command(&[b"GETEX", key, unit, Digits::new(number).as_bytes()]);
            }
        }
        match self.routed(key, b"")? {
            Value::BulkString(found) => *value = found,
            Value::Nil => return Ok(None),
            Value::ServerError(error) => {
                let digits = ttl.map(|ttl| Digits::new(whole_millis(ttl)));
                let renewal: &[&[u8]] = match &digits {
                    Some(digits) => &[b"PEXPIRE", digits.as_bytes()],
                    None => &[b"PERSIST"],
                };
                return self.read_kept(&error, key, renewal, value);
            }
            other => return Err(self.unexpected("GETEX", &other)),
        }
        let ttl = match ttl {
            _ if !self.shared.reports_ttl() => Remaining::Unknown,
            Some(ttl) => Remaining::For(ttl),
            None => Remaining::Forever,
        };
        Ok(Some(Meta { ttl, ..Meta::default() }))
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        self.shared.check(key)?;
        let Some(ttl) = ttl else {
            let answer = self.run(&scripts::PERSIST, key, &[])?;
            return self.found("EVALSHA", &answer);
        };
        self.command(&[b"PEXPIRE", key, Digits::new(whole_millis(ttl)).as_bytes()]);
        let answer = self.ask(key)?;
        self.found("PEXPIRE", &answer)
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        self.shared.check(key)?;
        let counting = Counting::new(delta, absent);
        let arguments: Vec<&[u8]> = counting.words().collect();
        match self.run(&scripts::INCR, key, &arguments)? {
            Value::Nil => Ok(None),
            Value::Int(_) => Err(Error::NotANumber { engine: SCHEME }),
            Value::BulkString(sum) => {
                let number = str::from_utf8(&sum).ok().and_then(|sum| sum.parse().ok());
                let other = || self.unexpected("EVALSHA", &Value::BulkString(sum.clone()));
                let number: u64 = number.ok_or_else(other)?;
                Ok(Some(Counted { number, version: None }))
            }
            other => Err(self.unexpected("EVALSHA", &other)),
        }
    }

    fn clear(&mut self) -> Result<()> {
        if !self.shared.is_managed() {
            let operation = "clear on a server that larder did not start";
            return Err(Error::Unsupported { engine: SCHEME, operation });
        }
        // Without `SYNC`, a server may still free memory during the next measurement.
        self.command(&[b"FLUSHALL", b"SYNC"]);
        for node in 0..self.connections.len() {
            if let Value::ServerError(error) = self.exchange(node, b"")? {
                return Err(self.refused(&error));
            }
        }
        Ok(())
    }

    fn set_read_timeout(&mut self, longest: Option<Duration>) -> Result<()> {
        self.read_timeout = longest;
        Ok(())
    }

    fn leases(&mut self) -> Option<&mut dyn Leases> {
        Some(self)
    }

    fn pipeline(&mut self) -> Option<&mut dyn Pipeline> {
        if self.shared.has_pipeline() { Some(&mut self.pipeline) } else { None }
    }
}
