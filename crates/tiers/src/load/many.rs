//! Reads of many keys that load what is absent: one pass over the tiers, and one call of the loader for the rest.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Instant;

use larder_store::{Error, Leased, Leases, Put, SetOptions, SetOutcome, Token};

use super::{Answer, LoadOptions, Loaded, Of, Origin, PAUSES};
use crate::fence::Right;
use crate::read;
use crate::rules::is_unanswered;
use crate::session::TiersSession;
use crate::write;

/// The callback for each key that has an answer: its place, its value, and the rest of the answer.
pub type Answered<'a> = dyn FnMut(usize, &[u8], Answer) + 'a;

/// The callback of a loader for each key: its place, its value, and what to do with it.
pub type Give<'a> = dyn FnMut(usize, &[u8], Loaded) + 'a;

/// A loader of many keys. It gets the places of the keys, and a callback that takes its values.
pub type LoaderOfMany<'a, E> = dyn FnMut(&[usize], &mut Give<'_>) -> Result<(), E> + 'a;

/// A key that no tier has fresh.
#[derive(Debug)]
struct Missing {
    place: usize,
    /// The right to store it, as of before its load.
    right: Right,
    /// The lease under which it is loaded.
    token: Option<Token>,
    /// An older value.
    older: Option<(Vec<u8>, Answer)>,
}

