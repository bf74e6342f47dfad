//! The missing keys of a read of many keys, and the choice of those that this caller loads.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use larder_store::{Error, Leased, Token};

use super::callbacks::Answered;
use super::{Answer, LoadOptions, Permission};
use crate::fill_token::FillToken;
use crate::loads::{End, Flights, Lead, LoadCount};
use crate::lookup::Found;
use crate::read::{self, Hit};
use crate::rules::is_unanswered;
use crate::session::TiersSession;

/// A key that no tier has fresh.
#[derive(Debug)]
pub(super) struct Missing<'a> {
    /// The places at which the caller names the key. The loader gets the first.
    pub(super) places: Vec<usize>,
    /// The token to store it, taken before the load.
    pub(super) fill_token: FillToken,
    pub(super) under: Permission,
    pub(super) lead: Option<Lead<'a>>,
    /// An older value.
    pub(super) older: Option<(Vec<u8>, Answer)>,
    /// An upper tier has an older value, which is the answer only where the lowest tier fails.
    fallback: Option<(Vec<u8>, Answer)>,
}

impl Missing<'_> {
    pub(super) fn key<'b>(&self, keys: &[&'b [u8]]) -> &'b [u8] {
        keys[self.places[0]]
    }

    pub(super) fn answer(&self, hit: &mut Answered<'_>, value: &[u8], answer: Answer) {
        self.places.iter().for_each(|place| hit(*place, value, answer));
    }
}

/// One read of many keys that may load.
pub(super) struct RequestMany<'a> {
    pub(super) keys: &'a [&'a [u8]],
    pub(super) options: &'a LoadOptions<'a>,
    /// An entry with no more than this left is loaded anew.
    pub(super) early: Duration,
}

impl TiersSession {
    /// Looks in the tiers that are asked before a lease is: all but the lowest, or all where that has no leases. Passes on the older
    /// values of upper tiers by the places of their keys, and returns the failure of the lowest tier.
    fn look_many_before_loading(
        &mut self,
        keys: &[&[u8]],
        early: Duration,
        fallback: &mut HashMap<usize, (Vec<u8>, Answer)>,
        hit: &mut Hit<'_>,
    ) -> Result<Option<Error>, Error> {
        let (stack, batch) = (&mut self.stack, &mut self.batch);
        if !stack.capabilities.leases {
            return read::look_many(stack, batch, keys, early, hit);
        }
        let n_above = stack.tiers.len() - 1;
        let failed = read::look_many_above(stack, batch, n_above, keys, early, hit)?;
        for (i, Found { meta, tier }, value) in self.batch.take_fallbacks() {
            fallback.insert(i, (value, self.of_tier(tier, meta, true)));
        }
        Ok(failed)
    }

