//! Reads of many keys: each tier is asked once, for the keys that the tiers above it did not answer. The order and the rules
//! are those of a read of one key (`mod.rs`).

use std::borrow::Cow;
use std::mem::{replace, take};
use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_store::{Capabilities, Error, Meta, Result};

use super::{drop_above, fill, judge_lowest, judge_many, len_without_tags, unknown};
use crate::buffers::Batch;
use crate::fill_token::{FillToken, LowerEntry};
use crate::lookup::Found;
use crate::rules::{Rules, is_near_end, is_unanswered, reported};
use crate::stack::Stack;
use crate::tags::TagState;
use crate::tier::{RemainingTtl, Tier, TierSession};
use crate::tokens::Tokens;

/// The callback for each key that a batch has found: its place, its value, the entry as the stack reports it, and whether the
/// entry has expired.
pub(crate) type Hit<'a> = dyn FnMut(usize, &[u8], Found, bool) + 'a;

/// Looks many keys up, for a caller that only wants values whose TTL is not over.
pub(crate) fn get_many(
    stack: &mut Stack,
    batch: &mut Batch,
    keys: &[&[u8]],
    hit: &mut dyn FnMut(usize, &[u8], Meta),
) -> Result<()> {
    let mut fresh = |i, value: &[u8], found: Found, is_expired: bool| {
        if !is_expired {
            hit(i, value, found.meta);
        }
    };
    match look_many(stack, batch, keys, stack.rules.grace, &mut fresh)? {
        Some(error) if !stack.rules.fails_are_misses() => Err(error),
        _ => Ok(()),
    }
}

/// Looks many keys up in all tiers. An entry with no more than `early` left counts as expired. Where the lowest tier fails, the older
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
    let (_, above, tokens) = stack.split();
    for (i, entry, value) in batch.take_fallbacks() {
        if failed.is_some() {
            let meta = reported(entry.meta, true, &rules, &capabilities);
            hit(i, &value, Found { meta, ..entry }, false);
        } else {
            drop_above(above, tokens, keys[i]);
        }
    }
    Ok(failed)
}

/// Looks many keys up in the nearest `levels` tiers: each is asked once, for the keys that the tiers above it did not
/// answer. [`Batch::take_fallbacks`] then has the older values of upper tiers. Returns the failure of the lowest tier.
pub(crate) fn look_many_above(
    stack: &mut Stack,
    batch: &mut Batch,
    levels: usize,
    keys: &[&[u8]],
    early: Duration,
    hit: &mut Hit<'_>,
) -> Result<Option<Error>> {
    batch.answered.clear();
    batch.answered.resize(keys.len(), false);
    batch.fallbacks.clear();
    let mut missing = keys.len();
    let mut failed = None;
    for level in 0..levels {
        if missing == 0 {
            break;
        }
        let is_lowest = level + 1 == stack.tiers.len();
        let TierSession { tier, counters, .. } = &stack.tiers[level];
        if !is_lowest && tier.is_quarantined() {
            counters.not_asked.add(missing as u64);
            continue;
        }
        // A key that a tier above cannot take would make the whole batch an error there.
        let is_asked = |i: &usize| !batch.answered[*i] && (is_lowest || tier.takes(keys[*i]));
        batch.asked.clear();
        batch.asked.extend((0..keys.len()).filter(is_asked));
        counters.misses.add((missing - batch.asked.len()) as u64);
        batch.fill_tokens.clear();
        if level > 0 {
            let (above, _) = stack.tiers.split_at_mut(level);
            let of_reader = |i: &usize| FillToken::of_reader(above, &stack.tokens, keys[*i]);
            batch.fill_tokens.extend(batch.asked.iter().map(of_reader));
        }
        if is_lowest && !stack.write_behind.is_empty() {
            missing -= take_queued(stack, batch, keys, early, hit);
        }
        if batch.asked.is_empty() {
            continue;
        }
        let (found, failure) = ask_tier(stack, batch, keys, level, early, hit)?;
        missing -= found;
        failed = failure;
    }
    Ok(failed)
}

/// Answers the keys of a batch whose values the lowest tier gets soon, and returns how many there are. A queued set that comes
/// after the tokens of the batch makes them void.
fn take_queued(
    stack: &mut Stack,
    batch: &mut Batch,
    keys: &[&[u8]],
    early: Duration,
    hit: &mut Hit<'_>,
) -> usize {
    let (mut value, mut n_found) = (Vec::new(), 0);
    let all: Vec<_> = batch.asked.drain(..).zip(batch.fill_tokens.drain(..)).collect();
    for (i, fill_token) in all {
        let queued = stack.write_behind.get(keys[i], &mut value).and_then(|meta| {
            let judged = judge_lowest(stack, keys[i], &value);
            value.truncate(judged.len);
            // What is not known for sure is asked for again below.
            let is_expired = judged.state == TagState::Expired;
            (judged.state == TagState::Valid || is_expired).then_some((meta, is_expired))
        });
        let Some((meta, is_expired)) = queued else {
            batch.asked.push(i);
            batch.fill_tokens.push(fill_token);
            continue;
        };
        batch.answered[i] = true;
        n_found += 1;
        let lowest = stack.tiers.len();
        stack.tiers[lowest - 1].counters.hits.add(1);
        let is_expired = is_expired || meta.ttl.ends_within(early);
        let meta = reported(meta, is_expired, &stack.rules, &stack.capabilities);
        hit(i, &value, Found { meta, tier: lowest }, is_expired);
    }
    n_found
}

