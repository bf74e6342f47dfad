//! Values that are too long for a record are divided into chunks. Each chunk is an entry by itself, and one further entry lists
//! them.
//!
//! The chunks are stored before the entry, under a number that no other value of the region has. So a value is read as a
//! whole, or, if a chunk was evicted meanwhile, not at all. Chunks lie in all partitions in turn, and stay or go with the
//! entry: see `chunk_eviction.rs`.

use std::ops::Range;
use std::time::Duration;

use crate::Failed;
use crate::api::{Condition, Outcome};
use crate::cache::Cache;
use crate::change::TRIES;
use crate::chunk_places::number;
use crate::chunks::{Chunks, written_at};
use crate::kind;
use crate::locked::{self, Doomed, Takes};
use crate::memory::size;
use crate::partition::{Moment, Partition};
use crate::put::HOLDS;
use crate::session::{AHEAD, Session, lock_within};
use crate::space::Space;

/// A value is large if it takes a quarter of the small queue, which is a tenth of the region. A value of half a
/// segment of each partition is large, too.
const LARGE_SHARE: usize = 40;

/// The bytes that are reserved for a value before any of its chunks has been found. More are reserved as chunks
/// are found.
const RESERVED: u64 = 4 << 20;

/// A removal stops after this many missing chunks in a row, one round of all partitions. Later chunks are dropped
/// when their segments are emptied.
const MISSING: usize = 64;

impl Session {
    /// Joins the chunks of the value whose entry `out` has from `from` on, and puts the value in its place; `false` where a
    /// chunk is missing.
    pub(crate) fn join(&self, hash: u64, moment: Moment, out: &mut Vec<u8>, from: usize) -> bool {
        let Some(chunks) = Chunks::of(&self.cache, &out[from..]) else { return false };
        out.truncate(from);
        // A damaged file must not make this process reserve memory for a value that does not exist.
        out.reserve(usize::try_from(chunks.len.min(RESERVED)).unwrap_or(0));
        let n_chunks = chunks.count();
        (0..n_chunks).step_by(AHEAD).all(|first| {
            let of_block = first..n_chunks.min(first + AHEAD as u64);
            let hashes = self.prefetch_chunks(chunks, hash, of_block.clone());
            of_block.zip(hashes).all(|(chunk, of)| {
                let key = chunks.key(hash, chunk);
                let partition = Chunks::partition(&self.cache, hash, chunk);
                let found = partition.get(of, &key, Space::CHUNKS, moment, out);
                let there = (chunk + 1).saturating_mul(chunks.each).min(chunks.len);
                found.is_some() && (out.len() - from) as u64 == there
            })
        })
    }

    /// Prefetches what is read before the bytes of some chunks, so that the processor waits for all of them at once. Returns
    /// the hashes of their keys.
    fn prefetch_chunks(&self, chunks: Chunks, hash: u64, of_block: Range<u64>) -> [u64; AHEAD] {
        let mut hashes = [0; AHEAD];
        for (of, chunk) in hashes.iter_mut().zip(of_block.clone()) {
            *of = self.cache.places.hash(&chunks.key(hash, chunk));
            Chunks::partition(&self.cache, hash, chunk).prefetch_index(*of);
        }
        for (of, chunk) in hashes.iter().zip(of_block) {
            Chunks::partition(&self.cache, hash, chunk).prefetch_record(*of);
        }
        hashes
    }

    /// Stores an entry whose value is cut. If a clear removes the chunks before their entry is stored, all of it is
    /// stored again.
    pub(crate) fn put_in_chunks(
        &mut self,
        entry: &locked::Entry<'_>,
        condition: Condition,
    ) -> Result<Outcome, Failed> {
        for _ in 0..TRIES {
            let entry = locked::Entry { space: self.space_to_write()?, ..*entry };
            if let Some(outcome) = self.put_cut(&entry, condition)? {
                return Ok(outcome);
            }
        }
        Err(Failed::Busy { holder: None, waited: Duration::ZERO })
    }

    /// Stores the chunks and then their entry; `None` where a clear came in between.
    fn put_cut(
        &self,
        entry: &locked::Entry<'_>,
        condition: Condition,
    ) -> Result<Option<Outcome>, Failed> {
        if let Some(refused) = self.refusal_of_chunks(entry, condition)? {
            return Ok(Some(refused));
        }
        let number = number(&self.cache, entry.hash);
        let chunks = Chunks::divide(&self.cache, number, entry.space.word, entry.value.len());
        let (partition, moment) = (self.partition(entry.hash), self.cache.moment());
        let is_admitted = partition.is_admitted(entry.hashed_key(), moment);
        let admitted = if is_admitted { kind::ADMITTED } else { 0 };
        let outcome = self.put_chunks(entry, chunks, admitted).and_then(|()| {
            #[cfg(test)]
            tests::put_chunks();
            let bytes = chunks.bytes();
            let kind = entry.kind | kind::CHUNKED | admitted;
            let head = locked::Entry { value: &bytes, kind, ..*entry };
            self.put_head(&head, condition, moment)
        });
        if !matches!(outcome, Ok(Some(Outcome::Stored(_)))) {
            // After one wait in vain this writer does not wait again.
            let is_busy = matches!(outcome, Err(Failed::Busy { .. }));
            let patience = if is_busy { Duration::ZERO } else { self.patience };
            self.drop_chunks(entry.hash, &chunks.bytes(), patience);
        }
        outcome
    }