    /// Looks for all keys, and returns those that are missing.
    pub(super) fn look_for_missing<'a>(
        &mut self,
        ask: &RequestMany<'_>,
        hit: &mut Answered<'_>,
    ) -> Result<Vec<Missing<'a>>, Error> {
        let keys = ask.keys;
        let (mut older, mut fallback) = (HashMap::new(), HashMap::new());
        let mut fresh = vec![false; keys.len()];
        let mut found = |i: usize, value: &[u8], found, _| {
            let answer = Answer::of(found);
            if answer.stale {
                older.insert(i, (value.to_vec(), answer));
            } else {
                fresh[i] = true;
                hit(i, value, answer);
            }
        };
        let failed = self.look_many_before_loading(keys, ask.early, &mut fallback, &mut found)?;
        let mut missing = Vec::<Missing<'_>>::new();
        let mut of_key = HashMap::new();
        for place in (0..keys.len()).filter(|i| !fresh[*i]) {
            let first = match of_key.entry(keys[place]) {
                Entry::Occupied(first) => *first.get(),
                Entry::Vacant(none) => *none.insert(missing.len()),
            };
            if let Some(first) = missing.get_mut(first) {
                first.places.push(place);
                continue;
            }
            let under = if failed.is_some() { Permission::AboveOnly } else { Permission::Nothing };
            let fill_token = self.stack.fill_token(keys[place]);
            let (older, fallback) = (older.remove(&place), fallback.remove(&place));
            missing.push(Missing {
                places: vec![place],
                fill_token,
                under,
                lead: None,
                older,
                fallback,
            });
        }
        missing.retain(|missing| !self.is_known_absent(missing.key(keys)));
        Ok(missing)
    }

    /// Looks once more for keys that other callers load, and returns those that are still missing.
    pub(super) fn look_again<'a>(
        &mut self,
        ask: &RequestMany<'_>,
        waiting: Vec<Missing<'a>>,
        hit: &mut Answered<'_>,
    ) -> Result<Vec<Missing<'a>>, Error> {
        let asked: Vec<&[u8]> = waiting.iter().map(|missing| missing.key(ask.keys)).collect();
        let mut found = vec![false; asked.len()];
        let (grace, mut fallback) = (self.stack.rules.grace, HashMap::new());
        self.look_many_before_loading(&asked, grace, &mut fallback, &mut |i, value, entry, _| {
            found[i] = true;
            waiting[i].answer(hit, value, Answer::of(entry));
        })?;
        let still = waiting.into_iter().zip(found).enumerate().filter(|(_, (_, found))| !found);
        let again = |(i, (key, _)): (usize, (Missing<'a>, _))| {
            let fill_token = self.stack.fill_token(key.key(ask.keys));
            Missing { fill_token, fallback: fallback.remove(&i), ..key }
        };
        let mut missing: Vec<_> = still.map(again).collect();
        missing.retain(|missing| !self.is_known_absent(missing.key(ask.keys)));
        Ok(missing)
    }

    /// Asks the lowest tier for the values or the leases of all missing keys. Leaves in `missing` the keys that this caller
    /// loads, and returns those that another caller loads and that have no value. All others are answered.
    pub(super) fn take_leases<'a>(
        &mut self,
        ask: &RequestMany<'_>,
        missing: &mut Vec<Missing<'a>>,
        hit: &mut Answered<'_>,
    ) -> Result<Vec<Missing<'a>>, Error> {
        let taken = std::mem::take(missing);
        let asked: Vec<_> =
            taken.iter().map(|key| (key.key(ask.keys), key.fallback.is_some())).collect();
        let (lowest, time, loads) = (self.stack.tiers.len(), ask.options.lease, &self.loads);
        let (loads, shown) = (Arc::clone(loads), self.shown());
        let mut turns: Vec<_> = asked.iter().map(|_| Turn::Fails).collect();
        let mut refusal = None;
        let result = self.lease_lowest_many(&asked, time, ask.early, &mut |i, value, leased| {
            turns[i] = match leased {
                Ok(Leased::Hit(meta)) => {
                    taken[i].answer(hit, value, shown(lowest, meta, false));
                    Turn::Answered
                }
                Ok(Leased::Load { token, stale }) => {
                    let older = stale.map(|meta| (value.to_vec(), shown(lowest, meta, true)));
                    Turn::Load(token, older)
                }
                Ok(Leased::Wait { stale: Some(meta) }) => {
                    loads.count(LoadCount::StaleHits);
                    taken[i].answer(hit, value, shown(lowest, meta, true));
                    Turn::Answered
                }
                Ok(Leased::Wait { stale: None }) => {
                    loads.count(LoadCount::Waits);
                    Turn::Wait
                }
                Err(error) if is_unanswered(&error) => Turn::Fails,
                Err(error) => {
                    refusal.get_or_insert(error);
                    Turn::Answered
                }
            };
        });
        let refusal = refusal.or(result.err().filter(|error| !is_unanswered(error)));
        let mut waiting = Vec::new();
        for (mut key, turn) in taken.into_iter().zip(turns) {
            match turn {
                Turn::Answered => continue,
                Turn::Load(token, older) => {
                    (key.under, key.older) = (Permission::Lease(token), older);
                }
                Turn::Fails => {
                    (key.under, key.older) = (Permission::AboveOnly, key.fallback.take());
                }
                Turn::Wait => {
                    key.fallback = None;
                    waiting.push(key);
                    continue;
                }
            }
            missing.push(key);
        }
        if let Some(refusal) = refusal {
            for (key, (value, answer)) in
                missing.iter().filter_map(|key| key.older.as_ref().map(|older| (key, older)))
            {
                self.loads.count(LoadCount::StaleHits);
                key.answer(hit, value, *answer);
            }
            self.give_back_many(ask.keys, missing.iter());
            return Err(refusal);
        }
        Ok(waiting)
    }

    /// Takes the leads of the missing keys within this process. Leaves in `missing` the keys that this caller loads, and returns
    /// those that another caller loads and that have no value. A key with an older value that another caller loads is
    /// answered. If `n_ended` is the number of loads that had ended before this caller looked, it looks again for keys whose
    /// load may have ended since.
    pub(super) fn take_leads<'a>(
        &self,
        ask: &RequestMany<'_>,
        missing: &mut Vec<Missing<'a>>,
        flights: &'a Flights,
        n_ended: Option<u64>,
        hit: &mut Answered<'_>,
    ) -> Vec<Missing<'a>> {
        let mut waiting = Vec::new();
        for mut key in std::mem::take(missing) {
            if let Some(lead) = flights.lead(key.key(ask.keys)) {
                if n_ended.is_some_and(|before| before != flights.n_ended()) {
                    lead.end(End::Stored);
                    waiting.push(key);
                    continue;
                }
                key.lead = Some(lead);
                if !matches!(key.under, Permission::AboveOnly) {
                    key.under = Permission::Lead;
                }
                missing.push(key);
            } else if let Some((value, answer)) = &key.older {
                self.loads.count(LoadCount::StaleHits);
                key.answer(hit, value, *answer);
            } else {
                self.loads.count(LoadCount::Waits);
                waiting.push(key);
            }
        }
        waiting
    }
}

/// The answer to a caller that asks for a lease.
#[derive(Debug)]
enum Turn {
    /// The key needs no load.
    Answered,
    /// This caller loads; an older value may be there.
    Load(Token, Option<(Vec<u8>, Answer)>),
    /// Another caller loads.
    Wait,
    /// The lowest tier fails, or a breaker refuses the call.
    Fails,
}
