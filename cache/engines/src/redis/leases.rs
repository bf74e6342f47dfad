//! Leases and stale entries.
//!
//! The lease of an absent key, and a stale entry, are a hash in the place of the value. So the lease and the entry are on
//! one node of a cluster, and whoever sets or deletes the key, through Larder or not, ends the lease by that. A read of a
//! value costs nothing more: only where the server answers that the key is no string, a script reads the hash.

use std::sync::Arc;
use std::time::Duration;

use larder_protocol::resp::{ServerError, Value};
use larder_store::{
    DeleteDone, End, Error, Fill, LeaseDone, Leased, Leases, Meta, Put, Result, SetDone,
    SetOptions, SetOutcome, Token, check_fill,
};

use super::SCHEME;
use super::arguments::{millis, whole_millis};
use super::lease_id::Id;
use super::lease_many::{Asks, Ends, Fills, Releases};
use super::script_answer::{three, whole};
use super::scripts::{self, HIT, LOAD, WAIT};
use super::session::RedisSession;
use super::shared::Shared;
use crate::decimal::Digits;

/// The longest lease, in milliseconds: Lua adds it to the time exactly.
const LONGEST_LEASE_MS: u64 = 1 << 52;

/// The first byte of a token, so that zeros are none.
const MARK: u8 = 1;

impl RedisSession {
    /// Reads what leases left under a key, where the server's refusal says that it is no string. `renewal` is a command
    /// for the TTL of what is found.
    #[cold]
    pub(super) fn read_kept(
        &mut self,
        refusal: &ServerError,
        key: &[u8],
        renewal: &[&[u8]],
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        if refusal.code() != "WRONGTYPE" {
            return Err(self.client.refused(refusal));
        }
        self.read_whole(key, renewal, value)
    }

    /// Reads a value, fresh or stale, and its TTL.
    pub(super) fn read_whole(
        &mut self,
        key: &[u8],
        renewal: &[&[u8]],
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        let arguments = [&[self.shared.asks_ttl()], renewal].concat();
        let answer = self.run(&scripts::READ, key, &arguments)?;
        let read = whole(answer, &self.shared)
            .map_err(|other| self.client.unexpected("EVALSHA", &other))?;
        Ok(read.map(|(found, meta)| {
            *value = found;
            meta
        }))
    }
}

impl Leases for RedisSession {
    fn get_or_lease_early(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        value.clear();
        self.shared.check(key)?;
        let id = self.ids.next();
        let ask = LeaseAsk::new(time, early, &self.shared);
        let answer =
            self.in_time(|session| session.run(&scripts::GET_OR_LEASE, key, &ask.words(&id)))?;
        let (leased, found) = leased(answer, &id, &self.shared)
            .map_err(|other| self.client.unexpected("EVALSHA", &other))?;
        *value = found;
        Ok(leased)
    }

    fn get_or_lease_many(
        &mut self,
        keys: &[&[u8]],
        time: Duration,
        early: Duration,
        done: &mut LeaseDone<'_>,
    ) -> Result<()> {
        let ask = LeaseAsk::new(time, early, &self.shared);
        let ids = keys.iter().map(|_| self.ids.next()).collect();
        let asks = Asks { keys, ids, ask, times: (time, early), shared: Arc::clone(&self.shared) };
        let refused = keys.iter().map(|key| self.shared.check(key).err().map(Err)).collect();
        self.in_time(|session| {
            session.write_many(&asks, refused, &mut |i, outcome| match outcome {
                Ok((leased, value)) => done(i, &value, Ok(leased)),
                Err(error) => done(i, b"", Err(error)),
            })
        })
    }

    fn fill(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        token: &Token,
    ) -> Result<SetOutcome> {
        let put = Put { key, value, options: *options };
        let Some(fill) = Filled::new(&put, token, &self.shared)? else {
            return Ok(SetOutcome::NotStored);
        };
        let answer = self.run_with(&scripts::FILL, key, &fill.words(), Some(fill.sent))?;
        fill.outcome(&answer).unwrap_or_else(|| Err(self.client.unexpected("EVALSHA", &answer)))
    }

