//! Reads of many keys that load what is absent: one pass over the tiers, and one call of the loader for the rest.

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_store::layer::Keys;
use larder_store::{Error, Fill, Leases, Put, SetOutcome, Token};

use super::callbacks::{Answered, LoaderOfMany};
use super::missing::{Missing, RequestMany};
use super::spans::{Answers, end_loader_of_many};
use super::{Answer, LoadOptions, Loaded, Origin, PAUSES, Permission};
use crate::loads::{End, LoadCount};
use crate::rules::in_time;
use crate::session::TiersSession;
use crate::tags::TagVersion;

/// A value that was loaded under a lease.
struct Filled<'a> {
    key: &'a [u8],
    value: Vec<u8>,
    ttl: Option<Duration>,
    token: Token,
}

impl TiersSession {
    /// Looks up many keys, has `loader` make those that are absent or over, and calls `hit` for each key that has an answer,
    /// in any order.
    ///
    /// Each tier is asked for all keys at once, and the lowest for the values and the leases of all that are missing above. The
    /// loader is called once with the places of all keys that this caller is to load; of a key that is named twice, the first
    /// place. Its values are stored at once too. Keys that another caller loads are waited for. The loader is called again for
    /// those that the other caller gives up, and for those that are late; nothing is stored of the late ones.
    ///
    /// # Errors
    ///
    /// As [`TiersSession::get_or_load`]. Before an error, all keys with an older value have had their answers.
    pub fn get_or_load_many<E: From<Error>>(
        &mut self,
        keys: &[&[u8]],
        options: &LoadOptions<'_>,
        hit: &mut Answered<'_>,
        loader: &mut LoaderOfMany<'_, E>,
    ) -> Result<(), E> {
        let Some(span) = self.begin_span(Keys::Many(keys)) else {
            return self.look_or_load_many(keys, options, &Cell::new(false), hit, loader);
        };
        let (answers, has_waited) = (Answers::default(), Cell::new(false));
        let result =
            self.look_or_load_many(keys, options, &has_waited, &mut answers.count(hit), loader);
        answers.end(span, &result, keys.len(), has_waited.get());
        result
    }

    /// Looks in all tiers, and has what is missing loaded by this caller or by others.
    fn look_or_load_many<E: From<Error>>(
        &mut self,
        keys: &[&[u8]],
        options: &LoadOptions<'_>,
        has_waited: &Cell<bool>,
        hit: &mut Answered<'_>,
        loader: &mut LoaderOfMany<'_, E>,
    ) -> Result<(), E> {
        self.check(options)?;
        let (deadline, loads) = (in_time(options.wait), Arc::clone(&self.loads));
        let early = self.stack.rules.grace.saturating_add(self.draw_early(options));
        let ask = RequestMany { keys, options, early };
        let [mut pause, longest] = PAUSES;
        // Only the first look may have missed the end of another load: the later ones come after a pause.
        let mut n_ended = Some(loads.flights.n_ended());
        let mut missing = self.look_for_missing(&ask, hit)?;
        loop {
            let waiting = if self.stack.capabilities.leases {
                self.take_leases(&ask, &mut missing, hit)?
            } else {
                self.take_leads(&ask, &mut missing, &loads.flights, n_ended, hit)
            };
            self.load_many(&ask, missing, hit, loader)?;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || waiting.is_empty() {
                return self.load_many(&ask, waiting, hit, loader);
            }
            has_waited.set(true);
            sleep(pause.min(left));
            pause = longest.min(2 * pause);
            n_ended = None;
            missing = self.look_again(&ask, waiting, hit)?;
        }
    }

