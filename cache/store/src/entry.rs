//! Entries: the options of a set, and the metadata that a read returns.

use std::time::Duration;

/// An entry to be stored by [`Session::set_many`](crate::Session::set_many).
#[derive(Debug, Clone, Copy)]
pub struct Put<'e> {
    /// Its key.
    pub key: &'e [u8],
    /// Its value.
    pub value: &'e [u8],
    /// The options of its set.
    pub options: SetOptions,
}

/// The outcome of a delete on condition of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// The entry had this version and is gone.
    Deleted,
    /// The entry has another version.
    Exists,
    /// The key does not exist.
    NotFound,
}

/// An entry without its value, as [`Session::look`](crate::Session::look) finds it. `None` is what the engine does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The metadata that a hit has.
    pub meta: Meta,
    /// Bytes of the value.
    pub value_len: usize,
    /// The time since the entry was stored.
    pub age: Option<Duration>,
    /// The time since the entry was last read or changed.
    pub idle: Option<Duration>,
    /// Whether the entry was read since it was stored.
    pub was_hit: Option<bool>,
}

impl Facts {
    /// The facts that any hit reports.
    pub fn of(meta: Meta, value_len: usize) -> Self {
        Self { meta, value_len, age: None, idle: None, was_hit: None }
    }
}

/// The metadata of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Meta {
    /// The flags that the entry was set with; 0 where the engine keeps no flags.
    pub flags: u32,
    /// A number that changes with every change of the entry; [`SetMode::Cas`] takes this number.
    /// It is below 2^63: clients of memcached do not take every longer number.
    pub version: Option<u64>,
    /// The remaining lifetime of the entry.
    pub ttl: Remaining,
    /// The value is out of date, and was kept for callers that prefer an old value to no value.
    pub stale: bool,
}

/// The remaining lifetime of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Remaining {
    /// The engine does not report it.
    #[default]
    Unknown,
    /// The entry has no TTL.
    Forever,
    /// This long, at the time of the answer.
    For(Duration),
}

impl Remaining {
    /// Whether the entry is known to end within this time. It never does within no time.
    pub fn ends_within(self, time: Duration) -> bool {
        !time.is_zero() && matches!(self, Self::For(left) if left <= time)
    }
}

/// The options of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetOptions {
    /// The condition under which the value is stored.
    pub mode: SetMode,
    /// The lifetime of the entry; `None` means for ever. Engines without [`Capabilities::ttl`](crate::Capabilities::ttl) refuse `Some`.
    ///
    /// A TTL of zero has passed at once: the key is then absent.
    pub ttl: Option<Duration>,
    /// A number for the client's own use; engines without [`Capabilities::flags`](crate::Capabilities::flags) refuse any number but 0.
    pub flags: u32,
}

/// The condition under which a value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetMode {
    /// In any case.
    #[default]
    Set,
    /// Only when the key is absent.
    Add,
    /// Only when the key exists.
    Replace,
    /// Only when the key exists with this version.
    Cas(u64),
    /// Behind the existing value, whose flags and TTL stay.
    Append,
    /// Before the existing value, whose flags and TTL stay.
    Prepend,
}

impl SetMode {
    /// The reason why a set in this mode stores nothing, given the version of the existing entry; `None` where
    /// its condition holds.
    pub fn refusal(self, there: Option<u64>) -> Option<SetOutcome> {
        match (self, there) {
            (Self::Add, Some(_)) | (Self::Replace | Self::Append | Self::Prepend, None) => {
                Some(SetOutcome::NotStored)
            }
            (Self::Cas(_), None) => Some(SetOutcome::NotFound),
            (Self::Cas(read), Some(version)) if version != read => Some(SetOutcome::Exists),
            _ => None,
        }
    }
}

/// The outcome of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOutcome {
    /// The store has acknowledged the value. With the version of the new entry, where the engine has
    /// [versions](crate::Capabilities::version).
    Stored(Option<u64>),
    /// The condition of `Add`, `Replace`, `Append` or `Prepend` did not hold.
    NotStored,
    /// `Cas`: the entry has another version.
    Exists,
    /// `Cas`: the key does not exist.
    NotFound,
}

impl SetOutcome {
    /// Whether the value was stored.
    pub fn is_stored(self) -> bool {
        matches!(self, Self::Stored(_))
    }
}
