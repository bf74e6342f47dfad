//! The operations on a store that a workload lists and a report shows.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operation that a workload asks for and a cell measures.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Store a value.
    #[default]
    Set,
    /// Store many values in one request; counted in keys.
    SetMany,
    /// Read a value.
    Get,
    /// Read many keys in one request; counted in keys.
    GetMany,
    /// Read all keys of a group one by one; counted in keys, and timed as a group.
    GetEach,
    /// Read a group by its tag, in one request; counted in keys.
    GetTag,
    /// Read a value, and store it on a miss: the get and its fill are one operation.
    GetOrSet,
    /// Remove a value.
    Delete,
    /// Renew the TTL.
    Touch,
    /// Count a number up or down by one. Replays of traces have it alone.
    Incr,
}

impl Operation {
    /// Every operation, in the order of reports.
    pub const ALL: [Self; 10] = [
        Self::Set,
        Self::SetMany,
        Self::Get,
        Self::GetMany,
        Self::GetEach,
        Self::GetTag,
        Self::GetOrSet,
        Self::Delete,
        Self::Touch,
        Self::Incr,
    ];

    /// The name in a workload and in `run.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::SetMany => "set_many",
            Self::Get => "get",
            Self::GetMany => "get_many",
            Self::GetEach => "get_each",
            Self::GetTag => "get_tag",
            Self::GetOrSet => "get_or_set",
            Self::Delete => "delete",
            Self::Touch => "touch",
            Self::Incr => "incr",
        }
    }

    /// Whether it only stores, one value or many.
    pub fn only_stores(self) -> bool {
        matches!(self, Self::Set | Self::SetMany)
    }

    /// Whether it can store a value: each time, or after a miss.
    pub fn may_store(self) -> bool {
        self.only_stores() || self == Self::GetOrSet
    }

    /// Whether it reads: its operations are hits or misses.
    pub fn reads(self) -> bool {
        matches!(self, Self::Get | Self::GetOrSet | Self::GetMany | Self::GetEach | Self::GetTag)
    }

    /// Whether its answers have values, which are verified.
    pub fn is_verified(self) -> bool {
        self.reads() || self == Self::Incr
    }

    /// Whether it can find nothing under its key. Such an operation is answered, but has no effect.
    pub fn can_miss(self) -> bool {
        self.reads() || matches!(self, Self::Delete | Self::Touch | Self::Incr)
    }

    /// Whether each of its times is that of many keys. Its counts and rates are of keys.
    pub fn is_of_many_keys(self) -> bool {
        matches!(self, Self::SetMany | Self::GetMany | Self::GetEach | Self::GetTag)
    }

    /// The unit of a reported time.
    pub fn timed(self) -> &'static str {
        match self {
            Self::SetMany | Self::GetMany | Self::GetTag => "request",
            Self::GetEach => "group",
            _ => "operation",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
