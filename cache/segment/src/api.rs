//! The arguments and answers of a session.

use std::time::Duration;

use crate::kind;
use crate::partition::{Found, Moment};
use crate::space::Space;

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
    pub(crate) of: Fence,
    /// The number of clears of the region so far, and the key's namespace, if it has one.
    pub(crate) cleared: u64,
    pub(crate) space: Space,
}

/// What a token is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fence {
    /// The word of the key's changes.
    Changes(u64),
    /// The word of a lease.
    Lease(u64),
}

/// The answer to [`Session::get_or_lease`](crate::Session::get_or_lease).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leased {
    /// The value is there, and is not stale.
    Hit(Entry),
    /// This caller is to load the value, and to fill it in with the token.
    Load {
        /// The lease.
        token: Token,
        /// The stale entry whose value was copied, if there is one.
        stale: Option<Entry>,
    },
    /// Another caller is loading the value.
    Wait {
        /// The stale entry whose value was copied, if there is one.
        stale: Option<Entry>,
    },
}

impl Token {
    /// The bytes of a token.
    pub const LEN: usize = 32;

    /// Its bytes: kind, word, clears and namespace.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let (kind, word) = match self.of {
            Fence::Changes(word) => (OF_CHANGES, word),
            Fence::Lease(word) => (OF_LEASE, word),
        };
        let kind = kind << 8 | u64::from(self.space.kind);
        let words = [kind, word, self.cleared, self.space.word].map(u64::to_le_bytes);
        std::array::from_fn(|i| words[i / 8][i % 8])
    }

    /// The token of these bytes; `None` where no token has them.
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let (words, _) = bytes.as_chunks();
        let [kind, word, cleared, space] = [0, 1, 2, 3].map(|i| u64::from_le_bytes(words[i]));
        let [of_space, ..] = kind.to_le_bytes();
        let of = match kind >> 8 {
            OF_CHANGES => Fence::Changes(word),
            OF_LEASE => Fence::Lease(word),
            _ => return None,
        };
        Some(Self { of, cleared, space: Space { kind: of_space, word: space } })
    }

    /// Whether neither the region nor the namespace was cleared since.
    pub(crate) fn is_since(&self, moment: Moment, space: Space) -> bool {
        self.cleared == moment.cleared && self.space == space
    }
}

/// The kinds of tokens. No token consists of zeros.
const OF_CHANGES: u64 = 1;
const OF_LEASE: u64 = 2;

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
