//! The end of entries in the lowest tier that their tags have invalidated, before an operation for which the tier decides: it
//! takes them for fresh.
//!
//! Several processes find such an entry at once, and the first that ends it may have stored a new one when the last comes.
//! So an entry is ended by its version, or by its value where a server can compare. In other tiers an entry with a short TTL
//! stands for the right to end this value, and `add` lets one process have it. A set that comes between the comparison and the
//! delete of such a tier is lost.

use std::slice;
use std::thread::sleep;
use std::time::Duration;

use larder_store::{End, Error, Meta, Put, Remaining, Result, SetMode, SetOptions};
use rapidhash::v3::rapidhash_v3;

use super::expired::remove_expired;
use crate::SCHEME;
use crate::read::{judge, unknown};
use crate::stack::Stack;
use crate::tags::TagState;
use crate::tier::TierSession;

/// The beginning of the keys of rights to end a value, which no entry of a caller should have.
const PREFIX: &str = "~larder-ended-";

/// The time for which nobody else ends the same value.
const TURN: Duration = Duration::from_secs(1);

/// The most by which readers' clocks are behind where TTLs have finer steps: to them, an entry would have more left than grace.
const BEHIND: Duration = Duration::from_millis(20);

/// The pause of a process whose turn it is not, and the attempts until the turn has passed.
const PAUSE: Duration = Duration::from_millis(2);
pub(crate) const TRIES: usize = 1000;

/// An entry of the lowest tier that its tags have ended.
#[derive(Debug)]
pub(crate) struct Ended<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) stored: &'a [u8],
    pub(crate) meta: Meta,
    /// [`TagState::Invalidated`], or [`TagState::Expired`] where the entry is kept for the time of grace.
    pub(crate) state: TagState,
}

