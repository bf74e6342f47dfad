//! The order of reads and fills: reads begin at the nearest tier, and the answer of a tier is filled into those above
//! it.
//!
//! With a time of grace, tiers keep entries after their TTL. An entry that is over in an upper tier is a miss there, and is
//! set aside: it is the answer only where the lowest tier fails. An entry that is over in the lowest tier is told to be
//! stale.

use std::borrow::Cow;
use std::mem::{replace, swap, take};
use std::time::{Duration, Instant};

use larder_store::{Capabilities, Error, Meta, Remaining, Result};

use crate::fence::Right;
use crate::lookup::{Found, Lookup};
use crate::rules::{Rules, is_over, is_unanswered};
use crate::session::Stack;
use crate::tier::{Life, TierSession};
use crate::tokens::Tokens;
use crate::write::apart;

/// The result of a read of some tiers.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The entry that was copied, with its metadata as its tier told it.
    pub(crate) found: Option<Found>,
    /// The entry is over: its TTL has passed, and it is kept for the time of grace.
    pub(crate) is_over: bool,
    /// An entry of an upper tier that is over. Its value is in `Stack::aside`.
    pub(crate) aside: Option<Found>,
    /// The failure of the lowest tier.
    pub(crate) failed: Option<Error>,
}

/// Looks a key up, for a caller that only wants values whose TTL is not over. Where the lowest tier fails, an older value
/// is the answer, and is told to be stale.
pub(crate) fn get(stack: &mut Stack, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
    let all = stack.tiers.len();
    let mut seen = look(stack, all, key, value, stack.rules.grace)?;
    if seen.is_over {
        value.clear();
        return Ok(None);
    }
    Ok(answer(stack, &mut seen, value)?.map(|found| found.meta))
}

/// Looks a key up, and tells which tier answered. An entry that is over is an answer, and is stale.
pub(crate) fn lookup(stack: &mut Stack, key: &[u8], value: &mut Vec<u8>) -> Result<Lookup> {
    let all = stack.tiers.len();
    let mut seen = look(stack, all, key, value, stack.rules.grace)?;
    let failed = seen.failed.is_some();
    Ok(Lookup { found: answer(stack, &mut seen, value)?, failed })
}

/// The answer of a read of all tiers. Where the lowest has failed, that is the entry that was set aside, or else a miss or an
/// error, as the rules say.
fn answer(stack: &mut Stack, seen: &mut Seen, value: &mut Vec<u8>) -> Result<Option<Found>> {
    let (found, is_over) = match (seen.found, seen.aside, seen.failed.take()) {
        (None, Some(aside), Some(_)) => {
            swap(value, &mut stack.aside);
            (aside, true)
        }
        (None, None, Some(error)) if !stack.rules.fails_are_misses() => return Err(error),
        (None, ..) => return Ok(None),
        (Some(found), ..) => (found, seen.is_over),
    };
    let meta = told(found.meta, is_over, &stack.rules, &stack.capabilities);
    Ok(Some(Found { meta, ..found }))
}

/// Looks a key up in the nearest tiers, so many of them. An entry with no more than `early` left is over; so is a stale
/// value of an upper tier. It is an error only where the lowest tier refuses the request; a failure is told in [`Seen`].
pub(crate) fn look(
    stack: &mut Stack,
    levels: usize,
    key: &[u8],
    value: &mut Vec<u8>,
    early: Duration,
) -> Result<Seen> {
    let Stack { tiers, tokens, rules, aside, late, .. } = stack;
    let mut seen = Seen::default();
    for level in 0..levels {
        let (above, from_here) = tiers.split_at_mut(level);
        let [asked, below @ ..] = from_here else { break };
        let is_lowest = below.is_empty();
        if !is_lowest && !asked.may_be_asked(key) {
            continue;
        }
        // The nearest tier has no tier above it to fill. A late set that comes after this moment ends the right.
        let before = (level > 0).then(|| (Right::of_reader(above, tokens, key), Instant::now()));
        if is_lowest && let Some(meta) = late.get(key, value) {
            // The lowest tier gets this value soon.
            asked.counters.hits.add(1);
            seen.is_over = meta.ttl.ends_within(early);
            seen.found = Some(Found { meta, tier: level + 1 });
            return Ok(seen);
        }
        match asked.session.get(key, value) {
            Ok(Some(meta)) if is_lowest || !(meta.stale || is_over(&meta, early)) => {
                asked.counters.hits.add(1);
                seen.is_over = meta.ttl.ends_within(early);
                if let Some((right, at)) = before.filter(|_| !meta.stale && !seen.is_over) {
                    let life = Life::told(meta, &asked.tier, at);
                    fill(above, tokens, right, (key, value, meta.flags, life));
                }
                seen.found = Some(Found { meta, tier: level + 1 });
                return Ok(seen);
            }
            Ok(Some(meta)) => {
                asked.counters.misses.add(1);
                if !rules.grace.is_zero() && !meta.stale && seen.aside.is_none() {
                    swap(value, aside);
                    seen.aside = Some(Found { meta, tier: level + 1 });
                }
            }
            Ok(None) => {
                asked.counters.misses.add(1);
                if is_lowest && seen.aside.take().is_some() {
                    drop_over(above, tokens, key);
                }
            }
            Err(error) => {
                asked.counters.errors.add(1);
                if is_lowest {
                    if !is_unanswered(&error) {
                        return Err(error);
                    }
                    seen.failed = Some(error);
                }
            }
        }
    }
    value.clear();
    Ok(seen)
}

