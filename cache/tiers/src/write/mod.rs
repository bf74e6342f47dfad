//! The order of writes: the lowest tier first, which decides; then upwards.
//!
//! An upper tier gets the new value where it is known, otherwise it drops the key. L1 recovers from a write that it has
//! not seen, but the tier below does not recover from a write that only L1 has seen. Each write takes the key's token.
//! So no reader brings the replaced value back, and no concurrent writer stores a value above that lost below
//! (`tokens.rs`).

mod end;
mod expired;
mod forms;

pub(crate) use self::end::{Ended, TRIES, changes_again_and_again, end_below, end_one_below};
pub(crate) use self::forms::{Forms, form, in_terms_of_value, set_many_plain};

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use larder_store::{
    Capabilities, Counted, DeleteDone, Delta, Error, Fill, Initial, Meta, Put, Result, SetDone,
    SetMode, SetOptions, SetOutcome, check_fill,
};

use self::end::remove_invalidated;
use self::expired::{find_expired, find_many_expired, remove_expired};
use crate::SCHEME;
use crate::config::WriteOrder;
use crate::fill_token::FillToken;
use crate::read::{is_stored_form, len};
use crate::rules::{self, Rules};
use crate::stack::Stack;
use crate::tags;
use crate::tier::{RemainingTtl, TierSession};
use crate::tokens::Tokens;
use crate::write_behind::{HeldWrite, Write, WriteBehind};

/// Stores a value.
pub(crate) fn set(
    stack: &mut Stack,
    key: &[u8],
    value: &[u8],
    options: &SetOptions,
) -> Result<SetOutcome> {
    let put = Put { key, value, options: stack.rules.kept_options(options) };
    if stack.rules.write == WriteOrder::Behind && options.mode == SetMode::Set && fits(stack, &put)
    {
        return set_behind(stack, &put);
    }
    self::put(stack, &put, |lowest| lowest.session.set(key, value, &put.options))
}

/// Whether the lowest tier can hold an entry, as far as its limits are known.
fn fits(stack: &Stack, put: &Put<'_>) -> bool {
    let Capabilities { max_key_len, max_value_len, .. } = stack.capabilities;
    // The limit is that of a value without tags, and this is its stored form.
    let more = if stack.rules.tags { tags::PLAIN_LEN } else { 0 };
    max_key_len.is_none_or(|most| put.key.len() <= most)
        && max_value_len.is_none_or(|most| put.value.len() <= most.saturating_add(more))
        && !put.options.ttl.is_some_and(|ttl| ttl.is_zero())
}

/// Stores a value in the upper tiers, and in the lowest a little later.
fn set_behind(stack: &mut Stack, put: &Put<'_>) -> Result<SetOutcome> {
    check(&stack.capabilities, &put.options)?;
    let write_behind = Arc::clone(&stack.write_behind);
    let (_, above, tokens) = stack.split();
    let fill_token = FillToken::of_writer(above, tokens, put.key);
    let remaining = RemainingTtl::from_now(put.options.ttl);
    // First the queue, so that no reader misses the value that an upper tier has dropped.
    if let Err(error) = write_behind.set(put) {
        fill_token.drop_everywhere(above, tokens, put.key);
        return Err(error);
    }
    put_above(above, tokens, fill_token, put, remaining);
    Ok(SetOutcome::Stored(None))
}

/// Lets no queued write of a key come after this operation, which is carried out at once.
///
/// If the operation depends on the entry, the queued write comes before it, and an expired or invalidated entry is removed.
/// Otherwise the queued write is held back, for [`finish`].
fn overtake(stack: &mut Stack, key: &[u8], depends: bool) -> Result<Option<HeldWrite>> {
    if !depends {
        return stack.write_behind.hold(key);
    }
    stack.write_behind.settle(key)?;
    if let Some(removal) = stack.write_behind.hold_removal(key)? {
        stack.split().0.session.delete(key)?;
        removal.remove();
    }
    if is_stored_form(&stack.rules, key) {
        remove_invalidated(stack, key)?;
    } else {
        remove_expired(stack, key);
    }
    Ok(None)
}

