//! One thread's handle on a cache.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::Failed;
use crate::api::{Condition, Entry, Fence, Outcome, Removal, Set, Token};
use crate::cache::Cache;
use crate::clearing;
use crate::kind;
use crate::layout::{LOCK, STATS_LINE};
use crate::lock;
use crate::locked::{self, Locked, Present};
use crate::memory::size;
use crate::partition::{Found, Moment, Partition};
use crate::space::{HashedKey, Member, Space};
use crate::stats::SessionCount;
use crate::store;
use crate::superblock::SESSIONS;
use crate::tally::Count;

/// The time for which a writer waits for one holder of a partition's lock. Other holders hold it for microseconds, unless the
/// system stops them meanwhile. A process with a quota of processor time is stopped for up to a tenth of a second, so this is
/// longer.
pub(crate) const PATIENCE: Duration = Duration::from_millis(250);

/// One thread's handle on a [`Cache`].
#[derive(Debug)]
pub struct Session {
    pub(crate) cache: Arc<Cache>,
    /// The offset of its line of counters.
    line: usize,
    /// The namespace of its keys, and the number by which their hashes are changed.
    namespace: Option<Member>,
    mix: u64,
    /// The time for which it waits for one lock holder.
    pub(crate) patience: Duration,
    /// The buffer for values that are read to be written again.
    scratch: Vec<u8>,
}

/// The number of times that a read of a value in chunks is tried when other sessions store it again
/// and again.
const LOOKS: usize = 100;

/// The number of keys that are prefetched.
pub(crate) const AHEAD: usize = 16;

impl Session {
    pub(crate) fn new(cache: Arc<Cache>, line: usize, namespace: Option<Member>) -> Self {
        let mix = namespace.map_or(0, Member::mix);
        Self { cache, line, namespace, mix, patience: PATIENCE, scratch: Vec::new() }
    }

    /// The present namespace of its keys.
    #[inline]
    pub(crate) fn space(&self) -> Space {
        self.namespace.map_or(Space::ROOT, |member| member.space(self.cache.memory()))
    }

    /// The same for a write, which a namespace that was removed cannot have.
    pub(crate) fn space_to_write(&self) -> Result<Space, Failed> {
        let space = self.space();
        if space == Space::REMOVED { Err(Failed::Removed) } else { Ok(space) }
    }

    /// Whether its namespace was removed: it finds nothing, and its sets fail.
    pub fn is_removed(&self) -> bool {
        self.space() == Space::REMOVED
    }

