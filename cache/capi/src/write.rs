//! Writes: values, numbers, TTLs and removals.

use std::ffi::c_void;

use larder::{DeleteOutcome, Delta, Initial, SetOutcome};

use crate::border::{Done, Failure, array, given, places, tell};
use crate::code::{
    LARDER_ADD, LARDER_APPEND, LARDER_CAS, LARDER_E_NO_ANSWER, LARDER_EXISTS, LARDER_FOREVER,
    LARDER_NOT_FOUND, LARDER_OK, LARDER_PREPEND, LARDER_REPLACE, LARDER_SET, LARDER_UNKNOWN,
};
use crate::read::all;
use crate::session::{SessionHandle, call};
use crate::types::{Bytes, InitialNumber, Outcome, PutEntry, found, lifetime};

/// Stores a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_set(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    ttl_ms: i64,
    flags: u32,
    version: *mut u64,
) -> i32 {
    let (key, value) = (Bytes { data: key, len: key_len }, Bytes { data: value, len: value_len });
    let entry = PutEntry { key, value, ttl_ms, version: 0, flags, mode: LARDER_SET };
    // SAFETY: the rules of larder.h.
    unsafe { put(session, entry, version) }
}

/// Stores a value where the key is absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_add(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    ttl_ms: i64,
    flags: u32,
    version: *mut u64,
) -> i32 {
    let (key, value) = (Bytes { data: key, len: key_len }, Bytes { data: value, len: value_len });
    let entry = PutEntry { key, value, ttl_ms, version: 0, flags, mode: LARDER_ADD };
    // SAFETY: the rules of larder.h.
    unsafe { put(session, entry, version) }
}

/// Stores a value where the key exists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_replace(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    ttl_ms: i64,
    flags: u32,
    version: *mut u64,
) -> i32 {
    let (key, value) = (Bytes { data: key, len: key_len }, Bytes { data: value, len: value_len });
    let entry = PutEntry { key, value, ttl_ms, version: 0, flags, mode: LARDER_REPLACE };
    // SAFETY: the rules of larder.h.
    unsafe { put(session, entry, version) }
}

/// Stores a value where the entry has a version.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_cas(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    ttl_ms: i64,
    flags: u32,
    expected: u64,
    version: *mut u64,
) -> i32 {
    let key = Bytes { data: key, len: key_len };
    let value = Bytes { data: value, len: value_len };
    let entry = PutEntry { key, value, ttl_ms, version: expected, flags, mode: LARDER_CAS };
    // SAFETY: the rules of larder.h.
    unsafe { put(session, entry, version) }
}

/// Puts bytes behind the value of a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_append(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    version: *mut u64,
) -> i32 {
    let (key, value) = (Bytes { data: key, len: key_len }, Bytes { data: value, len: value_len });
    // SAFETY: the rules of larder.h.
    unsafe { put(session, lengthened(key, value, LARDER_APPEND), version) }
}

/// Puts bytes before the value of a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_prepend(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    version: *mut u64,
) -> i32 {
    let (key, value) = (Bytes { data: key, len: key_len }, Bytes { data: value, len: value_len });
    // SAFETY: the rules of larder.h.
    unsafe { put(session, lengthened(key, value, LARDER_PREPEND), version) }
}

/// An entry whose flags and TTL stay.
fn lengthened(key: Bytes, value: Bytes, mode: u32) -> PutEntry {
    PutEntry { key, value, ttl_ms: LARDER_FOREVER, version: 0, flags: 0, mode }
}

/// Stores an entry, and tells its version.
///
/// # Safety
///
/// As [`call`] and [`PutEntry::get`]; `version` is null, or room for a number.
unsafe fn put(session: *mut SessionHandle, entry: PutEntry, version: *mut u64) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        tell(version, LARDER_UNKNOWN);
        call(session, |open| {
            let put = entry.get()?;
            let outcome: Outcome = open.session.set(put.key, put.value, &put.options)?.into();
            tell(version, outcome.version);
            Ok(outcome.code)
        })
    }
}

/// Stores many entries at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_set_many(
    session: *mut SessionHandle,
    entries: *const PutEntry,
    count: usize,
    outcomes: *mut Outcome,
) -> i32 {
    // SAFETY: the rules of larder.h.
    unsafe {
        call(session, |open| {
            let outcomes = places(outcomes, count, Outcome::NONE, "outcomes")?;
            let entries = array(entries, count, "entries")?.iter().map(|entry| entry.get());
            let entries = entries.collect::<Result<Vec<_>, _>>()?;
            let mut first = None;
            open.session.set_many(&entries, &mut |i, outcome| {
                outcomes[i] = outcome_of(outcome, &mut first);
            })?;
            first.map_or(Ok(LARDER_OK), Err)
        })
    }
}