/// As [`overtake`] for many keys. A key that comes again finds its queued write held back already.
fn overtake_many<'a>(
    stack: &mut Stack,
    keys: impl Iterator<Item = (&'a [u8], bool)>,
) -> Result<Vec<Option<HeldWrite>>> {
    let mut are_held = HashSet::new();
    let overtake = |(key, depends)| {
        if are_held.contains(key) {
            return Ok(None);
        }
        let held = overtake(stack, key, depends)?;
        if held.is_some() {
            are_held.insert(key);
        }
        Ok(held)
    };
    keys.map(overtake).collect()
}

/// Ends the time for which a queued write was held back, as the rules say after this result. Has the key removed below after a
/// failure, if they say so.
fn finish(
    write_behind: &WriteBehind,
    rules: &Rules,
    key: &[u8],
    held: Option<HeldWrite>,
    error: Option<&Error>,
) {
    match (held, error) {
        (Some(held), None) => held.remove(),
        // The lowest tier still has to get it.
        (Some(held), Some(error)) if error.is_not_made() && !rules.invalidates(error) => drop(held),
        // Nobody knows the value below any more.
        (Some(held), Some(_)) => held.invalidate(),
        (None, Some(error)) if rules.invalidates(error) => write_behind.invalidate(key),
        (None, _) => {}
    }
}

/// Stores a value by an operation on the lowest tier, and then above, never behind.
pub(crate) fn put(
    stack: &mut Stack,
    put: &Put<'_>,
    operation: impl FnOnce(&mut TierSession) -> Result<SetOutcome>,
) -> Result<SetOutcome> {
    check(&stack.capabilities, &put.options)?;
    let held = overtake(stack, put.key, put.options.mode != SetMode::Set)?;
    store_in_place_of(stack, put, held, operation)
}

/// Stores a value by a fill of the lowest tier, and then above. A queued set comes before it, and a queued removal after it: the
/// value may have been loaded before the write that failed.
pub(crate) fn fill(
    stack: &mut Stack,
    put: &Put<'_>,
    operation: impl FnOnce(&mut TierSession) -> Result<SetOutcome>,
) -> Result<SetOutcome> {
    check(&stack.capabilities, &put.options)?;
    let (_, above, tokens) = stack.split();
    // A queued set that comes after this moment makes the token void.
    let fill_token = FillToken::of_writer(above, tokens, put.key);
    stack.write_behind.settle(put.key)?;
    store_as(stack, put, fill_token, None, operation)
}

/// Stores a value in place of a queued write that is held back, if there is one.
fn store_in_place_of(
    stack: &mut Stack,
    put: &Put<'_>,
    held: Option<HeldWrite>,
    operation: impl FnOnce(&mut TierSession) -> Result<SetOutcome>,
) -> Result<SetOutcome> {
    let (_, above, tokens) = stack.split();
    let fill_token = FillToken::of_writer(above, tokens, put.key);
    store_as(stack, put, fill_token, held, operation)
}

