//! The order of reads and fills: reads begin at the nearest tier, and the answer of a tier is filled into those above
//! it.
//!
//! With a time of grace, tiers keep entries after their TTL. An expired entry of an upper tier counts as a miss and is kept as
//! the fallback: it is the answer only where the lowest tier fails. An expired entry of the lowest tier is an answer that is
//! marked as stale.

mod many;
mod tag_state;

pub(crate) use self::many::{Hit, get_many, look_many, look_many_above};
pub(crate) use self::tag_state::{
    Judged, are_current, is_stored_form, judge, judge_lowest, judge_many, len, len_without_tags,
    unknown,
};

use std::mem::swap;
use std::time::{Duration, Instant};

use larder_store::{Error, Meta, Result};

use crate::fill_token::{FillToken, LowerEntry};
use crate::lookup::{Found, Lookup};
use crate::rules::{is_near_end, is_unanswered, reported};
use crate::stack::Stack;
use crate::tags::TagState;
use crate::tier::{RemainingTtl, TierSession};
use crate::tokens::Tokens;

/// The result of a read of some tiers.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The entry that was copied, with its metadata as its tier reported it.
    pub(crate) found: Option<Found>,
    /// The TTL of the entry has passed, and the entry is kept for the time of grace.
    pub(crate) is_expired: bool,
    /// An expired entry of an upper tier. Its value is in `Stack::fallback`.
    pub(crate) fallback: Option<Found>,
    /// The failure of the lowest tier.
    pub(crate) failed: Option<Error>,
}

/// Looks a key up, for a caller that only wants values whose TTL is not over. Where the lowest tier fails, an older value
/// is the answer, and is marked as stale.
pub(crate) fn get(stack: &mut Stack, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
    let all = stack.tiers.len();
    let mut seen = look(stack, all, key, value, stack.rules.grace)?;
    if seen.is_expired {
        value.clear();
        return Ok(None);
    }
    Ok(answer(stack, &mut seen, value)?.map(|found| found.meta))
}

/// Looks a key up, and returns the number of the tier that answered. An expired entry is an answer, and is stale.
pub(crate) fn lookup(stack: &mut Stack, key: &[u8], value: &mut Vec<u8>) -> Result<Lookup> {
    let all = stack.tiers.len();
    let mut seen = look(stack, all, key, value, stack.rules.grace)?;
    let failed = seen.failed.is_some();
    Ok(Lookup { found: answer(stack, &mut seen, value)?, failed })
}

/// The answer of a read of all tiers. Where the lowest has failed, that is the fallback, or else a miss or an error,
/// as the rules say.
fn answer(stack: &mut Stack, seen: &mut Seen, value: &mut Vec<u8>) -> Result<Option<Found>> {
    let (found, is_expired) = match (seen.found, seen.fallback, seen.failed.take()) {
        (None, Some(fallback), Some(_)) => {
            swap(value, &mut stack.fallback);
            (fallback, true)
        }
        (None, None, Some(error)) if !stack.rules.fails_are_misses() => return Err(error),
        (None, ..) => return Ok(None),
        (Some(found), ..) => (found, seen.is_expired),
    };
    let meta = reported(found.meta, is_expired, &stack.rules, &stack.capabilities);
    Ok(Some(Found { meta, ..found }))
}

/// An entry of an upper tier whose TTL has passed, or whose tags are not known to be valid.
struct ExpiredEntry {
    meta: Meta,
    /// The length of its value without its tags.
    len: usize,
    state: TagState,
    /// The failure of the lowest tier, which has the counters of the tags.
    failed: Option<Error>,
}

/// The answer of one tier to a read. The value of an entry is in the caller's buffer.
enum TierAnswer {
    /// An entry for the caller, whose value has this length without its tags. An entry of the lowest tier may have expired;
    /// `is_queued` if that tier gets it soon.
    Found {
        meta: Meta,
        len: usize,
        is_expired: bool,
        is_queued: bool,
    },
    Expired(ExpiredEntry),
    /// An entry that its tags have invalidated.
    Invalidated,
    Miss,
    Failed(Error),
    /// An entry of the lowest tier whose tags cannot be checked, because that tier fails.
    Unsure(Option<Error>),
}

