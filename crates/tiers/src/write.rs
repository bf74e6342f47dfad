//! The order of writes: the lowest tier first, which decides; then upwards.
//!
//! An upper tier gets the new value where it is known, otherwise it drops the key. L1 recovers from a write that it has
//! not seen, but the tier below does not recover from a write that only L1 has seen. Each write takes the key's token.
//! So no reader brings the replaced value back, and no concurrent writer stores a value above that lost below
//! (`tokens.rs`).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use larder_store::{
    Capabilities, Counted, DeleteDone, Delta, Error, Facts, Fill, Initial, Leased, Leases, Meta,
    Put, Result, SetDone, SetMode, SetOptions, SetOutcome, check_fill,
};

use crate::SCHEME;
use crate::config::WriteOrder;
use crate::fence::Right;
use crate::late::{Held, LateWrites, Write};
use crate::read::told;
use crate::rules::Rules;
use crate::session::Stack;
use crate::tags;
use crate::tier::{Life, TierSession};
use crate::tokens::Tokens;

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

/// Whether the lowest tier can hold an entry, as far as it tells its limits.
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
    let late = Arc::clone(&stack.late);
    let (_, above, tokens) = apart(stack);
    let right = Right::of_writer(above, tokens, put.key);
    let life = Life::begin(put.options.ttl);
    // First the queue, so that no reader misses the value that an upper tier has dropped.
    if let Err(error) = late.set(put) {
        right.drop_everywhere(above, tokens, put.key);
        return Err(error);
    }
    put_above(above, (tokens, right), (put, life));
    Ok(SetOutcome::Stored(None))
}

/// Lets no late write of a key come after this operation, which is carried out at once.
///
/// If the operation depends on the entry, the late write comes before it, and an entry that is over or gone is removed.
/// Otherwise the late write is held back, for [`finish`].
fn overtake(stack: &mut Stack, key: &[u8], depends: bool) -> Result<Option<Held>> {
    if !depends {
        return stack.late.hold(key);
    }
    stack.late.settle(key)?;
    if let Some(removal) = stack.late.hold_removal(key)? {
        apart(stack).0.session.delete(key)?;
        removal.remove();
    }
    if tags::covers(&stack.rules, key) {
        tags::remove_gone(stack, key)?;
    } else {
        remove_over(stack, key);
    }
    Ok(None)
}