/// Stores a value that was loaded under a reader's token, unless the key has been changed since.
///
/// Until the lowest tier has the value, no other session of this process begins to write the key. Another process may: its
/// value stays, unless this one `replaces` an older value. Leases of the lowest tier have no such gap.
pub(crate) fn store_under(
    stack: &mut Stack,
    key: &[u8],
    value: &[u8],
    options: SetOptions,
    fill_token: FillToken,
    replaces: bool,
) -> Result<SetOutcome> {
    let adds = !replaces && stack.tiers.last().is_some_and(|lowest| lowest.tier.capabilities.add);
    let mode = if adds { SetMode::Add } else { SetMode::Set };
    let put = &Put { key, value, options: SetOptions { mode, ..options } };
    check(&stack.capabilities, &put.options)?;
    if stack.write_behind.has(key) {
        return Ok(SetOutcome::NotStored);
    }
    let tokens = Arc::clone(&stack.tokens);
    let fill_token = fill_token.confirm(stack.split().1, &tokens, key);
    if adds && is_stored_form(&stack.rules, key) {
        // The tier takes an entry that is gone for one of another process.
        remove_invalidated(stack, key)?;
    }
    let Some((fill_token, hold)) =
        fill_token.and_then(|fill_token| Some((fill_token, fill_token.hold(&tokens)?)))
    else {
        return Ok(SetOutcome::NotStored);
    };
    store_as(stack, put, fill_token, None, move |lowest| {
        let _hold = hold;
        lowest.session.set(key, value, &put.options)
    })
}

/// Stores a value by an operation on the lowest tier, and then above under a writer's token.
fn store_as(
    stack: &mut Stack,
    put: &Put<'_>,
    fill_token: FillToken,
    held: Option<HeldWrite>,
    operation: impl FnOnce(&mut TierSession) -> Result<SetOutcome>,
) -> Result<SetOutcome> {
    let order = stack.rules.write;
    // The TTL begins before the write to the lowest tier, so that the time of that write counts.
    let remaining = RemainingTtl::from_now(put.options.ttl);
    let outcome = operation(stack.split().0);
    finish(&stack.write_behind, &stack.rules, put.key, held, outcome.as_ref().err());
    let (_, above, tokens) = stack.split();
    follow(above, tokens, fill_token, put, remaining, order, outcome)
}

/// Lets the tiers above follow a set of the lowest tier, and returns the stack's outcome.
fn follow(
    above: &mut [TierSession],
    tokens: &Tokens,
    fill_token: FillToken,
    put: &Put<'_>,
    remaining: RemainingTtl,
    order: WriteOrder,
    outcome: Result<SetOutcome>,
) -> Result<SetOutcome> {
    let Put { key, options, .. } = put;
    let joins = matches!(options.mode, SetMode::Append | SetMode::Prepend);
    match outcome {
        Ok(SetOutcome::Stored(_)) if !joins && order != WriteOrder::Around => {
            put_above(above, tokens, fill_token, put, remaining);
        }
        // The key exists, and this write has not changed it.
        Ok(SetOutcome::NotStored) if options.mode == SetMode::Add => {}
        _ => drop(fill_token.drop_everywhere(above, tokens, key)),
    }
    // A version is the lowest tier's, and a hit in L1 has another one.
    outcome.map(|outcome| if outcome.is_stored() { SetOutcome::Stored(None) } else { outcome })
}