    fn put_chunks(
        &self,
        entry: &locked::Entry<'_>,
        chunks: Chunks,
        kind: u8,
    ) -> Result<(), Failed> {
        let geometry = &self.cache.places.geometry;
        let partitions = geometry.partitions as u64;
        // Where the main queue is in use, the small one has room for little more than a segment of each partition.
        let most = geometry.partitions * geometry.segment_len / 2;
        let is_large = entry.value.len() > most.min(self.cache.size() / LARGE_SHARE);
        for (chunk, value) in (0..).zip(entry.value.chunks(size(chunks.each))) {
            let key = chunks.key(entry.hash, chunk);
            let of = locked::Entry {
                hash: self.cache.places.hash(&key),
                space: Space::CHUNKS,
                key: &key,
                value,
                kind,
                flags: 0,
                expiry: entry.expiry,
                version: None,
            };
            let partition = Chunks::partition(&self.cache, entry.hash, chunk);
            let is_first = chunk < partitions;
            self.put_chunk(&of, partition, is_large.then_some(is_first))?;
        }
        Ok(())
    }

    /// Stores a chunk. `is_of_large` says that its value is large, and whether it is the value's
    /// first chunk in its partition.
    fn put_chunk(
        &self,
        chunk: &locked::Entry<'_>,
        partition: Partition<'_>,
        is_of_large: Option<bool>,
    ) -> Result<(), Failed> {
        for _ in 0..HOLDS {
            let mut locked = self.lock_of(partition)?;
            locked.is_of_large = is_of_large;
            let chunk = locked::Entry { flags: written_at(locked.now), ..*chunk };
            let stored = locked.store(&chunk, None, Takes::Any, None);
            let stored = self.stored(stored, chunk.value.len());
            self.unlock(locked);
            if stored?.is_some() {
                return Ok(());
            }
        }
        Err(Failed::Busy { holder: None, waited: Duration::ZERO })
    }

    /// Gives the chunks of a value another expiry; `false` where a chunk is missing, because the value
    /// is then lost.
    pub(crate) fn touch_chunks(
        &self,
        hash: u64,
        chunks: &[u8],
        expiry: u64,
    ) -> Result<bool, Failed> {
        let Some(chunks) = Chunks::of(&self.cache, chunks) else { return Ok(false) };
        for chunk in 0..chunks.count() {
            let key = chunks.key(hash, chunk);
            let of = self.cache.places.hash(&key);
            let locked = self.lock_of(Chunks::partition(&self.cache, hash, chunk))?;
            let Some(present) = locked.find(of, &key, Space::CHUNKS) else { return Ok(false) };
            locked.mark(of, &present, expiry, false);
        }
        Ok(true)
    }

    /// Removes the chunks of a value that has no entry any more.
    pub(crate) fn drop_chunks(&self, hash: u64, chunks: &[u8], patience: Duration) {
        self.cache.drop_chunks(hash, chunks, patience, &|| false);
    }
}

impl Cache {
    /// Removes the rest of values of which a part was evicted or replaced. A writer waits for no lock to do this. A
    /// chunk that is left over is dropped when its segment is emptied.
    pub(crate) fn drop_doomed(&self, doomed: Vec<Doomed>) {
        self.drop_doomed_until(doomed, &|| false);
    }

    /// The same, with chunks left over once the time is over. Each hold of a lock is for one entry or chunk.
    pub(crate) fn drop_doomed_until(&self, doomed: Vec<Doomed>, is_over: &dyn Fn() -> bool) {
        for Doomed { hash, chunks } in doomed {
            if let Ok(mut locked) = lock_within(self, self.partition_for(hash), Duration::ZERO)
                && let Some(list) = Chunks::of(self, &chunks)
            {
                locked.evict_head(hash, list.number);
            }
            self.drop_chunks(hash, &chunks, Duration::ZERO, is_over);
        }
    }

