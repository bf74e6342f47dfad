//! The leases of a segment cache, which lie in the region.

use std::time::Duration;

use larder_segment::{Condition, Entry, Failed, Outcome, Set};
use larder_store::{Leased, Leases, Meta, Result, SetOptions, SetOutcome, Token, check_fill};

use super::session::{SegmentSession, failed, meta};

impl Leases for SegmentSession {
    fn get_or_lease_early(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        self.check(key)?;
        let leased = self.inside(|inner| inner.get_or_lease(key, value, time, early))?;
        let metadata = |entry: Option<Entry>| -> Option<Meta> { entry.as_ref().map(meta) };
        Ok(match leased {
            larder_segment::Leased::Hit(entry) => Leased::Hit(meta(&entry)),
            larder_segment::Leased::Load { token, stale } => {
                Leased::Load { token: Token::from_bytes(token.to_bytes()), stale: metadata(stale) }
            }
            larder_segment::Leased::Wait { stale } => Leased::Wait { stale: metadata(stale) },
        })
    }

    fn fill(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        token: &Token,
    ) -> Result<SetOutcome> {
        check_fill(self.engine, options)?;
        self.check(key)?;
        let Some(token) = read(token).filter(|_| self.is_there()) else {
            return Ok(SetOutcome::NotStored);
        };
        let condition = Condition::Unchanged(token);
        let set = Set { condition, ttl: options.ttl, flags: options.flags };
        match self.inner.set(key, value, &set) {
            Ok(Outcome::Stored(version)) => Ok(SetOutcome::Stored(Some(version))),
            // The removal of the namespace was a clear of it.
            Ok(_) | Err(Failed::Removed) => Ok(SetOutcome::NotStored),
            Err(why) => Err(failed(self.engine, why)),
        }
    }

    fn release(&mut self, key: &[u8], token: &Token) -> Result<bool> {
        self.check(key)?;
        let token = read(token).filter(|_| self.is_there());
        Ok(token.is_some_and(|token| self.inner.release(key, &token)))
    }

    fn expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool> {
        self.check(key)?;
        let engine = self.engine;
        Ok(self.is_there() && self.inner.expire(key, keep).map_err(|why| failed(engine, why))?)
    }

    fn token(&mut self, key: &[u8]) -> Result<Token> {
        self.check(key)?;
        self.claim()?;
        Ok(Token::from_bytes(self.inner.token(key).to_bytes()))
    }

    fn renew(&mut self, key: &[u8], held: Option<&Token>) -> Result<Option<Token>> {
        self.check(key)?;
        self.claim()?;
        let read_held = held.map(read);
        let renewed = self.inner.renew(key, read_held.flatten().as_ref());
        // Bytes that are no token are void.
        let renewed = renewed.filter(|_| read_held != Some(None));
        Ok(renewed.map(|token| Token::from_bytes(token.to_bytes())))
    }
}

/// The token of these bytes, if they are one.
fn read(token: &Token) -> Option<larder_segment::Token> {
    larder_segment::Token::from_bytes(&token.to_bytes())
}
