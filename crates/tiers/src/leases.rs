//! The leases of a stack: those of its lowest tier, which all processes share.

use std::time::{Duration, Instant};

use larder_store::{
    Error, Leased, Leases, Put, Remaining, Result, SetOptions, SetOutcome, Token, check_fill,
};

use crate::SCHEME;
use crate::fence::Right;
use crate::lookup::Found;
use crate::read::{self, told};
use crate::rules::Rules;
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
        Ok(match self.lease_lowest((key, seen.aside), value, time, early)? {
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
        let put = Put { key, value, options: self.stack.rules.kept_options(options) };
        let fill = |lowest: &mut TierSession| of(lowest)?.fill(key, value, &put.options, token);
        write::fill(&mut self.stack, &put, fill)
    }

    fn release(&mut self, key: &[u8], token: &Token) -> Result<bool> {
        self.stack.late.settle(key)?;
        of(lowest(&mut self.stack)?)?.release(key, token)
    }

    /// The upper tiers drop the key: what is stale is read in the lowest tier.
    fn expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool> {
        let rules = self.stack.rules;
        let expire = |lowest: &mut TierSession| {
            let keep = time_to_keep(lowest, &rules, key, keep)?;
            of(lowest)?.expire(key, keep)
        };
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
    /// Where that tier has no value, the value that was set `aside` is removed.
    pub(crate) fn lease_lowest(
        &mut self,
        (key, aside): (&[u8], Option<Found>),
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        let late = self.stack.late.get(key, value);
        if let Some(meta) = late.filter(|meta| !meta.ttl.ends_within(early)) {
            write::apart(&mut self.stack).0.counters.hits.add(1);
            return Ok(Leased::Hit(meta));
        }
        self.stack.late.settle(key)?;
        let (lowest, above, tokens) = write::apart(&mut self.stack);
        let (right, asked) = (Right::of_reader(above, tokens, key), Instant::now());
        let leased = of(lowest)?.get_or_lease_early(key, value, time, early);
        count(lowest, &leased);
        match &leased {
            Ok(Leased::Hit(meta)) => {
                let life = Life::told(*meta, &lowest.tier, asked);
                read::fill(above, tokens, right, (key, value, meta.flags, life));
            }
            Ok(Leased::Load { stale: None, .. } | Leased::Wait { stale: None })
                if aside.is_some() =>
            {
                read::drop_over(above, tokens, key);
            }
            _ => {}
        }
        leased
    }
}

/// The time for which the lowest tier keeps an entry as stale: no longer than its TTL, and the time of grace.
fn time_to_keep(
    lowest: &mut TierSession,
    rules: &Rules,
    key: &[u8],
    keep: Option<Duration>,
) -> Result<Option<Duration>> {
    if rules.grace.is_zero() {
        return Ok(keep);
    }
    let facts = lowest.session.look(key)?;
    Ok(match facts.map(|facts| rules.ttl_of(facts.meta.ttl)) {
        Some(Remaining::For(left)) => rules.kept(Some(keep.map_or(left, |keep| keep.min(left)))),
        _ => rules.kept(keep),
    })
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
