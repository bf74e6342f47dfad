//! Rows: the one form in which every format gives its operations.

use std::fmt;
use std::str::FromStr;

use crate::{Access, Condition};

/// One operation on one key, as it was recorded. A format leaves out what it has no column for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// Microseconds since the epoch, or since the beginning of another clock.
    pub time_us: Option<u64>,
    /// Number of the client's connection, from 0.
    pub connection: u32,
    /// Number of the request, from 0. The keys of one request share it, and follow each other.
    pub request: u64,
    /// What was done with the key.
    pub operation: Verb,
    /// The key, or what stands for it.
    pub key: Key<'a>,
    /// Length of the key in bytes.
    pub key_size: Option<u32>,
    /// Length of the value in bytes: the one read, or the one to write.
    pub value_size: Option<u32>,
    /// TTL in seconds; 0 for an entry without one. Of `incr`, `decr`, `append` and `prepend` the TTL that an absent key
    /// gets; `None` where an absent key stays absent.
    pub ttl_s: Option<u32>,
    /// What `incr` and `decr` add and take away.
    pub amount: Option<u64>,
    /// The answer.
    pub result: Option<Outcome>,
    /// Nanoseconds from the request to its answer, as the application waited for it.
    pub latency_ns: Option<u64>,
}

impl<'a> Row<'a> {
    /// A get of a key, of which nothing else is known.
    pub fn get(key: Key<'a>) -> Self {
        Self {
            time_us: None,
            connection: 0,
            request: 0,
            operation: Verb::Get,
            key,
            key_size: None,
            value_size: None,
            ttl_s: None,
            amount: None,
            result: None,
            latency_ns: None,
        }
    }

    /// The size of the value, where the operation has one and its size is known.
    pub fn known_size(&self) -> Option<u32> {
        self.recorded_size().filter(|_| self.has_value())
    }

    /// The size that was recorded. Traces without answers write 0 bytes of a value whose size they do not have: of a read that
    /// missed, and of a store.
    pub(super) fn recorded_size(&self) -> Option<u32> {
        let is_answered = self.result.is_some_and(|result| result != Outcome::Miss);
        self.value_size.filter(|size| *size > 0 || is_answered || !self.has_value())
    }

    /// Whether the operation reads or stores a value.
    fn has_value(&self) -> bool {
        let access = self.operation.access();
        access.counts() || matches!(access, Access::Get | Access::Set)
    }

    /// Whether a change of a value stores it where the key is absent: then its TTL is told. Redis changes all values so,
    /// and memcached where it is asked to.
    pub fn creates(&self) -> bool {
        self.operation.changes() && self.ttl_s.is_some()
    }
}

/// The key of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key<'a> {
    /// A number that stands for the key: its salted hash, the number of an object or of a block.
    Hash(u64),
    /// The key in clear.
    Bytes(&'a [u8]),
}

impl Key<'_> {
    /// The number that stands for the key. That of a key in clear is its hash, which is the same in every run.
    pub fn hash(&self) -> u64 {
        match self {
            Self::Hash(hash) => *hash,
            Self::Bytes(bytes) => rapidhash::v3::rapidhash_v3(bytes),
        }
    }
}

/// The operation of a row, in memcached's words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Verb {
    /// Read.
    #[default]
    Get,
    /// Read, and renew the TTL.
    Gat,
    /// Store.
    Set,
    /// Store where the key is absent.
    Add,
    /// Store where the key is present.
    Replace,
    /// Write behind the value.
    Append,
    /// Write before the value.
    Prepend,
    /// Store where the value is still the one that was read.
    Cas,
    /// Add to a number.
    Incr,
    /// Take from a number.
    Decr,
    /// Remove.
    Delete,
    /// Renew the TTL.
    Touch,
}

