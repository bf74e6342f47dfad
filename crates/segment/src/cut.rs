//! Values that are too long for a record: cut into chunks, each an entry by itself, with one entry that tells where they are.
//!
//! The chunks are there before anybody is told of them, under a number that no other value of the region has. So a value is
//! read whole, or, where a chunk was evicted meanwhile, not at all. Chunks lie in all partitions in turn.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use crate::Failed;
use crate::api::{Condition, Outcome};
use crate::cache::Cache;
use crate::locked::{self, Takes};
use crate::memory::size;
use crate::namespace::Space;
use crate::partition::{Moment, Partition};
use crate::record::kind;
use crate::session::{Session, lock_within};
use crate::superblock::CUTS;

/// Header and key of a chunk, with room to spare.
const BESIDE: usize = 64;

/// A value is large that takes more than a quarter of the small queue, which is a tenth of the region: its last chunks would
/// push the first ones out.
const LARGE_SHARE: usize = 40;

/// So many bytes are reserved for a value before any of its chunks has been found; for more of them as they come.
const RESERVED: u64 = 4 << 20;

/// After so many chunks in a row that are not there no more of them are looked for to be taken away: a round of all
/// partitions. Any that are left go as others do that nobody reads.
const MISSING: usize = 64;

/// Where the chunks of a value are, as its entry tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chunks {
    number: u64,
    /// The bytes of the whole, and of each chunk but the last.
    len: u64,
    each: u64,
}

impl Chunks {
    fn bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        for (to, word) in
            bytes.as_chunks_mut::<8>().0.iter_mut().zip([self.number, self.len, self.each])
        {
            *to = word.to_ne_bytes();
        }
        bytes
    }

    /// How a value of so many bytes is cut: into as few chunks as there can be, and those alike, so that they lie in segments
    /// without large gaps.
    fn cut(cache: &Cache, number: u64, len: usize) -> Self {
        let most = cache.places.geometry.longest_record() - BESIDE;
        let each = len.div_ceil(len.div_ceil(most).max(1)).next_multiple_of(8).clamp(8, most);
        Self { number, len: len as u64, each: each as u64 }
    }

    /// The list of chunks in an entry; `None` where no value that the cache takes would be cut so.
    fn of(cache: &Cache, bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let [number, len, each] = words else { return None };
        let [number, len, each] = [number, len, each].map(|word| u64::from_ne_bytes(*word));
        let size = usize::try_from(len).ok().filter(|size| *size <= cache.max_value())?;
        let chunks = Self::cut(cache, number, size);
        (chunks.each == each).then_some(chunks)
    }

    fn count(self) -> u64 {
        self.len.div_ceil(self.each)
    }

    fn key(self, chunk: u64) -> [u8; 12] {
        let mut key = [0; 12];
        key[..8].copy_from_slice(&self.number.to_ne_bytes());
        key[8..].copy_from_slice(&u32::try_from(chunk).unwrap_or(u32::MAX).to_ne_bytes());
        key
    }

    /// The partition of a chunk: the next after that of the chunk before.
    fn partition(cache: &Cache, hash: u64, chunk: u64) -> Partition<'_> {
        let all = cache.places.geometry.partitions;
        let home = cache.places.partition_of(hash);
        let turn = usize::try_from(chunk % all as u64).unwrap_or(0);
        cache.partition((home + 1 + turn) & (all - 1))
    }
}

/// A number for a value that is cut. Two have the same one only where the counter, the time and the hashes of their keys all
/// are: a counter that was damaged, or came back from the disk as it was before, does not give one value another's chunks.
fn number(cache: &Cache, hash: u64) -> u64 {
    let count = cache.memory().word(CUTS).fetch_add(1, Ordering::Relaxed);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&count.to_ne_bytes());
    bytes[8..24].copy_from_slice(&since.as_nanos().to_ne_bytes());
    bytes[24..].copy_from_slice(&hash.to_ne_bytes());
    cache.places.hash(&bytes)
}

impl Session {
    /// Puts the value together whose entry `value` is; `false` where a chunk is missing.
    pub(crate) fn join(&self, hash: u64, moment: Moment, value: &mut Vec<u8>) -> bool {
        let Some(chunks) = Chunks::of(&self.cache, value) else { return false };
        value.clear();
        // No more than a file can have somebody ask for who has no such value.
        value.reserve(usize::try_from(chunks.len.min(RESERVED)).unwrap_or(0));
        (0..chunks.count()).all(|chunk| {
            let key = chunks.key(chunk);
            let of = self.cache.places.hash(&key);
            let partition = Chunks::partition(&self.cache, hash, chunk);
            let found = partition.get(of, &key, Space::CHUNKS, moment, value);
            let there = (chunk + 1).saturating_mul(chunks.each).min(chunks.len);
            found.is_some() && value.len() as u64 == there
        })
    }

