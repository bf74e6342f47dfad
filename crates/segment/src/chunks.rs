//! The places of a value's chunks: their lengths, their keys and their partitions.

use std::sync::atomic::Ordering;
use std::time::SystemTime;

use crate::cache::Cache;
use crate::memory::size;
use crate::namespace::Space;
use crate::partition::Partition;
use crate::record::kind;
use crate::superblock::CUTS;

/// Header and key of a chunk, with room to spare.
const BESIDE: usize = 80;

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
    space: u64,
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

    /// Divides a value of this length into as few chunks as possible. They are equally long, so that they fill segments
    /// without large gaps.
    pub(crate) fn cut(cache: &Cache, (number, space): (u64, u64), len: usize) -> Self {
        let most = cache.places.geometry.longest_chunk() - BESIDE;
        let each = len.div_ceil(len.div_ceil(most).max(1)).next_multiple_of(8).clamp(8, most);
        Self { number, len: len as u64, each: each as u64, space }
    }

    /// The list of chunks in an entry; `None` where this cache would not cut any value so.
    pub(crate) fn of(cache: &Cache, bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let [number, len, each, space] = words else { return None };
        let [number, len, each, space] =
            [number, len, each, space].map(|word| u64::from_ne_bytes(*word));
        let size = usize::try_from(len).ok().filter(|size| *size <= cache.max_value())?;
        let chunks = Self::cut(cache, (number, space), size);
        (chunks.each == each).then_some(chunks)
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

    /// The partition of a chunk: the one after the preceding chunk's.
    pub(crate) fn partition(cache: &Cache, hash: u64, chunk: u64) -> Partition<'_> {
        let all = cache.places.geometry.partitions;
        let home = cache.places.partition_of(hash);
        cache.partition((home + 1 + size(chunk % all as u64)) & (all - 1))
    }
}

/// The time at which a chunk is written, in milliseconds. It stands in the chunk's record in place of a
/// client's flags.
pub(crate) fn written_at(now: u64) -> u32 {
    u32::try_from(now & u64::from(u32::MAX)).unwrap_or(0)
}

/// A number for a value that is cut. Two numbers are equal only if the counter, the time and the hashes of the keys are
/// equal. So a counter that was damaged, or is an older one from the disk, does not mix up the chunks of two values.
pub(crate) fn number(cache: &Cache, hash: u64) -> u64 {
    let count = cache.memory().word(CUTS).fetch_add(1, Ordering::Relaxed);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&count.to_ne_bytes());
    bytes[8..24].copy_from_slice(&since.as_nanos().to_ne_bytes());
    bytes[24..].copy_from_slice(&hash.to_ne_bytes());
    cache.places.hash(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    #[test]
    fn chunks_that_are_cut_otherwise_are_not_looked_for() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let right = Chunks::cut(&cache, (7, 0), 40_000);
        assert_eq!(Chunks::of(&cache, &right.bytes()), Some(right));
        for wrong in [
            Chunks { each: 1024, ..right },
            Chunks { each: right.each + 8, ..right },
            Chunks { each: 0, ..right },
            Chunks { each: u64::MAX, ..right },
            Chunks { len: cache.max_value() as u64 + 1, ..right },
            Chunks { len: u64::MAX, ..right },
        ] {
            assert_eq!(Chunks::of(&cache, &wrong.bytes()), None, "{wrong:?}");
        }
    }

    #[test]
    fn chunks_are_as_few_as_can_be_and_alike() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let most = cache.places.geometry.longest_chunk() - BESIDE;
        for len in [0, 1, 8000, most, most + 1, 2 * most, 3 * most - 9, cache.max_value()] {
            let chunks = Chunks::cut(&cache, (0, 0), len);
            assert_eq!(size(chunks.count()), len.div_ceil(most), "{len}");
            let last = chunks.len - chunks.count().saturating_sub(1) * chunks.each;
            assert!(last + 8 * chunks.count() >= chunks.each.min(chunks.len), "{chunks:?}");
        }
    }
}
