//! The division of a value into chunks, and the partitions of these.

use std::sync::atomic::Ordering;
use std::time::SystemTime;

use crate::cache::Cache;
use crate::chunks::Chunks;
use crate::memory::size;
use crate::partition::Partition;
use crate::superblock::CHUNKED_VALUES;

/// Header and key of a chunk, with room to spare.
const BESIDE: usize = 80;

impl Chunks {
    /// Divides a value of this length into as few chunks as possible. They are equally long, so that they fill segments
    /// without large gaps.
    pub(crate) fn divide(cache: &Cache, number: u64, space: u64, len: usize) -> Self {
        let most = cache.places.geometry.longest_chunk() - BESIDE;
        let each = len.div_ceil(len.div_ceil(most).max(1)).next_multiple_of(8).clamp(8, most);
        Self { number, len: len as u64, each: each as u64, space }
    }

    /// The list of chunks in an entry; `None` where this cache would not divide any value so.
    pub(crate) fn of(cache: &Cache, bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let [number, len, each, space] = words else { return None };
        let [number, len, each, space] =
            [number, len, each, space].map(|word| u64::from_ne_bytes(*word));
        let size = usize::try_from(len).ok().filter(|size| *size <= cache.max_value())?;
        let chunks = Self::divide(cache, number, space, size);
        (chunks.each == each).then_some(chunks)
    }

    /// The partition of a chunk: the one after the preceding chunk's.
    pub(crate) fn partition(cache: &Cache, hash: u64, chunk: u64) -> Partition<'_> {
        let all = cache.places.geometry.partitions;
        let home = cache.places.partition_of(hash);
        cache.partition((home + 1 + size(chunk % all as u64)) & (all - 1))
    }
}

/// A number for a value that is divided into chunks. Two numbers are equal only if the counter, the time and the hashes of the
/// keys are equal. So a counter that was damaged, or is an older one from the disk, does not mix up the chunks of two values.
pub(crate) fn number(cache: &Cache, hash: u64) -> u64 {
    let count = cache.memory().word(CHUNKED_VALUES).fetch_add(1, Ordering::Relaxed);
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
        let right = Chunks::divide(&cache, 7, 0, 40_000);
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
            let chunks = Chunks::divide(&cache, 0, 0, len);
            assert_eq!(size(chunks.count()), len.div_ceil(most), "{len}");
            let last = chunks.len - chunks.count().saturating_sub(1) * chunks.each;
            assert!(last + 8 * chunks.count() >= chunks.each.min(chunks.len), "{chunks:?}");
        }
    }
}
