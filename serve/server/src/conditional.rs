//! Changes that stores have no call for: a join or a count on condition of a version, and a count with a new end.
//!
//! The entry is read, and its new value is set on condition of the version that was read. So the change is atomic. The TTL is
//! set again with it, and may move by a step of the store's clock.

use larder_store::{
    Counted, Delta, Error, Initial, Meta, Remaining, SetMode, SetOptions, SetOutcome,
};

use crate::context::{Context, ttl_of};

/// The operation that stores have for a set and a delete alone.
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
pub(crate) struct ConditionalCount {
    pub(crate) delta: Delta,
    /// The version that the entry must have.
    pub(crate) version: Option<u64>,
    /// The entry that an absent key gets. It has no version to compare.
    pub(crate) absent: Option<Initial>,
    /// The new TTL as on the wire; `None` keeps the old one.
    pub(crate) exptime: Option<i64>,
}

/// Puts a value behind or before that of the entry with this version.
pub(crate) fn join(
    key: &[u8],
    value: &[u8],
    mode: SetMode,
    version: u64,
    context: &mut Context,
) -> Result<SetOutcome, Error> {
    let mut joined = std::mem::take(&mut context.value);
    let outcome = join_in(&mut joined, key, value, mode, version, context);
    context.keep_buffer(joined);
    outcome
}

fn join_in(
    joined: &mut Vec<u8>,
    key: &[u8],
    value: &[u8],
    mode: SetMode,
    version: u64,
    context: &mut Context,
) -> Result<SetOutcome, Error> {
    let Some(meta) = context.session.get(key, joined)? else { return Ok(SetOutcome::NotStored) };
    if version_of(&meta, context)? != version {
        return Ok(SetOutcome::Exists);
    }
    let (len, limit) = (joined.len() + value.len(), context.shared.settings.item_bytes);
    if len > limit {
        return Err(Error::ValueTooLarge { engine: context.session.engine(), len, limit });
    }
    let place = if mode == SetMode::Prepend { 0 } else { joined.len() };
    joined.splice(place..place, value.iter().copied());
    let options = keeping(&meta, version, context)?;
    Ok(match context.session.set(key, joined, &options)? {
        // Another client has removed the entry since it was read.
        SetOutcome::NotFound => SetOutcome::NotStored,
        outcome => outcome,
    })
}

/// Counts the number of an entry.
pub(crate) fn count(
    key: &[u8],
    count: ConditionalCount,
    context: &mut Context,
) -> Result<CountOutcome, Error> {
    loop {
        let outcome = count_once(key, count, context)?;
        // Another client has changed the entry in between. Without a version this one counts on with the new value.
        if outcome != CountOutcome::Exists || count.version.is_some() {
            return Ok(outcome);
        }
    }
}

fn count_once(
    key: &[u8],
    count: ConditionalCount,
    context: &mut Context,
) -> Result<CountOutcome, Error> {
    let mut text = std::mem::take(&mut context.value);
    let found = context.session.get(key, &mut text);
    let number = number_in(&text);
    context.keep_buffer(text);
    let Some(meta) = found? else { return create(key, count, context) };
    let current = version_of(&meta, context)?;
    if count.version.is_some_and(|version| version != current) {
        return Ok(CountOutcome::Exists);
    }
    let Some(number) = number else {
        return Err(Error::NotANumber { engine: context.session.engine() });
    };
    let number = count.delta.applied_to(number);
    let mut options = keeping(&meta, current, context)?;
    if let Some(exptime) = count.exptime {
        options.ttl = ttl_of(exptime);
    }
    let outcome = context.session.set(key, number.to_string().as_bytes(), &options)?;
    Ok(outcome_of(outcome, number))
}

/// Creates the entry of an absent key.
fn create(
    key: &[u8],
    count: ConditionalCount,
    context: &mut Context,
) -> Result<CountOutcome, Error> {
    let Some(Initial { number, ttl }) = count.absent else { return Ok(CountOutcome::NotFound) };
    let ttl = count.exptime.map_or(ttl, ttl_of);
    let options = SetOptions { mode: SetMode::Add, ttl, flags: 0 };
    let outcome = context.session.set(key, number.to_string().as_bytes(), &options)?;
    Ok(outcome_of(outcome, number))
}

fn outcome_of(outcome: SetOutcome, number: u64) -> CountOutcome {
    match outcome {
        SetOutcome::Stored(version) => CountOutcome::Counted(Counted { number, version }),
        SetOutcome::NotFound => CountOutcome::NotFound,
        // Another client has stored an entry since the key was absent.
        SetOutcome::NotStored | SetOutcome::Exists => CountOutcome::Exists,
    }
}

/// The number below 2^64 that a value spells in digits.
fn number_in(value: &[u8]) -> Option<u64> {
    // `parse` alone would take a sign.
    let digits = value.first().is_some_and(u8::is_ascii_digit);
    digits.then(|| str::from_utf8(value).ok()?.parse().ok())?
}

fn version_of(meta: &Meta, context: &Context) -> Result<u64, Error> {
    meta.version.ok_or_else(|| context.unsupported(BY_VERSION))
}

/// The options of a set that keeps the flags and the end of the entry with this version.
fn keeping(meta: &Meta, version: u64, context: &Context) -> Result<SetOptions, Error> {
    let ttl = match meta.ttl {
        Remaining::Forever => None,
        Remaining::For(left) => Some(left),
        Remaining::Unknown => return Err(context.unsupported(BY_VERSION)),
    };
    Ok(SetOptions { mode: SetMode::Cas(version), ttl, flags: meta.flags })
}
