//! Reads of many keys: each tier is asked once, for the keys that the tiers above it did not answer. The order and the rules
//! are those of a read of one key (`read.rs`).

use std::borrow::Cow;
use std::mem::{replace, take};
use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_store::{Capabilities, Error, Meta, Result};

use crate::fence::Right;
use crate::lookup::Found;
use crate::read::{drop_over, fill, told};
use crate::rules::{Rules, is_over, is_unanswered};
use crate::session::Stack;
use crate::tags::{self, Standing};
use crate::tier::{Life, Tier, TierSession};
use crate::tokens::Tokens;
use crate::write::apart;

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
    batch.answered.clear();
    batch.answered.resize(keys.len(), false);
    batch.aside.clear();
    let mut missing = keys.len();
    let mut failed = None;
    for level in 0..levels {
        if missing == 0 {
            break;
        }
        let is_lowest = level + 1 == stack.tiers.len();
        let TierSession { tier, counters, .. } = &stack.tiers[level];
        if !is_lowest && !tier.is_believed() {
            counters.not_asked.add(missing as u64);
            continue;
        }
        // A key that a tier above cannot take would make the whole batch an error there.
        let is_asked = |i: &usize| !batch.answered[*i] && (is_lowest || tier.takes(keys[*i]));
        batch.asked.clear();
        batch.asked.extend((0..keys.len()).filter(is_asked));
        counters.misses.add((missing - batch.asked.len()) as u64);
        batch.rights.clear();
        if level > 0 {
            let (above, _) = stack.tiers.split_at_mut(level);
            let of_reader = |i: &usize| Right::of_reader(above, &stack.tokens, keys[*i]);
            batch.rights.extend(batch.asked.iter().map(of_reader));
        }
        if is_lowest && !stack.late.is_empty() {
            missing -= take_late(stack, batch, (keys, early), hit);
        }
        if batch.asked.is_empty() {
            continue;
        }
        let (found, failure) = ask_tier(stack, batch, (keys, level, early), hit)?;
        missing -= found;
        failed = failure;
    }
    Ok(failed)
}

/// Answers the keys of a batch whose values the lowest tier gets soon, and returns how many there are. A late set that comes
/// after the rights of the batch ends them.
fn take_late(
    stack: &mut Stack,
    batch: &mut Batch,
    (keys, early): (&[&[u8]], Duration),
    hit: &mut Hit<'_>,
) -> usize {
    let (mut value, mut n_found) = (Vec::new(), 0);
    let all: Vec<_> = batch.asked.drain(..).zip(batch.rights.drain(..)).collect();
    for (i, right) in all {
        let late = stack.late.get(keys[i], &mut value).and_then(|meta| {
            let judged = tags::judge_lowest(stack, keys[i], &value);
            value.truncate(judged.len);
            // What is not known for sure is asked for again below.
            let is_over = judged.standing == Standing::Over;
            (judged.standing == Standing::Holds || is_over).then_some((meta, is_over))
        });
        let Some((meta, is_over)) = late else {
            batch.asked.push(i);
            batch.rights.push(right);
            continue;
        };
        batch.answered[i] = true;
        n_found += 1;
        let lowest = stack.tiers.len();
        stack.tiers[lowest - 1].counters.hits.add(1);
        let is_over = is_over || meta.ttl.ends_within(early);
        let meta = told(meta, is_over, &stack.rules, &stack.capabilities);
        hit(i, &value, Found { meta, tier: lowest }, is_over);
    }
    n_found
}

