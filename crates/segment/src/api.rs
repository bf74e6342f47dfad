//! The arguments and answers of a session.

use std::time::Duration;

use crate::namespace::Space;
use crate::partition::{Found, Moment};
use crate::record::kind;

/// The metadata of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The flags it was set with.
    pub flags: u32,
    /// Changes with every change of the entry.
    pub version: u64,
    /// How long it still lives; `None` is for ever.
    pub ttl: Option<Duration>,
    /// It was marked by [`Session::expire`](crate::Session::expire): its value is an old one, for who would rather have
    /// that than none.
    pub stale: bool,
}

/// How a value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Set {
    /// Under which condition.
    pub condition: Condition,
    /// For how long; `None` is for ever.
    pub ttl: Option<Duration>,
    /// A number for the client's own use.
    pub flags: u32,
}

/// Under which condition a value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Condition {
    /// In any case.
    #[default]
    None,
    /// Only where the key is absent.
    Absent,
    /// Only where it is there.
    Present,
    /// Only where it is there with this version.
    Version(u64),
    /// Behind the value that is there, whose flags and TTL stay.
    Append,
    /// Before the value that is there, whose flags and TTL stay.
    Prepend,
    /// Only where nobody has changed anything of the key since the token was taken.
    Unchanged(Token),
}

/// The outcome of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is there, with this version.
    Stored(u64),
    /// The condition did not hold.
    NotStored,
    /// It has another version.
    Exists,
    /// The key whose version was asked for is not there.
    NotFound,
}

/// The right to fill a key with what was loaded elsewhere, as long as nobody has changed it since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// The word of the key's changes.
    pub(crate) changes: u64,
    /// How often the region had been cleared, and the namespace, if the key is of one.
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
