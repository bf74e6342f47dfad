//! The structures of the header.

use std::ffi::c_void;
use std::time::Duration;

use larder::{Meta, Put, Remaining, SetMode, SetOptions, SetOutcome, Stats};

use crate::border::{Done, Failure, array};
use crate::code::{
    LARDER_ADD, LARDER_APPEND, LARDER_CAS, LARDER_E_NO_ANSWER, LARDER_EXISTS, LARDER_FOREVER,
    LARDER_NOT_FOUND, LARDER_NOT_STORED, LARDER_OK, LARDER_PREPEND, LARDER_REPLACE, LARDER_SET,
    LARDER_TTL_UNKNOWN, LARDER_UNKNOWN,
};
use crate::session::SessionHandle;

/// Bytes of the caller, or of a session.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Bytes {
    /// The first byte; may be null where there are none.
    pub data: *const c_void,
    /// The number of bytes.
    pub len: usize,
}

impl Bytes {
    /// No bytes.
    pub(crate) const NONE: Self = Self { data: std::ptr::null(), len: 0 };

    /// These bytes, whose owner keeps them.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr().cast(), len: bytes.len() }
    }

    /// The bytes.
    ///
    /// # Safety
    ///
    /// Unless `data` is null, it has `len` bytes, which nobody changes for `'a`.
    pub(crate) unsafe fn get<'a>(self, name: &str) -> Result<&'a [u8], Failure> {
        // SAFETY: the caller's promise.
        unsafe { array(self.data.cast(), self.len, name) }
    }
}

/// The metadata of an entry.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Metadata {
    /// Its version, or [`LARDER_UNKNOWN`].
    pub version: u64,
    /// The rest of its TTL in milliseconds, [`LARDER_FOREVER`] or [`LARDER_TTL_UNKNOWN`].
    pub ttl_ms: i64,
    /// The flags that it was stored with.
    pub flags: u32,
    /// 1 where the value is out of date, else 0.
    pub stale: u32,
}

impl Metadata {
    /// That of no entry.
    pub(crate) const NONE: Self =
        Self { version: LARDER_UNKNOWN, ttl_ms: LARDER_TTL_UNKNOWN, flags: 0, stale: 0 };
}

impl From<Meta> for Metadata {
    fn from(meta: Meta) -> Self {
        let ttl_ms = match meta.ttl {
            Remaining::Unknown => LARDER_TTL_UNKNOWN,
            Remaining::Forever => LARDER_FOREVER,
            Remaining::For(left) => i64::try_from(left.as_millis()).unwrap_or(i64::MAX),
        };
        let version = meta.version.unwrap_or(LARDER_UNKNOWN);
        Self { version, ttl_ms, flags: meta.flags, stale: meta.stale.into() }
    }
}

/// A session, and the place of the values that it reads.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    /// The session.
    pub session: *mut SessionHandle,
    /// Room for a value.
    pub value: *mut c_void,
    /// The size of the room.
    pub capacity: usize,
    /// The length of the last value.
    pub value_len: usize,
    /// The metadata of the last value.
    pub meta: Metadata,
}

/// The answer to one key of a batch.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its code.
    pub code: i32,
    /// Its value, which the session keeps until its next call.
    pub value: Bytes,
    /// Its metadata.
    pub meta: Metadata,
}

impl Entry {
    /// No answer yet.
    pub(crate) const NONE: Self =
        Self { code: LARDER_E_NO_ANSWER, value: Bytes::NONE, meta: Metadata::NONE };
}

/// An entry to store.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PutEntry {
    /// Its key.
    pub key: Bytes,
    /// Its value.
    pub value: Bytes,
    /// Its lifetime in milliseconds, or [`LARDER_FOREVER`].
    pub ttl_ms: i64,
    /// The version for [`LARDER_CAS`]; else it has no meaning.
    pub version: u64,
    /// A number for the caller's own use.
    pub flags: u32,
    /// The condition under which it is stored: [`LARDER_SET`] and so on.
    pub mode: u32,
}

impl PutEntry {
    /// The entry as the library takes it.
    ///
    /// # Safety
    ///
    /// As for [`Bytes::get`] of its key and value.
    pub(crate) unsafe fn get<'a>(&self) -> Result<Put<'a>, Failure> {
        let mode = match self.mode {
            LARDER_SET => SetMode::Set,
            LARDER_ADD => SetMode::Add,
            LARDER_REPLACE => SetMode::Replace,
            LARDER_CAS => SetMode::Cas(self.version),
            LARDER_APPEND => SetMode::Append,
            LARDER_PREPEND => SetMode::Prepend,
            other => {
                let message = format!("`mode` {other} > {LARDER_PREPEND}, the last mode");
                return Err(Failure::argument(message));
            }
        };
        let options = SetOptions { mode, ttl: lifetime(self.ttl_ms)?, flags: self.flags };
        // SAFETY: the caller's promise.
        let (key, value) = unsafe { (self.key.get("key")?, self.value.get("value")?) };
        Ok(Put { key, value, options })
    }
}