/// Asks one tier for the keys of a batch. Returns how many it answered, and its failure if it is the lowest.
fn ask_tier(
    stack: &mut Stack,
    batch: &mut Batch,
    (keys, level, early): (&[&[u8]], usize, Duration),
    hit: &mut Hit<'_>,
) -> Result<(usize, Option<Error>)> {
    let (at, is_lowest) = (Instant::now(), level + 1 == stack.tiers.len());
    let asked = take(&mut batch.asked);
    // Entries with tags have to be judged first: one read gets the counters of all of them.
    let (mut n_found, mut tagged) = (0, Vec::<(usize, Meta, Vec<u8>)>::new());
    let (above, from_here) = stack.tiers.split_at_mut(level);
    let TierSession { tier, session, .. } = &mut from_here[0];
    let all = (&*stack.tokens, &stack.rules, &stack.capabilities);
    let asks = Asks { tier, all, level, is_lowest, at, early };
    let mut result = session.get_many(&chosen(keys, &asked), &mut |place, stored, meta| {
        let i = asked[place];
        let len = tags::len_without_tags(&stack.rules, keys[i], stored);
        match len {
            Some(len) => {
                let entry = (stored, len, Standing::Holds);
                let key = (place, i, keys[i]);
                n_found += usize::from(asks.take(above, batch, hit, key, entry, meta));
            }
            None => tagged.push((place, meta, stored.to_vec())),
        }
    });
    if !tagged.is_empty() {
        let stored: Vec<&[u8]> = tagged.iter().map(|(.., stored)| &**stored).collect();
        let (judged, failed) = tags::judge_many(stack, &stored, is_lowest);
        let is_unknown = |(_, standing): &(usize, Standing)| standing.is_unsure();
        if is_lowest && result.is_ok() && judged.iter().any(is_unknown) {
            result = Err(tags::unknown(failed));
        }
        let (above, from_here) = stack.tiers.split_at_mut(level);
        let tier = Arc::clone(&from_here[0].tier);
        let all = (&*stack.tokens, &stack.rules, &stack.capabilities);
        let asks = Asks { tier: &tier, all, level, is_lowest, at, early };
        for ((place, meta, stored), (len, standing)) in tagged.into_iter().zip(judged) {
            let (i, key) = (asked[place], keys[asked[place]]);
            let entry = (&*stored, len, standing);
            n_found += usize::from(asks.take(above, batch, hit, (place, i, key), entry, meta));
            match standing {
                Standing::Gone if !is_lowest => drop(from_here[0].drop_key(key)),
                Standing::Over if !is_lowest => from_here[0].make_room(key),
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

/// A tier that is asked for the keys of a batch, and what its stack knows.
struct Asks<'a> {
    tier: &'a Tier,
    all: (&'a Tokens, &'a Rules, &'a Capabilities),
    level: usize,
    is_lowest: bool,
    at: Instant,
    early: Duration,
}

impl Asks<'_> {
    /// Takes an entry that the tier has told: it is an answer, or set aside, or nothing. `true` where it is an answer.
    fn take(
        &self,
        above: &mut [TierSession],
        batch: &mut Batch,
        hit: &mut Hit<'_>,
        (place, i, key): (usize, usize, &[u8]),
        (stored, len, standing): (&[u8], usize, Standing),
        meta: Meta,
    ) -> bool {
        let (tokens, rules, capabilities) = self.all;
        let entry = Found { meta, tier: self.level + 1 };
        if standing == Standing::Gone || self.is_lowest && standing.is_unsure() {
            return false;
        }
        let holds = standing == Standing::Holds;
        if !self.is_lowest && (!holds || meta.stale || is_over(&meta, self.early)) {
            let is_known = standing != Standing::Unknown;
            if !rules.grace.is_zero() && is_known && !meta.stale {
                batch.aside.push((i, entry, stored[..len].to_vec()));
            }
            return false;
        }
        if replace(&mut batch.answered[i], true) {
            return false;
        }
        let is_over = !holds || meta.ttl.ends_within(self.early);
        if let Some(right) = batch.rights.get(place).filter(|_| !meta.stale && !is_over) {
            let life = Life::told(meta, self.tier, self.at);
            fill(above, tokens, *right, (key, stored, meta.flags, life));
        }
        let meta = told(meta, is_over, rules, capabilities);
        hit(i, &stored[..len], Found { meta, ..entry }, is_over);
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
