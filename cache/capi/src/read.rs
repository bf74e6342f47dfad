//! Reads: one value into the caller's buffer, and many at once.

use std::ffi::c_void;
use std::ops::Range;

use larder::Meta;

use crate::border::{Done, Failure, array, places, tell};
use crate::code::{LARDER_E_ARGUMENT, LARDER_NOT_FOUND, LARDER_OK, LARDER_TOO_SMALL};
use crate::session::{SessionHandle, call};
use crate::types::{Bytes, Entry, Metadata, Reader, lifetime};

/// The caller's places for a value.
struct Place {
    value: *mut c_void,
    capacity: usize,
    value_len: *mut usize,
    meta: *mut Metadata,
}

impl Place {
    /// Copies the value of a hit. A value that is too long is not copied.
    ///
    /// # Safety
    ///
    /// Each pointer is null, or room for what it names.
    unsafe fn put(&self, value: &[u8], hit: Option<Meta>) -> Done {
        // SAFETY: the caller's promise.
        unsafe {
            tell(self.value_len, if hit.is_some() { value.len() } else { 0 });
            let Some(meta) = hit else { return Ok(LARDER_NOT_FOUND) };
            tell(self.meta, meta.into());
            if value.len() > self.capacity {
                return Ok(LARDER_TOO_SMALL);
            }
            if value.is_empty() {
                return Ok(LARDER_OK);
            }
            if self.value.is_null() {
                let message = format!("`value` is null, and its capacity is {}", self.capacity);
                return Err(Failure::argument(message));
            }
            self.value.cast::<u8>().copy_from_nonoverlapping(value.as_ptr(), value.len());
            Ok(LARDER_OK)
        }
    }
}

/// Reads a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_get(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    value: *mut c_void,
    capacity: usize,
    value_len: *mut usize,
    meta: *mut Metadata,
) -> i32 {
    let key = Bytes { data: key, len: key_len };
    let place = Place { value, capacity, value_len, meta };
    // SAFETY: the rules of larder.h.
    unsafe {
        call(session, |open| {
            let hit = open.session.get(key.get("key")?, open.values)?;
            place.put(open.values, hit)
        })
    }
}

/// Reads a value into the place of a reader. In languages where each argument costs, this is the cheaper call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_read(
    reader: *mut Reader,
    key: *const c_void,
    key_len: usize,
) -> i32 {
    // SAFETY: the rules of larder.h: null, or the caller's structure.
    unsafe {
        let Some(reader) = reader.as_mut() else { return LARDER_E_ARGUMENT };
        let (value_len, meta) = (&raw mut reader.value_len, &raw mut reader.meta);
        larder_get(reader.session, key, key_len, reader.value, reader.capacity, value_len, meta)
    }
}

/// Reads a value, and gives its entry a new TTL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_get_and_touch(
    session: *mut SessionHandle,
    key: *const c_void,
    key_len: usize,
    ttl_ms: i64,
    value: *mut c_void,
    capacity: usize,
    value_len: *mut usize,
    meta: *mut Metadata,
) -> i32 {
    let key = Bytes { data: key, len: key_len };
    let place = Place { value, capacity, value_len, meta };
    // SAFETY: the rules of larder.h.
    unsafe {
        call(session, |open| {
            let (key, ttl) = (key.get("key")?, lifetime(ttl_ms)?);
            let hit = open.session.get_and_touch(key, ttl, open.values)?;
            place.put(open.values, hit)
        })
    }
}

/// Reads many values at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_get_many(
    session: *mut SessionHandle,
    keys: *const Bytes,
    count: usize,
    entries: *mut Entry,
) -> i32 {
    // SAFETY: the rules of larder.h.
    unsafe {
        call(session, |open| {
            let entries = places(entries, count, Entry::NONE, "entries")?;
            let keys = all(array(keys, count, "keys")?)?;
            open.values.clear();
            let (values, mut hits) = (&mut *open.values, Vec::with_capacity(count));
            let asked = open.session.get_many(&keys, &mut |i, value, meta| {
                hits.push((i, append(values, value), meta));
            });
            // The buffer has its place now, so pointers into it stay right.
            for (i, range, meta) in hits {
                let value = Bytes::of(&values[range]);
                entries[i] = Entry { code: LARDER_OK, value, meta: meta.into() };
            }
            asked?;
            let missed = entries.iter_mut().filter(|entry| entry.code != LARDER_OK);
            missed.for_each(|entry| entry.code = LARDER_NOT_FOUND);
            Ok(LARDER_OK)
        })
    }
}

/// The caller's keys.
///
/// # Safety
///
/// As for [`Bytes::get`] of each.
pub(crate) unsafe fn all<'a>(keys: &[Bytes]) -> Result<Vec<&'a [u8]>, Failure> {
    // SAFETY: the caller's promise.
    keys.iter().map(|key| unsafe { key.get("key") }).collect()
}

/// Puts a value behind the others, and returns its place.
pub(crate) fn append(values: &mut Vec<u8>, value: &[u8]) -> Range<usize> {
    let begin = values.len();
    values.extend_from_slice(value);
    begin..values.len()
}
