//! One thread's connections to the nodes.

use std::sync::Arc;
use std::time::Duration;

use larder_protocol::resp::Value;
use larder_store::counters::Requests;
use larder_store::{
    Counted, DeleteDone, Delta, Error, Facts, Initial, Leases, Meta, Pipeline, Put, Remaining,
    Result, Session, SetDone, SetMode, SetOptions, SetOutcome,
};

use super::SCHEME;
use super::arguments::{Counting, millis, whole_millis};
use super::calls::Found;
use super::client::RedisClient;
use super::errors;
use super::lease_id::Ids;
use super::outstanding::NodePeer;
use super::pipeline::{add_get, add_set};
use super::request::add;
use super::scripts::{self, Script};
use super::shared::Shared;
use super::write_many::{Deletes, Sets};
use crate::decimal::Digits;
use crate::pipelined::{self, Link};

/// A connection to each node, opened when it is first needed and again after an error.
#[derive(Debug)]
pub(super) struct RedisSession {
    pub(super) shared: Arc<Shared>,
    requests: Arc<Requests>,
    /// The links of calls.
    pub(super) client: RedisClient,
    /// The links of requests that are not waited for, if there have been any.
    pipeline: Option<Box<RedisClient>>,
    pub(super) ids: Ids,
}

impl RedisSession {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let requests = shared.requests.session();
        let client = RedisClient::for_calls(&shared, &requests);
        Self { shared, requests, client, pipeline: None, ids: Ids::new() }
    }

    /// Carries out a read, which may take several requests, within the time that reads have.
    pub(super) fn in_time<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        pipelined::in_time(self, |session| &mut session.client.links, read)
    }

    /// Sends a command to the node that has `key`. A refusal is an error.
    fn ask(
        &mut self,
        key: &[u8],
        command: &'static str,
        encode: impl Fn(&mut Link<NodePeer>),
    ) -> Result<Value> {
        match self.client.call(key, command, encode)? {
            Value::Error(error) => Err(self.client.refused(&error)),
            answer => Ok(answer),
        }
    }

    /// Whether a command found its key.
    pub(super) fn found(&self, command: &str, answer: &Value) -> Result<bool> {
        errors::found(self.client.asked_node(), command, answer)
    }

    /// Puts `text` behind or before the existing value.
    fn join(&mut self, script: &Script, key: &[u8], text: &[u8]) -> Result<SetOutcome> {
        let answer = self.run_with(script, key, &[], Some(text))?;
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
        self.in_time(|session| {
            match session.client.call_for_value(key, "GET", |link| add_get(link, key), value)? {
                Found::Hit(meta) => Ok(Some(meta)),
                Found::Miss => Ok(None),
                Found::Refused(error) => session.read_kept(&error, key, &[], value),
            }
        })
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
        let entry = Put { key, value, options: *options };
        match self.ask(key, "SET", |link| add_set(link, &entry))? {
            Value::Okay => Ok(SetOutcome::Stored(None)),
            Value::Nil => Ok(SetOutcome::NotStored),
            other => Err(self.client.unexpected("SET", &other)),
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
        let answer = self.ask(key, "DEL", |link| add(link.output(), &[b"DEL", key]))?;
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
                [Value::Integer(len), Value::Integer(left), Value::Integer(stale)] => {
                    (usize::try_from(*len), *left, *stale != 0)
                }
                _ => return Err(self.client.unexpected("EVALSHA", &answer)),
            },
            _ => return Err(self.client.unexpected("EVALSHA", &answer)),
        };
        let len = len.map_err(|_| self.client.unexpected("EVALSHA", &answer))?;
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
        let terms = ttl.map(millis).map(|(unit, number)| (unit, Digits::new(number)));
        let encode = |link: &mut Link<NodePeer>| match &terms {
            None => add(link.output(), &[b"GETEX", key, b"PERSIST"]),
            Some((unit, number)) => {
                add(link.output(), &[b"GETEX", key, unit, number.as_bytes()]);
            }
        };
        match self.client.call_for_value(key, "GETEX", encode, value)? {
            Found::Hit(_) => {}
            Found::Miss => return Ok(None),
            Found::Refused(error) => {
                let digits = ttl.map(|ttl| Digits::new(whole_millis(ttl)));
                let renewal: &[&[u8]] = match &digits {
                    Some(digits) => &[b"PEXPIRE", digits.as_bytes()],
                    None => &[b"PERSIST"],
                };
                return self.read_kept(&error, key, renewal, value);
            }
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
        let ttl = Digits::new(whole_millis(ttl));
        let answer = self.ask(key, "PEXPIRE", |link| {
            add(link.output(), &[b"PEXPIRE", key, ttl.as_bytes()]);
        })?;
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
            Value::Integer(_) => Err(Error::NotANumber { engine: SCHEME }),
            Value::Bulk(sum) => {
                let number = str::from_utf8(&sum).ok().and_then(|sum| sum.parse().ok());
                let other = || self.client.unexpected("EVALSHA", &Value::Bulk(sum.clone()));
                let number: u64 = number.ok_or_else(other)?;
                Ok(Some(Counted { number, version: None }))
            }
            other => Err(self.client.unexpected("EVALSHA", &other)),
        }
    }

    fn clear(&mut self) -> Result<()> {
        if !self.shared.is_managed() {
            let operation = "clear on a server that larder did not start";
            return Err(Error::Unsupported { engine: SCHEME, operation });
        }
        self.client.begin_call()?;
        for node in 0..self.client.layout.nodes().len() {
            // Without `SYNC`, a server may still free memory during the next measurement.
            let encode = |link: &mut Link<NodePeer>| add(link.output(), &[b"FLUSHALL", b"SYNC"]);
            if let Value::Error(error) = self.client.exchange(node, "FLUSHALL", &encode)? {
                return Err(self.client.refused(&error));
            }
        }
        Ok(())
    }

    fn set_read_timeout(&mut self, longest: Option<Duration>) -> Result<()> {
        self.client.links.set_longest_read(longest);
        Ok(())
    }

    fn leases(&mut self) -> Option<&mut dyn Leases> {
        Some(self)
    }

    fn pipeline(&mut self) -> Option<&mut dyn Pipeline> {
        if !self.shared.has_pipeline() {
            return None;
        }
        let Self { shared, requests, pipeline, .. } = self;
        let of_session = || Box::new(RedisClient::for_pipeline(shared, requests));
        Some(&mut **pipeline.get_or_insert_with(of_session))
    }
}