/// As [`overtake`] for many keys. A key that comes again finds its late write held back already.
fn overtake_many<'a>(
    stack: &mut Stack,
    keys: impl Iterator<Item = (&'a [u8], bool)>,
) -> Result<Vec<Option<Held>>> {
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

/// Ends the time for which a late write was held back, as the rules say after this result. Has the key removed below after a
/// failure, if they say so.
fn finish(
    (late, rules): (&LateWrites, &Rules),
    key: &[u8],
    held: Option<Held>,
    error: Option<&Error>,
) {
    match (held, error) {
        (Some(held), None) => held.remove(),
        // The lowest tier still has to get it.
        (Some(held), Some(error)) if error.is_not_made() && !rules.invalidates(error) => drop(held),
        // Nobody knows the value below any more.
        (Some(held), Some(_)) => held.invalidate(),
        (None, Some(error)) if rules.invalidates(error) => late.invalidate(key),
        (None, _) => {}
    }
}

/// Removes an entry of the lowest tier that is over, before an operation that depends on whether the key is there. The
/// entry is kept for its loaders only. A value that comes meanwhile stays.
///
/// If that fails, so does the operation that follows.
pub(crate) fn remove_over(stack: &mut Stack, key: &[u8]) {
    let Some(facts) = find_over(stack, key) else { return };
    let grace = stack.rules.grace;
    let session = &mut *apart(stack).0.session;
    let _ = match (facts.meta.version, session.leases()) {
        (Some(version), _) => session.delete_if(key, version).map(drop),
        (None, Some(leases)) => remove_by_lease(leases, key, grace),
        (None, None) => session.delete(key).map(drop),
    };
}

/// Removes an entry that is over from a tier without versions: the lease ends where another value comes.
fn remove_by_lease(leases: &mut dyn Leases, key: &[u8], grace: Duration) -> Result<()> {
    let leased = leases.get_or_lease_early(key, &mut Vec::new(), Duration::from_secs(1), grace)?;
    let Leased::Load { token, .. } = leased else { return Ok(()) };
    let gone = SetOptions { ttl: Some(Duration::ZERO), ..SetOptions::default() };
    leases.fill(key, b"", &gone, &token).map(drop)
}

/// The entry of the lowest tier, if it is over.
fn find_over(stack: &mut Stack, key: &[u8]) -> Option<Facts> {
    let grace = stack.rules.grace;
    if grace.is_zero() {
        return None;
    }
    let facts = apart(stack).0.session.look(key).ok().flatten();
    facts.filter(|facts| facts.meta.ttl.ends_within(grace))
}

/// Stores a value by an operation on the lowest tier, and then above, never behind.
pub(crate) fn put(
    stack: &mut Stack,
    put: &Put<'_>,
    operation: impl FnOnce(&mut TierSession) -> Result<SetOutcome>,
) -> Result<SetOutcome> {
    check(&stack.capabilities, &put.options)?;
    let held = overtake(stack, put.key, put.options.mode != SetMode::Set)?;
    store_over(stack, put, held, operation)
}

/// Stores a value by a fill of the lowest tier, and then above. A late set comes before it, and a late removal after it: the
/// value may have been loaded before the write that failed.
pub(crate) fn fill(
    stack: &mut Stack,
    put: &Put<'_>,
    operation: impl FnOnce(&mut TierSession) -> Result<SetOutcome>,
) -> Result<SetOutcome> {
    check(&stack.capabilities, &put.options)?;
    let (_, above, tokens) = apart(stack);
    // A late set that comes after this moment ends the right.
    let right = Right::of_writer(above, tokens, put.key);
    stack.late.settle(put.key)?;
    store_as(stack, put, (right, None), operation)
}

/// Stores a value in place of a late write that is held back, if there is one.
fn store_over(
    stack: &mut Stack,
    put: &Put<'_>,
    held: Option<Held>,
    operation: impl FnOnce(&mut TierSession) -> Result<SetOutcome>,
) -> Result<SetOutcome> {
    let (_, above, tokens) = apart(stack);
    let right = Right::of_writer(above, tokens, put.key);
    store_as(stack, put, (right, held), operation)
}

/// Stores a value that was loaded under a reader's right, unless the key has been changed since.
///
/// Until the lowest tier has the value, no other session of this process begins to write the key. Another process may: its
/// value stays, unless this one `replaces` an older value. Leases of the lowest tier have no such gap.
pub(crate) fn store_under(
    stack: &mut Stack,
    (key, value, options): (&[u8], &[u8], SetOptions),
    right: Right,
    replaces: bool,
) -> Result<SetOutcome> {
    let adds = !replaces && stack.tiers.last().is_some_and(|lowest| lowest.tier.capabilities.add);
    let mode = if adds { SetMode::Add } else { SetMode::Set };
    let put = &Put { key, value, options: SetOptions { mode, ..options } };
    check(&stack.capabilities, &put.options)?;
    if stack.late.has(key) {
        return Ok(SetOutcome::NotStored);
    }
    let tokens = Arc::clone(&stack.tokens);
    let right = right.confirm(apart(stack).1, &tokens, key);
    if adds && tags::covers(&stack.rules, key) {
        // The tier takes an entry that is gone for one of another process.
        tags::remove_gone(stack, key)?;
    }
    let Some((right, hold)) = right.and_then(|right| Some((right, right.hold(&tokens)?))) else {
        return Ok(SetOutcome::NotStored);
    };
    store_as(stack, put, (right, None), move |lowest| {
        let _hold = hold;
        lowest.session.set(key, value, &put.options)
    })
}

/// Stores a value by an operation on the lowest tier, and then above under a writer's right.
fn store_as(
    stack: &mut Stack,
    put: &Put<'_>,
    (right, held): (Right, Option<Held>),
    operation: impl FnOnce(&mut TierSession) -> Result<SetOutcome>,
) -> Result<SetOutcome> {
    let order = stack.rules.write;
    // The life begins before the write to the lowest tier, so that the time of that write counts.
    let life = Life::begin(put.options.ttl);
    let outcome = operation(apart(stack).0);
    finish((&stack.late, &stack.rules), put.key, held, outcome.as_ref().err());
    let (_, above, tokens) = apart(stack);
    follow(above, (tokens, right), (put, life, order), outcome)
}

/// Lets the tiers above follow a set of the lowest tier, and returns the stack's outcome.
fn follow(
    above: &mut [TierSession],
    (tokens, right): (&Tokens, Right),
    (put, life, order): (&Put<'_>, Life, WriteOrder),
    outcome: Result<SetOutcome>,
) -> Result<SetOutcome> {
    let Put { key, options, .. } = put;
    let joins = matches!(options.mode, SetMode::Append | SetMode::Prepend);
    match outcome {
        Ok(SetOutcome::Stored(_)) if !joins && order != WriteOrder::Around => {
            put_above(above, (tokens, right), (put, life));
        }
        // The key exists, and this write has not changed it.
        Ok(SetOutcome::NotStored) if options.mode == SetMode::Add => {}
        _ => drop(right.drop_everywhere(above, tokens, key)),
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
    let held = rights_of_writer(stack, &kept).into_iter().zip(held).collect();
    store_many(stack, entries, (refused, held), done, |lowest, batch, _, done| {
        lowest.session.set_many(batch, done)
    })
}

/// Stores many values by fills of the lowest tier in one batch, and then above. Late writes of the keys come as for [`fill`].
pub(crate) fn fill_many(
    stack: &mut Stack,
    fills: &[Fill<'_>],
    done: &mut SetDone<'_>,
    operation: impl FnOnce(&mut TierSession, &[Fill<'_>], &mut SetDone<'_>) -> Result<()>,
) -> Result<()> {
    let entries: Vec<_> = fills.iter().map(|fill| fill.put).collect();
    // A late set that comes after this moment ends the right.
    let rights = rights_of_writer(stack, &entries);
    let settled = stack.late.settle_many(entries.iter().map(|put| put.key));
    let refusal = |(put, settled): (&Put<'_>, Result<()>)| {
        check_fill(SCHEME, &put.options)
            .and_then(|()| check(&stack.capabilities, &put.options))
            .and(settled)
            .err()
    };
    let refused: Vec<_> = entries.iter().zip(settled).map(refusal).collect();
    let rights = rights.into_iter().zip(&refused).filter(|(_, refused)| refused.is_none());
    let held = rights.map(|(right, _)| (right, None)).collect();
    store_many(stack, &entries, (refused, held), done, |lowest, batch, places, done| {
        let fill = |(put, i): (&_, &usize)| Fill { put: *put, token: fills[*i].token };
        let batch: Vec<_> = batch.iter().zip(places).map(fill).collect();
        operation(lowest, &batch, done)
    })
}

/// The right to store an entry above, and the late write of its key that is held back.
type Holds = (Right, Option<Held>);

fn rights_of_writer(stack: &mut Stack, entries: &[Put<'_>]) -> Vec<Right> {
    let (_, above, tokens) = apart(stack);
    entries.iter().map(|put| Right::of_writer(above, tokens, put.key)).collect()
}

/// Stores the values that are not refused by an operation on the lowest tier, and then above, under rights and in place of the
/// late writes that are held back. The operation gets the entries, and the place of each among all.
fn store_many(
    stack: &mut Stack,
    entries: &[Put<'_>],
    (mut refused, held): (Vec<Option<Error>>, Vec<Holds>),
    done: &mut SetDone<'_>,
    operation: impl FnOnce(&mut TierSession, &[Put<'_>], &[usize], &mut SetDone<'_>) -> Result<()>,
) -> Result<()> {
    let kept: Vec<_> = (0..entries.len()).filter(|i| refused[*i].is_none()).collect();
    let mut batch: Vec<_> = kept.iter().map(|i| entries[*i]).collect();
    for put in &mut batch {
        put.options = stack.rules.kept_options(&put.options);
    }
    let (rules, late) = (stack.rules, Arc::clone(&stack.late));
    let order = rules.write;
    let (lowest, above, tokens) = apart(stack);
    let lives: Vec<_> = batch.iter().map(|put| Life::begin(put.options.ttl)).collect();
    // A batch that ends early may tell of later entries and not of earlier ones.
    let mut outcomes: Vec<_> = batch.iter().map(|_| None).collect();
    let result = operation(lowest, &batch, &kept, &mut |i, outcome| outcomes[i] = Some(outcome));
    let mut written = batch.iter().zip(held).zip(lives).zip(outcomes);
    for (i, refusal) in refused.iter_mut().enumerate() {
        if let Some(error) = refusal.take() {
            done(i, Err(error));
        } else if let Some((((put, (right, held)), life), outcome)) = written.next() {
            finish((&late, &rules), put.key, held, failure(outcome.as_ref(), &result));
            match outcome {
                Some(outcome) => {
                    done(i, follow(above, (tokens, right), (put, life, order), outcome));
                }
                // It is not known whether this one is stored.
                None => drop(right.drop_everywhere(above, tokens, put.key)),
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
    let over = find_many_over(stack, keys);
    let (rules, late) = (stack.rules, Arc::clone(&stack.late));
    let (lowest, above, tokens) = apart(stack);
    let rights: Vec<_> = keys.iter().map(|key| Right::of_writer(above, tokens, key)).collect();
    let mut outcomes: Vec<_> = keys.iter().map(|_| None).collect();
    let result = lowest.session.delete_many(keys, &mut |i, outcome| outcomes[i] = Some(outcome));
    let rights = rights.into_iter().zip(held);
    for (i, ((key, (right, held)), outcome)) in keys.iter().zip(rights).zip(outcomes).enumerate() {
        let was_late = held.as_ref().is_some_and(|held| held.is_fresh(rules.grace));
        finish((&late, &rules), key, held, failure(outcome.as_ref(), &result));
        let was_above = right.drop_everywhere(above, tokens, key) && rules.grace.is_zero();
        let was_there = |was_below| was_below && !over.contains(&i) || was_above || was_late;
        if let Some(outcome) = outcome {
            done(i, outcome.map(was_there));
        }
    }
    result
}

/// The places of the keys whose entries in the lowest tier are over.
fn find_many_over(stack: &mut Stack, keys: &[&[u8]]) -> Vec<usize> {
    let (grace, mut over) = (stack.rules.grace, Vec::new());
    if !grace.is_zero() {
        // A key that the tier refuses spoils the batch; then an entry that is over counts as one that was there.
        let _ = apart(stack).0.session.get_many(keys, &mut |i, _, meta| {
            if meta.ttl.ends_within(grace) {
                over.push(i);
            }
        });
    }
    over
}

/// Reads a key with a new TTL from the lowest tier. The upper tiers drop it, as for [`touch`].
pub(crate) fn get_and_touch(
    stack: &mut Stack,
    (key, ttl): (&[u8], Option<Duration>),
    value: &mut Vec<u8>,
) -> Result<Option<Meta>> {
    let ttl = stack.rules.kept(ttl);
    let (found, _) =
        lowest_then_drop(stack, key, true, |lowest| lowest.session.get_and_touch(key, ttl, value))?;
    let len = if tags::covers(&stack.rules, key) { tags::len(value) } else { Some(value.len()) };
    value.truncate(len.unwrap_or_default());
    let found = found.filter(|_| len.is_some());
    Ok(found.map(|meta| told(meta, false, &stack.rules, &stack.capabilities)))
}

/// Removes a key everywhere; `true` if it was anywhere.
pub(crate) fn delete(stack: &mut Stack, key: &[u8]) -> Result<bool> {
    let is_over = find_over(stack, key).is_some();
    lowest_then_drop(stack, key, false, |lowest| lowest.session.delete(key))
        .map(|(was_below, was_elsewhere)| was_below && !is_over || was_elsewhere)
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

/// Adds to the counter of a tag, if there is one. The upper tiers drop it, and a channel tells of it.
pub(crate) fn step(stack: &mut Stack, key: &[u8], delta: Delta) -> Result<Option<Counted>> {
    lowest_then_drop(stack, key, true, |lowest| lowest.session.incr(key, delta, None))
        .map(|(counted, _)| counted)
}

/// Removes every entry of every tier. An upper tier that fails to do so loses trust; the first error is the stack's.
pub(crate) fn clear(stack: &mut Stack) -> Result<()> {
    if !stack.capabilities.clear {
        let operation = "clear of a stack with a tier that has no clear";
        return Err(Error::Unsupported { engine: SCHEME, operation });
    }
    let taken = stack.late.take_all()?;
    let mut result = apart(stack).0.session.clear();
    if let Err(error) = &result {
        for (key, write) in taken {
            let may_be_gone = !error.is_not_made();
            stack.late.put_back(&key, if may_be_gone { Write::Remove } else { write });
        }
    }
    let (_, above, tokens) = apart(stack);
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
        // A value may have stamps behind it, which only the stack knows.
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
/// the state below is unknown. Tells whether the key was in one of these, or in the queue of late writes. With a time of grace,
/// an upper tier may have an entry that is over, so only the others tell.
pub(crate) fn lowest_then_drop<T>(
    stack: &mut Stack,
    key: &[u8],
    depends: bool,
    operation: impl FnOnce(&mut TierSession) -> Result<T>,
) -> Result<(T, bool)> {
    let held = overtake(stack, key, depends)?;
    let grace = stack.rules.grace;
    let was_late = held.as_ref().is_some_and(|held| held.is_fresh(grace));
    let (lowest, above, tokens) = apart(stack);
    let right = Right::of_writer(above, tokens, key);
    let result = operation(lowest);
    finish((&stack.late, &stack.rules), key, held, result.as_ref().err());
    let (_, above, tokens) = apart(stack);
    let was_above = right.drop_everywhere(above, tokens, key) && grace.is_zero();
    Ok((result?, was_late || was_above))
}

/// The lowest tier, those above it, and the tokens.
pub(crate) fn apart(stack: &mut Stack) -> (&mut TierSession, &mut [TierSession], &Tokens) {
    let (lowest, above) = stack.tiers.split_last_mut().expect("a stack has at least two tiers");
    (lowest, above, &stack.tokens)
}

/// Stores an acknowledged value in the tiers above; drops the key there if another session writes it, too.
fn put_above(
    above: &mut [TierSession],
    (tokens, mut right): (&Tokens, Right),
    (put, life): (&Put<'_>, Life),
) {
    for tier in above.iter_mut().rev() {
        right.put(tier, tokens, (put, life));
    }
}