impl TiersSession {
    /// Looks up many keys, has `loader` make those that are absent or over, and calls `hit` for each key that has an answer,
    /// in any order.
    ///
    /// Each tier is asked once. The loader is called once with the places of all keys that this caller is to load. Keys that
    /// another caller loads are waited for; the loader is called once more for those that are late, and nothing of that is
    /// stored.
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
        let deadline = Instant::now() + options.wait;
        let mut missing = self.look_for_missing(keys, hit)?;
        let mut waiting = self.lease_many(keys, options, &mut missing, hit)?;
        self.load_many(keys, options, missing, hit, loader)?;
        let [mut pause, longest] = PAUSES;
        while !waiting.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let late = waiting.into_iter().map(|place| self.missing(keys, place)).collect();
                return self.load_many(keys, options, late, hit, loader);
            }
            sleep(pause.min(left));
            pause = longest.min(2 * pause);
            self.find_loaded(keys, &mut waiting, hit)?;
        }
        Ok(())
    }

    fn missing(&mut self, keys: &[&[u8]], place: usize) -> Missing {
        Missing { place, right: self.right(keys[place]), token: None, older: None }
    }

    /// Looks in all tiers, and returns the keys that none has fresh.
    fn look_for_missing(
        &mut self,
        keys: &[&[u8]],
        hit: &mut Answered<'_>,
    ) -> Result<Vec<Missing>, Error> {
        let mut older = HashMap::new();
        let mut fresh = vec![false; keys.len()];
        read::look_many(&mut self.stack, &mut self.batch, keys, &mut |i, value, found, _| {
            let answer = Answer::of(found);
            if answer.stale {
                older.insert(i, (value.to_vec(), answer));
            } else {
                fresh[i] = true;
                hit(i, value, answer);
            }
        })?;
        let absent: Vec<usize> = (0..keys.len()).filter(|i| !fresh[*i]).collect();
        let mut missing = Vec::with_capacity(absent.len());
        for place in absent {
            if self.is_absent(keys[place]) {
                self.loads.count(Of::AbsentHits);
                continue;
            }
            let older = older.remove(&place);
            missing.push(Missing { older, ..self.missing(keys, place) });
        }
        Ok(missing)
    }

    /// Asks for the leases of the missing keys. Those with an older value that another caller loads are answered. Returns the
    /// places of the keys that another caller loads and that have no value.
    fn lease_many(
        &mut self,
        keys: &[&[u8]],
        options: &LoadOptions,
        missing: &mut Vec<Missing>,
        hit: &mut Answered<'_>,
    ) -> Result<Vec<usize>, Error> {
        let mut waiting = Vec::new();
        if !self.stack.capabilities.leases || missing.is_empty() {
            return Ok(waiting);
        }
        let (lowest, grace) = (self.stack.tiers.len(), self.stack.rules.grace);
        let asked: Vec<&[u8]> = missing.iter().map(|missing| keys[missing.place]).collect();
        let answers = self.lease_lowest_many(&asked, options.lease, grace);
        for (mut key, (value, leased)) in std::mem::take(missing).into_iter().zip(answers) {
            match leased {
                Ok(Leased::Hit(meta)) => {
                    hit(key.place, &value, self.of_tier(lowest, meta, false));
                }
                Ok(Leased::Load { token, .. }) => {
                    key.token = Some(token);
                    missing.push(key);
                }
                Ok(Leased::Wait { stale: Some(meta) }) => {
                    self.loads.count(Of::StaleHits);
                    hit(key.place, &value, self.of_tier(lowest, meta, true));
                }
                Ok(Leased::Wait { stale: None }) => {
                    self.loads.count(Of::Waits);
                    waiting.push(key.place);
                }
                Err(error) if !is_unanswered(&error) => return Err(error),
                // Without a lease the value is loaded, and only the tiers above keep it.
                Err(_) => missing.push(key),
            }
        }
        Ok(waiting)
    }

    /// Calls the loader once for all these keys, and stores what it gives.
    fn load_many<E: From<Error>>(
        &mut self,
        keys: &[&[u8]],
        options: &LoadOptions,
        missing: Vec<Missing>,
        hit: &mut Answered<'_>,
        loader: &mut LoaderOfMany<'_, E>,
    ) -> Result<(), E> {
        if missing.is_empty() {
            return Ok(());
        }
        let loads = Arc::clone(&self.loads);
        let places: Vec<usize> = missing.iter().map(|missing| missing.place).collect();
        let mut given: HashMap<usize, (Vec<u8>, Loaded)> = HashMap::new();
        loads.count(Of::Loads);
        let begun = Instant::now();
        let made = loader(&places, &mut |place, value, loaded| {
            if loaded != Loaded::Absent {
                let answer = Answer { origin: Origin::Loader, stale: false, flags: options.flags };
                hit(place, value, answer);
            }
            given.insert(place, (value.to_vec(), loaded));
        });
        loads.took(begun.elapsed());
        if made.is_err() {
            loads.count(Of::LoadErrors);
        }
        let mut fills = Vec::new();
        for key in missing {
            let (value, ttl) = match given.remove(&key.place) {
                Some((value, Loaded::Value)) => (value, options.ttl),
                Some((value, Loaded::ValueFor(ttl))) => (value, ttl),
                other => {
                    let is_absent = !matches!(other, Some((_, Loaded::Uncached)));
                    if made.is_ok() && is_absent {
                        loads.absent.note(keys[key.place], options.absent, key.right);
                    }
                    if let Some((value, answer)) =
                        key.older.filter(|_| made.is_err() && other.is_none())
                    {
                        loads.count(Of::StaleHits);
                        hit(key.place, &value, answer);
                    }
                    if let Some(token) = key.token {
                        // If this fails, the lease ends with its time.
                        let _ = self.release(keys[key.place], &token);
                    }
                    continue;
                }
            };
            let kept = self.load_options(options, ttl);
            fills.push((key.place, value, kept, key.token, key.right));
        }
        self.keep_many(keys, &fills);
        made
    }

    /// Stores loaded values, unless their keys have been changed since the load began.
    fn keep_many(&mut self, keys: &[&[u8]], fills: &[Fill]) {
        for (place, value, options, token, right) in fills {
            let key = keys[*place];
            let stored = if let Some(token) = token {
                self.fill(key, value, options, token)
            } else {
                let options = self.stack.rules.kept_options(options);
                write::store_under(&mut self.stack, &Put { key, value, options }, *right)
            };
            if !stored.is_ok_and(SetOutcome::is_stored) {
                self.loads.count(Of::RefusedFills);
            }
        }
    }

    /// Looks once more for the keys that other callers load.
    fn find_loaded(
        &mut self,
        keys: &[&[u8]],
        waiting: &mut Vec<usize>,
        hit: &mut Answered<'_>,
    ) -> Result<(), Error> {
        let asked: Vec<&[u8]> = waiting.iter().map(|place| keys[*place]).collect();
        let mut found = vec![false; asked.len()];
        read::look_many(&mut self.stack, &mut self.batch, &asked, &mut |i, value, entry, _| {
            found[i] = true;
            hit(waiting[i], value, Answer::of(entry));
        })?;
        let mut is_found = found.into_iter();
        waiting.retain(|_| !is_found.next().unwrap_or_default());
        Ok(())
    }
}

/// A loaded value: its key's place, its bytes, its options, its lease, and the right to store it.
type Fill = (usize, Vec<u8>, SetOptions, Option<Token>, Right);