/// The outcome of one entry of a batch.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// Its code.
    pub code: i32,
    /// The version of the new entry, or [`LARDER_UNKNOWN`].
    pub version: u64,
}

impl Outcome {
    /// No answer yet.
    pub(crate) const NONE: Self = Self { code: LARDER_E_NO_ANSWER, version: LARDER_UNKNOWN };
}

impl From<SetOutcome> for Outcome {
    fn from(outcome: SetOutcome) -> Self {
        let (code, version) = match outcome {
            SetOutcome::Stored(version) => (LARDER_OK, version),
            SetOutcome::NotStored => (LARDER_NOT_STORED, None),
            SetOutcome::Exists => (LARDER_EXISTS, None),
            SetOutcome::NotFound => (LARDER_NOT_FOUND, None),
        };
        Self { code, version: version.unwrap_or(LARDER_UNKNOWN) }
    }
}

/// The number that an absent key gets.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct InitialNumber {
    /// The number.
    pub number: u64,
    /// Its lifetime in milliseconds, or [`LARDER_FOREVER`].
    pub ttl_ms: i64,
}

/// The right to fill a key.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LeaseToken {
    /// Its bytes, which only the store understands.
    pub bytes: [u8; larder::Token::LEN],
}

impl LeaseToken {
    pub(crate) fn get(self) -> larder::Token {
        larder::Token::from_bytes(self.bytes)
    }
}

/// The answer to a read that may lease.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LeasedEntry {
    /// Its code.
    pub code: i32,
    /// Its value, which the session keeps until its next call.
    pub value: Bytes,
    /// The metadata of the value.
    pub meta: Metadata,
    /// The token with which this caller fills the key.
    pub token: LeaseToken,
}

impl LeasedEntry {
    /// No answer yet.
    pub(crate) const NONE: Self = Self {
        code: LARDER_E_NO_ANSWER,
        value: Bytes::NONE,
        meta: Metadata::NONE,
        token: LeaseToken { bytes: [0; larder::Token::LEN] },
    };
}

/// Counters of a store; [`LARDER_UNKNOWN`] where the store does not tell.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StoreStats {
    /// Gets that found their key.
    pub hits: u64,
    /// Gets that did not.
    pub misses: u64,
    /// Values stored.
    pub sets: u64,
    /// Keys deleted.
    pub deletes: u64,
    /// Entries dropped to make room.
    pub evictions: u64,
    /// Entries dropped because their TTL had passed.
    pub expirations: u64,
    /// Entries held now.
    pub items: u64,
    /// Bytes that they take now.
    pub bytes: u64,
    /// Bytes that they may take.
    pub capacity_bytes: u64,
    /// Connections that the sessions of this store have opened.
    pub connections: u64,
    /// Requests that the sessions of this store have sent.
    pub requests_sent: u64,
}

impl From<Stats> for StoreStats {
    fn from(stats: Stats) -> Self {
        let told = |counter: Option<u64>| counter.unwrap_or(LARDER_UNKNOWN);
        Self {
            hits: told(stats.hits),
            misses: told(stats.misses),
            sets: told(stats.sets),
            deletes: told(stats.deletes),
            evictions: told(stats.evictions),
            expirations: told(stats.expirations),
            items: told(stats.items),
            bytes: told(stats.bytes),
            capacity_bytes: told(stats.capacity_bytes),
            connections: told(stats.connections),
            requests_sent: told(stats.requests_sent),
        }
    }
}

/// A lifetime in milliseconds; `None` is for ever.
pub(crate) fn lifetime(ttl_ms: i64) -> Result<Option<Duration>, Failure> {
    match u64::try_from(ttl_ms) {
        Ok(millis) => Ok(Some(Duration::from_millis(millis))),
        Err(_) if ttl_ms == LARDER_FOREVER => Ok(None),
        Err(_) => {
            let message =
                format!("a time of {ttl_ms} ms < 0; write LARDER_FOREVER for a time without end");
            Err(Failure::argument(message))
        }
    }
}

/// The code of a call that finds a key or does not.
#[expect(clippy::unnecessary_wraps, reason = "the end of calls that may fail")]
pub(crate) fn found(is_found: bool) -> Done {
    Ok(if is_found { LARDER_OK } else { LARDER_NOT_FOUND })
}
