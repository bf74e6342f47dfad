//! The leases of a stack: those of its lowest tier, which all processes share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_store::{
    DeleteDone, Error, Fill, LeaseDone, Leased, Leases, Put, Remaining, Result, SetDone,
    SetOptions, SetOutcome, Token, check_fill,
};

use crate::SCHEME;
use crate::fence::Right;
use crate::lookup::Found;
use crate::read::{self, told};
use crate::rules::Rules;
use crate::session::{Stack, TiersSession};
use crate::tier::{Life, TierCounters, TierSession};
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

    /// The same for many keys: each tier is asked once.
    fn get_or_lease_many(
        &mut self,
        keys: &[&[u8]],
        time: Duration,
        early: Duration,
        done: &mut LeaseDone<'_>,
    ) -> Result<()> {
        let early = early.saturating_add(self.stack.rules.grace);
        let n_above = self.stack.tiers.len() - 1;
        let mut is_missing = vec![true; keys.len()];
        let (stack, batch) = (&mut self.stack, &mut self.batch);
        read::look_many_above(stack, batch, n_above, keys, early, &mut |i, value, found, _| {
            is_missing[i] = false;
            done(i, value, Ok(Leased::Hit(found.meta)));
        })?;
        let mut has_aside = vec![false; keys.len()];
        self.batch.take_aside().iter().for_each(|(i, ..)| has_aside[*i] = true);
        let places: Vec<_> = (0..keys.len()).filter(|i| is_missing[*i]).collect();
        let asked: Vec<_> = places.iter().map(|i| (keys[*i], has_aside[*i])).collect();
        let Stack { capabilities, rules, .. } = &self.stack;
        let (capabilities, rules) = (*capabilities, *rules);
        let shown = |meta| told(meta, false, &rules, &capabilities);
        self.lease_lowest_many(&asked, time, early, &mut |place, value, leased| {
            let leased = leased.map(|leased| match leased {
                Leased::Hit(meta) => Leased::Hit(shown(meta)),
                Leased::Load { token, stale } => Leased::Load { token, stale: stale.map(shown) },
                Leased::Wait { stale } => Leased::Wait { stale: stale.map(shown) },
            });
            done(places[place], value, leased);
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

    fn fill_many(&mut self, fills: &[Fill<'_>], done: &mut SetDone<'_>) -> Result<()> {
        write::fill_many(&mut self.stack, fills, done, |lowest, batch, done| {
            of(lowest)?.fill_many(batch, done)
        })
    }

    fn release(&mut self, key: &[u8], token: &Token) -> Result<bool> {
        self.stack.late.settle(key)?;
        of(lowest(&mut self.stack)?)?.release(key, token)
    }

    fn release_many(&mut self, held: &[(&[u8], Token)], done: &mut DeleteDone<'_>) -> Result<()> {
        let mut places = Vec::new();
        let settled = self.stack.late.settle_many(held.iter().map(|(key, _)| *key));
        for (i, settled) in settled.into_iter().enumerate() {
            match settled {
                Ok(()) => places.push(i),
                Err(error) => done(i, Err(error)),
            }
        }
        let batch: Vec<_> = places.iter().map(|i| held[*i]).collect();
        let leases = of(lowest(&mut self.stack)?)?;
        leases.release_many(&batch, &mut |place, outcome| done(places[place], outcome))
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
        let late = Arc::clone(&self.stack.late);
        let (lowest, above, tokens) = write::apart(&mut self.stack);
        // A late set that comes after this moment ends the right.
        let right = Right::of_reader(above, tokens, key);
        if let Some(meta) = late.get(key, value).filter(|meta| !meta.ttl.ends_within(early)) {
            lowest.counters.hits.add(1);
            return Ok(Leased::Hit(meta));
        }
        late.settle(key)?;
        let asked = Instant::now();
        let leased = of(lowest)?.get_or_lease_early(key, value, time, early);
        count(&lowest.counters, &leased);
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

impl TiersSession {
    /// As [`Self::lease_lowest`] for many keys, each with whether a value of it was set aside. The lowest tier is asked once.
    /// It calls `done` as [`Leases::get_or_lease_many`] does.
    pub(crate) fn lease_lowest_many(
        &mut self,
        keys: &[(&[u8], bool)],
        time: Duration,
        early: Duration,
        done: &mut LeaseDone<'_>,
    ) -> Result<()> {
        let late = Arc::clone(&self.stack.late);
        let (lowest, above, tokens) = write::apart(&mut self.stack);
        let (mut value, mut others) = (Vec::new(), Vec::new());
        for (i, (key, _)) in keys.iter().enumerate() {
            // A late set that comes after this moment ends the right.
            let right = Right::of_reader(above, tokens, key);
            let meta = late.get(key, &mut value).filter(|meta| !meta.ttl.ends_within(early));
            if let Some(meta) = meta {
                lowest.counters.hits.add(1);
                done(i, &value, Ok(Leased::Hit(meta)));
            } else {
                others.push((i, right));
            }
        }
        let settled = late.settle_many(others.iter().map(|(i, _)| keys[*i].0));
        let (mut places, mut rights) = (Vec::new(), Vec::new());
        for ((i, right), settled) in others.into_iter().zip(settled) {
            match settled {
                Ok(()) => {
                    places.push(i);
                    rights.push(right);
                }
                Err(error) => done(i, b"", Err(error)),
            }
        }
        if places.is_empty() {
            return Ok(());
        }
        let asked: Vec<_> = places.iter().map(|i| keys[*i].0).collect();
        let (at, mut n_answers) = (Instant::now(), 0);
        let TierSession { session, tier, counters, .. } = lowest;
        let leases = session.leases().ok_or_else(none)?;
        let result = leases.get_or_lease_many(&asked, time, early, &mut |place, value, leased| {
            n_answers += 1;
            count(counters, &leased);
            let (key, has_aside) = keys[places[place]];
            match &leased {
                Ok(Leased::Hit(meta)) => {
                    let life = Life::told(*meta, tier, at);
                    read::fill(above, tokens, rights[place], (key, value, meta.flags, life));
                }
                Ok(Leased::Load { stale: None, .. } | Leased::Wait { stale: None })
                    if has_aside =>
                {
                    read::drop_over(above, tokens, key);
                }
                _ => {}
            }
            done(places[place], value, leased);
        });
        counters.errors.add(places.len().saturating_sub(n_answers) as u64);
        result
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

fn count(counters: &TierCounters, leased: &Result<Leased>) {
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