/// Looks a key up in the nearest `levels` tiers. An entry with no more than `early` left counts as expired; so does a stale
/// value of an upper tier. An entry that its tags have invalidated is a miss. Returns an error only where the lowest tier
/// refuses the request; its failure is in [`Seen`].
pub(crate) fn look(
    stack: &mut Stack,
    levels: usize,
    key: &[u8],
    value: &mut Vec<u8>,
    early: Duration,
) -> Result<Seen> {
    let mut seen = Seen::default();
    for level in 0..levels {
        let is_lowest = level + 1 == stack.tiers.len();
        if !is_lowest && !stack.tiers[level].may_be_asked(key) {
            continue;
        }
        // The nearest tier has no tier above it to fill. A queued set that comes after this moment makes the token void.
        let fill_token = (level > 0).then(|| {
            let (above, _) = stack.tiers.split_at_mut(level);
            (FillToken::of_reader(above, &stack.tokens, key), Instant::now())
        });
        match ask(stack, level, key, value, early) {
            TierAnswer::Found { meta, len, is_expired, is_queued } => {
                let (above, from_here) = stack.tiers.split_at_mut(level);
                let asked = &from_here[0];
                asked.counters.hits.add(1);
                seen.is_expired = is_expired;
                if let Some((fill_token, at)) =
                    fill_token.filter(|_| !is_queued && !meta.stale && !is_expired)
                {
                    let remaining = RemainingTtl::reported(meta, &asked.tier, at);
                    let entry = LowerEntry { key, value, flags: meta.flags, remaining };
                    fill(above, &stack.tokens, fill_token, entry);
                }
                value.truncate(len);
                seen.found = Some(Found { meta, tier: level + 1 });
                return Ok(seen);
            }
            TierAnswer::Expired(entry) => {
                keep_as_fallback(stack, level, key, value, &entry, &mut seen);
                let failed = entry.failed;
                if failed.is_some() {
                    // Without the counter, nothing of the lowest tier would be an answer either. Asking it would take as long
                    // again.
                    seen.failed = failed;
                    break;
                }
            }
            TierAnswer::Invalidated => {
                missed(stack, level, key, &mut seen);
                if !is_lowest {
                    stack.tiers[level].drop_key(key);
                }
            }
            TierAnswer::Miss => missed(stack, level, key, &mut seen),
            TierAnswer::Failed(error) => {
                stack.tiers[level].counters.errors.add(1);
                if is_lowest {
                    if !is_unanswered(&error) {
                        return Err(error);
                    }
                    seen.failed = Some(error);
                }
            }
            TierAnswer::Unsure(failed) => {
                stack.tiers[level].counters.errors.add(1);
                seen.failed = Some(unknown(failed));
            }
        }
    }
    value.clear();
    Ok(seen)
}

/// Asks one tier for a key, and classifies its answer.
fn ask(
    stack: &mut Stack,
    level: usize,
    key: &[u8],
    value: &mut Vec<u8>,
    early: Duration,
) -> TierAnswer {
    let is_lowest = level + 1 == stack.tiers.len();
    // The lowest tier gets a queued value soon.
    let queued = if is_lowest { stack.write_behind.get(key, value) } else { None };
    let is_queued = queued.is_some();
    let meta = match queued {
        Some(meta) => meta,
        None => match stack.tiers[level].session.get(key, value) {
            Ok(Some(meta)) => meta,
            Ok(None) => return TierAnswer::Miss,
            Err(error) => return TierAnswer::Failed(error),
        },
    };
    let is_expired = !is_lowest && (meta.stale || is_near_end(&meta, early));
    let keeps = !stack.rules.grace.is_zero();
    let (mut len, mut state, mut failed) = (value.len(), TagState::Valid, None);
    // An expired value is kept for the time of grace only. Without such a time its tags do not matter.
    if is_stored_form(&stack.rules, key) && (keeps || !is_expired) {
        let judged = judge(stack, value, is_lowest);
        (len, state, failed) = (judged.len, judged.state, judged.failed);
        if is_lowest && state.is_unsure() {
            return TierAnswer::Unsure(failed);
        }
    }
    if state == TagState::Invalidated {
        return TierAnswer::Invalidated;
    }
    if is_lowest || state == TagState::Valid && !is_expired {
        let is_expired = state == TagState::Expired || meta.ttl.ends_within(early);
        return TierAnswer::Found { meta, len, is_expired, is_queued };
    }
    TierAnswer::Expired(ExpiredEntry { meta, len, state, failed })
}

/// Counts an expired entry of an upper tier as a miss, and keeps its value as the fallback.
fn keep_as_fallback(
    stack: &mut Stack,
    level: usize,
    key: &[u8],
    value: &mut Vec<u8>,
    &ExpiredEntry { meta, len, state, .. }: &ExpiredEntry,
    seen: &mut Seen,
) {
    stack.tiers[level].counters.misses.add(1);
    if state == TagState::Expired {
        stack.tiers[level].drop_if_in_the_way(key);
    }
    let keeps = !stack.rules.grace.is_zero();
    if keeps && state != TagState::Unknown && !meta.stale && seen.fallback.is_none() {
        value.truncate(len);
        swap(value, &mut stack.fallback);
        seen.fallback = Some(Found { meta, tier: level + 1 });
    }
}

/// Counts a miss. A key that the lowest tier does not have is removed above, where its entry has expired.
fn missed(stack: &mut Stack, level: usize, key: &[u8], seen: &mut Seen) {
    stack.tiers[level].counters.misses.add(1);
    if level + 1 == stack.tiers.len() && seen.fallback.take().is_some() {
        drop_above(&mut stack.tiers[..level], &stack.tokens, key);
    }
}

/// Removes a key above whose entries there have expired, because the lowest tier has it no more: it may have been deleted there.
/// Such an entry must not be an answer when that tier fails.
pub(crate) fn drop_above(above: &mut [TierSession], tokens: &Tokens, key: &[u8]) {
    let fill_token = FillToken::of_reader(above, tokens, key);
    fill_token.drop_everywhere(above, tokens, key);
}

/// Fills the tiers above the tier that answered, the lowest of them first, unless the key has been written meanwhile.
pub(crate) fn fill(
    above: &mut [TierSession],
    tokens: &Tokens,
    fill_token: FillToken,
    entry: LowerEntry<'_>,
) {
    for tier in above.iter_mut().rev() {
        if !fill_token.fill(tier, tokens, entry) {
            return;
        }
    }
}
