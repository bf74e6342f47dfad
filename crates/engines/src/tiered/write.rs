//! The order of writes: the lowest tier first, which decides; then upwards.
//!
//! A tier above gets a value where it is known, or the key is dropped there: L1 recovers from a write it has not seen,
//! the tier below does not recover from one that only L1 has seen.

use std::time::{Duration, Instant};

use larder_store::{Capabilities, Error, Result, SetMode, SetOptions, SetOutcome};

use super::SCHEME;
use super::tier::TierSession;

/// Stores a value.
pub(super) fn set(
    tiers: &mut [TierSession],
    capabilities: &Capabilities,
    key: &[u8],
    value: &[u8],
    options: &SetOptions,
) -> Result<SetOutcome> {
    check(capabilities, options)?;
    let (lowest, above) = apart(tiers);
    let begun = options.ttl.map(|ttl| (ttl, Instant::now()));
    let outcome = lowest.session.set(key, value, options);
    let joins = matches!(options.mode, SetMode::Append | SetMode::Prepend);
    match outcome {
        Ok(SetOutcome::Stored) if !joins => {
            // The time that the lowest tier took has passed for all.
            let left = begun.map(|(ttl, begun)| ttl.saturating_sub(begun.elapsed()));
            put_above(above, key, value, left, options.flags);
        }
        // The key is there, and nobody has changed it.
        Ok(SetOutcome::NotStored) if options.mode == SetMode::Add => {}
        _ => drop(drop_above(above, key)),
    }
    outcome
}

/// Removes a key everywhere; `true` if it was anywhere.
pub(super) fn delete(tiers: &mut [TierSession], key: &[u8]) -> Result<bool> {
    lowest_then_drop(tiers, key, |lowest| lowest.session.delete(key))
        .map(|(was_below, was_above)| was_below | was_above)
}

/// Gives a key a new TTL. Above it is dropped: what is there may be old, and would be kept for longer.
pub(super) fn touch(tiers: &mut [TierSession], key: &[u8], ttl: Option<Duration>) -> Result<bool> {
    lowest_then_drop(tiers, key, |lowest| lowest.session.touch(key, ttl)).map(|(found, _)| found)
}

/// Adds to a number. Above it is dropped: the sum is known, its flags and its TTL are not.
pub(super) fn incr(tiers: &mut [TierSession], key: &[u8], delta: i64) -> Result<Option<u64>> {
    lowest_then_drop(tiers, key, |lowest| lowest.session.incr(key, delta)).map(|(sum, _)| sum)
}

/// Removes everything everywhere.
pub(super) fn clear(tiers: &mut [TierSession], capabilities: &Capabilities) -> Result<()> {
    if !capabilities.clear {
        let operation = "clear of a stack with a tier that has none";
        return Err(Error::Unsupported { engine: SCHEME, operation });
    }
    let mut result = Ok(());
    for tier in tiers.iter_mut().rev() {
        result = result.and(tier.clear());
    }
    result
}

/// Refuses what not every tier can keep.
fn check(capabilities: &Capabilities, options: &SetOptions) -> Result<()> {
    let operation = match options {
        SetOptions { mode: SetMode::Cas(_), .. } => "cas",
        SetOptions { ttl: Some(_), .. } if !capabilities.ttl => "ttl",
        SetOptions { flags: 1.., .. } if !capabilities.flags => "flags",
        _ => return Ok(()),
    };
    Err(Error::Unsupported { engine: SCHEME, operation })
}

/// Does something to the lowest tier and drops the key in those above, whatever came of it: after an error too nobody
/// knows what is below.
fn lowest_then_drop<T>(
    tiers: &mut [TierSession],
    key: &[u8],
    operation: impl FnOnce(&mut TierSession) -> Result<T>,
) -> Result<(T, bool)> {
    let (lowest, above) = apart(tiers);
    let result = operation(lowest);
    let was_above = drop_above(above, key);
    Ok((result?, was_above))
}

/// The lowest tier, and those above it.
fn apart(tiers: &mut [TierSession]) -> (&mut TierSession, &mut [TierSession]) {
    tiers.split_last_mut().expect("a stack has at least two tiers")
}

/// Stores what the lowest tier has acknowledged, which lives there for `left`, in the tiers above.
fn put_above(
    above: &mut [TierSession],
    key: &[u8],
    value: &[u8],
    left: Option<Duration>,
    flags: u32,
) {
    for tier in above.iter_mut().rev() {
        match tier.tier.options(left, flags) {
            Some(options) => tier.put(key, value, options),
            None => drop(tier.drop_key(key)),
        }
    }
}

/// Removes a key above the lowest tier; `true` if it was in any.
fn drop_above(above: &mut [TierSession], key: &[u8]) -> bool {
    above.iter_mut().rev().fold(false, |was_there, tier| tier.drop_key(key) | was_there)
}