/// Removes a key above whose entries there are over, because the lowest tier has it no more: it may have been deleted there.
/// Such an entry must not be an answer when that tier fails.
pub(crate) fn drop_over(above: &mut [TierSession], tokens: &Tokens, key: &[u8]) {
    let right = Right::of_reader(above, tokens, key);
    right.drop_everywhere(above, tokens, key);
}

/// The buffers of a batch, kept to reuse their memory.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Whether each key has an answer from some tier.
    answered: Vec<bool>,
    /// The places of the keys that the tier is asked for.
    asked: Vec<usize>,
    /// The rights to fill these keys above.
    rights: Vec<Right>,
    /// The entries of upper tiers that are over: the places of their keys, and their values.
    aside: Vec<(usize, Found, Vec<u8>)>,
}

impl Batch {
    /// The entries of upper tiers that are over, each once, of keys that no tier has answered: the places of their keys, and
    /// their values.
    pub(crate) fn take_aside(&mut self) -> Vec<(usize, Found, Vec<u8>)> {
        let mut aside = take(&mut self.aside);
        aside.retain(|(i, ..)| !replace(&mut self.answered[*i], true));
        aside
    }
}

/// The callback for each key that a batch has found: its place, its value, the entry as the stack tells it, and whether the
/// entry is over.
pub(crate) type Hit<'a> = dyn FnMut(usize, &[u8], Found, bool) + 'a;

/// Looks many keys up, for a caller that only wants values whose TTL is not over.
pub(crate) fn get_many(
    stack: &mut Stack,
    batch: &mut Batch,
    keys: &[&[u8]],
    hit: &mut dyn FnMut(usize, &[u8], Meta),
) -> Result<()> {
    let mut fresh = |i, value: &[u8], found: Found, is_over: bool| {
        if !is_over {
            hit(i, value, found.meta);
        }
    };
    match look_many(stack, batch, keys, stack.rules.grace, &mut fresh)? {
        Some(error) if !stack.rules.fails_are_misses() => Err(error),
        _ => Ok(()),
    }
}

/// Looks many keys up in all tiers. An entry with no more than `early` left is over. Where the lowest tier fails, the older
/// values of upper tiers are answers. Returns the failure of the lowest tier.
pub(crate) fn look_many(
    stack: &mut Stack,
    batch: &mut Batch,
    keys: &[&[u8]],
    early: Duration,
    hit: &mut Hit<'_>,
) -> Result<Option<Error>> {
    let failed = look_many_above(stack, batch, stack.tiers.len(), keys, early, hit)?;
    let (rules, capabilities) = (stack.rules, stack.capabilities);
    let (_, above, tokens) = apart(stack);
    for (i, entry, value) in batch.take_aside() {
        if failed.is_some() {
            let meta = told(entry.meta, true, &rules, &capabilities);
            hit(i, &value, Found { meta, ..entry }, false);
        } else {
            drop_over(above, tokens, keys[i]);
        }
    }
    Ok(failed)
}

