//! Reads of many keys that load what is absent: one pass over the tiers, and one call of the loader for the rest.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Instant;

use larder_store::{Error, Leased};

use super::flight::{End, Flights, Lead};
use super::{Answer, LoadOptions, Loaded, Of, Origin, PAUSES, Under};
use crate::fence::Right;
use crate::read;
use crate::rules::{in_time, is_unanswered};
use crate::session::TiersSession;

/// The callback for each key that has an answer: its place, its value, and the rest of the answer.
pub type Answered<'a> = dyn FnMut(usize, &[u8], Answer) + 'a;

/// The callback of a loader for each key: its place, its value, and what to do with it.
pub type Give<'a> = dyn FnMut(usize, &[u8], Loaded) + 'a;

/// A loader of many keys. It gets the places of the keys, and a callback that takes its values.
pub type LoaderOfMany<'a, E> = dyn FnMut(&[usize], &mut Give<'_>) -> Result<(), E> + 'a;

/// A key that no tier has fresh.
#[derive(Debug)]
struct Missing<'a> {
    /// The places at which the caller names the key. The loader gets the first.
    places: Vec<usize>,
    /// The right to store it, as of before its load.
    right: Right,
    under: Under,
    lead: Option<Lead<'a>>,
    /// An older value.
    older: Option<(Vec<u8>, Answer)>,
}

impl Missing<'_> {
    fn key<'b>(&self, keys: &[&'b [u8]]) -> &'b [u8] {
        keys[self.places[0]]
    }

    fn answer(&self, hit: &mut Answered<'_>, value: &[u8], answer: Answer) {
        self.places.iter().for_each(|place| hit(*place, value, answer));
    }
}

impl TiersSession {
    /// Looks up many keys, has `loader` make those that are absent or over, and calls `hit` for each key that has an answer,
    /// in any order.
    ///
    /// The tiers are asked for all keys at once, and the lowest for a lease of each key that is missing. The loader is called
    /// once with the places of all keys that this caller is to load; of a key that is named twice, the first place. Keys that
    /// another caller loads are waited for. The loader is called again for those that the other caller gives up, and for those
    /// that are late; nothing is stored of the late ones. [`LoadOptions::early`] has no effect.
    ///
    /// # Errors
    ///
    /// As [`TiersSession::get_or_load`]. Before an error, all keys with an older value have had their answers.
    pub fn get_or_load_many<E: From<Error>>(
        &mut self,
        keys: &[&[u8]],
        options: &LoadOptions,
        hit: &mut Answered<'_>,
        loader: &mut LoaderOfMany<'_, E>,
    ) -> Result<(), E> {
        self.check(options)?;
        let (deadline, loads) = (in_time(options.wait), Arc::clone(&self.loads));
        let [mut pause, longest] = PAUSES;
        // Only the first look may have missed the end of another load: the later ones come after a pause.
        let mut n_ended = Some(loads.flights.n_ended());
        let mut missing = self.look_for_missing(keys, hit)?;
        loop {
            let flights = (&loads.flights, n_ended);
            let waiting = self.choose(keys, options, &mut missing, flights, hit)?;
            self.load_many(keys, options, missing, hit, loader)?;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || waiting.is_empty() {
                return self.load_many(keys, options, waiting, hit, loader);
            }
            sleep(pause.min(left));
            pause = longest.min(2 * pause);
            n_ended = None;
            missing = self.look_again(keys, waiting, hit)?;
        }
    }