/// Stores many values. The lowest tier gets those that the stack can keep, in one batch.
pub(crate) fn set_many(
    stack: &mut Stack,
    entries: &[Put<'_>],
    done: &mut SetDone<'_>,
) -> Result<()> {
    if stack.rules.write == WriteOrder::Behind {
        for (i, Put { key, value, options }) in entries.iter().enumerate() {
            done(i, set(stack, key, value, options));
        }
        return Ok(());
    }
    let refused: Vec<_> =
        entries.iter().map(|put| check(&stack.capabilities, &put.options).err()).collect();
    let kept = entries.iter().zip(&refused).filter(|(_, refused)| refused.is_none());
    let depends = |put: &Put<'_>| put.options.mode != SetMode::Set;
    let kept: Vec<_> = kept.map(|(put, _)| *put).collect();
    let held = overtake_many(stack, kept.iter().map(|put| (put.key, depends(put))))?;
    let held = fill_tokens_of_writer(stack, &kept).into_iter().zip(held).collect();
    store_many(stack, entries, refused, held, done, |lowest, batch, _, done| {
        lowest.session.set_many(batch, done)
    })
}

/// Stores many values by fills of the lowest tier in one batch, and then above. Queued writes of the keys come as for [`fill`].
pub(crate) fn fill_many(
    stack: &mut Stack,
    fills: &[Fill<'_>],
    done: &mut SetDone<'_>,
    operation: impl FnOnce(&mut TierSession, &[Fill<'_>], &mut SetDone<'_>) -> Result<()>,
) -> Result<()> {
    let entries: Vec<_> = fills.iter().map(|fill| fill.put).collect();
    // A queued set that comes after this moment makes the token void.
    let fill_tokens = fill_tokens_of_writer(stack, &entries);
    let settled = stack.write_behind.settle_many(entries.iter().map(|put| put.key));
    let refusal = |(put, settled): (&Put<'_>, Result<()>)| {
        check_fill(SCHEME, &put.options)
            .and_then(|()| check(&stack.capabilities, &put.options))
            .and(settled)
            .err()
    };
    let refused: Vec<_> = entries.iter().zip(settled).map(refusal).collect();
    let fill_tokens =
        fill_tokens.into_iter().zip(&refused).filter(|(_, refused)| refused.is_none());
    let held = fill_tokens.map(|(fill_token, _)| (fill_token, None)).collect();
    store_many(stack, &entries, refused, held, done, |lowest, batch, places, done| {
        let fill = |(put, i): (&_, &usize)| Fill { put: *put, token: fills[*i].token };
        let batch: Vec<_> = batch.iter().zip(places).map(fill).collect();
        operation(lowest, &batch, done)
    })
}

/// The token to store an entry above, and the queued write of its key that is held back.
type Holds = (FillToken, Option<HeldWrite>);

fn fill_tokens_of_writer(stack: &mut Stack, entries: &[Put<'_>]) -> Vec<FillToken> {
    let (_, above, tokens) = stack.split();
    entries.iter().map(|put| FillToken::of_writer(above, tokens, put.key)).collect()
}

/// Stores the values that are not refused by an operation on the lowest tier, and then above, under fill tokens and in place of the
/// queued writes that are held back. The operation gets the entries, and the place of each among all.
fn store_many(
    stack: &mut Stack,
    entries: &[Put<'_>],
    mut refused: Vec<Option<Error>>,
    held: Vec<Holds>,
    done: &mut SetDone<'_>,
    operation: impl FnOnce(&mut TierSession, &[Put<'_>], &[usize], &mut SetDone<'_>) -> Result<()>,
) -> Result<()> {
    let kept: Vec<_> = (0..entries.len()).filter(|i| refused[*i].is_none()).collect();
    let mut batch: Vec<_> = kept.iter().map(|i| entries[*i]).collect();
    for put in &mut batch {
        put.options = stack.rules.kept_options(&put.options);
    }
    let (rules, write_behind) = (stack.rules, Arc::clone(&stack.write_behind));
    let order = rules.write;
    let (lowest, above, tokens) = stack.split();
    let remaining_ttls: Vec<_> =
        batch.iter().map(|put| RemainingTtl::from_now(put.options.ttl)).collect();
    // A batch that ends early may have outcomes for later entries and not for earlier ones.
    let mut outcomes: Vec<_> = batch.iter().map(|_| None).collect();
    let result = operation(lowest, &batch, &kept, &mut |i, outcome| outcomes[i] = Some(outcome));
    let mut written = batch.iter().zip(held).zip(remaining_ttls).zip(outcomes);
    for (i, refusal) in refused.iter_mut().enumerate() {
        if let Some(error) = refusal.take() {
            done(i, Err(error));
        } else if let Some((((put, (fill_token, held)), remaining), outcome)) = written.next() {
            finish(&write_behind, &rules, put.key, held, failure(outcome.as_ref(), &result));
            match outcome {
                Some(outcome) => {
                    done(i, follow(above, tokens, fill_token, put, remaining, order, outcome));
                }
                // It is not known whether this one is stored.
                None => drop(fill_token.drop_everywhere(above, tokens, put.key)),
            }
        }
    }
    result
}

/// The error of one entry of a batch: its own, or the batch's where the entry has no outcome.
fn failure<'a, T>(outcome: Option<&'a Result<T>>, batch: &'a Result<()>) -> Option<&'a Error> {
    outcome.map_or(batch.as_ref().err(), |outcome| outcome.as_ref().err())
}

/// Removes many keys everywhere.
pub(crate) fn delete_many(
    stack: &mut Stack,
    keys: &[&[u8]],
    done: &mut DeleteDone<'_>,
) -> Result<()> {
    let held = overtake_many(stack, keys.iter().map(|key| (*key, false)))?;
    let expired = find_many_expired(stack, keys);
    let (rules, write_behind) = (stack.rules, Arc::clone(&stack.write_behind));
    let (lowest, above, tokens) = stack.split();
    let fill_tokens: Vec<_> =
        keys.iter().map(|key| FillToken::of_writer(above, tokens, key)).collect();
    let mut outcomes: Vec<_> = keys.iter().map(|_| None).collect();
    let result = lowest.session.delete_many(keys, &mut |i, outcome| outcomes[i] = Some(outcome));
    let fill_tokens = fill_tokens.into_iter().zip(held);
    for (i, ((key, (fill_token, held)), outcome)) in
        keys.iter().zip(fill_tokens).zip(outcomes).enumerate()
    {
        let was_queued = held.as_ref().is_some_and(|held| held.is_fresh(rules.grace));
        finish(&write_behind, &rules, key, held, failure(outcome.as_ref(), &result));
        let was_above = fill_token.drop_everywhere(above, tokens, key) && rules.grace.is_zero();
        let was_there = |was_below| was_below && !expired.contains(&i) || was_above || was_queued;
        if let Some(outcome) = outcome {
            done(i, outcome.map(was_there));
        }
    }
    result
}

/// Reads a key with a new TTL from the lowest tier. The upper tiers drop it, as for [`touch`].
pub(crate) fn get_and_touch(
    stack: &mut Stack,
    key: &[u8],
    ttl: Option<Duration>,
    value: &mut Vec<u8>,
) -> Result<Option<Meta>> {
    let ttl = stack.rules.kept(ttl);
    let (found, _) =
        lowest_then_drop(stack, key, true, |lowest| lowest.session.get_and_touch(key, ttl, value))?;
    let len = if is_stored_form(&stack.rules, key) { len(value) } else { Some(value.len()) };
    value.truncate(len.unwrap_or_default());
    let found = found.filter(|_| len.is_some());
    Ok(found.map(|meta| rules::reported(meta, false, &stack.rules, &stack.capabilities)))
}

/// Removes a key everywhere; `true` if it was anywhere.
pub(crate) fn delete(stack: &mut Stack, key: &[u8]) -> Result<bool> {
    let is_expired = find_expired(stack, key).is_some();
    lowest_then_drop(stack, key, false, |lowest| lowest.session.delete(key))
        .map(|(was_below, was_elsewhere)| was_below && !is_expired || was_elsewhere)
}

/// Gives a key a new TTL. The upper tiers drop the key: a value there may be old, and would be kept for longer.
pub(crate) fn touch(stack: &mut Stack, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
    let ttl = stack.rules.kept(ttl);
    lowest_then_drop(stack, key, true, |lowest| lowest.session.touch(key, ttl))
        .map(|(found, _)| found)
}

/// Adds to a number. The upper tiers drop the key: the sum is known, its flags and its TTL are not.
pub(crate) fn incr(
    stack: &mut Stack,
    key: &[u8],
    delta: Delta,
    absent: Option<Initial>,
) -> Result<Option<Counted>> {
    if stack.rules.tags {
        return Err(Error::Unsupported { engine: SCHEME, operation: "incr in a stack with tags" });
    }
    let ttl = absent.and_then(|absent| absent.ttl);
    check(&stack.capabilities, &SetOptions { ttl, ..SetOptions::default() })?;
    let absent = absent.map(|absent| Initial { ttl: stack.rules.kept(absent.ttl), ..absent });
    let (counted, _) =
        lowest_then_drop(stack, key, true, |lowest| lowest.session.incr(key, delta, absent))?;
    // A version is the lowest tier's, and a hit in L1 has another one.
    Ok(counted.map(|counted| Counted { version: None, ..counted }))
}

/// Adds to the counter of a tag, if there is one. The upper tiers drop it, and a channel publishes it.
pub(crate) fn step(stack: &mut Stack, key: &[u8], delta: Delta) -> Result<Option<Counted>> {
    lowest_then_drop(stack, key, true, |lowest| lowest.session.incr(key, delta, None))
        .map(|(counted, _)| counted)
}

/// Removes every entry of every tier. An upper tier that fails to do so is quarantined; the first error is the stack's.
pub(crate) fn clear(stack: &mut Stack) -> Result<()> {
    if !stack.capabilities.clear {
        let operation = "clear of a stack with a tier that has no clear";
        return Err(Error::Unsupported { engine: SCHEME, operation });
    }
    let taken = stack.write_behind.take_all()?;
    let mut result = stack.split().0.session.clear();
    if let Err(error) = &result {
        for (key, write) in taken {
            let may_be_gone = !error.is_not_made();
            stack.write_behind.put_back(&key, if may_be_gone { Write::Remove } else { write });
        }
    }
    let (_, above, tokens) = stack.split();
    for tier in above.iter_mut().rev() {
        tokens.invalidate_all();
        result = result.and(tier.clear());
    }
    result
}

/// Refuses options that not every tier can keep.
pub(crate) fn check(capabilities: &Capabilities, options: &SetOptions) -> Result<()> {
    let operation = match options {
        SetOptions { mode: SetMode::Cas(_), .. } => "cas",
        // A value may have tag versions behind it, which only the stack knows.
        SetOptions { mode: SetMode::Append | SetMode::Prepend, .. } if !capabilities.append => {
            "append"
        }
        SetOptions { ttl: Some(_), .. } if !capabilities.ttl => "ttl",
        SetOptions { flags: 1.., .. } if !capabilities.flags => "flags",
        _ => return Ok(()),
    };
    Err(Error::Unsupported { engine: SCHEME, operation })
}

/// Runs an operation on the lowest tier and drops the key in the tiers above, whatever the result: after an error too,
/// the state below is unknown. Returns whether the key was in one of these, or in the write-behind queue. With a time of grace,
/// an upper tier may have an expired entry, so its answer does not count.
pub(crate) fn lowest_then_drop<T>(
    stack: &mut Stack,
    key: &[u8],
    depends: bool,
    operation: impl FnOnce(&mut TierSession) -> Result<T>,
) -> Result<(T, bool)> {
    let held = overtake(stack, key, depends)?;
    let grace = stack.rules.grace;
    let was_queued = held.as_ref().is_some_and(|held| held.is_fresh(grace));
    let (lowest, above, tokens) = stack.split();
    let fill_token = FillToken::of_writer(above, tokens, key);
    let result = operation(lowest);
    finish(&stack.write_behind, &stack.rules, key, held, result.as_ref().err());
    let (_, above, tokens) = stack.split();
    let was_above = fill_token.drop_everywhere(above, tokens, key) && grace.is_zero();
    Ok((result?, was_queued || was_above))
}

/// Stores an acknowledged value in the tiers above; drops the key there if another session writes it, too.
fn put_above(
    above: &mut [TierSession],
    tokens: &Tokens,
    mut fill_token: FillToken,
    put: &Put<'_>,
    remaining: RemainingTtl,
) {
    for tier in above.iter_mut().rev() {
        fill_token.put(tier, tokens, put, remaining);
    }
}
