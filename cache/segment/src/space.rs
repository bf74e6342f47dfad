//! Key spaces, and the table of namespaces in a region: see `namespace.rs`.

use std::sync::atomic::Ordering;

use rapidhash::v3::rapidhash_v3;

use crate::kind;
use crate::layout::{Geometry, MOST_NAMESPACES, NAMESPACE_ENTRY, NAMESPACE_NAME, SUPERBLOCK};
use crate::memory::{Memory, size};

/// The offset of the seal in an entry of the table: it stands behind a word `lives 32 | clears 32`, and before the name.
pub(crate) const SEAL: usize = 8;

/// The key space of a key. Equal keys of two spaces are different keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Space {
    /// [`kind::CHUNK`], [`kind::NAMED`], or neither.
    pub(crate) kind: u8,
    /// Of a namespace: `lives 16 | clears 32 | number 16`.
    pub(crate) word: u64,
}

/// A key in its space, with its hash.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HashedKey<'k> {
    pub(crate) hash: u64,
    pub(crate) key: &'k [u8],
    pub(crate) space: Space,
}

impl Space {
    /// Keys without a namespace.
    pub(crate) const ROOT: Self = Self { kind: 0, word: 0 };
    /// Chunks of values.
    pub(crate) const CHUNKS: Self = Self { kind: kind::CHUNK, word: 0 };

    /// Keys of a namespace that was removed: no record has this number.
    pub(crate) const REMOVED: Self = Self { kind: kind::NAMED, word: MOST_NAMESPACES as u64 };

    /// The namespace of a number, at this word of its entry.
    #[inline]
    pub(crate) fn of(word: u64, number: u16) -> Self {
        Self { kind: kind::NAMED, word: word << 16 | u64::from(number) }
    }

    /// The number that the namespace adds to the check of a record.
    #[inline]
    pub(crate) fn sum(self) -> u64 {
        self.word.wrapping_mul(0xff51_afd7_ed55_8ccd)
    }

    /// Whether both are the same space, in any generation.
    #[inline]
    pub(crate) fn is_of(self, other: Self) -> bool {
        self.kind == other.kind && self.number() == other.number()
    }

    #[inline]
    pub(crate) fn number(self) -> u16 {
        let [low, high, ..] = self.word.to_le_bytes();
        u16::from_le_bytes([low, high])
    }

    /// The number that changes the hash of a key's bytes, so that a key has other places in each namespace.
    #[inline]
    pub(crate) fn mix(self) -> u64 {
        if self.kind & kind::NAMED == 0 {
            return 0;
        }
        (u64::from(self.number()) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// The namespace of a session: its number, and which of that number's lives it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) number: u16,
    pub(crate) life: u64,
}

impl Member {
    /// The keys of the namespace as it is now; [`Space::REMOVED`] where it was removed.
    #[inline]
    pub(crate) fn space(self, memory: &Memory) -> Space {
        let word = memory.word(entry_at(self.number)).load(Ordering::Acquire);
        if life(word) == self.life { Space::of(word, self.number) } else { Space::REMOVED }
    }

    /// The number by which the hashes of its keys are changed.
    pub(crate) fn mix(self) -> u64 {
        Space { kind: kind::NAMED, word: u64::from(self.number) }.mix()
    }
}

/// Begins the next life of a number, under the lock of the table. No session and no record is of it yet.
pub(crate) fn begin_life(memory: &Memory, number: u16) -> Member {
    let word = memory.word(entry_at(number));
    let life = life(word.load(Ordering::Relaxed)).wrapping_add(1) & 0xffff_ffff;
    word.store(life << 32 | 1, Ordering::SeqCst);
    Member { number, life }
}

/// The life of a number at this word of its entry.
#[inline]
pub(crate) fn life(word: u64) -> u64 {
    word >> 32
}

/// The words of an entry of the table.
pub(crate) type Words = [u64; NAMESPACE_ENTRY / 8];

/// Where the entries of the table are, by number.
pub(crate) fn table(geometry: &Geometry) -> impl Iterator<Item = (u16, usize)> {
    (0..=u16::MAX).take(geometry.namespaces).map(|number| (number, entry_at(number)))
}

/// The name that the words of an entry have, and how often it was cleared; `None` where it is free or damaged.
pub(crate) fn named(number: u16, words: &Words) -> Option<(String, u64)> {
    let bytes = words.map(u64::to_ne_bytes).concat();
    let sealed = words[SEAL / 8];
    let name = bytes.get(NAMESPACE_NAME..NAMESPACE_NAME + size(sealed & 0xff))?;
    let name = String::from_utf8(name.to_vec()).ok()?;
    (sealed == seal(number, name.as_bytes()))
        .then_some((name, (words[0] & 0xffff_ffff).saturating_sub(1)))
}

pub(crate) fn entry_at(number: u16) -> usize {
    SUPERBLOCK + usize::from(number) * NAMESPACE_ENTRY
}

/// The mark of an entry that is taken, and whose name is whole; never 0.
pub(crate) fn seal(number: u16, name: &[u8]) -> u64 {
    let bytes = [&number.to_le_bytes(), name].concat();
    rapidhash_v3(&bytes) << 8 | name.len() as u64
}