    /// Removes the chunks of a value that has no entry any more. If a lock is not free in time, the chunk is dropped when
    /// its segment is emptied. After one wait in vain it does not wait for another lock.
    fn drop_chunks(
        &self,
        hash: u64,
        chunks: &[u8],
        mut patience: Duration,
        is_over: &dyn Fn() -> bool,
    ) {
        let Some(chunks) = Chunks::of(self, chunks) else { return };
        let mut missing = 0;
        for chunk in 0..chunks.count() {
            if missing == MISSING || is_over() {
                return;
            }
            missing += 1;
            let key = chunks.key(hash, chunk);
            let of = self.places.hash(&key);
            let partition = Chunks::partition(self, hash, chunk);
            let Ok(mut locked) = lock_within(self, partition, patience) else {
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
    use std::cell::RefCell;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::superblock::CHUNKED_VALUES;
    use crate::{Options, Set};

    thread_local! {
        /// An action of another session, done once between the storing of a value's chunks and of
        /// its entry.
        static OTHERS: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    }

    pub(super) fn put_chunks() {
        if let Some(others) = OTHERS.take() {
            others();
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn a_value_that_is_stored_while_all_is_cleared_is_there_and_whole() {
        for of_all in [false, true] {
            let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
            let shop = cache.namespace("shop").unwrap();
            let mut session = shop.session();
            let others = Arc::clone(&cache);
            OTHERS.set(Some(Box::new(move || {
                if of_all {
                    others.clear();
                } else {
                    shop.clear();
                }
                // These sets empty the segments with the chunks.
                let mut session = others.session();
                for key in 0..3000_u64 {
                    session.set(&key.to_le_bytes(), &value(1, 500), &Set::default()).unwrap();
                }
            })));
            let stored = session.set(b"key", &value(7, 40_000), &Set::default());
            assert!(matches!(stored, Ok(Outcome::Stored(_))), "{stored:?}");
            let mut found = Vec::new();
            assert!(session.get(b"key", &mut found).is_some(), "all: {of_all}");
            assert!(found == value(7, 40_000));
        }
    }

    /// A value of one repeated byte.
    fn value(byte: u8, len: usize) -> Vec<u8> {
        vec![byte; len]
    }

    fn entry<'e>(session: &Session, key: &'e [u8], value: &'e [u8]) -> locked::Entry<'e> {
        locked::Entry::lasting(session.cache.places.hash(key), key, value)
    }

    /// Stores an entry with a made-up list of chunks, as a file may have it after a foreign write.
    fn tell(session: &Session, key: &[u8], bytes: &[u8]) {
        let head = locked::Entry { kind: kind::CHUNKED, ..entry(session, key, bytes) };
        assert!(matches!(session.put(&head, Condition::None), Ok(Outcome::Stored(_))));
    }

    #[test]
    fn a_counter_that_goes_back_gives_no_value_the_chunks_of_another() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        let go_back = || cache.memory().word(CHUNKED_VALUES).fetch_sub(1, Ordering::Relaxed);
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

    /// When all of the region is in use, new entries have little room until they are read.
    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn values_of_any_size_are_there_after_their_set_in_a_region_in_full_use() {
        let size = 2 << 20;
        for part in [20, 41, 100] {
            let cache = Cache::private(&Options::of_size(size)).unwrap();
            let (mut session, mut lost) = (cache.session(), 0);
            for round in 0..30_u8 {
                for key in 0..14_000_u64 {
                    let key = key.to_le_bytes();
                    if session.get(&key, &mut Vec::new()).is_none() {
                        session.set(&key, &value(1, 100), &Set::default()).unwrap();
                    }
                }
                session.set(&[round], &value(round, size / part), &Set::default()).unwrap();
                lost += u32::from(session.get(&[round], &mut Vec::new()).is_none());
            }
            assert_eq!(lost, 0, "of 30 values of a {part}th: {:?}", cache.stats());
        }
    }

    /// With chunks of the longest length and short rests, a segment would hold one chunk and a gap.
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
        tell(&session, b"key", &Chunks::divide(&cache, 7, 0, len).bytes());
        let mut found = Vec::new();
        assert!(session.get(b"key", &mut found).is_none());
        assert!((found.capacity() as u64) < 2 * RESERVED, "{}", found.capacity());
    }

    #[test]
    #[cfg_attr(miri, ignore = "as above")]
    fn chunks_are_dropped_to_the_first_long_gap() {
        let cache = Cache::private(&Options::of_size(32 << 20)).unwrap();
        let session = cache.session();
        let chunks = Chunks::divide(&cache, 7, 0, cache.max_value());
        let (hash, last) = (cache.places.hash(b"key"), chunks.count() - 1);
        let present = |chunk: u64| {
            let (key, moment) = (chunks.key(hash, chunk), cache.moment());
            let (of, partition) = (cache.places.hash(&key), Chunks::partition(&cache, hash, chunk));
            partition.get(of, &key, Space::CHUNKS, moment, &mut Vec::new()).is_some()
        };
        let gap = MISSING as u64;
        assert!(last > 50 + gap, "{last}");
        for chunk in [0, 50, last] {
            let key = chunks.key(hash, chunk);
            let of = locked::Entry { space: Space::CHUNKS, ..entry(&session, &key, b"chunk") };
            let partition = Chunks::partition(&cache, hash, chunk);
            let mut locked = session.lock_of(partition).unwrap();
            assert!(locked.store(&of, None, Takes::Any, None).is_ok());
        }
        assert!([0, 50, last].into_iter().all(present));
        session.drop_chunks(hash, &chunks.bytes(), session.patience);
        assert_eq!([0, 50, last].map(present), [false, false, true]);
    }
}
