//! The keys that were read lately, so that eviction spares their entries.
//!
//! Reads of LMDB must not write to it, so the marks are in the memory of the process, a bit for each hash of a key. Eviction
//! takes the mark of an entry off and spares it once, as the CLOCK algorithm does. Some keys share a bit; one of them may be
//! spared once too often, or lose its mark with the other. Marks of other processes, and those of an earlier run, are not known.

use std::sync::atomic::{AtomicU64, Ordering};

use rapidhash::v3::{DEFAULT_RAPID_SECRETS, rapidhash_v3_inline};

/// The store's limit has a bit for this many bytes, so that entries of usual sizes seldom share one. That is a 128th of the
/// limit.
const BYTES_PER_BIT: u64 = 16;

/// The most words of bits, which are 64 MiB.
const MOST_WORDS: u64 = 1 << 23;

/// The marks.
#[derive(Debug)]
pub(super) struct RecentlyRead {
    words: Box<[AtomicU64]>,
}

impl RecentlyRead {
    /// Marks for a store with this limit of bytes.
    pub(super) fn new(limit: u64) -> Self {
        let n_words = (limit / BYTES_PER_BIT / 64).clamp(1, MOST_WORDS);
        Self { words: (0..n_words).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Marks a key as used.
    #[inline]
    pub(super) fn mark(&self, key: &[u8]) {
        let (word, bit) = self.bit(key);
        // A key that is read often costs no write.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Takes the mark off a key; whether it had one.
    pub(super) fn take(&self, key: &[u8]) -> bool {
        let (word, bit) = self.bit(key);
        word.load(Ordering::Relaxed) & bit != 0
            && word.fetch_and(!bit, Ordering::Relaxed) & bit != 0
    }

    #[inline]
    fn bit(&self, key: &[u8]) -> (&AtomicU64, u64) {
        let hash = rapidhash_v3_inline::<true, false, false>(key, &DEFAULT_RAPID_SECRETS);
        let n_words = self.words.len() as u64;
        let word = usize::try_from((hash >> 6) % n_words).unwrap_or(0);
        (&self.words[word], 1 << (hash & 63))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_spares_once() {
        let used = RecentlyRead::new(1 << 20);
        assert!(!used.take(b"key"));
        used.mark(b"key");
        used.mark(b"key");
        assert!(used.take(b"key") && !used.take(b"key"));
    }

    #[test]
    fn few_keys_share_a_bit() {
        let used = RecentlyRead::new(1 << 20);
        (0..200_u32).for_each(|key| used.mark(&key.to_le_bytes()));
        let n_others = (1000..2000_u32).filter(|key| used.take(&key.to_le_bytes())).count();
        assert!(n_others < 200, "{n_others}");
        assert_eq!(RecentlyRead::new(0).words.len(), 1);
    }
}