    #[inline]
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        self.cache.places.hash(key) ^ self.mix
    }

    /// Copies the value of a key to `value`, which is cleared first.
    #[inline]
    pub fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Option<Entry> {
        value.clear();
        self.get_onto(key, value)
    }

    /// The same, but the value goes behind the bytes that `out` has already; a miss leaves `out` as it was.
    #[inline]
    pub fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Option<Entry> {
        let hash = self.hash(key);
        let entry = self.look(hash, key, out);
        self.count(if entry.is_some() { SessionCount::Hits } else { SessionCount::Misses });
        entry
    }

    /// Looks up many keys and calls `hit` with the place of each key that is there. The memory of one key is
    /// prefetched while another is read.
    pub fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Entry)) {
        let mut value = std::mem::take(&mut self.scratch);
        let mut hashes = [0; AHEAD];
        for (block, keys) in keys.chunks(AHEAD).enumerate() {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = self.hash(key);
                self.partition(*hash).prefetch_index(*hash);
            }
            for hash in &hashes[..keys.len()] {
                self.partition(*hash).prefetch_record(*hash);
            }
            let mut hits = 0;
            for (i, (hash, key)) in hashes.iter().zip(keys).enumerate() {
                value.clear();
                if let Some(entry) = self.look(*hash, key, &mut value) {
                    hits += 1;
                    hit(block * AHEAD + i, &value, entry);
                }
            }
            self.count_many(SessionCount::Hits, hits);
            self.count_many(SessionCount::Misses, keys.len() as u64 - hits);
        }
        self.scratch = value;
    }

    /// Fetches what sets of these keys will read, so that the processor waits for all of it at once. At most 16 keys are
    /// looked at.
    pub fn expect_sets<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) {
        let mut hashes = [0; AHEAD];
        let mut n = 0;
        for (hash, key) in hashes.iter_mut().zip(keys) {
            *hash = self.hash(key);
            self.partition(*hash).prefetch_to_set(*hash);
            n += 1;
        }
        for hash in &hashes[..n] {
            self.partition(*hash).prefetch_record(*hash);
        }
    }

    /// Copies the value of a key behind the bytes that `out` has already; a miss leaves `out` as it was.
    #[inline]
    pub(crate) fn look(&self, hash: u64, key: &[u8], out: &mut Vec<u8>) -> Option<Entry> {
        let (moment, from) = (self.cache.moment(), out.len());
        let found = self.partition(hash).get(hash, key, self.space(), moment, out)?;
        let found = if found.header.kind & kind::CHUNKED == 0 {
            found
        } else {
            self.whole(hash, key, moment, found, out, from)?
        };
        Some(Entry::of(&found, moment))
    }

    /// Puts the joined chunks of an entry's value in place of their list, which `out` has from `from` on; a miss leaves `out`
    /// with the bytes before it. If a chunk is missing, the entry may have been replaced by one with other chunks. Otherwise
    /// the chunk was evicted.
    #[cold]
    pub(crate) fn whole(
        &self,
        hash: u64,
        key: &[u8],
        moment: Moment,
        mut found: Found,
        out: &mut Vec<u8>,
        from: usize,
    ) -> Option<Found> {
        for _ in 0..LOOKS {
            if found.header.kind & kind::CHUNKED == 0 || self.join(hash, moment, out, from) {
                return Some(found);
            }
            out.truncate(from);
            let now = self.partition(hash).get(hash, key, self.space(), moment, out)?;
            if now.version == found.version {
                out.truncate(from);
                self.forget(hash, key, &found);
                return None;
            }
            found = now;
        }
        out.truncate(from);
        None
    }

    /// Stores a value.
    pub fn set(&mut self, key: &[u8], value: &[u8], set: &Set) -> Result<Outcome, Failed> {
        match set.condition {
            Condition::Append => {
                return self.extend(key, &|old, new| joined(old, value, new));
            }
            Condition::Prepend => {
                return self.extend(key, &|old, new| joined(value, old, new));
            }
            _ => {}
        }
        let hash = self.key(key)?;
        if let Err(too_large) = self.fits_at_all(value.len()) {
            if set.condition == Condition::None {
                self.take_away(hash, key);
            }
            return Err(too_large);
        }
        let expiry = self.cache.expiry(set.ttl);
        let entry = locked::Entry {
            hash,
            space: self.space_to_write()?,
            key,
            value,
            kind: 0,
            flags: set.flags,
            expiry,
            version: None,
        };
        let outcome = if self.fits(&entry) {
            self.put(&entry, set.condition)
        } else {
            self.put_in_chunks(&entry, set.condition)
        };
        match outcome {
            Ok(Outcome::Stored(_)) => self.count(SessionCount::Sets),
            Err(Failed::Busy { .. }) => self.count(SessionCount::Busy),
            _ => {}
        }
        outcome
    }

    /// Removes a key; `false` where it was absent.
    ///
    /// A delete succeeds whoever holds a lock: if the lock is not free in time, the key is removed
    /// without it.
    pub fn delete(&mut self, key: &[u8]) -> Result<bool, Failed> {
        let hash = self.key(key)?;
        self.count(SessionCount::Deletes);
        Ok(self.take_away(hash, key))
    }

    /// Removes a key if its entry has this version. Unlike [`delete`](Self::delete), it needs the lock.
    pub fn delete_if(&mut self, key: &[u8], version: u64) -> Result<Removal, Failed> {
        let (hash, space) = (self.key(key)?, self.space());
        let mut locked = self.lock(hash)?;
        let Some(present) = alive(&mut locked, HashedKey { hash, key, space }) else {
            return Ok(Removal::NotFound);
        };
        if present.found.version != version {
            return Ok(Removal::Exists);
        }
        // Sessions that fill the key now see the change, at the latest after they have published.
        locked.partition.begin_change(hash, space, locked.moment);
        self.remove(hash, locked, &present, self.patience);
        self.count(SessionCount::Deletes);
        Ok(Removal::Removed)
    }

    /// Removes every entry at once: of its namespace, or, without a namespace, of the whole region.
    pub fn clear(&self) {
        match self.namespace {
            Some(member) => clearing::clear_namespace(&self.cache, member),
            None => self.cache.clear(),
        }
    }

    /// The right to fill an absent key with a value that is loaded now. The token is taken before the loading, and
    /// given back with [`Condition::Unchanged`].
    pub fn token(&self, key: &[u8]) -> Token {
        let hash = self.hash(key);
        Token {
            of: Fence::Changes(self.partition(hash).changes_of(hash).load(Ordering::SeqCst)),
            cleared: self.cache.moment().cleared,
            space: self.space(),
        }
    }

    /// The cache of this handle.
    pub fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    pub(crate) fn fits_at_all(&self, size: usize) -> Result<(), Failed> {
        let most = self.cache.max_value();
        if size > most {
            self.count(SessionCount::TooLarge);
            return Err(Failed::TooLarge { size, most });
        }
        Ok(())
    }

    /// The hash of a key, unless it is too long.
    pub(crate) fn key(&self, key: &[u8]) -> Result<u64, Failed> {
        let most = self.cache.max_key();
        if key.len() > most {
            return Err(Failed::KeyTooLong { size: key.len(), most });
        }
        Ok(self.hash(key))
    }

    /// Whether an entry has room in one record.
    pub(crate) fn fits(&self, entry: &locked::Entry<'_>) -> bool {
        let (len, geometry) = (store::shape_of(entry).record_len(), self.cache.places.geometry);
        // If the key is the longer part, cutting the value would gain little.
        let is_most_key = entry.value.len() <= entry.key.len();
        len <= geometry.longest_record() || is_most_key && len <= geometry.segment_len / 2
    }

    /// Removes an entry that has lost a chunk, and its other chunks.
    #[cold]
    fn forget(&self, hash: u64, key: &[u8], found: &Found) {
        // A reader waits for no lock.
        let locked = lock_within(&self.cache, self.partition(hash), Duration::ZERO);
        let Ok(locked) = locked else { return };
        let present =
            locked.find(hash, key, self.space()).filter(|now| now.found.version == found.version);
        let Some(present) = present else { return };
        locked.count(Count::EvictedMain, 1);
        self.remove(hash, locked, &present, Duration::ZERO);
    }

    /// Removes an entry, and, once the lock is free again, the chunks of its value if it has any.
    fn remove(&self, hash: u64, mut locked: Locked<'_>, present: &Present<'_>, patience: Duration) {
        let chunks = locked.chunks_of(hash, present);
        locked.remove(present);
        drop(locked);
        if let Some(chunks) = chunks {
            self.drop_chunks(hash, &chunks, patience);
        }
    }

    /// Removes a key in any case, under the lock if it is free in time.
    fn take_away(&self, hash: u64, key: &[u8]) -> bool {
        let partition = self.partition(hash);
        // First the change is noted, so that a session that fills the key now sees it, at the latest
        // after it has published.
        partition.begin_change(hash, self.space(), self.cache.moment());
        let Ok(mut locked) = self.lock(hash) else {
            self.count(SessionCount::Busy);
            let of = HashedKey { hash, key, space: self.space() };
            return partition.clear_slots(of, self.cache.moment());
        };
        let Some(present) = alive(&mut locked, HashedKey { hash, key, space: self.space() }) else {
            return false;
        };
        self.remove(hash, locked, &present, self.patience);
        true
    }

    /// Takes the lock of a key's partition.
    #[inline]
    pub(crate) fn lock(&self, hash: u64) -> Result<Locked<'_>, Failed> {
        self.lock_of(self.partition(hash))
    }

    #[inline]
    pub(crate) fn lock_of<'c>(&'c self, partition: Partition<'c>) -> Result<Locked<'c>, Failed> {
        lock_within(&self.cache, partition, self.patience)
    }

    #[inline]
    pub(crate) fn partition(&self, hash: u64) -> Partition<'_> {
        self.cache.partition_for(hash)
    }

    #[inline]
    pub(crate) fn count(&self, of: SessionCount) {
        self.count_many(of, 1);
    }

    #[inline]
    fn count_many(&self, of: SessionCount, more: u64) {
        if more > 0 {
            let word = self.cache.memory().word(self.line + 8 * of as usize);
            word.fetch_add(more, Ordering::Relaxed);
        }
    }
}

