//! Numbers that are counted up and down.

use std::time::Duration;

/// The change of a number by [`Session::incr`](crate::Session::incr).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta {
    /// Adds this; the sum wraps at 2^64.
    Up(u64),
    /// Takes this away; the rest stops at 0.
    Down(u64),
}

impl Delta {
    /// The number after this change.
    pub fn applied_to(self, number: u64) -> u64 {
        match self {
            Self::Up(more) => number.wrapping_add(more),
            Self::Down(less) => number.saturating_sub(less),
        }
    }
}

/// The entry that [`Session::incr`](crate::Session::incr) makes of an absent key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Initial {
    /// Its number.
    pub number: u64,
    /// Its lifetime; `None` means for ever. Engines without [`Capabilities::ttl`](crate::Capabilities::ttl) refuse `Some`.
    pub ttl: Option<Duration>,
}

/// The result of [`Session::incr`](crate::Session::incr).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// The number that is stored now.
    pub number: u64,
    /// The version of the entry, where the engine has [versions](crate::Capabilities::version).
    pub version: Option<u64>,
}