    fn fill_many(&mut self, fills: &[Fill<'_>], done: &mut SetDone<'_>) -> Result<()> {
        let (mut filled, mut outcomes) = (Vec::new(), Vec::new());
        for Fill { put, token } in fills {
            let (fill, outcome) = match Filled::new(put, token, &self.shared) {
                Ok(Some(fill)) => (Some(fill), None),
                Ok(None) => (None, Some(Ok(SetOutcome::NotStored))),
                Err(error) => (None, Some(Err(error))),
            };
            filled.push(fill);
            outcomes.push(outcome);
        }
        self.write_many(&Fills { fills, filled }, outcomes, done)
    }

    fn release(&mut self, key: &[u8], token: &Token) -> Result<bool> {
        self.shared.check(key)?;
        let Some(id) = lease_id_of(token) else { return Ok(false) };
        let answer = self.run(&scripts::RELEASE, key, &[&id])?;
        self.found("EVALSHA", &answer)
    }

    fn release_many(&mut self, held: &[(&[u8], Token)], done: &mut DeleteDone<'_>) -> Result<()> {
        let refused = |(key, token): &(&[u8], Token)| match self.shared.check(key) {
            Err(error) => Some(Err(error)),
            Ok(()) if lease_id_of(token).is_none() => Some(Ok(false)),
            Ok(()) => None,
        };
        let outcomes = held.iter().map(refused).collect();
        self.write_many(&Releases(held), outcomes, done)
    }

    fn expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool> {
        self.shared.check(key)?;
        let keep = keep.map(|keep| Digits::new(whole_millis(keep)));
        let keep: Vec<&[u8]> = keep.iter().map(Digits::as_bytes).collect();
        let answer = self.run(&scripts::EXPIRE, key, &keep)?;
        self.found("EVALSHA", &answer)
    }

    fn end_values(&mut self, ends: &[End<'_>], done: &mut DeleteDone<'_>) -> Result<()> {
        let outcomes = ends.iter().map(|end| self.shared.check(end.key).err().map(Err)).collect();
        self.write_many(&Ends(ends), outcomes, done)
    }
}

/// The arguments of [`scripts::GET_OR_LEASE`] behind the bytes of the lease.
#[derive(Debug)]
pub(super) struct LeaseAsk {
    time: Digits,
    early: Digits,
    asks_ttl: &'static [u8],
}

impl LeaseAsk {
    fn new(time: Duration, early: Duration, shared: &Shared) -> Self {
        Self {
            time: Digits::new(whole_millis(time).clamp(1, LONGEST_LEASE_MS)),
            early: Digits::new(whole_millis(early)),
            asks_ttl: shared.asks_ttl(),
        }
    }

    pub(super) fn words<'a>(&'a self, id: &'a Id) -> [&'a [u8]; 4] {
        [id, self.time.as_bytes(), self.early.as_bytes(), self.asks_ttl]
    }
}

/// What an answer to [`scripts::GET_OR_LEASE`] tells, and the value; or the answer where it is another.
pub(super) fn leased(
    answer: Value,
    id: &Id,
    shared: &Shared,
) -> std::result::Result<(Leased, Vec<u8>), Value> {
    let (state, found, left) = match three(answer)? {
        [Value::Integer(state), found, Value::Integer(left)] => (state, found, left),
        [other, ..] => return Err(other),
    };
    let meta = Meta { ttl: shared.remaining(left), ..Meta::default() };
    let (value, is_found) = match found {
        Value::Bulk(value) => (value, true),
        Value::Nil => (Vec::new(), false),
        other => return Err(other),
    };
    let stale = is_found.then_some(Meta { stale: true, ..meta });
    let leased = match state {
        HIT if is_found => Leased::Hit(meta),
        LOAD => Leased::Load { token: token(id), stale },
        WAIT => Leased::Wait { stale },
        _ => return Err(Value::Integer(state)),
    };
    Ok((leased, value))
}

/// A fill as it is sent.
#[derive(Debug)]
pub(super) struct Filled<'a> {
    id: Id,
    ttl: Option<(&'static [u8], Digits)>,
    /// The value, unless it is too large.
    pub(super) sent: &'a [u8],
    /// The length of a value that is too large, and the limit.
    too_large: Option<(usize, usize)>,
}

impl<'a> Filled<'a> {
    /// `None` where the token is void.
    fn new(put: &Put<'a>, token: &Token, shared: &Shared) -> Result<Option<Self>> {
        let Put { key, value, options } = *put;
        check_fill(SCHEME, &options)?;
        shared.check_set(key, &options)?;
        let Some(id) = lease_id_of(token) else { return Ok(None) };
        let limit = shared.longest_string();
        let too_large = (value.len() > limit).then_some((value.len(), limit));
        // As after a set, nothing older is left of the key; a value that has passed already leaves nothing.
        let (ttl, sent) = match too_large {
            Some(_) => (Some(Duration::ZERO), &b""[..]),
            None => (options.ttl, value),
        };
        let ttl = ttl.map(millis).map(|(unit, number)| (unit, Digits::new(number)));
        Ok(Some(Self { id, ttl, sent, too_large }))
    }

    /// The arguments of [`scripts::FILL`] before the value.
    pub(super) fn words(&self) -> Vec<&[u8]> {
        let mut words: Vec<&[u8]> = vec![&self.id];
        if let Some((unit, number)) = &self.ttl {
            words.extend([*unit, number.as_bytes()]);
        }
        words
    }

    /// The outcome that an answer tells; `None` where it is no answer to a fill.
    pub(super) fn outcome(&self, answer: &Value) -> Option<Result<SetOutcome>> {
        match (answer, self.too_large) {
            (Value::Okay | Value::Nil, Some((len, limit))) => {
                Some(Err(Error::ValueTooLarge { engine: SCHEME, len, limit }))
            }
            (Value::Okay, None) => Some(Ok(SetOutcome::Stored(None))),
            (Value::Nil, None) => Some(Ok(SetOutcome::NotStored)),
            _ => None,
        }
    }
}

/// The token of a lease: a mark, its bytes, and zeros.
fn token(id: &Id) -> Token {
    let mut bytes = [0; Token::LEN];
    bytes[0] = MARK;
    bytes[1..=id.len()].copy_from_slice(id);
    Token::from_bytes(bytes)
}

/// The lease of a token, if this engine gave it.
pub(super) fn lease_id_of(token: &Token) -> Option<Id> {
    let bytes = token.to_bytes();
    let (id, rest) = bytes[1..].split_first_chunk()?;
    (bytes[0] == MARK && rest.iter().all(|byte| *byte == 0)).then_some(*id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::lease_id::Ids;

    #[test]
    fn a_token_tells_its_lease_and_other_bytes_tell_none() {
        let id = Ids::new().next();
        let given = token(&id);
        assert_eq!(lease_id_of(&given), Some(id));
        for place in [0, 17, Token::LEN - 1] {
            let mut bytes = given.to_bytes();
            bytes[place] ^= 1;
            assert_eq!(lease_id_of(&Token::from_bytes(bytes)), None, "changed at {place}");
        }
        assert_eq!(lease_id_of(&Token::from_bytes([0; Token::LEN])), None);
    }
}