/// Looks many keys up in the nearest tiers, so many of them: each is asked once, for the keys that the tiers above it did not
/// answer. [`Batch::take_aside`] then has the older values of upper tiers. Returns the failure of the lowest tier.
pub(crate) fn look_many_above(
    stack: &mut Stack,
    batch: &mut Batch,
    levels: usize,
    keys: &[&[u8]],
    early: Duration,
    hit: &mut Hit<'_>,
) -> Result<Option<Error>> {
    let Stack { tiers, tokens, capabilities, rules, late, .. } = stack;
    let Batch { answered, asked: places, rights: before, aside } = batch;
    answered.clear();
    answered.resize(keys.len(), false);
    aside.clear();
    let mut missing = keys.len();
    let mut failed = None;
    for level in 0..levels {
        if missing == 0 {
            break;
        }
        let (above, from_here) = tiers.split_at_mut(level);
        let [asked, below @ ..] = from_here else { break };
        let is_lowest = below.is_empty();
        let TierSession { tier, counters, session, .. } = asked;
        if !is_lowest && !tier.is_believed() {
            counters.not_asked.add(missing as u64);
            continue;
        }
        // A key that a tier above cannot take would make the whole batch an error there.
        let is_asked = |i: &usize| !answered[*i] && (is_lowest || tier.takes(keys[*i]));
        places.clear();
        places.extend((0..keys.len()).filter(is_asked));
        counters.misses.add((missing - places.len()) as u64);
        before.clear();
        if level > 0 {
            before.extend(places.iter().map(|i| Right::of_reader(above, tokens, keys[*i])));
        }
        if is_lowest && !late.is_empty() {
            // A late set that comes after these rights ends them.
            let mut value = Vec::new();
            let all: Vec<_> = places.drain(..).zip(before.drain(..)).collect();
            for (i, right) in all {
                let Some(meta) = late.get(keys[i], &mut value) else {
                    places.push(i);
                    before.push(right);
                    continue;
                };
                answered[i] = true;
                missing -= 1;
                counters.hits.add(1);
                let is_over = meta.ttl.ends_within(early);
                let meta = told(meta, is_over, rules, capabilities);
                hit(i, &value, Found { meta, tier: level + 1 }, is_over);
            }
        }
        if places.is_empty() {
            continue;
        }
        let at = Instant::now();
        let mut found = 0;
        let result = session.get_many(&chosen(keys, places), &mut |place, value, meta| {
            let i = places[place];
            let entry = Found { meta, tier: level + 1 };
            if !is_lowest && (meta.stale || is_over(&meta, early)) {
                if !rules.grace.is_zero() && !meta.stale {
                    aside.push((i, entry, value.to_vec()));
                }
                return;
            }
            if replace(&mut answered[i], true) {
                return;
            }
            found += 1;
            let is_over = meta.ttl.ends_within(early);
            if let Some(right) = before.get(place).filter(|_| !meta.stale && !is_over) {
                let life = Life::told(meta, tier, at);
                fill(above, tokens, *right, (keys[i], value, meta.flags, life));
            }
            let meta = told(meta, is_over, rules, capabilities);
            hit(i, value, Found { meta, ..entry }, is_over);
        });
        missing -= found;
        counters.hits.add(found as u64);
        let unanswered = if result.is_ok() { &counters.misses } else { &counters.errors };
        unanswered.add((places.len() - found) as u64);
        match result {
            Err(error) if is_lowest && !is_unanswered(&error) => return Err(error),
            Err(error) if is_lowest => failed = Some(error),
            _ => {}
        }
    }
    Ok(failed)
}

/// The keys at these places: all of them, as they were given, or a list of some.
fn chosen<'a, 'b>(keys: &'a [&'b [u8]], places: &[usize]) -> Cow<'a, [&'b [u8]]> {
    if places.len() == keys.len() {
        return Cow::Borrowed(keys);
    }
    Cow::Owned(places.iter().map(|i| keys[*i]).collect())
}

/// Fills the tiers above the tier that answered, the lowest of them first, unless the key has been written meanwhile.
pub(crate) fn fill(
    above: &mut [TierSession],
    tokens: &Tokens,
    right: Right,
    entry: (&[u8], &[u8], u32, Life),
) {
    for tier in above.iter_mut().rev() {
        if !right.fill(tier, tokens, entry) {
            return;
        }
    }
}

/// The metadata of an entry, as far as every tier can report it.
pub(crate) fn told(meta: Meta, is_over: bool, rules: &Rules, capabilities: &Capabilities) -> Meta {
    Meta {
        flags: if capabilities.flags { meta.flags } else { 0 },
        version: None,
        ttl: if capabilities.ttl_left { rules.ttl_of(meta.ttl) } else { Remaining::Unknown },
        stale: meta.stale || is_over,
    }
}
