//! The leases of a stack: those of its lowest tier, which all processes share.

use std::time::{Duration, Instant};

use larder_store::{
    Error, Leased, Leases, Put, Remaining, Result, SetOptions, SetOutcome, Token, check_fill,
};

use crate::SCHEME;
use crate::fence::Right;
use crate::read::{self, told};
use crate::session::{Stack, TiersSession};
use crate::tier::{Life, TierSession};
use crate::write;

impl Leases for TiersSession {
    /// A fresh value of an upper tier is a hit. Otherwise the lowest tier answers, and its hit is filled in above.
    fn get_or_lease_early(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        let early = early.saturating_add(self.stack.rules.grace);
        let n_above = self.stack.tiers.len() - 1;
        let seen = read::look(&mut self.stack, n_above, key, value, early)?;
        let Stack { capabilities, rules, .. } = &self.stack;
        let (capabilities, rules) = (*capabilities, *rules);
        let shown = |meta| told(meta, false, &rules, &capabilities);
        if let Some(found) = seen.found {
            return Ok(Leased::Hit(shown(found.meta)));
        }
        Ok(match self.lease_lowest(key, value, time, early)? {
            Leased::Hit(meta) => Leased::Hit(shown(meta)),
            Leased::Load { token, stale } => Leased::Load { token, stale: stale.map(shown) },
            Leased::Wait { stale } => Leased::Wait { stale: stale.map(shown) },
        })
    }

    fn fill(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        token: &Token,
    ) -> Result<SetOutcome> {
        check_fill(SCHEME, options)?;
        self.stack.late.settle(key)?;
        let put = Put { key, value, options: self.stack.rules.kept_options(options) };
        let fill = |lowest: &mut TierSession| of(lowest)?.fill(key, value, &put.options, token);
        write::store(&mut self.stack, &put, fill)
    }

    fn release(&mut self, key: &[u8], token: &Token) -> Result<bool> {
        self.stack.late.settle(key)?;
        of(lowest(&mut self.stack)?)?.release(key, token)
    }

    /// The upper tiers drop the key: what is stale is read in the lowest tier.
    fn expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool> {
        let keep = self.time_to_keep(key, keep)?;
        let expire = |lowest: &mut TierSession| of(lowest)?.expire(key, keep);
        write::lowest_then_drop(&mut self.stack, key, true, expire).map(|(was_there, _)| was_there)
    }

    fn token(&mut self, key: &[u8]) -> Result<Token> {
        self.stack.late.settle(key)?;
        of(lowest(&mut self.stack)?)?.token(key)
    }

    fn renew(&mut self, key: &[u8], held: Option<&Token>) -> Result<Option<Token>> {
        self.stack.late.settle(key)?;
        of(lowest(&mut self.stack)?)?.renew(key, held)
    }
}

impl TiersSession {
    /// Asks the lowest tier for a value or for a lease, and fills its hit in above. The metadata are as that tier tells them.
    pub(crate) fn lease_lowest(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        self.stack.late.settle(key)?;
        let (lowest, above, tokens) = write::apart(&mut self.stack);
        let (right, asked) = (Right::of_reader(above, tokens, key), Instant::now());
        let leased = of(lowest)?.get_or_lease_early(key, value, time, early);
        count(lowest, &leased);
        if let Ok(Leased::Hit(meta)) = leased {
            let life = Life::told(meta, &lowest.tier, asked);
            read::fill(above, tokens, right, (key, value, meta.flags, life));
        }
        leased
    }

    /// The same for many keys: for each its value, and the answer.
    pub(crate) fn lease_lowest_many(
        &mut self,
        keys: &[&[u8]],
        time: Duration,
        early: Duration,
    ) -> Vec<(Vec<u8>, Result<Leased>)> {
        let mut ask = |key: &&[u8]| {
            let mut value = Vec::new();
            let leased = self.lease_lowest(key, &mut value, time, early);
            (value, leased)
        };
        keys.iter().map(&mut ask).collect()
    }

    /// The time for which an entry is kept as stale: no longer than its TTL, without the time of grace. An entry that is over
    /// is removed, because nobody finds it any more.
    fn time_to_keep(&mut self, key: &[u8], keep: Option<Duration>) -> Result<Option<Duration>> {
        let rules = self.stack.rules;
        if rules.grace.is_zero() {
            return Ok(keep);
        }
        write::remove_over(&mut self.stack, key);
        let facts = lowest(&mut self.stack)?.session.look(key)?;
        Ok(match facts.map(|facts| rules.ttl_of(facts.meta.ttl)) {
            Some(Remaining::For(left)) => Some(keep.map_or(left, |keep| keep.min(left))),
            _ => keep,
        })
    }
}

fn lowest(stack: &mut Stack) -> Result<&mut TierSession> {
    stack.tiers.last_mut().ok_or_else(none)
}

fn count(lowest: &TierSession, leased: &Result<Leased>) {
    let counters = &lowest.counters;
    match leased {
        Ok(Leased::Hit(_)) => counters.hits.add(1),
        Ok(_) => counters.misses.add(1),
        Err(_) => counters.errors.add(1),
    }
}

/// The leases of a tier, which its capabilities promise.
fn of(tier: &mut TierSession) -> Result<&mut dyn Leases> {
    tier.session.leases().ok_or_else(none)
}

fn none() -> Error {
    Error::Unsupported { engine: SCHEME, operation: "leases" }
}
