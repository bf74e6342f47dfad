//! Leases and stale entries.
//!
//! The lease of an absent key, and a stale entry, are a hash in the place of the value. So the lease and the entry are on
//! one node of a cluster, and whoever sets or deletes the key, through Larder or not, ends the lease by that. A read of a
//! value costs nothing more: only where the server answers that the key is no string, a script reads the hash.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use larder_store::{
    Error, Leased, Leases, Meta, Result, SetOptions, SetOutcome, Token, check_fill,
};
use redis::{ServerError, Value};

use super::SCHEME;
use super::scripts::{self, HIT, LOAD, WAIT};
use super::session::{RedisSession, millis, whole_millis};
use super::store::Shared;
use crate::decimal::Digits;

/// The longest lease, in milliseconds: Lua adds it to the time exactly.
const LONGEST_LEASE_MS: u64 = 1 << 52;

/// The first byte of a token, so that zeros are none.
const MARK: u8 = 1;

/// The bytes of a lease, by which the server knows it.
type Id = [u8; 16];

/// Gives out the bytes of leases. They count from a random place among 2^128, so that no other session in any process
/// gives the same.
#[derive(Debug)]
pub(super) struct Ids {
    last: u128,
}

impl Ids {
    pub(super) fn new() -> Self {
        let half = || u128::from(RandomState::new().hash_one(std::process::id()));
        Self { last: half() << 64 | half() }
    }

    fn next(&mut self) -> Id {
        self.last = self.last.wrapping_add(1);
        self.last.to_le_bytes()
    }
}

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
            return Err(self.refused(refusal));
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
        let read =
            whole(answer, &self.shared).map_err(|other| self.unexpected("EVALSHA", &other))?;
        Ok(read.map(|(found, meta)| {
            *value = found;
            meta
        }))
    }
}

/// The value and the metadata in an answer to [`scripts::READ`], or the answer where it is another.
pub(super) fn whole(
    answer: Value,
    shared: &Shared,
) -> std::result::Result<Option<(Vec<u8>, Meta)>, Value> {
    if answer == Value::Nil {
        return Ok(None);
    }
    match three(answer)? {
        [Value::BulkString(found), Value::Int(stale), Value::Int(left)] => {
            let (stale, ttl) = (stale != 0, shared.remaining(left));
            Ok(Some((found, Meta { stale, ttl, ..Meta::default() })))
        }
        other => Err(Value::Array(other.into())),
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
        let time = Digits::new(whole_millis(time).clamp(1, LONGEST_LEASE_MS));
        let early = Digits::new(whole_millis(early));
        let asks_ttl = self.shared.asks_ttl();
        let arguments: [&[u8]; 4] = [&id, time.as_bytes(), early.as_bytes(), asks_ttl];
        let answer =
            self.in_time(|session| session.run(&scripts::GET_OR_LEASE, key, &arguments))?;
        let (told, found, left) = match three(answer) {
            Ok([Value::Int(told), found, Value::Int(left)]) => (told, found, left),
            Ok([other, ..]) | Err(other) => return Err(self.unexpected("EVALSHA", &other)),
        };
        let meta = Meta { ttl: self.shared.remaining(left), ..Meta::default() };
        let is_found = match found {
            Value::BulkString(found) => {
                *value = found;
                true
            }
            Value::Nil => false,
            other => return Err(self.unexpected("EVALSHA", &other)),
        };
        let stale = is_found.then_some(Meta { stale: true, ..meta });
        match told {
            HIT if is_found => Ok(Leased::Hit(meta)),
            LOAD => Ok(Leased::Load { token: token(&id), stale }),
            WAIT => Ok(Leased::Wait { stale }),
            _ => Err(self.unexpected("EVALSHA", &Value::Int(told))),
        }
    }

    fn fill(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        token: &Token,
    ) -> Result<SetOutcome> {
        check_fill(SCHEME, options)?;
        self.shared.check_set(key, options)?;
        let Some(id) = read(token) else { return Ok(SetOutcome::NotStored) };
        let limit = self.shared.longest_string();
        let is_too_large = value.len() > limit;
        // As after a set, nothing older is left of the key; a value that has passed already leaves nothing.
        let (ttl, sent) =
            if is_too_large { (Some(Duration::ZERO), &b""[..]) } else { (options.ttl, value) };
        let ttl = ttl.map(millis).map(|(unit, number)| (unit, Digits::new(number)));
        let mut arguments: Vec<&[u8]> = vec![&id];
        if let Some((unit, number)) = &ttl {
            arguments.extend([*unit, number.as_bytes()]);
        }
        match self.run_with(&scripts::FILL, key, &arguments, Some(sent))? {
            Value::Okay | Value::Nil if is_too_large => {
                Err(Error::ValueTooLarge { engine: SCHEME, len: value.len(), limit })
            }
            Value::Okay => Ok(SetOutcome::Stored(None)),
            Value::Nil => Ok(SetOutcome::NotStored),
            other => Err(self.unexpected("EVALSHA", &other)),
        }
    }

    fn release(&mut self, key: &[u8], token: &Token) -> Result<bool> {
        self.shared.check(key)?;
        let Some(id) = read(token) else { return Ok(false) };
        let answer = self.run(&scripts::RELEASE, key, &[&id])?;
        self.found("EVALSHA", &answer)
    }

    fn expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool> {
        self.shared.check(key)?;
        let keep = keep.map(|keep| Digits::new(whole_millis(keep)));
        let keep: Vec<&[u8]> = keep.iter().map(Digits::as_bytes).collect();
        let answer = self.run(&scripts::EXPIRE, key, &keep)?;
        self.found("EVALSHA", &answer)
    }
}

/// The three parts of an answer, or the answer where it has not three.
fn three(answer: Value) -> std::result::Result<[Value; 3], Value> {
    let Value::Array(parts) = answer else { return Err(answer) };
    <[Value; 3]>::try_from(parts).map_err(Value::Array)
}

/// The token of a lease: a mark, its bytes, and zeros.
fn token(id: &Id) -> Token {
    let mut bytes = [0; Token::LEN];
    bytes[0] = MARK;
    bytes[1..=id.len()].copy_from_slice(id);
    Token::from_bytes(bytes)
}

/// The lease of a token, if this engine gave it.
fn read(token: &Token) -> Option<Id> {
    let bytes = token.to_bytes();
    let (id, rest) = bytes[1..].split_first_chunk()?;
    (bytes[0] == MARK && rest.iter().all(|byte| *byte == 0)).then_some(*id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_tells_its_lease_and_other_bytes_tell_none() {
        let id = Ids::new().next();
        let given = token(&id);
        assert_eq!(read(&given), Some(id));
        for place in [0, 17, Token::LEN - 1] {
            let mut bytes = given.to_bytes();
            bytes[place] ^= 1;
            assert_eq!(read(&Token::from_bytes(bytes)), None, "changed at {place}");
        }
        assert_eq!(read(&Token::from_bytes([0; Token::LEN])), None);
    }

    #[test]
    fn leases_differ() {
        let mut ids = Ids { last: u128::MAX };
        assert_ne!(ids.next(), ids.next());
        assert_ne!(Ids::new().next(), Ids::new().next());
    }
}
