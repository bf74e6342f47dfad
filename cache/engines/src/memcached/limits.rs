//! The limits of requests, which are checked before anything is sent.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use larder_protocol::key::{self, KeyFault};
use larder_protocol::storage::{StorageMode, StorageRequest};
use larder_protocol::ttl::{LONGEST_RELATIVE, exptime};
use larder_store::{Error, Put, Result, SetMode};

use super::SCHEME;
use super::store::Shared;

/// The longest value whose length the server reads correctly: it reads 31 bits. After a longer number it would read the
/// value as commands.
pub(super) const LONGEST_SENT: usize = i32::MAX as usize - 2;

/// A date that has passed: the first number that is not a number of seconds from now.
const LONG_AGO: i64 = LONGEST_RELATIVE.cast_signed() + 1;

impl Shared {
    /// Refuses a key that the servers do not take.
    #[inline]
    pub(super) fn check(&self, key: &[u8]) -> Result<()> {
        let limit = self.abilities().max_key_len;
        let fault = if key.len() > limit { Err(KeyFault::TooLong) } else { key::check(key) };
        fault.map_err(|fault| refused(key, limit, fault))
    }

    /// The request for an entry.
    pub(super) fn storage_request<'e>(&self, entry: &Put<'e>) -> Result<StorageRequest<'e>> {
        let Put { key, value, options } = *entry;
        self.check(key)?;
        let (mode, keeps_attributes) = match options.mode {
            SetMode::Set => (StorageMode::Set, false),
            SetMode::Add => (StorageMode::Add, false),
            SetMode::Replace => (StorageMode::Replace, false),
            SetMode::Append => (StorageMode::Append, true),
            SetMode::Prepend => (StorageMode::Prepend, true),
            SetMode::Cas(version) => {
                able(self.has_versions(), "cas")?;
                (StorageMode::Cas(version), false)
            }
        };
        let (flags, exptime) = if keeps_attributes {
            able(self.abilities().append, "append")?;
            (0, 0)
        } else {
            (options.flags, self.exptime(options.ttl)?)
        };
        Ok(StorageRequest { key, len: value.len(), flags, exptime, mode })
    }

    /// A TTL as a number for the server.
    pub(super) fn exptime(&self, ttl: Option<Duration>) -> Result<i64> {
        let abilities = self.abilities();
        able(abilities.ttl || ttl.is_none(), "a TTL")?;
        let number = exptime(ttl, unix_now_s);
        Ok(if number < 0 && !abilities.negative_ttl { LONG_AGO } else { number })
    }

    /// The error of a value that is too long to be sent.
    pub(super) fn too_large(&self, len: usize) -> Error {
        self.terms().too_large(len)
    }
}

/// Refuses an operation that the server does not have.
pub(super) fn able(is_able: bool, operation: &'static str) -> Result<()> {
    if is_able { Ok(()) } else { Err(Error::Unsupported { engine: SCHEME, operation }) }
}

#[cold]
fn refused(key: &[u8], limit: usize, fault: KeyFault) -> Error {
    let reason = match fault {
        KeyFault::TooLong => {
            return Error::KeyTooLong { engine: SCHEME, len: key.len(), limit };
        }
        KeyFault::Empty => "it is empty",
        KeyFault::Blank => "it has a blank or a control character; memcached takes neither",
    };
    Error::InvalidKey { engine: SCHEME, reason }
}

fn unix_now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}
