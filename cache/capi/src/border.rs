//! The border between C and Rust: pointers are checked, panics end here, and errors become codes with a message.

use std::any::Any;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use larder::Error;

use crate::code::{self, LARDER_E_ARGUMENT, LARDER_E_PANIC};

/// A call that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: i32,
    pub(crate) message: String,
}

/// The code of a call that succeeded, or its failure.
pub(crate) type Done = Result<i32, Failure>;

impl Failure {
    /// The failure of an argument that the library cannot use.
    pub(crate) fn argument(message: String) -> Self {
        Self { code: LARDER_E_ARGUMENT, message }
    }

    fn null(name: &str) -> Self {
        Self::argument(format!("`{name}` is null"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { code: code::of(&error), message: error.to_string() }
    }
}

/// Does the work of a call; a panic is a failure.
///
/// What a panic may have left in disorder is not used again: a session without its store's session refuses all calls.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = format!("a fault in larder, please report it: {}", text(&*panic));
        Err(Failure { code: LARDER_E_PANIC, message })
    })
}

/// The message of a panic.
fn text(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// The caller's array. It may be null where it has no elements.
///
/// # Safety
///
/// Unless it is null, `data` has `count` elements, which nobody changes for `'a`.
pub(crate) unsafe fn array<'a, T>(
    data: *const T,
    count: usize,
    name: &str,
) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    check(data, count, name)?;
    // SAFETY: the caller's promise; it is neither null, nor unaligned, nor longer than an address can be.
    Ok(unsafe { slice::from_raw_parts(data, count) })
}

/// The caller's places for results, which get a first value: they may hold anything.
///
/// # Safety
///
/// Unless it is null, `data` is room for `count` elements, which nobody else uses for `'a`.
pub(crate) unsafe fn places<'a, T: Copy>(
    data: *mut T,
    count: usize,
    first: T,
    name: &str,
) -> Result<&'a mut [T], Failure> {
    if count == 0 {
        return Ok(&mut []);
    }
    check(data, count, name)?;
    // SAFETY: the caller's promise; the room is neither null, nor unaligned, nor longer than an address can be. Each
    // element is written before the slice is made.
    unsafe {
        (0..count).for_each(|i| data.add(i).write(first));
        Ok(slice::from_raw_parts_mut(data, count))
    }
}

/// Refuses a place of the caller that is null.
pub(crate) fn not_null<T>(place: *const T, name: &str) -> Result<(), Failure> {
    if place.is_null() { Err(Failure::null(name)) } else { Ok(()) }
}

/// Refuses an array that no slice can be.
fn check<T>(data: *const T, count: usize, name: &str) -> Result<(), Failure> {
    if data.is_null() {
        return Err(Failure::argument(format!("`{name}` is null, and its length is {count}")));
    }
    if !data.is_aligned() {
        return Err(Failure::argument(format!("`{name}` is not aligned")));
    }
    let limit = isize::MAX.unsigned_abs() / size_of::<T>();
    if count > limit {
        return Err(Failure::argument(format!("`{name}` has a length of {count} > {limit}")));
    }
    Ok(())
}

/// The caller's structure.
///
/// # Safety
///
/// Unless it is null, nobody changes it for `'a`.
pub(crate) unsafe fn given<'a, T>(data: *const T, name: &str) -> Result<&'a T, Failure> {
    if !data.is_aligned() {
        return Err(Failure::argument(format!("`{name}` is not aligned")));
    }
    // SAFETY: the caller's promise, and it is aligned.
    unsafe { data.as_ref() }.ok_or_else(|| Failure::null(name))
}

/// The caller's text.
///
/// # Safety
///
/// Unless it is null, it ends with a zero, and nobody changes it for `'a`.
pub(crate) unsafe fn string<'a>(data: *const c_char, name: &str) -> Result<&'a str, Failure> {
    if data.is_null() {
        return Err(Failure::null(name));
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(data) };
    text.to_str().map_err(|error| Failure::argument(format!("`{name}` is not UTF-8: {error}")))
}

/// Writes to the caller's place, unless the caller has no use for it.
///
/// # Safety
///
/// `place` is null, or room for a value.
pub(crate) unsafe fn tell<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's promise; the place need not be aligned.
        unsafe { place.write_unaligned(value) };
    }
}

/// Ends a call that has no session: its code, and its message in the caller's buffer.
///
/// # Safety
///
/// `message` is null, or room for `size` bytes.
pub(crate) unsafe fn end(done: Done, message: *mut c_char, size: usize) -> i32 {
    let (code, text) = match done {
        Ok(code) => (code, String::new()),
        Err(failure) => (failure.code, failure.message),
    };
    if message.is_null() || size == 0 {
        return code;
    }
    let fits = text.floor_char_boundary(size - 1);
    // SAFETY: the caller's promise; with its end, the text has at most `size` bytes.
    unsafe {
        message.copy_from_nonoverlapping(text.as_ptr().cast(), fits);
        message.add(fits).write(0);
    }
    code
}
