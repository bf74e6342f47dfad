//! The arguments and answers of a session.

use std::time::Duration;

use crate::namespace::Space;
use crate::partition::{Found, Moment};
use crate::record::kind;

/// The metadata of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The client's flags, as they were set.
    pub flags: u32,
    /// Changes with every change of the entry.
    pub version: u64,
    /// The remaining time to live; `None` is for ever.
    pub ttl: Option<Duration>,
    /// The entry was marked by [`Session::expire`](crate::Session::expire): its value is out of date, for callers that
    /// prefer an old value to no value.
    pub stale: bool,
}

/// The settings of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Set {
    /// The condition for storing the value.
    pub condition: Condition,
    /// The time to live; `None` is for ever.
    pub ttl: Option<Duration>,
    /// A number for the client's own use.
    pub flags: u32,
}

/// The condition under which a value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Condition {
    /// In any case.
    #[default]
    None,
    /// Only where the key is absent.
    Absent,
    /// Only where the key is present.
    Present,
    /// Only where the key is present with this version.
    Version(u64),
    /// Append to the present value; its flags and TTL stay.
    Append,
    /// Prepend to the present value; its flags and TTL stay.
    Prepend,
    /// Only where no session has changed the key since the token was taken.
    Unchanged(Token),
}

/// The outcome of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The value is stored, with this version.
    Stored(u64),
    /// The condition did not hold.
    NotStored,
    /// The entry has another version.
    Exists,
    /// The key is absent, though a version of it was named.
    NotFound,
}

/// The outcome of a delete on condition of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// The entry had this version and is gone.
    Removed,
    /// The entry has another version.
    Exists,
    /// The key is absent.
    NotFound,
}

/// The right to fill a key with a value that was loaded elsewhere, as long as no session has
/// changed the key since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// The word of the key's changes.
    pub(crate) changes: u64,
    /// The number of clears of the region so far, and the key's namespace, if it has one.
    pub(crate) cleared: u64,
    pub(crate) space: Space,
}

impl Entry {
    /// The metadata of a record that was found.
    #[inline]
    pub(crate) fn of(found: &Found, moment: Moment) -> Self {
        let header = found.header;
        Self {
            flags: header.flags,
            version: found.version,
            ttl: header.remaining(|| moment.now()),
            stale: header.kind & kind::STALE != 0,
        }
    }
}
