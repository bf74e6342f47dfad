//! Leases, fill tokens and stale entries.

use std::time::Duration;

use larder_store::{Error, Leased, Leases, Meta, Session, SetOptions, SetOutcome, Token};
use libtest_mimic::Failed;

use super::expect::{ensure, ensure_eq, holds, lacks, same};

pub(super) mod batches;
pub(super) mod election;
pub(super) mod stale;
pub(super) mod tokens;

/// Longer than any case takes.
pub(super) const LONG: Duration = Duration::from_mins(5);

/// The interface of a session for leases, which its capabilities promise.
pub(super) fn leases(session: &mut dyn Session) -> larder_store::Result<&mut dyn Leases> {
    let engine = session.engine();
    session.leases().ok_or(Error::Unsupported { engine, operation: "leases" })
}

pub(super) fn ask(session: &mut dyn Session, key: &[u8], time: Duration) -> Result<Leased, Failed> {
    let mut value = b"left from before".to_vec();
    let leased = leases(session)?.get_or_lease(key, &mut value, time)?;
    let is_empty =
        matches!(leased, Leased::Load { stale: None, .. } | Leased::Wait { stale: None });
    ensure!(!is_empty || value.is_empty(), "{leased:?} left {} bytes in the buffer", value.len());
    Ok(leased)
}

/// The caller is told to load an absent key.
pub(super) fn loads(
    session: &mut dyn Session,
    key: &[u8],
    time: Duration,
) -> Result<Token, Failed> {
    match ask(session, key, time)? {
        Leased::Load { token, stale: None } => Ok(token),
        other => Err(format!("who should load is told {other:?}").into()),
    }
}

/// The caller is told to wait for an absent key.
pub(super) fn waits(session: &mut dyn Session, key: &[u8]) -> Result<(), Failed> {
    ensure_eq!(ask(session, key, LONG)?, Leased::Wait { stale: None }, "who should wait is told");
    Ok(())
}

/// What is asked for a stale value, which must come with the answer.
pub(super) fn ask_for_stale(
    session: &mut dyn Session,
    key: &[u8],
    wanted: &[u8],
    time: Duration,
) -> Result<(Option<Token>, Meta), Failed> {
    let mut value = b"left from before".to_vec();
    let leased = leases(session)?.get_or_lease(key, &mut value, time)?;
    let (token, meta) = match leased {
        Leased::Load { token, stale: Some(meta) } => (Some(token), meta),
        Leased::Wait { stale: Some(meta) } => (None, meta),
        other => return Err(format!("of a stale value the answer is {other:?}").into()),
    };
    same(key, &value, wanted)?;
    ensure!(meta.stale, "the stale value is not told to be stale");
    Ok((token, meta))
}

pub(super) fn fill(
    session: &mut dyn Session,
    key: &[u8],
    value: &[u8],
    token: &Token,
) -> Result<SetOutcome, Failed> {
    Ok(leases(session)?.fill(key, value, &SetOptions::default(), token)?)
}

/// A token that is void fills nothing, and leaves what is there.
pub(super) fn is_void(
    session: &mut dyn Session,
    key: &[u8],
    token: &Token,
    there: Option<&[u8]>,
    after: &str,
) -> Result<(), Failed> {
    let outcome = fill(session, key, b"loaded before", token)?;
    ensure_eq!(outcome, SetOutcome::NotStored, "a fill with a token from before {after}");
    match there {
        Some(value) => holds(session, key, value).map(drop),
        None => lacks(session, key),
    }
}

pub(super) fn expire(
    session: &mut dyn Session,
    key: &[u8],
    keep: Option<Duration>,
) -> Result<bool, Failed> {
    Ok(leases(session)?.expire(key, keep)?)
}