impl Cache {
    /// A handle for one thread.
    pub fn session(self: &Arc<Self>) -> Session {
        self.session_of(None)
    }

    /// The same; of a namespace, or of what is in none.
    pub(crate) fn session_of(self: &Arc<Self>, namespace: Option<Member>) -> Session {
        let number = size(self.memory.word(SESSIONS).fetch_add(1, Ordering::Relaxed));
        let geometry = &self.places.geometry;
        let line = geometry.stats_at() + number % geometry.stats_lines * STATS_LINE;
        Session::new(Arc::clone(self), line, namespace)
    }
}

/// Takes the lock of a partition, and waits for one holder for `patience` at most.
#[inline]
pub(crate) fn lock_within<'c>(
    cache: &'c Cache,
    partition: Partition<'c>,
    patience: Duration,
) -> Result<Locked<'c>, Failed> {
    let held = lock::take(partition.memory, partition.base + LOCK, cache.owner(), patience);
    let busy = |it: lock::Busy| Failed::Busy { holder: Some(it.thread), waited: it.waited };
    let held = held.map_err(busy)?;
    // The moment is read under the lock: while this thread waited, the region may have been cleared
    // and filled anew.
    Ok(Locked::new(partition, held, cache.moment()))
}

/// Joins two strings.
pub(crate) fn joined(first: &[u8], second: &[u8], new: &mut Vec<u8>) -> bool {
    new.reserve(first.len() + second.len());
    new.extend_from_slice(first);
    new.extend_from_slice(second);
    true
}

/// The entry of a key, if it has not expired and its namespace was not cleared since. Otherwise the entry
/// is removed.
pub(crate) fn alive<'c>(
    locked: &mut Locked<'c>,
    HashedKey { hash, key, space }: HashedKey<'_>,
) -> Option<Present<'c>> {
    let present = locked.find(hash, key, space)?;
    let stored_in = locked.space_of(&present);
    if stored_in.was_cleared(&locked.partition) || present.found.header.has_expired(|| locked.now) {
        locked.remove(&present);
        return None;
    }
    // The number of a namespace that was removed meanwhile may be another one's by now.
    (stored_in == space).then_some(present)
}
