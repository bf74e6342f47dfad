//! The order of reads and fills: reads begin at the nearest tier, and the answer of a tier is filled into those above
//! it.

use std::borrow::Cow;
use std::mem::replace;
use std::time::Instant;

use larder_store::{Capabilities, Meta, Remaining, Result};

use crate::fence::Right;
use crate::session::Stack;
use crate::tier::{Life, TierSession};
use crate::tokens::Tokens;

/// Looks a key up. An error of a tier above the lowest is a miss of that tier; an error of the lowest is the stack's.
pub(crate) fn get(stack: &mut Stack, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
    let all = stack.tiers.len();
    get_from(stack, all, key, value)
}

/// The same without the lowest tier.
pub(crate) fn get_above(
    stack: &mut Stack,
    key: &[u8],
    value: &mut Vec<u8>,
) -> Result<Option<Meta>> {
    let above = stack.tiers.len() - 1;
    get_from(stack, above, key, value)
}

/// Looks a key up in the nearest tiers, so many of them. A stale value of an upper tier is a miss there.
fn get_from(
    stack: &mut Stack,
    levels: usize,
    key: &[u8],
    value: &mut Vec<u8>,
) -> Result<Option<Meta>> {
    let Stack { tiers, tokens, capabilities } = stack;
    for level in 0..levels {
        let (above, from_here) = tiers.split_at_mut(level);
        let [asked, below @ ..] = from_here else { break };
        if !below.is_empty() {
            if !asked.tier.is_believed() {
                asked.counters.not_asked.add(1);
                continue;
            }
            if !asked.tier.takes(key) {
                asked.counters.misses.add(1);
                continue;
            }
        }
        // The nearest tier has no tier above it to fill.
        let before = (level > 0).then(|| (Right::of_reader(above, tokens, key), Instant::now()));
        match asked.session.get(key, value) {
            Ok(Some(meta)) if !meta.stale || below.is_empty() => {
                asked.counters.hits.add(1);
                if let Some((right, at)) = before.filter(|_| !meta.stale) {
                    let life = Life::told(meta, &asked.tier, at);
                    fill(above, tokens, right, (key, value, meta.flags, life));
                }
                return Ok(Some(told(meta, capabilities)));
            }
            Ok(_) => asked.counters.misses.add(1),
            Err(error) => {
                asked.counters.errors.add(1);
                if below.is_empty() {
                    return Err(error);
                }
            }
        }
    }
    value.clear();
    Ok(None)
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
}

/// Looks many keys up: each tier is asked once, for the keys that the tiers above it did not answer.
pub(crate) fn get_many(
    stack: &mut Stack,
    batch: &mut Batch,
    keys: &[&[u8]],
    hit: &mut dyn FnMut(usize, &[u8], Meta),
) -> Result<()> {
    let Stack { tiers, tokens, capabilities } = stack;
    let Batch { answered, asked: places, rights: before } = batch;
    answered.clear();
    answered.resize(keys.len(), false);
    let mut missing = keys.len();
    for level in 0..tiers.len() {
        if missing == 0 {
            break;
        }
        let (above, from_here) = tiers.split_at_mut(level);
        let [asked, below @ ..] = from_here else { break };
        let TierSession { tier, counters, session } = asked;
        if !below.is_empty() && !tier.is_believed() {
            counters.not_asked.add(missing as u64);
            continue;
        }
        // A key that a tier above cannot take would make the whole batch an error there.
        let is_asked = |i: &usize| !answered[*i] && (below.is_empty() || tier.takes(keys[*i]));
        places.clear();
        places.extend((0..keys.len()).filter(is_asked));
        counters.misses.add((missing - places.len()) as u64);
        if places.is_empty() {
            continue;
        }
        before.clear();
        if level > 0 {
            before.extend(places.iter().map(|i| Right::of_reader(above, tokens, keys[*i])));
        }
        let at = Instant::now();
        let mut found = 0;
        let result = session.get_many(&chosen(keys, places), &mut |place, value, meta| {
            let i = places[place];
            if replace(&mut answered[i], true) {
                return;
            }
            found += 1;
            if let Some(right) = before.get(place).filter(|_| !meta.stale) {
                let life = Life::told(meta, tier, at);
                fill(above, tokens, *right, (keys[i], value, meta.flags, life));
            }
            hit(i, value, told(meta, capabilities));
        });
        missing -= found;
        counters.hits.add(found as u64);
        let unanswered = if result.is_ok() { &counters.misses } else { &counters.errors };
        unanswered.add((places.len() - found) as u64);
        if below.is_empty() {
            result?;
        }
    }
    Ok(())
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
pub(crate) fn told(meta: Meta, capabilities: &Capabilities) -> Meta {
    Meta {
        flags: if capabilities.flags { meta.flags } else { 0 },
        version: None,
        ttl: if capabilities.ttl_left { meta.ttl } else { Remaining::Unknown },
        stale: meta.stale,
    }
}