    /// Calls the loader once for all these keys, and stores what it gives.
    fn load_many<E: From<Error>>(
        &mut self,
        ask: &RequestMany<'_>,
        missing: Vec<Missing<'_>>,
        hit: &mut Answered<'_>,
        loader: &mut LoaderOfMany<'_, E>,
    ) -> Result<(), E> {
        if missing.is_empty() {
            return Ok(());
        }
        let (keys, options) = (ask.keys, ask.options);
        let loads = Arc::clone(&self.loads);
        let places: Vec<usize> = missing.iter().map(|missing| missing.places[0]).collect();
        let mut given: HashMap<usize, (Vec<u8>, Loaded)> = HashMap::new();
        let tag_versions =
            self.tag_versions_under(options.tags, missing.iter().map(|key| &key.under));
        loads.count(LoadCount::Loads);
        let begun = Instant::now();
        let mut give = |place: usize, value: &[u8], loaded: Loaded| {
            let Ok(i) = places.binary_search(&place) else { return };
            if loaded != Loaded::Absent {
                let answer = Answer { origin: Origin::Loader, stale: false, flags: options.flags };
                missing[i].answer(hit, value, answer);
            }
            given.insert(place, (value.to_vec(), loaded));
        };
        let asked: Vec<&[u8]> = missing.iter().map(|missing| missing.key(keys)).collect();
        let span = self.begin_loader_span(Keys::Many(&asked));
        let made = catch_unwind(AssertUnwindSafe(|| loader(&places, &mut give)));
        loads.took(begun.elapsed());
        if let Some(span) = span {
            end_loader_of_many(span, &made, given.len());
        }
        let made = made.unwrap_or_else(|panic| {
            self.give_back_many(keys, missing.iter());
            resume_unwind(panic)
        });
        if made.is_err() {
            loads.count(LoadCount::LoadErrors);
        }
        let (mut filled, mut unfilled) = (Vec::new(), Vec::new());
        for mut key in missing {
            let given = given.remove(&key.places[0]);
            let ttl = match &given {
                Some((_, Loaded::Value)) => Some(options.ttl),
                Some((_, Loaded::ValueFor(ttl))) => Some(*ttl),
                _ => None,
            };
            let lead = key.lead.take();
            let end = match (given, ttl, &key.under) {
                (Some((value, _)), Some(ttl), Permission::Lease(token)) => {
                    filled.push(Filled { key: key.key(keys), value, ttl, token: *token });
                    continue;
                }
                (Some((value, _)), Some(ttl), under) => {
                    let options = self.load_options(options, ttl);
                    let put = Put { key: key.key(keys), value: &value, options };
                    self.keep(&put, &tag_versions, under, key.fill_token, key.older.is_some())
                }
                (given, ..) => {
                    let loaded = given.map(|(_, loaded)| loaded);
                    let end = self.do_without(ask, &key, loaded, made.is_err(), &tag_versions, hit);
                    unfilled.push(key);
                    end
                }
            };
            if let Some(lead) = lead {
                lead.end(end);
            }
        }
        self.give_back_many(keys, unfilled.iter());
        self.keep_many(options, &filled, &tag_versions);
        made
    }

    /// Ends the load of a key for which the loader gave nothing to store.
    fn do_without(
        &mut self,
        ask: &RequestMany<'_>,
        key: &Missing<'_>,
        loaded: Option<Loaded>,
        failed: bool,
        tag_versions: &Result<Vec<TagVersion>, Error>,
        hit: &mut Answered<'_>,
    ) -> End {
        match loaded {
            Some(Loaded::Uncached) => End::NotStored,
            None if failed => {
                if let Some((value, answer)) = &key.older {
                    self.loads.count(LoadCount::StaleHits);
                    key.answer(hit, value, *answer);
                }
                End::Failed
            }
            _ if ask.options.absent.is_zero() => End::NotStored,
            _ => self.note_absent(key.key(ask.keys), ask.options, key.fill_token, tag_versions),
        }
    }

    /// Stores loaded values under their leases, each unless its key has been changed since its load began. Leases whose values
    /// are refused, or whose server fails, are given back.
    fn keep_many(
        &mut self,
        options: &LoadOptions<'_>,
        filled: &[Filled<'_>],
        tag_versions: &Result<Vec<TagVersion>, Error>,
    ) {
        if filled.is_empty() {
            return;
        }
        let mut fills = Vec::new();
        for Filled { key, value, ttl, token } in filled {
            let put = Put { key, value, options: self.load_options(options, *ttl) };
            fills.push(Fill { put, token: *token });
        }
        let mut outcomes: Vec<Option<bool>> = vec![None; fills.len()];
        // Without the counters of the tags nothing is stored. Another error is that of some fills, which then have no outcome.
        if let Ok(tag_versions) = tag_versions {
            let _ = self.fill_many_with_tags(&fills, tag_versions, &mut |i, outcome| {
                outcomes[i] = outcome.ok().map(SetOutcome::is_stored);
            });
        }
        let refused = outcomes.iter().filter(|outcome| **outcome != Some(true));
        refused.for_each(|_| self.loads.count(LoadCount::RefusedFills));
        let held = fills.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_none());
        let held: Vec<_> = held.map(|(fill, _)| (fill.put.key, fill.token)).collect();
        self.release_all(&held);
    }

    /// Gives back the leases under which nothing is stored.
    pub(super) fn give_back_many<'m, 'k: 'm>(
        &mut self,
        keys: &[&[u8]],
        missing: impl Iterator<Item = &'m Missing<'k>>,
    ) {
        let held: Vec<_> =
            missing.filter_map(|key| Some((key.key(keys), key.under.lease()?))).collect();
        self.release_all(&held);
    }

    /// Ends leases. If that fails, they end with their time.
    fn release_all(&mut self, held: &[(&[u8], Token)]) {
        if !held.is_empty() {
            let _ = self.release_many(held, &mut |_, _| ());
        }
    }
}