/// Asks one tier for the keys of a batch. Returns how many it answered, and its failure if it is the lowest.
fn ask_tier(
    stack: &mut Stack,
    batch: &mut Batch,
    keys: &[&[u8]],
    level: usize,
    early: Duration,
    hit: &mut Hit<'_>,
) -> Result<(usize, Option<Error>)> {
    let (at, is_lowest) = (Instant::now(), level + 1 == stack.tiers.len());
    let asked = take(&mut batch.asked);
    // Entries with tags have to be judged first: one read gets the counters of all of them.
    let (mut n_found, mut tagged) = (0, Vec::<(usize, Meta, Vec<u8>)>::new());
    let (above, from_here) = stack.tiers.split_at_mut(level);
    let TierSession { tier, session, .. } = &mut from_here[0];
    let all = (&*stack.tokens, &stack.rules, &stack.capabilities);
    let asks = TierRequest { tier, all, level, is_lowest, at, early };
    let mut result = session.get_many(&chosen(keys, &asked), &mut |place, stored, meta| {
        let i = asked[place];
        let len = len_without_tags(&stack.rules, keys[i], stored);
        match len {
            Some(len) => {
                let entry = JudgedEntry { stored, len, state: TagState::Valid, meta };
                let key = AskedKey { place, i, key: keys[i] };
                n_found += usize::from(asks.take(above, batch, hit, key, entry));
            }
            None => tagged.push((place, meta, stored.to_vec())),
        }
    });
    if !tagged.is_empty() {
        let stored: Vec<&[u8]> = tagged.iter().map(|(.., stored)| &**stored).collect();
        let (judged, failed) = judge_many(stack, &stored, is_lowest);
        let is_unknown = |(_, state): &(usize, TagState)| state.is_unsure();
        if is_lowest && result.is_ok() && judged.iter().any(is_unknown) {
            result = Err(unknown(failed));
        }
        let (above, from_here) = stack.tiers.split_at_mut(level);
        let tier = Arc::clone(&from_here[0].tier);
        let all = (&*stack.tokens, &stack.rules, &stack.capabilities);
        let asks = TierRequest { tier: &tier, all, level, is_lowest, at, early };
        for ((place, meta, stored), (len, state)) in tagged.into_iter().zip(judged) {
            let (i, key) = (asked[place], keys[asked[place]]);
            let entry = JudgedEntry { stored: &stored, len, state, meta };
            let asked_key = AskedKey { place, i, key };
            n_found += usize::from(asks.take(above, batch, hit, asked_key, entry));
            match state {
                TagState::Invalidated if !is_lowest => drop(from_here[0].drop_key(key)),
                TagState::Expired if !is_lowest => from_here[0].drop_if_in_the_way(key),
                _ => {}
            }
        }
    }
    let counters = &stack.tiers[level].counters;
    counters.hits.add(n_found as u64);
    let unanswered = if result.is_ok() { &counters.misses } else { &counters.errors };
    unanswered.add((asked.len() - n_found) as u64);
    batch.asked = asked;
    match result {
        Err(error) if is_lowest && !is_unanswered(&error) => Err(error),
        Err(error) if is_lowest => Ok((n_found, Some(error))),
        _ => Ok((n_found, None)),
    }
}

/// A key that a tier was asked for: its place in the request to the tier, and in the whole request.
struct AskedKey<'a> {
    place: usize,
    i: usize,
    key: &'a [u8],
}

/// An entry as a tier has it, with what its tags say. Its value is the first `len` bytes.
struct JudgedEntry<'a> {
    stored: &'a [u8],
    len: usize,
    state: TagState,
    meta: Meta,
}

/// A tier that is asked for the keys of a batch, and what its stack knows.
struct TierRequest<'a> {
    tier: &'a Tier,
    all: (&'a Tokens, &'a Rules, &'a Capabilities),
    level: usize,
    is_lowest: bool,
    at: Instant,
    early: Duration,
}

impl TierRequest<'_> {
    /// Takes an entry of the tier: it is an answer, or a fallback, or neither. `true` where it is an answer.
    fn take(
        &self,
        above: &mut [TierSession],
        batch: &mut Batch,
        hit: &mut Hit<'_>,
        AskedKey { place, i, key }: AskedKey<'_>,
        JudgedEntry { stored, len, state, meta }: JudgedEntry<'_>,
    ) -> bool {
        let (tokens, rules, capabilities) = self.all;
        let entry = Found { meta, tier: self.level + 1 };
        if state == TagState::Invalidated || self.is_lowest && state.is_unsure() {
            return false;
        }
        let holds = state == TagState::Valid;
        if !self.is_lowest && (!holds || meta.stale || is_near_end(&meta, self.early)) {
            let is_known = state != TagState::Unknown;
            if !rules.grace.is_zero() && is_known && !meta.stale {
                batch.fallbacks.push((i, entry, stored[..len].to_vec()));
            }
            return false;
        }
        if replace(&mut batch.answered[i], true) {
            return false;
        }
        let is_expired = !holds || meta.ttl.ends_within(self.early);
        if let Some(fill_token) =
            batch.fill_tokens.get(place).filter(|_| !meta.stale && !is_expired)
        {
            let remaining = RemainingTtl::reported(meta, self.tier, self.at);
            let entry = LowerEntry { key, value: stored, flags: meta.flags, remaining };
            fill(above, tokens, *fill_token, entry);
        }
        let meta = reported(meta, is_expired, rules, capabilities);
        hit(i, &stored[..len], Found { meta, ..entry }, is_expired);
        true
    }
}

/// The keys at these places: all of them, as they were given, or a list of some.
fn chosen<'a, 'b>(keys: &'a [&'b [u8]], places: &[usize]) -> Cow<'a, [&'b [u8]]> {
    if places.len() == keys.len() {
        return Cow::Borrowed(keys);
    }
    Cow::Owned(places.iter().map(|i| keys[*i]).collect())
}
