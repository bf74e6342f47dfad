//! A session of a guest: a program of its own, spoken to one operation at a time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use larder_store::{
    Capabilities, Counted, Delta, Error, Initial, Meta, Result, Session, SetMode, SetOptions,
    SetOutcome,
};
use serde::de::DeserializeOwned;

use super::process::GOES_ON;
use super::reply::{GetReply, Reply, SetReply, WasThere};
use super::store::{RunningProgram, Shared, lock};

/// A session. Its program starts at the first request, and is its own or shared by all sessions.
#[derive(Debug)]
pub(super) struct GuestSession {
    // Dropped first, because the program works in the folders of `shared`.
    program: Arc<Mutex<RunningProgram>>,
    shared: Arc<Shared>,
}

impl GuestSession {
    pub(super) fn new(shared: Arc<Shared>, program: Arc<Mutex<RunningProgram>>) -> Self {
        Self { program, shared }
    }

    fn capabilities(&self) -> Capabilities {
        self.shared.capabilities
    }

    /// Sends a command, reads its answer, and then as many bytes of a value as `value_of` says.
    fn ask<T: DeserializeOwned>(
        &mut self,
        parts: &[&[u8]],
        value: &mut Vec<u8>,
        value_of: fn(&T) -> usize,
    ) -> Result<T> {
        match self.exchange(parts, value, value_of)? {
            Reply::Done(done) => Ok(done),
            Reply::Failed { error, kind } => Err(self.error(&kind, error)),
        }
    }

    /// As [`GuestSession::ask`], but a failure of the cache is an answer. A program that breaks the protocol is ended.
    fn exchange<T: DeserializeOwned>(
        &mut self,
        parts: &[&[u8]],
        value: &mut Vec<u8>,
        value_of: fn(&T) -> usize,
    ) -> Result<Reply<T>> {
        let mut program = lock(&self.program);
        let generation = self.shared.generation();
        // The earlier program has ended, or the cache that it has open is gone.
        if program.as_ref().is_none_or(|(of, _)| *of != generation) {
            *program = None;
            *program = Some((generation, self.shared.start()?.0));
        }
        let (_, process) = program.as_mut().expect("it was started just now");
        let mut exchange = || -> Result<Reply<T>> {
            process.tell(parts, &GOES_ON)?;
            let reply = process.answer(&GOES_ON)?.expect("no caller can have stopped it");
            if let Reply::Done(done) = &reply {
                process.bytes(value_of(done), value)?;
            }
            Ok(reply)
        };
        let reply = exchange();
        if reply.is_err() {
            *program = None;
        }
        reply
    }

    /// The error of a cache, by the kind that its program reported.
    fn error(&self, kind: &str, message: String) -> Error {
        let engine = self.engine();
        match kind {
            "full" => Error::Full { engine, what: message },
            "key" => Error::InvalidKey { engine, reason: "its client refuses such a key" },
            "unavailable" | "timeout" | "io" => {
                Error::Unavailable { engine, what: message, source: None }
            }
            _ => Error::Protocol { engine, peer: self.shared.cache.name.into(), message },
        }
    }

    /// Refuses a key that the servers behind the guest cannot take. A client may send such a key anyway, and the answer
    /// is then not about this key.
    fn check_key(&self, key: &[u8]) -> Result<()> {
        let engine = self.engine();
        if let Some(limit) = self.capabilities().max_key_len.filter(|limit| key.len() > *limit) {
            return Err(Error::KeyTooLong { engine, len: key.len(), limit });
        }
        let is_plain = |byte: &u8| *byte > b' ' && *byte != 0x7f;
        if self.shared.has_servers() && (key.is_empty() || !key.iter().all(is_plain)) {
            let reason = "empty, or with spaces or control characters";
            return Err(Error::InvalidKey { engine, reason });
        }
        Ok(())
    }

    /// The error of a refused set, with the size limit where that is the reason.
    fn refused(&mut self, key: &[u8], value: &[u8], kind: &str, message: String) -> Error {
        let limit = self.shared.bound().or(self.capabilities().max_value_len);
        match limit {
            Some(limit) if kind == "too_large" || key.len() + value.len() > limit => {
                // The client may have left the older value. If it cannot be removed, the state is no worse than before.
                let _ = self.delete(key);
                Error::ValueTooLarge { engine: self.engine(), len: value.len(), limit }
            }
            _ => self.error(kind, message),
        }
    }

