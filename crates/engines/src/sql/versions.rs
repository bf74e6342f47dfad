//! Versions for the entries that a session stores.

use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// Gives out versions: microseconds since 1970, then bits that tell sessions apart.
#[derive(Debug)]
pub(super) struct Versions {
    salt: u64,
}

impl Versions {
    const SALT_BITS: u32 = 11;

    pub(super) fn new() -> Self {
        let salt = RandomState::new().hash_one(std::process::id());
        Self { salt: salt >> (u64::BITS - Self::SALT_BITS) }
    }

    pub(super) fn next(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let micros = u64::try_from(since.as_micros()).unwrap_or_default();
        // 52 bits of microseconds last until 2112.
        i64::try_from(micros << Self::SALT_BITS | self.salt).unwrap_or(i64::MAX - 1)
    }
}