/// Keeps the first failure of a batch, whose message is that of the call; returns the code of this one.
pub(crate) fn keep_first(first: &mut Option<Failure>, error: larder::Error) -> i32 {
    let failure = Failure::from(error);
    let code = failure.code;
    first.get_or_insert(failure);
    code
}

/// The outcome of one entry of a batch.
pub(crate) fn outcome_of(
    outcome: larder::Result<SetOutcome>,
    first: &mut Option<Failure>,
) -> Outcome {
    match outcome {
        Ok(outcome) => outcome.into(),
        Err(error) => Outcome { code: keep_first(first, error), ..Outcome::NONE },
    }
}

/// Adds to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_incr(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    delta: u64,
    absent: *const InitialNumber,
    number: *mut u64,
) -> i32 {
    let key = Bytes { data: key, len: key_len };
    // SAFETY: the rules of larder.h.
    unsafe { count(session, key, Delta::Up(delta), absent, number) }
}

/// Takes from a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_decr(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    delta: u64,
    absent: *const InitialNumber,
    number: *mut u64,
) -> i32 {
    let key = Bytes { data: key, len: key_len };
    // SAFETY: the rules of larder.h.
    unsafe { count(session, key, Delta::Down(delta), absent, number) }
}

/// Changes a number, and tells the new one.
///
/// # Safety
///
/// As [`call`] and [`Bytes::get`]; `absent` is null or a number, and `number` is null or room for one.
unsafe fn count(
    session: *mut SessionHandle,
    key: Bytes,
    delta: Delta,
    absent: *const InitialNumber,
    number: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        call(session, |open| {
            let absent = if absent.is_null() {
                None
            } else {
                let absent = given(absent, "absent")?;
                Some(Initial { number: absent.number, ttl: lifetime(absent.ttl_ms)? })
            };
            let counted = open.session.incr(key.get("key")?, delta, absent)?;
            let Some(counted) = counted else { return Ok(LARDER_NOT_FOUND) };
            tell(number, counted.number);
            Ok(LARDER_OK)
        })
    }
}

/// Gives a key a new TTL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_touch(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    ttl_ms: i64,
) -> i32 {
    let key = Bytes { data: key, len: key_len };
    // SAFETY: the rules of larder.h.
    unsafe { call(session, |open| found(open.session.touch(key.get("key")?, lifetime(ttl_ms)?)?)) }
}

/// Removes a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_delete(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
) -> i32 {
    let key = Bytes { data: key, len: key_len };
    // SAFETY: the rules of larder.h.
    unsafe { call(session, |open| found(open.session.delete(key.get("key")?)?)) }
}

/// Removes a key where its entry has a version.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_delete_if(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    version: u64,
) -> i32 {
    let key = Bytes { data: key, len: key_len };
    // SAFETY: the rules of larder.h.
    unsafe {
        call(session, |open| {
            Ok(match open.session.delete_if(key.get("key")?, version)? {
                DeleteOutcome::Deleted => LARDER_OK,
                DeleteOutcome::Exists => LARDER_EXISTS,
                DeleteOutcome::NotFound => LARDER_NOT_FOUND,
            })
        })
    }
}

/// Removes many keys at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_delete_many(
    session: *mut SessionHandle,
    keys: *const Bytes,
    count: usize,
    codes: *mut i32,
) -> i32 {
    // SAFETY: the rules of larder.h.
    unsafe {
        call(session, |open| {
            let codes = places(codes, count, LARDER_E_NO_ANSWER, "codes")?;
            let keys = all(array(keys, count, "keys")?)?;
            let mut first = None;
            open.session.delete_many(&keys, &mut |i, deleted| {
                codes[i] = match deleted {
                    Ok(true) => LARDER_OK,
                    Ok(false) => LARDER_NOT_FOUND,
                    Err(error) => keep_first(&mut first, error),
                };
            })?;
            first.map_or(Ok(LARDER_OK), Err)
        })
    }
}

/// Removes every entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_clear(session: *mut SessionHandle) -> i32 {
    // SAFETY: the rules of larder.h.
    unsafe {
        call(session, |open| -> Done {
            open.session.clear()?;
            Ok(LARDER_OK)
        })
    }
}