    /// Looks in all tiers, and returns the keys that none has fresh.
    fn look_for_missing<'a>(
        &mut self,
        keys: &[&[u8]],
        hit: &mut Answered<'_>,
    ) -> Result<Vec<Missing<'a>>, Error> {
        let mut older = HashMap::new();
        let mut fresh = vec![false; keys.len()];
        let (stack, batch) = (&mut self.stack, &mut self.batch);
        let failed = read::look_many(stack, batch, keys, &mut |i, value, found, _| {
            let answer = Answer::of(found);
            if answer.stale {
                older.insert(i, (value.to_vec(), answer));
            } else {
                fresh[i] = true;
                hit(i, value, answer);
            }
        })?;
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
            let under = if failed.is_some() { Under::AboveOnly } else { Under::Nothing };
            let (right, older) = (self.right(keys[place]), older.remove(&place));
            missing.push(Missing { places: vec![place], right, under, lead: None, older });
        }
        missing.retain(|missing| !self.is_known_absent(missing, keys));
        Ok(missing)
    }

    /// Looks once more for keys that other callers load, and returns those that are still missing.
    fn look_again<'a>(
        &mut self,
        keys: &[&[u8]],
        waiting: Vec<Missing<'a>>,
        hit: &mut Answered<'_>,
    ) -> Result<Vec<Missing<'a>>, Error> {
        let asked: Vec<&[u8]> = waiting.iter().map(|missing| missing.key(keys)).collect();
        let mut found = vec![false; asked.len()];
        read::look_many(&mut self.stack, &mut self.batch, &asked, &mut |i, value, entry, _| {
            found[i] = true;
            waiting[i].answer(hit, value, Answer::of(entry));
        })?;
        let still = waiting.into_iter().zip(found).filter(|(_, found)| !found);
        let again =
            |(key, _): (Missing<'a>, _)| Missing { right: self.right(key.key(keys)), ..key };
        let mut missing: Vec<_> = still.map(again).collect();
        missing.retain(|missing| !self.is_known_absent(missing, keys));
        Ok(missing)
    }

    fn is_known_absent(&self, missing: &Missing<'_>, keys: &[&[u8]]) -> bool {
        let absent = &self.loads.absent;
        let is_absent = !absent.is_empty() && absent.has(missing.key(keys), missing.right);
        if is_absent {
            self.loads.count(Of::AbsentHits);
        }
        is_absent
    }

    /// Leaves in `missing` the keys that this caller loads, and returns those that another caller loads and that have no value.
    /// A key with an older value that another caller loads is answered. If `n_ended` is the number of loads that had ended before
    /// this caller looked, it looks again for keys whose load may have ended since.
    fn choose<'a>(
        &mut self,
        keys: &[&[u8]],
        options: &LoadOptions,
        missing: &mut Vec<Missing<'a>>,
        (flights, n_ended): (&'a Flights, Option<u64>),
        hit: &mut Answered<'_>,
    ) -> Result<Vec<Missing<'a>>, Error> {
        let (mut waiting, mut hangs) = (Vec::new(), false);
        for mut key in std::mem::take(missing) {
            if hangs {
                key.under = Under::AboveOnly;
            } else if self.stack.capabilities.leases {
                let (value, leased) = self.lease(key.key(keys), options)?;
                match leased {
                    Turn::Hit(answer) => {
                        key.answer(hit, &value, answer);
                        continue;
                    }
                    Turn::Load(under, older) => {
                        key.under = under;
                        key.older = older.map(|answer| (value, answer));
                    }
                    Turn::Fails { is_asked } => {
                        key.under = Under::AboveOnly;
                        // The server may not answer for the other keys either, and each would take as long.
                        hangs = is_asked;
                    }
                    Turn::Wait => {
                        waiting.push(key);
                        continue;
                    }
                }
            } else if let Some(lead) = flights.lead(key.key(keys)) {
                if n_ended.is_some_and(|before| before != flights.n_ended()) {
                    lead.end(End::Stored);
                    waiting.push(key);
                    continue;
                }
                key.lead = Some(lead);
                if !matches!(key.under, Under::AboveOnly) {
                    key.under = Under::Lead;
                }
            } else if let Some((value, answer)) = &key.older {
                self.loads.count(Of::StaleHits);
                key.answer(hit, value, *answer);
                continue;
            } else {
                self.loads.count(Of::Waits);
                waiting.push(key);
                continue;
            }
            missing.push(key);
        }
        Ok(waiting)
    }

    /// Asks the lowest tier for the lease of a key.
    fn lease(&mut self, key: &[u8], options: &LoadOptions) -> Result<(Vec<u8>, Turn), Error> {
        let (lowest, grace) = (self.stack.tiers.len(), self.stack.rules.grace);
        let mut value = Vec::new();
        let turn = match self.lease_lowest((key, None), &mut value, options.lease, grace) {
            Ok(Leased::Hit(meta)) => Turn::Hit(self.of_tier(lowest, meta, false)),
            Ok(Leased::Load { token, stale }) => {
                let older = stale.map(|meta| self.of_tier(lowest, meta, true));
                Turn::Load(Under::Lease(token), older)
            }
            Ok(Leased::Wait { stale: Some(meta) }) => {
                self.loads.count(Of::StaleHits);
                Turn::Hit(self.of_tier(lowest, meta, true))
            }
            Ok(Leased::Wait { stale: None }) => {
                self.loads.count(Of::Waits);
                Turn::Wait
            }
            Err(error) if is_unanswered(&error) => Turn::Fails { is_asked: !error.is_not_made() },
            Err(error) => return Err(error),
        };
        Ok((value, turn))
    }

    /// Calls the loader once for all these keys, and stores what it gives.
    fn load_many<E: From<Error>>(
        &mut self,
        keys: &[&[u8]],
        options: &LoadOptions,
        missing: Vec<Missing<'_>>,
        hit: &mut Answered<'_>,
        loader: &mut LoaderOfMany<'_, E>,
    ) -> Result<(), E> {
        if missing.is_empty() {
            return Ok(());
        }
        let loads = Arc::clone(&self.loads);
        let places: Vec<usize> = missing.iter().map(|missing| missing.places[0]).collect();
        let mut given: HashMap<usize, (Vec<u8>, Loaded)> = HashMap::new();
        loads.count(Of::Loads);
        let begun = Instant::now();
        let mut give = |place: usize, value: &[u8], loaded: Loaded| {
            let Ok(i) = places.binary_search(&place) else { return };
            if loaded != Loaded::Absent {
                let answer = Answer { origin: Origin::Loader, stale: false, flags: options.flags };
                missing[i].answer(hit, value, answer);
            }
            given.insert(place, (value.to_vec(), loaded));
        };
        let made = catch_unwind(AssertUnwindSafe(|| loader(&places, &mut give)));
        loads.took(begun.elapsed());
        let made = made.unwrap_or_else(|panic| {
            for key in &missing {
                self.give_back(key.key(keys), &key.under);
            }
            resume_unwind(panic)
        });
        if made.is_err() {
            loads.count(Of::LoadErrors);
        }
        for mut key in missing {
            let lead = key.lead.take();
            let given = given.remove(&key.places[0]);
            let end = self.finish(keys, options, &key, (given, made.is_err()), hit);
            if let Some(lead) = lead {
                lead.end(end);
            }
        }
        made
    }

    /// Stores what a loader gave for a key, or does without.
    fn finish(
        &mut self,
        keys: &[&[u8]],
        options: &LoadOptions,
        key: &Missing<'_>,
        (given, failed): (Option<(Vec<u8>, Loaded)>, bool),
        hit: &mut Answered<'_>,
    ) -> End {
        let bytes = key.key(keys);
        let ttl = match &given {
            Some((_, Loaded::Value)) => Some(options.ttl),
            Some((_, Loaded::ValueFor(ttl))) => Some(*ttl),
            _ => None,
        };
        if let (Some((value, _)), Some(ttl)) = (&given, ttl) {
            let replaces = key.older.is_some();
            return self.keep((bytes, value), (options, ttl), &key.under, key.right, replaces);
        }
        self.give_back(bytes, &key.under);
        match given {
            Some((_, Loaded::Uncached)) => End::NotStored,
            None if failed => {
                if let Some((value, answer)) = &key.older {
                    self.loads.count(Of::StaleHits);
                    key.answer(hit, value, *answer);
                }
                End::Failed
            }
            _ if options.absent.is_zero() => End::NotStored,
            _ => {
                self.loads.absent.note(bytes, options.absent, key.right);
                End::Stored
            }
        }
    }
}

/// The answer to a caller that asks for a lease.
#[derive(Debug)]
enum Turn {
    /// A value.
    Hit(Answer),
    /// This caller loads; an older value may be there.
    Load(Under, Option<Answer>),
    /// Another caller loads.
    Wait,
    /// The lowest tier fails; or a breaker refuses the call, and the tier is not asked.
    Fails { is_asked: bool },
}