/// Ends entries of the lowest tier: one request ends all that have versions, and one all that a server compares by value.
/// Another value that has come meanwhile stays. The caller looks again. Calls `done` with the place of each entry and whether it
/// may have ended. After `Err` some entries have had no outcome.
pub(crate) fn end_below(
    stack: &mut Stack,
    ended: &[Ended<'_>],
    done: &mut dyn FnMut(usize, Result<()>),
) -> Result<()> {
    let rules = stack.rules;
    let lowest = stack.split().0;
    let step = lowest.tier.capabilities.ttl_resolution;
    let (mut by_version, mut by_value) = (Vec::new(), Vec::new());
    for (i, Ended { key, stored: value, meta, state }) in ended.iter().enumerate() {
        let left = match meta.ttl {
            Remaining::For(left) => left.min(rules.grace),
            _ => rules.grace,
        };
        let left = if step < BEHIND { left.saturating_sub(BEHIND) } else { left };
        let keep = whole_steps(left, step).filter(|_| *state == TagState::Expired);
        match meta.version {
            Some(version) => by_version.push((i, version, End { key, value, keep })),
            None => by_value.push((i, End { key, value, keep })),
        }
    }
    end_versions(lowest, ended, &by_version, done)?;
    end_values(lowest, by_value, done)
}

/// Ends entries by their versions. A single one that nobody keeps is deleted.
fn end_versions(
    lowest: &mut TierSession,
    ended: &[Ended<'_>],
    ends: &[(usize, u64, End<'_>)],
    done: &mut dyn FnMut(usize, Result<()>),
) -> Result<()> {
    let session = &mut *lowest.session;
    if let [(i, version, End { key, keep: None, .. })] = ends {
        done(*i, session.delete_if(key, *version).map(drop));
        return Ok(());
    }
    if ends.is_empty() {
        return Ok(());
    }
    let conditional = |(i, version, end): &(usize, u64, End<'_>)| {
        let ttl = Some(end.keep.unwrap_or_default());
        let options = SetOptions { mode: SetMode::Cas(*version), ttl, flags: ended[*i].meta.flags };
        // What has no time left needs no value.
        let value = if end.keep.is_some() { ended[*i].stored } else { b"" };
        Put { key: ended[*i].key, value, options }
    };
    let puts: Vec<_> = ends.iter().map(conditional).collect();
    let mut refused = Vec::new();
    let sent = session.set_many(&puts, &mut |place, outcome| {
        let (i, version, end) = ends[place];
        match outcome {
            Ok(_) => done(i, Ok(())),
            Err(error) if end.keep.is_none() && concerns_sets_only(&error) => {
                refused.push((i, version, end.key));
            }
            Err(error) => done(i, Err(error)),
        }
    });
    for (i, version, key) in refused {
        done(i, session.delete_if(key, version).map(drop));
    }
    sent
}

/// Whether a set failed for a reason that does not concern a delete.
fn concerns_sets_only(error: &Error) -> bool {
    matches!(error, Error::Full { .. } | Error::ValueTooLarge { .. } | Error::Unsupported { .. })
}

/// Ends entries by their values: by a comparison of the server, or else each in its turn.
fn end_values(
    lowest: &mut TierSession,
    ends: Vec<(usize, End<'_>)>,
    done: &mut dyn FnMut(usize, Result<()>),
) -> Result<()> {
    if ends.is_empty() {
        return Ok(());
    }
    let (places, ends): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
    let compared = lowest.session.leases().map(|leases| {
        leases.end_values(&ends, &mut |place, outcome| done(places[place], outcome.map(drop)))
    });
    match compared {
        None | Some(Err(Error::Unsupported { .. })) => {}
        Some(compared) => return compared,
    }
    for (place, end) in places.into_iter().zip(&ends) {
        done(place, end_in_turn(lowest, end));
    }
    Ok(())
}

/// As [`end_below`] for one entry.
pub(crate) fn end_one_below(stack: &mut Stack, ended: &Ended<'_>) -> Result<()> {
    let mut outcome = Ok(());
    end_below(stack, slice::from_ref(ended), &mut |_, ended| outcome = ended)?;
    outcome
}

/// Ends a value of a tier that cannot compare, under the right to do so.
fn end_in_turn(lowest: &mut TierSession, end: &End<'_>) -> Result<()> {
    let turn = turn(end.key, end.value);
    if !has_turn(lowest, &turn)? {
        sleep(PAUSE);
        return Ok(());
    }
    let mut present = Vec::new();
    if lowest.session.get(end.key, &mut present)?.is_some() && present == end.value {
        match (end.keep, lowest.session.leases()) {
            (Some(keep), Some(leases)) => leases.expire(end.key, Some(keep))?,
            _ => lowest.session.delete(end.key)?,
        };
    }
    lowest.session.delete(&turn).map(drop)
}

/// A time in whole steps of a tier's TTLs, which rounds up what is not: the entry would not have expired then. `None` for less than
/// a step.
fn whole_steps(time: Duration, step: Duration) -> Option<Duration> {
    let (time, step) = (time.as_nanos(), step.as_nanos().max(1));
    let whole = u64::try_from(time / step * step).unwrap_or(u64::MAX);
    (whole > 0).then(|| Duration::from_nanos(whole))
}

/// The key of the right to end this value of a key.
fn turn(key: &[u8], stored: &[u8]) -> Vec<u8> {
    let hash = rapidhash_v3(key).rotate_left(1) ^ rapidhash_v3(stored);
    format!("{PREFIX}{hash:016x}").into_bytes()
}

/// Whether this caller gets the right. It ends with its TTL where its process is killed.
fn has_turn(lowest: &mut TierSession, turn: &[u8]) -> Result<bool> {
    let ttl = lowest.tier.capabilities.ttl.then_some(TURN);
    let options = SetOptions { mode: SetMode::Add, ttl, ..SetOptions::default() };
    Ok(lowest.session.set(turn, b"", &options)?.is_stored())
}

/// Removes an expired or invalidated entry of the lowest tier, before an operation that depends on whether the key is there.
pub(crate) fn remove_invalidated(stack: &mut Stack, key: &[u8]) -> Result<()> {
    let mut stored = Vec::new();
    for _ in 0..TRIES {
        let Some(meta) = stack.split().0.session.get(key, &mut stored)? else { return Ok(()) };
        if !stack.rules.grace.is_zero() && meta.ttl.ends_within(stack.rules.grace) {
            remove_expired(stack, key);
            return Ok(());
        }
        let judged = judge(stack, &stored, true);
        match judged.state {
            TagState::Valid => return Ok(()),
            TagState::WasValid | TagState::Unknown => return Err(unknown(judged.failed)),
            TagState::Expired | TagState::Invalidated => {}
        }
        end_one_below(stack, &Ended { key, stored: &stored, meta, state: TagState::Invalidated })?;
    }
    Err(changes_again_and_again())
}

/// The error of an operation that finds entries which end while it looks.
pub(crate) fn changes_again_and_again() -> Error {
    let what = "an entry whose tags end all the time; try again".to_owned();
    Error::Busy { engine: SCHEME, what }
}