    fn unsupported(&self, operation: &'static str) -> Error {
        Error::Unsupported { engine: self.engine(), operation }
    }

    /// A TTL in the form of the commands.
    fn ttl_text(&self, ttl: Option<Duration>) -> String {
        ttl.map_or_else(
            || "-".into(),
            |ttl| rounded_up(ttl, self.capabilities()).as_secs_f64().to_string(),
        )
    }

    fn presence(&mut self, command: &str, key: &[u8]) -> Result<bool> {
        self.check_key(key)?;
        let parts = [command.as_bytes(), key];
        let answer: WasThere = self.ask(&parts, &mut Vec::new(), |_| 0)?;
        // A cache that keeps nothing has every key, because it returns a value for every key.
        Ok(answer.found || !self.capabilities().stores)
    }
}

impl Session for GuestSession {
    fn engine(&self) -> &'static str {
        self.shared.cache.engine.scheme
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        self.check_key(key)?;
        let command = format!("get {}\n", key.len());
        let parts = [command.as_bytes(), key];
        let answer: GetReply =
            self.ask(&parts, value, |found: &GetReply| found.found.unwrap_or(0))?;
        Ok(answer.found.map(|_| Meta::default()))
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        let can = self.capabilities();
        self.check_key(key)?;
        // A cache that keeps nothing takes every set, so that any plan runs on it.
        if can.stores {
            match options.mode {
                SetMode::Set => {}
                SetMode::Add => return Err(self.unsupported("add")),
                SetMode::Replace => return Err(self.unsupported("replace")),
                SetMode::Cas(_) => return Err(self.unsupported("cas")),
                SetMode::Append => return Err(self.unsupported("append")),
                SetMode::Prepend => return Err(self.unsupported("prepend")),
            }
            if options.flags != 0 {
                return Err(self.unsupported("flags"));
            }
            if options.ttl.is_some() && !can.ttl && !self.shared.ends_on_external() {
                return Err(self.unsupported("ttl"));
            }
            if options.ttl.is_some_and(|ttl| ttl.is_zero()) {
                self.delete(key)?;
                return Ok(SetOutcome::Stored(None));
            }
        }
        let command = format!("set {} {} {}\n", key.len(), value.len(), self.ttl_text(options.ttl));
        let parts = [command.as_bytes(), key, value];
        match self.exchange(&parts, &mut Vec::new(), |_: &SetReply| 0)? {
            Reply::Done(SetReply { stored: true, .. }) => Ok(SetOutcome::Stored(None)),
            Reply::Done(SetReply { why, .. }) => {
                let why = why.unwrap_or_else(|| "not stored".into());
                Err(self.refused(key, value, "refused", why))
            }
            Reply::Failed { error, kind } => Err(self.refused(key, value, &kind, error)),
        }
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.presence(&format!("delete {}\n", key.len()), key)
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        if !self.capabilities().touch {
            return Err(self.unsupported("touch"));
        }
        if !self.capabilities().stores {
            return Ok(true);
        }
        if ttl.is_some_and(|ttl| ttl.is_zero()) {
            return self.delete(key);
        }
        let ttl = self.ttl_text(ttl);
        self.presence(&format!("touch {} {ttl}\n", key.len()), key)
    }

    fn incr(&mut self, _: &[u8], delta: Delta, _: Option<Initial>) -> Result<Option<Counted>> {
        if self.capabilities().stores {
            return Err(self.unsupported("incr"));
        }
        Ok(Some(Counted { number: delta.applied_to(0), version: None }))
    }

    fn clear(&mut self) -> Result<()> {
        if !self.capabilities().clear {
            return Err(self.unsupported("clear"));
        }
        // A cache that keeps nothing has nothing to remove, and other sessions go on replaying their own sets.
        if !self.capabilities().stores {
            return Ok(());
        }
        if !self.shared.outlives_clearing() {
            *lock(&self.program) = None;
        }
        self.shared.clear()
    }
}

/// A TTL, rounded up to the steps of a cache, so that it is never too short.
pub(super) fn rounded_up(ttl: Duration, can: Capabilities) -> Duration {
    let step = can.ttl_resolution.as_nanos().max(1);
    let nanos = ttl.as_nanos().div_ceil(step) * step;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
