//! An entry in its segment. It is written once, before any slot points to it. Later only two of its words are changed,
//! each by one store, and each has a check of its own: see `in_place.rs`.
//!
//! ```text
//! word 0   value's length 21 | key's length 17 | kind 8 | check, upper 18
//! word 1   expiry 40 | stale 1 | check, lower 11 | check of expiry and stale 12
//! [word 2  version, where the entry was moved and so its place no longer gives it]
//! [word 3  flags of the client, where they are not 0]
//! [word 4  number, where the value is one that was added to; there is no other value then]
//! [word 5  namespace, where the key is of one]
//! key, value, zeros up to a whole word
//! ```

use std::time::Duration;

use rapidhash::v3::{DEFAULT_RAPID_SECRETS, rapidhash_v3_inline};

use crate::clock::BEHIND_MS;
use crate::kind;
use crate::layout::{LARGEST_SEGMENT, MAX_KEY};
use crate::memory::{Memory, size};
use crate::number::Number;
use crate::space::Space;

// The length of a value has 21 bits, and the length of a key 17. A record is half a segment at
// most.
const _: () = assert!(LARGEST_SEGMENT / 2 < 1 << 21 && MAX_KEY < 1 << 17);

/// The expiry of an entry that lives for ever.
pub(crate) const FOREVER: u64 = (1 << 40) - 1;

/// The header before key and value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Header {
    pub(crate) key_len: usize,
    pub(crate) value_len: usize,
    pub(crate) kind: u8,
    /// Milliseconds of the region's own time; [`FOREVER`] means no expiry.
    pub(crate) expiry: u64,
    /// The check of the fields that never change.
    pub(crate) check: u64,
    /// The check of expiry and stale mark.
    pub(crate) seal: u64,
    /// The word of the number, or 0.
    pub(crate) number: u64,
    /// `None` where the version follows from the record's place.
    pub(crate) version: Option<u64>,
    pub(crate) flags: u32,
}

impl Header {
    /// The bytes before the key.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        // Most records have no such words. The early return keeps the sum off their path.
        if self.kind & kind::WORDS == 0 {
            return 16;
        }
        16 + 8 * (self.kind & kind::WORDS).count_ones() as usize
    }

    /// Whether the record counts as an entry, and not as a chunk.
    #[inline]
    pub(crate) fn is_item(&self) -> bool {
        self.kind & kind::CHUNK == 0
    }

    /// The bytes of the record.
    #[inline]
    pub(crate) fn record_len(&self) -> usize {
        (self.len() + self.key_len + self.value_len).next_multiple_of(8)
    }

    /// Reads the header at `at`, where nothing is known but that a word exists. `None` where it cannot be a header,
    /// because the record would not end by `end`.
    #[inline]
    pub(crate) fn read(memory: &Memory, at: usize, end: usize) -> Option<Self> {
        if end < at || end - at < 16 {
            return None;
        }
        let (first, second) = (memory.load(at), memory.load(at + 8));
        let stale = if second >> 40 & 1 == 1 { kind::STALE } else { 0 };
        let mut header = Self {
            value_len: low(first, 21),
            key_len: low(first >> 21, 17),
            kind: (first >> 38).to_le_bytes()[0] & !kind::STALE | stale,
            expiry: second & FOREVER,
            check: (first >> 46) << 11 | second >> 41 & 0x7ff,
            seal: second >> 52,
            number: 0,
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
        if header.kind & kind::NUMBER != 0 {
            header.number = memory.load(at + header.number_at());
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
    pub(crate) fn write(&self, memory: &Memory, at: usize, space: Space, key: &[u8], value: &[u8]) {
        let first = self.value_len as u64
            | (self.key_len as u64) << 21
            | u64::from(self.kind & !kind::STALE) << 38
            | self.check >> 11 << 46;
        memory.store(at, first);
        memory.store(at + 8, self.second_word());
        let mut next = at + 16;
        if let Some(version) = self.version {
            memory.store(next, version);
            next += 8;
        }
        if self.kind & kind::FLAGS != 0 {
            memory.store(next, u64::from(self.flags));
            next += 8;
        }
        if self.kind & kind::NUMBER != 0 {
            memory.store(next, self.number);
            next += 8;
        }
        if self.kind & kind::NAMED != 0 {
            memory.store(next, space.word);
            next += 8;
        }
        memory.copy_in(next, key);
        if self.kind & kind::NUMBER == 0 {
            memory.copy_in(next + key.len(), value);
        }
    }

    /// The word with the expiry.
    pub(crate) fn second_word(&self) -> u64 {
        let stale = u64::from(self.kind & kind::STALE != 0);
        self.expiry | stale << 40 | (self.check & 0x7ff) << 41 | self.seal << 52
    }

    /// The offset of the number's word in the record.
    pub(crate) fn number_at(&self) -> usize {
        16 + 8 * (self.kind & (kind::VERSION | kind::FLAGS)).count_ones() as usize
    }

    /// The version of the entry: its record's version, or the version of its place, with the changes in place
    /// since.
    #[inline]
    pub(crate) fn whole_version(&self, of_place: impl FnOnce() -> u64) -> u64 {
        let stale = u64::from(self.kind & kind::STALE != 0);
        self.version.unwrap_or_else(of_place) | Number::of(self.number).changes() << 1 | stale
    }

    /// The check of 29 bits over all fields of the record that never change. `hash` is the key's, with its namespace in it.
    #[inline]
    pub(crate) fn check_of(&self, hash: u64, value: &[u8]) -> u64 {
        let hash_of = rapidhash_v3_inline::<true, false, false>;
        let value = if self.kind & kind::NUMBER == 0 { value } else { &[] };
        let lengths = self.value_len as u64 | (self.key_len as u64) << 23;
        let words = [
            lengths | u64::from(self.kind & !kind::STALE) << 40,
            u64::from(self.flags),
            self.version.unwrap_or(0),
        ];
        mixed(hash_of(value, &DEFAULT_RAPID_SECRETS) ^ hash, words) >> 35
    }

    /// The check of 12 bits over expiry and stale mark, for this record alone.
    #[inline]
    pub(crate) fn seal_of(&self, hash: u64) -> u64 {
        let stale = u64::from(self.kind & kind::STALE != 0);
        mixed(hash, [self.check, self.expiry | stale << 40]) >> 52
    }

    /// The check of 16 bits over a number, for this record alone.
    pub(crate) fn check_of_number(&self, hash: u64, number: Number) -> u64 {
        mixed(hash, [self.check, number.0]) >> 48
    }

    /// Whether it has expired at the time `now`, in milliseconds of the region's own time. The time is read only where it
    /// matters.
    #[inline]
    pub(crate) fn has_expired(&self, now: impl FnOnce() -> u64) -> bool {
        self.expiry != FOREVER && self.expiry <= now()
    }

    /// The least remaining time to live; `None` for ever.
    pub(crate) fn remaining(&self, now: impl FnOnce() -> u64) -> Option<Duration> {
        let left = || Duration::from_millis(self.expiry.saturating_sub(now() + BEHIND_MS));
        (self.expiry != FOREVER).then(left)
    }
}

/// Words mixed into a sum.
#[inline]
fn mixed<const N: usize>(sum: u64, words: [u64; N]) -> u64 {
    let mix =
        |sum: u64, word: u64| (sum.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    words.into_iter().fold(sum, mix)
}

#[inline]
fn low(word: u64, bits: u32) -> usize {
    size(word & ((1 << bits) - 1))
}
