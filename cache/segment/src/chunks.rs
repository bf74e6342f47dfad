//! The list of a value's chunks, and the keys of these.

use crate::kind;
use crate::space::Space;

/// The bytes of a chunk's key.
const KEY: usize = 32;

/// The bytes of an entry that describe its chunks.
pub(crate) const LIST: usize = 32;

/// The chunks of a value, as its entry describes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunks {
    pub(crate) number: u64,
    /// The bytes of the whole, and of each chunk but the last.
    pub(crate) len: u64,
    pub(crate) each: u64,
    /// The word of the namespace, 0 without one. If the namespace is cleared, chunks without an entry are known
    /// to be left over.
    pub(crate) space: u64,
}

impl Chunks {
    pub(crate) fn bytes(self) -> [u8; LIST] {
        let mut bytes = [0; LIST];
        let words = [self.number, self.len, self.each, self.space];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *to = word.to_ne_bytes();
        }
        bytes
    }

    pub(crate) fn count(self) -> u64 {
        self.len.div_ceil(self.each)
    }

    /// The key of a chunk. It has the hash of the entry's key, by which the entry is found.
    pub(crate) fn key(self, hash: u64, chunk: u64) -> [u8; KEY] {
        let mut key = [0; KEY];
        for (to, word) in
            key.as_chunks_mut::<8>().0.iter_mut().zip([self.number, hash, self.space, chunk])
        {
            *to = word.to_ne_bytes();
        }
        key
    }

    /// The number, the hash of the entry's key, and the namespace in a chunk's key; `None` if the key is no
    /// chunk's.
    pub(crate) fn of_key(key: &[u8]) -> Option<(u64, u64, Space)> {
        let (words, []) = key.as_chunks::<8>() else { return None };
        let [number, hash, space, _] = words else { return None };
        let [number, hash, word] = [number, hash, space].map(|word| u64::from_ne_bytes(*word));
        let space = if word == 0 { Space::ROOT } else { Space { kind: kind::NAMED, word } };
        Some((number, hash, space))
    }
}

/// The time at which a chunk is written, in milliseconds. It stands in the chunk's record in place of a
/// client's flags.
pub(crate) fn written_at(now: u64) -> u32 {
    u32::try_from(now & u64::from(u32::MAX)).unwrap_or(0)
}
