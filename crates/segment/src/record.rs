//! An entry as it lies in a segment: written once, before its place is known to anybody, and never changed.
//!
//! ```text
//! word 0   value's length 23 | key's length 17 | kind 8 | check, upper 16
//! word 1   expiry 40 | check, lower 24
//! [word 2  version, where the entry was moved and so its place no longer tells it]
//! [word 3  flags of the client, where they are not 0]
//! [word 4  namespace, where the key is of one]
//! key, value, zeros up to a whole word
//! ```

use std::time::Duration;

use rapidhash::v3::{DEFAULT_RAPID_SECRETS, rapidhash_v3_inline};

use crate::clock::BEHIND_MS;
use crate::layout::LARGEST_SEGMENT;
use crate::memory::{Memory, size};
use crate::namespace::Space;

// The length of a value has 23 bits, that of a key 17.
const _: () = assert!(LARGEST_SEGMENT < 1 << 23 && MAX_KEY < 1 << 17);

/// The longest key.
pub(crate) const MAX_KEY: usize = 1 << 16;

/// Of an entry that lives for ever.
pub(crate) const FOREVER: u64 = (1 << 40) - 1;

/// Properties of a record; bits of a byte.
pub(crate) mod kind {
    /// A version stands in the record.
    pub(crate) const VERSION: u8 = 1;
    /// Flags of the client stand in the record.
    pub(crate) const FLAGS: u8 = 2;
    /// Each is a word before the key.
    pub(crate) const WORDS: u8 = VERSION | FLAGS | NAMED;
    /// The value was cut: here is where its chunks are.
    pub(crate) const CUT: u8 = 4;
    /// A chunk of another record's value.
    pub(crate) const CHUNK: u8 = 8;
    /// The key is of a namespace, which stands in the record.
    pub(crate) const NAMED: u8 = 32;
    /// A chunk of a value that is large for the region.
    pub(crate) const LARGE: u8 = 64;
    /// The value is there but no longer right: see `expire`.
    pub(crate) const STALE: u8 = 16;
}

/// The header before key and value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Header {
    pub(crate) key_len: usize,
    pub(crate) value_len: usize,
    pub(crate) kind: u8,
    /// Milliseconds since the region was made; [`FOREVER`] is none.
    pub(crate) expiry: u64,
    pub(crate) check: u64,
    /// `None` where the record's place tells it.
    pub(crate) version: Option<u64>,
    pub(crate) flags: u32,
}

impl Header {
    /// How many bytes stand before the key.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        // Most have none of them, so this is no sum in the way of what is read next.
        if self.kind & kind::WORDS == 0 {
            return 16;
        }
        16 + 8 * (self.kind & kind::WORDS).count_ones() as usize
    }

    /// Whether it counts as an entry, and not as a chunk of one.
    #[inline]
    pub(crate) fn is_item(&self) -> bool {
        self.kind & kind::CHUNK == 0
    }

    /// How many bytes the record takes.
    #[inline]
    pub(crate) fn record_len(&self) -> usize {
        (self.len() + self.key_len + self.value_len).next_multiple_of(8)
    }

    /// Reads the header at `at`, of which nothing is known but that a word is there. `None` where it cannot be one: the
    /// record would not end by `end`.
    #[inline]
    pub(crate) fn read(memory: &Memory, at: usize, end: usize) -> Option<Self> {
        if end < at || end - at < 16 {
            return None;
        }
        let (first, second) = (memory.load(at), memory.load(at + 8));
        let mut header = Self {
            value_len: low(first, 23),
            key_len: low(first >> 23, 17),
            kind: (first >> 40).to_le_bytes()[0],
            expiry: second & FOREVER,
            check: (first >> 48) << 24 | second >> 40,
            version: None,
            flags: 0,
        };
        if header.record_len() > end - at {
            return None;
        }
        let mut next = at + 16;
        if header.kind & kind::VERSION != 0 {
            header.version = Some(memory.load(next));
            next += 8;
        }
        if header.kind & kind::FLAGS != 0 {
            header.flags = (memory.load(next) & u64::from(u32::MAX)).try_into().unwrap_or(0);
        }
        Some(header)
    }

    /// The namespace of the key of the record at `at`, which has this header.
    #[inline]
    pub(crate) fn space(&self, memory: &Memory, at: usize) -> Space {
        let is_named = self.kind & kind::NAMED != 0;
        let word = if is_named { memory.load(at + self.len() - 8) } else { 0 };
        Space { kind: self.kind & (kind::CHUNK | kind::NAMED), word }
    }

    /// Writes the record at `at`.
    pub(crate) fn write(
        &self,
        memory: &Memory,
        at: usize,
        (space, key): (Space, &[u8]),
        value: &[u8],
    ) {
        let first = self.value_len as u64
            | (self.key_len as u64) << 23
            | u64::from(self.kind) << 40
            | self.check >> 24 << 48;
        memory.store(at, first);
        memory.store(at + 8, self.expiry | self.check << 40);
        let mut next = at + 16;
        if let Some(version) = self.version {
            memory.store(next, version);
            next += 8;
        }
        if self.kind & kind::FLAGS != 0 {
            memory.store(next, u64::from(self.flags));
            next += 8;
        }
        if self.kind & kind::NAMED != 0 {
            memory.store(next, space.word);
            next += 8;
        }
        memory.copy_in(next, key);
        memory.copy_in(next + key.len(), value);
    }

    /// The check of 40 bits over all that the record says. `hash` is the key's, with its namespace in it.
    #[inline]
    pub(crate) fn check_of(&self, hash: u64, value: &[u8]) -> u64 {
        let hash_of = rapidhash_v3_inline::<true, false, false>;
        let mut sum = hash_of(value, &DEFAULT_RAPID_SECRETS) ^ hash;
        for word in [
            self.value_len as u64 | (self.key_len as u64) << 23 | u64::from(self.flags) << 40,
            self.expiry | u64::from(self.kind) << 40 | u64::from(self.flags >> 24) << 48,
            self.version.unwrap_or(0),
        ] {
            sum = (sum.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        sum >> 24
    }

    /// Whether it has expired at a time, which is asked for where that matters, in milliseconds since the region was made.
    #[inline]
    pub(crate) fn has_expired(&self, now: impl FnOnce() -> u64) -> bool {
        self.expiry != FOREVER && self.expiry <= now()
    }

    /// How long it still lives at least; `None` for ever.
    pub(crate) fn remaining(&self, now: impl FnOnce() -> u64) -> Option<Duration> {
        let left = || Duration::from_millis(self.expiry.saturating_sub(now() + BEHIND_MS));
        (self.expiry != FOREVER).then(left)
    }
}

#[inline]
fn low(word: u64, bits: u32) -> usize {
    size(word & ((1 << bits) - 1))
}
