//! Changes that stores have no call for: a join or a count on condition of a version, and a count with a new end.
//!
//! The entry is read, and what becomes of it is set on condition of the version that was read. So the change is one step
//! for all others. Its end is set again with it, and may move by a step of the store's clock.

use larder_store::{
    Counted, Delta, Error, Initial, Meta, Remaining, SetMode, SetOptions, SetOutcome,
};

use crate::context::{Desk, ttl_of};

/// What stores have for a set and a delete alone.
const BY_VERSION: &str = "a version as the condition of this operation";

/// The outcome of a count on condition of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountOutcome {
    /// The entry has this number now.
    Counted(Counted),
    /// The entry has another version.
    Exists,
    /// The key does not exist.
    NotFound,
}

/// A count that stores have no call for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count {
    pub(crate) delta: Delta,
    /// The version that the entry must have.
    pub(crate) version: Option<u64>,
    /// What an absent key gets, which has no version to compare.
    pub(crate) absent: Option<Initial>,
    /// The end that the entry gets, as on the wire; `None` where its end stays.
    pub(crate) exptime: Option<i64>,
}

/// Puts a value behind or before that of the entry with this version.
pub(crate) fn join(
    key: &[u8],
    value: &[u8],
    mode: SetMode,
    version: u64,
    desk: &mut Desk,
) -> Result<SetOutcome, Error> {
    let mut joined = std::mem::take(&mut desk.value);
    let outcome = join_in(&mut joined, key, value, mode, version, desk);
    desk.keep_buffer(joined);
    outcome
}

fn join_in(
    joined: &mut Vec<u8>,
    key: &[u8],
    value: &[u8],
    mode: SetMode,
    version: u64,
    desk: &mut Desk,
) -> Result<SetOutcome, Error> {
    let Some(meta) = desk.session.get(key, joined)? else { return Ok(SetOutcome::NotStored) };
    if version_of(&meta, desk)? != version {
        return Ok(SetOutcome::Exists);
    }
    let (len, limit) = (joined.len() + value.len(), desk.shared.settings.item_bytes);
    if len > limit {
        return Err(Error::ValueTooLarge { engine: desk.session.engine(), len, limit });
    }
    let place = if mode == SetMode::Prepend { 0 } else { joined.len() };
    joined.splice(place..place, value.iter().copied());
    let options = kept(&meta, version, desk)?;
    Ok(match desk.session.set(key, joined, &options)? {
        // Somebody has removed the entry since it was read.
        SetOutcome::NotFound => SetOutcome::NotStored,
        outcome => outcome,
    })
}

/// Counts the number of an entry.
pub(crate) fn count(key: &[u8], count: Count, desk: &mut Desk) -> Result<CountOutcome, Error> {
    loop {
        let outcome = count_once(key, count, desk)?;
        // A client that names no version takes what another has left in between.
        if outcome != CountOutcome::Exists || count.version.is_some() {
            return Ok(outcome);
        }
    }
}

fn count_once(key: &[u8], count: Count, desk: &mut Desk) -> Result<CountOutcome, Error> {
    let mut text = std::mem::take(&mut desk.value);
    let found = desk.session.get(key, &mut text);
    let number = number_in(&text);
    desk.keep_buffer(text);
    let Some(meta) = found? else { return made(key, count, desk) };
    let there = version_of(&meta, desk)?;
    if count.version.is_some_and(|version| version != there) {
        return Ok(CountOutcome::Exists);
    }
    let Some(number) = number else {
        return Err(Error::NotANumber { engine: desk.session.engine() });
    };
    let number = count.delta.applied_to(number);
    let mut options = kept(&meta, there, desk)?;
    if let Some(exptime) = count.exptime {
        options.ttl = ttl_of(exptime);
    }
    let outcome = desk.session.set(key, number.to_string().as_bytes(), &options)?;
    Ok(counted(outcome, number))
}

/// Makes the entry of an absent key.
fn made(key: &[u8], count: Count, desk: &mut Desk) -> Result<CountOutcome, Error> {
    let Some(Initial { number, ttl }) = count.absent else { return Ok(CountOutcome::NotFound) };
    let ttl = count.exptime.map_or(ttl, ttl_of);
    let options = SetOptions { mode: SetMode::Add, ttl, flags: 0 };
    let outcome = desk.session.set(key, number.to_string().as_bytes(), &options)?;
    Ok(counted(outcome, number))
}

fn counted(outcome: SetOutcome, number: u64) -> CountOutcome {
    match outcome {
        SetOutcome::Stored(version) => CountOutcome::Counted(Counted { number, version }),
        SetOutcome::NotFound => CountOutcome::NotFound,
        // Somebody has made an entry since the key was absent.
        SetOutcome::NotStored | SetOutcome::Exists => CountOutcome::Exists,
    }
}

/// The number below 2^64 that a value spells in digits.
fn number_in(value: &[u8]) -> Option<u64> {
    // `parse` alone would take a sign.
    let digits = value.first().is_some_and(u8::is_ascii_digit);
    digits.then(|| str::from_utf8(value).ok()?.parse().ok())?
}

fn version_of(meta: &Meta, desk: &Desk) -> Result<u64, Error> {
    meta.version.ok_or_else(|| desk.unsupported(BY_VERSION))
}

/// The options of a set that keeps the flags and the end of the entry with this version.
fn kept(meta: &Meta, version: u64, desk: &Desk) -> Result<SetOptions, Error> {
    let ttl = match meta.ttl {
        Remaining::Forever => None,
        Remaining::For(left) => Some(left),
        Remaining::Unknown => return Err(desk.unsupported(BY_VERSION)),
    };
    Ok(SetOptions { mode: SetMode::Cas(version), ttl, flags: meta.flags })
}
