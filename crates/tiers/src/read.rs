//! The order of reads and fills: reads begin at the nearest tier, and the answer of a tier is filled into those above
//! it.
//!
//! With a time of grace, tiers keep entries after their TTL. An entry that is over in an upper tier is a miss there, and is
//! set aside: it is the answer only where the lowest tier fails. An entry that is over in the lowest tier is told to be
//! stale.

use std::mem::swap;
use std::time::{Duration, Instant};

use larder_store::{Capabilities, Error, Meta, Remaining, Result};

use crate::fence::Right;
use crate::lookup::{Found, Lookup};
use crate::rules::{Rules, is_over, is_unanswered};
use crate::session::Stack;
use crate::tags::{self, Standing};
use crate::tier::{Life, TierSession};
use crate::tokens::Tokens;

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
/// value of an upper tier. An entry that is gone by its tags is no entry. It is an error only where the lowest tier refuses
/// the request; a failure is told in [`Seen`].
pub(crate) fn look(
    stack: &mut Stack,
    levels: usize,
    key: &[u8],
    value: &mut Vec<u8>,
    early: Duration,
) -> Result<Seen> {
    let is_stored = tags::covers(&stack.rules, key);
    let mut seen = Seen::default();
    for level in 0..levels {
        let is_lowest = level + 1 == stack.tiers.len();
        if !is_lowest && !stack.tiers[level].may_be_asked(key) {
            continue;
        }
        // The nearest tier has no tier above it to fill. A late set that comes after this moment ends the right.
        let right = (level > 0).then(|| {
            let (above, _) = stack.tiers.split_at_mut(level);
            (Right::of_reader(above, &stack.tokens, key), Instant::now())
        });
        // The lowest tier gets a late value soon.
        let late = if is_lowest { stack.late.get(key, value) } else { None };
        let is_late = late.is_some();
        let answer = match late {
            Some(meta) => Ok(Some(meta)),
            None => stack.tiers[level].session.get(key, value),
        };
        let meta = match answer {
            Ok(Some(meta)) => meta,
            Ok(None) => {
                missed(stack, level, key, &mut seen);
                continue;
            }
            Err(error) => {
                stack.tiers[level].counters.errors.add(1);
                if is_lowest {
                    if !is_unanswered(&error) {
                        return Err(error);
                    }
                    seen.failed = Some(error);
                }
                continue;
            }
        };
        let is_over = !is_lowest && (meta.stale || is_over(&meta, early));
        let keeps = !stack.rules.grace.is_zero();
        let (mut len, mut standing, mut failed) = (value.len(), Standing::Holds, None);
        // An older value is kept for the time of grace only, so without it nobody needs to know.
        if is_stored && (keeps || !is_over) {
            let judged = tags::judge(stack, value, is_lowest);
            (len, standing, failed) = (judged.len, judged.standing, judged.failed);
            if is_lowest && standing.is_unsure() {
                stack.tiers[level].counters.errors.add(1);
                seen.failed = Some(tags::unknown(failed));
                continue;
            }
        }
        if standing == Standing::Gone {
            missed(stack, level, key, &mut seen);
            if !is_lowest {
                stack.tiers[level].drop_key(key);
            }
            continue;
        }
        let (above, from_here) = stack.tiers.split_at_mut(level);
        let [asked, ..] = from_here else { break };
        if is_lowest || standing == Standing::Holds && !is_over {
            asked.counters.hits.add(1);
            seen.is_over = standing == Standing::Over || meta.ttl.ends_within(early);
            if let Some((right, at)) = right.filter(|_| !is_late && !meta.stale && !seen.is_over) {
                let life = Life::told(meta, &asked.tier, at);
                fill(above, &stack.tokens, right, (key, value, meta.flags, life));
            }
            value.truncate(len);
            seen.found = Some(Found { meta, tier: level + 1 });
            return Ok(seen);
        }
        asked.counters.misses.add(1);
        if standing == Standing::Over {
            asked.make_room(key);
        }
        if keeps && standing != Standing::Unknown && !meta.stale && seen.aside.is_none() {
            value.truncate(len);
            swap(value, &mut stack.aside);
            seen.aside = Some(Found { meta, tier: level + 1 });
        }
        if failed.is_some() {
            // Without the counter, nothing of the lowest tier would be an answer either. Asking it would take as long again.
            seen.failed = failed;
            break;
        }
    }
    value.clear();
    Ok(seen)
}

/// Counts a miss. A key that the lowest tier does not have is removed above, where its entry is over.
fn missed(stack: &mut Stack, level: usize, key: &[u8], seen: &mut Seen) {
    stack.tiers[level].counters.misses.add(1);
    if level + 1 == stack.tiers.len() && seen.aside.take().is_some() {
        drop_over(&mut stack.tiers[..level], &stack.tokens, key);
    }
}

/// Removes a key above whose entries there are over, because the lowest tier has it no more: it may have been deleted there.
/// Such an entry must not be an answer when that tier fails.
pub(crate) fn drop_over(above: &mut [TierSession], tokens: &Tokens, key: &[u8]) {
    let right = Right::of_reader(above, tokens, key);
    right.drop_everywhere(above, tokens, key);
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
