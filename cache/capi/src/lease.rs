//! Leases: one caller loads an absent key, and fills it under a token. And entries that are marked as stale.

use std::ffi::c_void;
use std::time::Duration;

use larder::{Error, Fill, Leased, Leases, Session, SetMode};

use crate::border::{Failure, array, given, places, tell};
use crate::code::{LARDER_LOAD, LARDER_OK, LARDER_SET, LARDER_UNKNOWN, LARDER_WAIT};
use crate::read::{all, append};
use crate::session::{SessionHandle, call};
use crate::types::{Bytes, LeaseToken, LeasedEntry, Metadata, Outcome, PutEntry, found, lifetime};
use crate::write::{keep_first, outcome_of};

/// The session's leases, or the reason why it has none.
fn leases(session: &mut dyn Session) -> Result<&mut dyn Leases, Failure> {
    let engine = session.engine();
    session.leases().ok_or_else(|| Error::Unsupported { engine, operation: "leases" }.into())
}

/// The answer of the library as C has it.
fn answer(leased: Leased, value: &[u8]) -> LeasedEntry {
    let (code, meta, token) = match leased {
        Leased::Hit(meta) => (LARDER_OK, Some(meta), None),
        Leased::Load { token, stale } => (LARDER_LOAD, stale, Some(token)),
        Leased::Wait { stale } => (LARDER_WAIT, stale, None),
    };
    let mut entry = LeasedEntry { code, ..LeasedEntry::NONE };
    if let Some(meta) = meta {
        entry.value = Bytes::of(value);
        entry.meta = Metadata::from(meta);
        // An entry that one caller loads early counts as stale here, whether or not the engine has marked it.
        entry.meta.stale = u32::from(code != LARDER_OK);
    }
    if let Some(token) = token {
        entry.token = LeaseToken { bytes: token.to_bytes() };
    }
    entry
}

/// Reads a value, or gets the right to load it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_get_or_lease(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    lease_ms: u64,
    early_ms: u64,
    leased: *mut LeasedEntry,
) -> i32 {
    let key = Bytes { data: key, len: key_len };
    let (time, early) = (Duration::from_millis(lease_ms), Duration::from_millis(early_ms));
    // SAFETY: the rules of larder.h.
    unsafe {
        call(session, |open| {
            let [entry] = places(leased, 1, LeasedEntry::NONE, "leased")? else {
                return Ok(LARDER_OK);
            };
            let leases = leases(open.session)?;
            let told = leases.get_or_lease_early(key.get("key")?, open.values, time, early)?;
            *entry = answer(told, open.values);
            Ok(entry.code)
        })
    }
}

/// Reads many values, or gets the right to load them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_get_or_lease_many(
    session: *mut SessionHandle,
    keys: *const Bytes,
    count: usize,
    lease_ms: u64,
    early_ms: u64,
    entries: *mut LeasedEntry,
) -> i32 {
    let (time, early) = (Duration::from_millis(lease_ms), Duration::from_millis(early_ms));
    // SAFETY: the rules of larder.h.
    unsafe {
        call(session, |open| {
            let entries = places(entries, count, LeasedEntry::NONE, "entries")?;
            let keys = all(array(keys, count, "keys")?)?;
            open.values.clear();
            let (values, mut told, mut first) = (&mut *open.values, Vec::new(), None);
            let leases = leases(open.session)?;
            let asked =
                leases.get_or_lease_many(
                    &keys,
                    time,
                    early,
                    &mut |i, value, leased| match leased {
                        Ok(leased) => told.push((i, append(values, value), leased)),
                        Err(error) => entries[i].code = keep_first(&mut first, error),
                    },
                );
            // The buffer has its place now, so pointers into it stay right.
            for (i, range, leased) in told {
                entries[i] = answer(leased, &values[range]);
            }
            asked?;
            first.map_or(Ok(LARDER_OK), Err)
        })
    }
}

/// Stores a value that was loaded under a token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_fill(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    ttl_ms: i64,
    flags: u32,
    token: *const LeaseToken,
    version: *mut u64,
) -> i32 {
    let (key, value) = (Bytes { data: key, len: key_len }, Bytes { data: value, len: value_len });
    let entry = PutEntry { key, value, ttl_ms, version: 0, flags, mode: LARDER_SET };
    // SAFETY: the rules of larder.h.
    unsafe {
        tell(version, LARDER_UNKNOWN);
        call(session, |open| {
            let (put, token) = (entry.get()?, given(token, "token")?.get());
            let leases = leases(open.session)?;
            let outcome: Outcome = leases.fill(put.key, put.value, &put.options, &token)?.into();
            tell(version, outcome.version);
            Ok(outcome.code)
        })
    }
}

/// Stores many values that were loaded under tokens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_fill_many(
    session: *mut SessionHandle,
    entries: *const PutEntry,
    tokens: *const LeaseToken,
    count: usize,
    outcomes: *mut Outcome,
) -> i32 {
    // SAFETY: the rules of larder.h.
    unsafe {
        call(session, |open| {
            let outcomes = places(outcomes, count, Outcome::NONE, "outcomes")?;
            let tokens = array(tokens, count, "tokens")?;
            let entries = array(entries, count, "entries")?;
            let fills = entries.iter().zip(tokens).map(|(entry, token)| {
                let put = entry.get()?;
                if put.options.mode != SetMode::Set {
                    let message = format!("`mode` {} of a fill; write LARDER_SET", entry.mode);
                    return Err(Failure::argument(message));
                }
                Ok(Fill { put, token: token.get() })
            });
            let fills = fills.collect::<Result<Vec<_>, _>>()?;
            let mut first = None;
            leases(open.session)?.fill_many(&fills, &mut |i, outcome| {
                outcomes[i] = outcome_of(outcome, &mut first);
            })?;
            first.map_or(Ok(LARDER_OK), Err)
        })
    }
}

/// Ends a lease without a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_release(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    token: *const LeaseToken,
) -> i32 {
    let key = Bytes { data: key, len: key_len };
    // SAFETY: the rules of larder.h.
    unsafe {
        call(session, |open| {
            let (key, token) = (key.get("key")?, given(token, "token")?.get());
            found(leases(open.session)?.release(key, &token)?)
        })
    }
}

/// Marks an entry as stale, and makes all tokens of its key void.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_expire(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    keep_ms: i64,
) -> i32 {
    let key = Bytes { data: key, len: key_len };
    // SAFETY: the rules of larder.h.
    unsafe {
        call(session, |open| {
            let (key, keep) = (key.get("key")?, lifetime(keep_ms)?);
            found(leases(open.session)?.expire(key, keep)?)
        })
    }
}