    /// Stores an entry whose value is cut.
    pub(crate) fn put_in_chunks(
        &mut self,
        entry: &locked::Entry<'_>,
        condition: Condition,
    ) -> Result<Outcome, Failed> {
        let number = number(&self.cache, entry.hash);
        let chunks = Chunks::cut(&self.cache, number, entry.value.len());
        let outcome = self.put_chunks(entry, chunks).and_then(|()| {
            let bytes = chunks.bytes();
            let head = locked::Entry { value: &bytes, kind: entry.kind | kind::CUT, ..*entry };
            self.put(&head, condition)
        });
        if !matches!(outcome, Ok(Outcome::Stored(_))) {
            // A writer that has waited in vain waits no more.
            let is_busy = matches!(outcome, Err(Failed::Busy { .. }));
            let patience = if is_busy { Duration::ZERO } else { self.patience };
            self.drop_chunks(entry.hash, &chunks.bytes(), patience);
        }
        outcome
    }

    fn put_chunks(&self, entry: &locked::Entry<'_>, chunks: Chunks) -> Result<(), Failed> {
        let is_large = entry.value.len() > self.cache.size() / LARGE_SHARE;
        let large = if is_large { kind::LARGE } else { 0 };
        for (chunk, value) in (0..).zip(entry.value.chunks(size(chunks.each))) {
            let key = chunks.key(chunk);
            let of = locked::Entry {
                hash: self.cache.places.hash(&key),
                space: Space::CHUNKS,
                key: &key,
                value,
                kind: large,
                flags: 0,
                expiry: entry.expiry,
                version: None,
            };
            let partition = Chunks::partition(&self.cache, entry.hash, chunk);
            let mut locked = self.lock_of(partition)?;
            if locked.store(&of, None, Takes::Any, None).is_none() {
                let most = self.cache.max_value();
                return Err(Failed::TooLarge { size: entry.value.len(), most });
            }
        }
        Ok(())
    }

    /// Gives the chunks of a value another expiry; `false` where one is missing, and with it the value.
    pub(crate) fn touch_chunks(
        &self,
        hash: u64,
        chunks: &[u8],
        expiry: u64,
    ) -> Result<bool, Failed> {
        let Some(chunks) = Chunks::of(&self.cache, chunks) else { return Ok(false) };
        for chunk in 0..chunks.count() {
            let key = chunks.key(chunk);
            let of = self.cache.places.hash(&key);
            let locked = self.lock_of(Chunks::partition(&self.cache, hash, chunk))?;
            let Some(present) = locked.find(of, &key, Space::CHUNKS) else { return Ok(false) };
            locked.mark(of, &present, expiry, false);
        }
        Ok(true)
    }