impl Verb {
    /// All operations, each at the place of its number.
    pub const ALL: &'static [Self] = &[
        Self::Get,
        Self::Gat,
        Self::Set,
        Self::Add,
        Self::Replace,
        Self::Append,
        Self::Prepend,
        Self::Cas,
        Self::Incr,
        Self::Decr,
        Self::Delete,
        Self::Touch,
    ];

    /// The name, as every format has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Gat => "gat",
            Self::Set => "set",
            Self::Add => "add",
            Self::Replace => "replace",
            Self::Append => "append",
            Self::Prepend => "prepend",
            Self::Cas => "cas",
            Self::Incr => "incr",
            Self::Decr => "decr",
            Self::Delete => "delete",
            Self::Touch => "touch",
        }
    }

    /// The use that a replay makes of the key.
    pub fn access(self) -> Access {
        match self {
            Self::Get | Self::Gat => Access::Get,
            Self::Delete => Access::Delete,
            Self::Touch => Access::Touch,
            Self::Incr => Access::Incr,
            Self::Decr => Access::Decr,
            Self::Set | Self::Add | Self::Replace | Self::Append | Self::Prepend | Self::Cas => {
                Access::Set
            }
        }
    }

    /// The condition under which a replay stores or counts. A change of a value needs one, but for [`Row::creates`].
    pub fn condition(self) -> Option<Condition> {
        match self {
            Self::Add => Some(Condition::Absent),
            Self::Replace | Self::Append | Self::Prepend | Self::Cas | Self::Incr | Self::Decr => {
                Some(Condition::Present)
            }
            Self::Get | Self::Gat | Self::Set | Self::Delete | Self::Touch => None,
        }
    }

    /// Whether it makes a new value of the one that is there.
    pub fn changes(self) -> bool {
        matches!(self, Self::Append | Self::Prepend | Self::Incr | Self::Decr)
    }

    /// Whether a replay does just this, and not the nearest to it.
    pub fn is_exact(self) -> bool {
        matches!(
            self,
            Self::Get
                | Self::Set
                | Self::Add
                | Self::Replace
                | Self::Incr
                | Self::Decr
                | Self::Delete
                | Self::Touch
        )
    }

    /// The operation of a name in upper or lower case, in the words of memcached's protocol or of Meta's caches.
    pub fn parse(name: &[u8]) -> Option<Self> {
        let named = |known: &str| known.as_bytes().eq_ignore_ascii_case(name);
        let alias = ALIASES.iter().find(|(alias, _)| named(alias)).map(|(_, verb)| *verb);
        alias.or_else(|| Self::ALL.iter().copied().find(|verb| named(verb.name())))
    }

    /// The names that [`Verb::parse`] knows, comma-separated.
    pub fn known() -> String {
        let names = Self::ALL.iter().flat_map(|verb| {
            let aliases = ALIASES.iter().filter(move |(_, meant)| meant == verb);
            std::iter::once(verb.name()).chain(aliases.map(|(alias, _)| *alias))
        });
        names.collect::<Vec<_>>().join(", ")
    }
}

/// Other names of operations.
const ALIASES: &[(&str, Verb)] =
    &[("gets", Verb::Get), ("get_lease", Verb::Get), ("set_lease", Verb::Set)];

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Verb {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let unknown = || format!("no operation `{name}`; known: {}", Self::known());
        Self::parse(name.as_bytes()).ok_or_else(unknown)
    }
}

/// The answer to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Outcome {
    /// A read found its key.
    Hit,
    /// A read found nothing.
    Miss,
    /// A write was made, `incr` and `decr` included.
    Stored,
    /// The condition of a write was not met.
    NotStored,
    /// Another write came before that of a `cas`.
    Exists,
    /// The key was removed.
    Deleted,
    /// The TTL was renewed.
    Touched,
    /// A key to change, remove or renew was absent.
    NotFound,
    /// The server refused or failed, or its answer never came.
    Error,
}

impl Outcome {
    /// All answers, each at the place of its number.
    pub const ALL: &'static [Self] = &[
        Self::Hit,
        Self::Miss,
        Self::Stored,
        Self::NotStored,
        Self::Exists,
        Self::Deleted,
        Self::Touched,
        Self::NotFound,
        Self::Error,
    ];

    /// The name, as every format has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Stored => "stored",
            Self::NotStored => "not_stored",
            Self::Exists => "exists",
            Self::Deleted => "deleted",
            Self::Touched => "touched",
            Self::NotFound => "not_found",
            Self::Error => "error",
        }
    }

    /// The answer of a name, in upper or lower case.
    pub fn parse(name: &[u8]) -> Option<Self> {
        let named = |outcome: &Self| outcome.name().as_bytes().eq_ignore_ascii_case(name);
        Self::ALL.iter().copied().find(named)
    }

    /// The names of all answers, comma-separated.
    pub fn known() -> String {
        Self::ALL.iter().map(|outcome| outcome.name()).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Outcome {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let unknown = || format!("no result `{name}`; known: {}", Self::known());
        Self::parse(name.as_bytes()).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_as_it_is_printed() {
        for (number, verb) in Verb::ALL.iter().enumerate() {
            assert_eq!((verb.to_string().parse(), *verb as usize), (Ok(*verb), number));
            assert_eq!(Verb::parse(verb.name().to_uppercase().as_bytes()), Some(*verb));
        }
        for (number, outcome) in Outcome::ALL.iter().enumerate() {
            assert_eq!((outcome.to_string().parse(), *outcome as usize), (Ok(*outcome), number));
        }
        assert_eq!(Verb::parse(b"GET_LEASE"), Some(Verb::Get));
        let unknown = "hits".parse::<Outcome>().unwrap_err();
        assert!(unknown.starts_with("no result `hits`; known: hit, miss, stored, "), "{unknown}");
    }

    #[test]
    fn the_hash_of_a_key_in_clear_never_changes() {
        // Recordings of other days were written with it.
        assert_eq!(Key::Bytes(b"user:42").hash(), 7_950_412_956_175_757_289);
        assert_eq!(Key::Hash(7).hash(), 7);
    }
}
