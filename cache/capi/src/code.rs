//! The codes that functions return, and other constants of the header. Their values are published, and never change.

use larder::Error;

/// Done: found, stored, counted, removed.
pub const LARDER_OK: i32 = 0;
/// The key is absent.
pub const LARDER_NOT_FOUND: i32 = 1;
/// The condition of an `add`, `replace`, `append` or `prepend` did not hold, or a token was void.
pub const LARDER_NOT_STORED: i32 = 2;
/// The entry has another version.
pub const LARDER_EXISTS: i32 = 3;
/// The value is longer than the caller's buffer.
pub const LARDER_TOO_SMALL: i32 = 4;
/// This caller is to load the value.
pub const LARDER_LOAD: i32 = 5;
/// Another caller loads the value.
pub const LARDER_WAIT: i32 = 6;

/// An argument is null, too long, or outside its range.
pub const LARDER_E_ARGUMENT: i32 = -1;
/// A fault in Larder, which has ended the session.
pub const LARDER_E_PANIC: i32 = -2;
/// The key is longer than the engine takes.
pub const LARDER_E_KEY_TOO_LONG: i32 = -3;
/// The engine does not take this key.
pub const LARDER_E_INVALID_KEY: i32 = -4;
/// The value is larger than the engine takes.
pub const LARDER_E_VALUE_TOO_LARGE: i32 = -5;
/// The store has no room.
pub const LARDER_E_FULL: i32 = -6;
/// Stored data differs from the written data.
pub const LARDER_E_CORRUPTED: i32 = -7;
/// Another session holds a lock that is needed.
pub const LARDER_E_BUSY: i32 = -8;
/// No answer came in time.
pub const LARDER_E_TIMEOUT: i32 = -9;
/// The store is not there.
pub const LARDER_E_UNAVAILABLE: i32 = -10;
/// The store was opened before a fork.
pub const LARDER_E_FORKED: i32 = -11;
/// The engine has no such operation.
pub const LARDER_E_UNSUPPORTED: i32 = -12;
/// The value is not a number.
pub const LARDER_E_NOT_A_NUMBER: i32 = -13;
/// The URL names an engine that this build does not have.
pub const LARDER_E_UNKNOWN_SCHEME: i32 = -14;
/// The URL cannot be read.
pub const LARDER_E_INVALID_URL: i32 = -15;
/// An option of the URL is unknown, or has a value outside its range.
pub const LARDER_E_INVALID_OPTIONS: i32 = -16;
/// A server broke its protocol, or named an error.
pub const LARDER_E_PROTOCOL: i32 = -17;
/// The system refused an operation on a file or a socket.
pub const LARDER_E_IO: i32 = -18;
/// The batch failed before this entry had an answer.
pub const LARDER_E_NO_ANSWER: i32 = -19;
/// An error of another kind.
pub const LARDER_E_OTHER: i32 = -20;

/// A TTL: the entry has no end.
pub const LARDER_FOREVER: i64 = -1;
/// A TTL that the engine does not report.
pub const LARDER_TTL_UNKNOWN: i64 = -2;
/// A version or a counter that the engine does not tell.
pub const LARDER_UNKNOWN: u64 = u64::MAX;

/// A put in any case.
pub const LARDER_SET: u32 = 0;
/// A put only where the key is absent.
pub const LARDER_ADD: u32 = 1;
/// A put only where the key exists.
pub const LARDER_REPLACE: u32 = 2;
/// A put only where the entry has the given version.
pub const LARDER_CAS: u32 = 3;
/// A put behind the existing value.
pub const LARDER_APPEND: u32 = 4;
/// A put before the existing value.
pub const LARDER_PREPEND: u32 = 5;

/// The code of an error.
pub(crate) fn of(error: &Error) -> i32 {
    match error {
        Error::KeyTooLong { .. } => LARDER_E_KEY_TOO_LONG,
        Error::InvalidKey { .. } => LARDER_E_INVALID_KEY,
        Error::ValueTooLarge { .. } => LARDER_E_VALUE_TOO_LARGE,
        Error::Full { .. } => LARDER_E_FULL,
        Error::Corrupted { .. } => LARDER_E_CORRUPTED,
        Error::Busy { .. } => LARDER_E_BUSY,
        Error::Timeout { .. } => LARDER_E_TIMEOUT,
        Error::Unavailable { .. } => LARDER_E_UNAVAILABLE,
        Error::Forked { .. } => LARDER_E_FORKED,
        Error::Unsupported { .. } => LARDER_E_UNSUPPORTED,
        Error::NotANumber { .. } => LARDER_E_NOT_A_NUMBER,
        Error::UnknownScheme { .. } => LARDER_E_UNKNOWN_SCHEME,
        Error::InvalidUrl { .. } => LARDER_E_INVALID_URL,
        Error::InvalidOptions { .. } | Error::SizeTooSmall { .. } => LARDER_E_INVALID_OPTIONS,
        Error::Protocol { .. } => LARDER_E_PROTOCOL,
        Error::Io { .. } => LARDER_E_IO,
        _ => LARDER_E_OTHER,
    }
}