    /// Takes the chunks of a value away that nobody is told of any more. Those whose lock is not had in time go as others do
    /// that nobody reads; once it has waited in vain it waits for no other.
    pub(crate) fn drop_chunks(&self, hash: u64, chunks: &[u8], mut patience: Duration) {
        let Some(chunks) = Chunks::of(&self.cache, chunks) else { return };
        let mut missing = 0;
        for chunk in 0..chunks.count() {
            if missing == MISSING {
                return;
            }
            missing += 1;
            let key = chunks.key(chunk);
            let of = self.cache.places.hash(&key);
            let partition = Chunks::partition(&self.cache, hash, chunk);
            let Ok(mut locked) = lock_within(&self.cache, partition, patience) else {
                patience = Duration::ZERO;
                continue;
            };
            if let Some(present) = locked.find(of, &key, Space::CHUNKS) {
                locked.remove(&present);
                missing = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::FOREVER;
    use crate::{Options, Set};

    /// Of one byte over and over.
    fn value(byte: u8, len: usize) -> Vec<u8> {
        vec![byte; len]
    }

    fn entry<'e>(session: &Session, key: &'e [u8], value: &'e [u8]) -> locked::Entry<'e> {
        let (hash, space) = (session.cache.places.hash(key), Space::ROOT);
        let expiry = FOREVER;
        locked::Entry { hash, space, key, value, kind: 0, flags: 0, expiry, version: None }
    }

    /// Stores an entry that tells of parts, as a file may have it of which somebody else wrote a part.
    fn tell(session: &Session, key: &[u8], bytes: &[u8]) {
        let head = locked::Entry { kind: kind::CUT, ..entry(session, key, bytes) };
        assert!(matches!(session.put(&head, Condition::None), Ok(Outcome::Stored(_))));
    }

    #[test]
    fn a_counter_that_goes_back_gives_no_value_the_chunks_of_another() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        let go_back = || cache.memory().word(CUTS).fetch_sub(1, Ordering::Relaxed);
        session.set(b"a", &value(b'a', 40_000), &Set::default()).unwrap();
        go_back();
        session.set(b"b", &value(b'b', 40_000), &Set::default()).unwrap();
        for key in [b"a", b"b"] {
            let mut found = Vec::new();
            assert!(session.get(key, &mut found).is_some());
            assert!(found == value(key[0], 40_000), "{}", found.escape_ascii());
        }
        let before = number(&cache, 1);
        go_back();
        assert_ne!(number(&cache, 1), before, "of one key, at another time");
    }

    #[test]
    fn chunks_that_are_cut_otherwise_are_not_looked_for() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let right = Chunks::cut(&cache, 7, 40_000);
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
        let most = cache.places.geometry.longest_record() - BESIDE;
        for len in [0, 1, 8000, most, most + 1, 2 * most, 3 * most - 9, cache.max_value()] {
            let chunks = Chunks::cut(&cache, 0, len);
            assert_eq!(size(chunks.count()), len.div_ceil(most), "{len}");
            let last = chunks.len - chunks.count().saturating_sub(1) * chunks.each;
            assert!(last + 8 * chunks.count() >= chunks.each.min(chunks.len), "{chunks:?}");
        }
    }

    /// Of chunks of the longest length and short rests, a segment would hold one and a gap.
    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn values_in_chunks_that_have_room_all_stay() {
        let (len, size) = (300_000, 8 << 20);
        let cache = Cache::private(&Options { item: len, ..Options::of_size(size) }).unwrap();
        let mut session = cache.session();
        let keys = 0..u8::try_from(size * 6 / 10 / len).unwrap();
        for key in keys.clone() {
            session.set(&[key], &value(key, len), &Set::default()).unwrap();
        }
        for key in keys {
            let mut found = Vec::new();
            assert!(session.get(&[key], &mut found).is_some(), "{key}: {:?}", cache.stats());
            assert!(found == value(key, len));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "a region of which an interpreter would keep notes on every byte")]
    fn no_more_is_asked_of_memory_than_a_few_chunks_that_are_there() {
        let cache = Cache::private(&Options::of_size(32 << 20)).unwrap();
        let (mut session, len) = (cache.session(), cache.max_value());
        assert!(len as u64 > RESERVED);
        tell(&session, b"key", &Chunks::cut(&cache, 7, len).bytes());
        let mut found = Vec::new();
        assert!(session.get(b"key", &mut found).is_none());
        assert!((found.capacity() as u64) < 2 * RESERVED, "{}", found.capacity());
    }

    #[test]
    #[cfg_attr(miri, ignore = "as above")]
    fn chunks_are_dropped_to_the_first_long_gap() {
        let cache = Cache::private(&Options::of_size(32 << 20)).unwrap();
        let session = cache.session();
        let chunks = Chunks::cut(&cache, 7, cache.max_value());
        let (hash, last) = (cache.places.hash(b"key"), chunks.count() - 1);
        let present = |chunk: u64| {
            let (key, moment) = (chunks.key(chunk), cache.moment());
            let (of, partition) = (cache.places.hash(&key), Chunks::partition(&cache, hash, chunk));
            partition.get(of, &key, Space::CHUNKS, moment, &mut Vec::new()).is_some()
        };
        let gap = MISSING as u64;
        assert!(last > 50 + gap, "{last}");
        for chunk in [0, 50, last] {
            let key = chunks.key(chunk);
            let of = locked::Entry { space: Space::CHUNKS, ..entry(&session, &key, b"chunk") };
            let partition = Chunks::partition(&cache, hash, chunk);
            let mut locked = session.lock_of(partition).unwrap();
            assert!(locked.store(&of, None, Takes::Any, None).is_some());
        }
        assert!([0, 50, last].into_iter().all(present));
        session.drop_chunks(hash, &chunks.bytes(), session.patience);
        assert_eq!([0, 50, last].map(present), [false, false, true]);
    }
}
