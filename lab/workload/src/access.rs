//! The ways in which one operation uses a key.

use larder_store::{Operation, SetMode};

/// The use that an operation makes of its key, as a trace recorded it or as a phase draws it. An operation of a workload
/// may be made of several: a `get_many` is a get of each key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read.
    #[default]
    Get,
    /// Store.
    Set,
    /// Read, and store on a miss. Traces record it as two operations.
    GetOrSet,
    /// Remove.
    Delete,
    /// Renew the TTL.
    Touch,
    /// Count a number up by one.
    Incr,
    /// Count a number down by one.
    Decr,
}

/// What must be so for a store or a count to be carried out. Otherwise nothing is stored, and the operation counts as a
/// miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Condition {
    /// The key is absent: memcached's `add`.
    Absent,
    /// The key is present: memcached's `replace`.
    Present,
}

impl Condition {
    /// The way in which a store takes the condition.
    pub fn mode(self) -> SetMode {
        match self {
            Self::Absent => SetMode::Add,
            Self::Present => SetMode::Replace,
        }
    }
}

impl Access {
    /// Whether the use may leave another value, or none, under its key.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Get | Self::Touch)
    }

    /// The operation of a request for this key alone.
    pub fn operation(self) -> Operation {
        match self {
            Self::Get => Operation::Get,
            Self::Set => Operation::Set,
            Self::GetOrSet => Operation::GetOrSet,
            Self::Delete => Operation::Delete,
            Self::Touch => Operation::Touch,
            Self::Incr | Self::Decr => Operation::Incr,
        }
    }

    /// Whether the use counts a number.
    #[inline]
    pub fn counts(self) -> bool {
        matches!(self, Self::Incr | Self::Decr)
    }
}
