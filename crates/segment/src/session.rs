//! One thread's handle on a cache.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::Failed;
use crate::cache::Cache;
use crate::layout::LOCK;
use crate::lock;
use crate::locked::{self, Locked, Present};
use crate::partition::{Found, Moment, Partition};
use crate::record::{FOREVER, kind};
use crate::stats::Of;

/// How long a writer waits for the lock of a part. Others hold it for microseconds, unless the system lets them wait while they
/// do, as one does that has more to do than processors.
const PATIENCE: Duration = Duration::from_millis(80);

/// What is known of an entry besides its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The flags it was set with.
    pub flags: u32,
    /// Changes with every change of the entry.
    pub version: u64,
    /// How long it still lives; `None` is for ever.
    pub ttl: Option<Duration>,
    /// It was marked by [`Session::expire`]: its value is an old one, for who would rather have that than none.
    pub stale: bool,
}

/// How a value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Set {
    /// Under which condition.
    pub condition: Condition,
    /// For how long; `None` is for ever.
    pub ttl: Option<Duration>,
    /// A number for the client's own use.
    pub flags: u32,
}

/// Under which condition a value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Condition {
    /// In any case.
    #[default]
    None,
    /// Only where the key is absent.
    Absent,
    /// Only where it is there.
    Present,
    /// Only where it is there with this version.
    Version(u64),
    /// Behind the value that is there, whose flags and TTL stay.
    Append,
    /// Before the value that is there, whose flags and TTL stay.
    Prepend,
    /// Only where nobody has changed anything of the key since the token was taken.
    Unchanged(Token),
}

/// What became of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is there, with this version.
    Stored(u64),
    /// The condition did not hold.
    NotStored,
    /// It has another version.
    Exists,
    /// The key whose version was asked for is not there.
    NotFound,
}

/// The right to fill a key with what was loaded elsewhere, as long as nobody has changed it since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token(u64);

/// One thread's handle on a [`Cache`].
#[derive(Debug)]
pub struct Session {
    pub(crate) cache: Arc<Cache>,
    /// Where its counters are.
    line: usize,
    /// What is read to be written again.
    scratch: Vec<u8>,
}

/// How many keys are asked for ahead of time.
const AHEAD: usize = 16;

/// How often a value that lies in parts is changed anew where others change it too.
const TRIES: usize = 1000;

/// What is done to an entry that is there.
pub(crate) struct Change<'a> {
    pub(crate) value: &'a dyn Fn(&[u8], &mut Vec<u8>) -> Result<(), Failed>,
    /// A new time to live, if it is to have one.
    pub(crate) ttl: Option<Option<Duration>>,
    pub(crate) is_stale: bool,
    /// It is no other entry for it.
    pub(crate) keeps_version: bool,
}

impl Session {
    pub(crate) fn new(cache: Arc<Cache>, line: usize) -> Self {
        Self { cache, line, scratch: Vec::new() }
    }

    /// Copies the value of a key to `value`, which is cleared first.
    #[inline]
    pub fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Option<Entry> {
        value.clear();
        let hash = self.cache.places.hash(key);
        let entry = self.look(hash, key, value);
        if entry.is_none() {
            value.clear();
        }
        self.count(if entry.is_some() { Of::Hits } else { Of::Misses });
        entry
    }

    /// Looks up many keys and calls `hit` with the place of each that is there. The memory of one is on its way while
    /// another is read.
    pub fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Entry)) {
        let mut value = std::mem::take(&mut self.scratch);
        let mut hashes = [0; AHEAD];
        for (block, keys) in keys.chunks(AHEAD).enumerate() {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = self.cache.places.hash(key);
                self.partition(*hash).prefetch_index(*hash);
            }
            for hash in &hashes[..keys.len()] {
                self.partition(*hash).prefetch_record(*hash);
            }
            for (i, (hash, key)) in hashes.iter().zip(keys).enumerate() {
                value.clear();
                let entry = self.look(*hash, key, &mut value);
                self.count(if entry.is_some() { Of::Hits } else { Of::Misses });
                if let Some(entry) = entry {
                    hit(block * AHEAD + i, &value, entry);
                }
            }
        }
        self.scratch = value;
    }

    #[inline]
    fn look(&self, hash: u64, key: &[u8], value: &mut Vec<u8>) -> Option<Entry> {
        let moment = self.cache.moment();
        let found = self.partition(hash).get(hash, key, 0, moment, value)?;
        if found.header.kind & kind::CUT != 0 && !self.join(hash, moment, value) {
            self.forget(hash, key, &found);
            return None;
        }
        Some(entry_of(&found, moment))
    }

    /// Stores a value.
    pub fn set(&mut self, key: &[u8], value: &[u8], set: &Set) -> Result<Outcome, Failed> {
        match set.condition {
            Condition::Append => {
                return self.extend(key, &|old, new| new.extend([old, value].concat()));
            }
            Condition::Prepend => {
                return self.extend(key, &|old, new| new.extend([value, old].concat()));
            }
            _ => {}
        }
        let hash = self.key(key)?;
        let most = self.cache.max_value();
        if value.len() > most {
            if set.condition == Condition::None {
                self.take_away(hash, key);
            }
            self.count(Of::TooLarge);
            return Err(Failed::TooLarge { size: value.len(), most });
        }
        let expiry = self.cache.expiry(set.ttl);
        let entry =
            locked::Entry { hash, key, value, kind: 0, flags: set.flags, expiry, version: None };
        let outcome = if self.fits(&entry) {
            self.put(&entry, set.condition)
        } else {
            self.put_in_parts(&entry, set.condition)
        };
        match outcome {
            Ok(Outcome::Stored(_)) => self.count(Of::Sets),
            Err(Failed::Busy) => {
                self.take_away(hash, key);
                self.count(Of::Busy);
            }
            _ => {}
        }
        outcome
    }

    /// Removes a key; `false` where it was not there.
    ///
    /// It does so whoever holds a lock: what cannot be done under the lock is done without it.
    pub fn delete(&mut self, key: &[u8]) -> Result<bool, Failed> {
        let hash = self.key(key)?;
        self.count(Of::Deletes);
        Ok(self.take_away(hash, key))
    }

    /// Gives a key a new time to live; `false` where it is not there.
    pub fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool, Failed> {
        let change = Change {
            value: &|old, new| {
                new.extend_from_slice(old);
                Ok(())
            },
            ttl: Some(ttl),
            is_stale: false,
            keeps_version: true,
        };
        Ok(self.change(key, &change)?.is_some())
    }

    /// Marks a value as an old one, which is still there for who would rather have it than none; `false` where there is none.
    pub fn expire(&mut self, key: &[u8]) -> Result<bool, Failed> {
        let change = Change {
            value: &|old, new| {
                new.extend_from_slice(old);
                Ok(())
            },
            ttl: None,
            is_stale: true,
            keeps_version: false,
        };
        Ok(self.change(key, &change)?.is_some())
    }

    /// Adds to the decimal number under a key, by memcached's rules; `None` where it is not there.
    pub fn incr(&mut self, key: &[u8], delta: i64) -> Result<Option<u64>, Failed> {
        let sum = std::cell::Cell::new(0);
        let change = Change {
            value: &|old, new| {
                let number = number(old).ok_or(Failed::NoNumber)?;
                let less = delta.unsigned_abs();
                sum.set(if delta < 0 {
                    number.saturating_sub(less)
                } else {
                    number.wrapping_add(less)
                });
                new.extend_from_slice(sum.get().to_string().as_bytes());
                Ok(())
            },
            ttl: None,
            is_stale: false,
            keeps_version: false,
        };
        Ok(self.change(key, &change)?.map(|_| sum.get()))
    }

    /// The right to fill a key that is not there with what is loaded now: taken before the loading, given back with
    /// [`Condition::Unchanged`].
    pub fn token(&self, key: &[u8]) -> Token {
        let hash = self.cache.places.hash(key);
        Token(self.partition(hash).fence_of(hash).load(Ordering::SeqCst))
    }

    /// The cache it is a handle on.
    pub fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    fn extend(
        &mut self,
        key: &[u8],
        with: &dyn Fn(&[u8], &mut Vec<u8>),
    ) -> Result<Outcome, Failed> {
        let change = Change {
            value: &|old, new| {
                with(old, new);
                Ok(())
            },
            ttl: None,
            is_stale: false,
            keeps_version: false,
        };
        let changed = self.change(key, &change)?;
        if changed.is_some() {
            self.count(Of::Sets);
        }
        Ok(changed.map_or(Outcome::NotStored, Outcome::Stored))
    }

    /// Changes an entry that is there; its version, or `None` where it is not.
    fn change(&mut self, key: &[u8], change: &Change<'_>) -> Result<Option<u64>, Failed> {
        let hash = self.key(key)?;
        match self.change_locked(hash, key, change)? {
            Changed::Done(version) => Ok(version),
            Changed::InParts => self.change_parts(hash, key, change),
        }
    }

    fn change_locked(
        &mut self,
        hash: u64,
        key: &[u8],
        change: &Change<'_>,
    ) -> Result<Changed, Failed> {
        let cache = Arc::clone(&self.cache);
        let moment = cache.moment();
        let mut locked = self.lock(&cache, hash, moment)?;
        let Some(present) = alive(&mut locked, hash, key) else { return Ok(Changed::Done(None)) };
        let header = present.found.header;
        if header.kind & kind::CUT != 0 {
            return Ok(Changed::InParts);
        }
        let (mut old, mut new) = (Vec::new(), Vec::new());
        if !locked.read(hash, &present, &mut old) {
            locked.remove(&present);
            return Ok(Changed::Done(None));
        }
        (change.value)(&old, &mut new)?;
        self.fits_at_all(new.len())?;
        let expiry = change.ttl.map_or(header.expiry, |ttl| cache.expiry(ttl));
        let entry = locked::Entry {
            hash,
            key,
            value: &new,
            kind: if change.is_stale { kind::STALE } else { 0 },
            flags: header.flags,
            expiry,
            version: change.keeps_version.then_some(present.found.version),
        };
        if !self.fits(&entry) {
            return Ok(Changed::InParts);
        }
        Ok(Changed::Done(locked.store(&entry).map(|stored| stored.version)))
    }

    /// The same where the value lies in parts before or after: read, changed, and stored if it is still the one that was read.
    fn change_parts(
        &mut self,
        hash: u64,
        key: &[u8],
        change: &Change<'_>,
    ) -> Result<Option<u64>, Failed> {
        for _ in 0..TRIES {
            let moment = self.cache.moment();
            let (mut old, mut new) = (Vec::new(), Vec::new());
            let found = self.partition(hash).get(hash, key, 0, moment, &mut old);
            let Some(found) = found else { return Ok(None) };
            if found.header.kind & kind::CUT != 0 && !self.join(hash, moment, &mut old) {
                return Ok(None);
            }
            (change.value)(&old, &mut new)?;
            self.fits_at_all(new.len())?;
            let entry = locked::Entry {
                hash,
                key,
                value: &new,
                kind: if change.is_stale { kind::STALE } else { 0 },
                flags: found.header.flags,
                expiry: change.ttl.map_or(found.header.expiry, |ttl| self.cache.expiry(ttl)),
                version: change.keeps_version.then_some(found.version),
            };
            match self.put_in_parts(&entry, Condition::Version(found.version))? {
                Outcome::Stored(version) => return Ok(Some(version)),
                Outcome::NotFound => return Ok(None),
                Outcome::Exists | Outcome::NotStored => {}
            }
        }
        Err(Failed::Busy)
    }

    fn fits_at_all(&self, size: usize) -> Result<(), Failed> {
        let most = self.cache.max_value();
        if size > most {
            self.count(Of::TooLarge);
            return Err(Failed::TooLarge { size, most });
        }
        Ok(())
    }

    /// The hash of a key, unless it is too long.
    fn key(&self, key: &[u8]) -> Result<u64, Failed> {
        let most = self.cache.max_key();
        if key.len() > most {
            return Err(Failed::KeyTooLong { size: key.len(), most });
        }
        Ok(self.cache.places.hash(key))
    }

    /// Whether an entry has room in one record.
    fn fits(&self, entry: &locked::Entry<'_>) -> bool {
        locked::header_of(entry).record_len() <= self.cache.places.geometry.longest_record()
    }

    /// Takes an entry away of which a part was evicted, and the parts that are left.
    #[cold]
    fn forget(&self, hash: u64, key: &[u8], found: &Found) {
        let Ok(mut locked) = self.lock(&self.cache, hash, self.cache.moment()) else { return };
        let present = locked.find(hash, key, 0).filter(|now| now.found.version == found.version);
        let Some(present) = present else { return };
        let parts = locked.parts_of(hash, &present);
        locked.remove(&present);
        drop(locked);
        if let Some(parts) = parts {
            self.evict_parts(hash, &parts);
        }
    }

    /// Stores an entry of one record.
    pub(crate) fn put(
        &self,
        entry: &locked::Entry<'_>,
        condition: Condition,
    ) -> Result<Outcome, Failed> {
        let cache = Arc::clone(&self.cache);
        let mut locked = self.lock(&cache, entry.hash, cache.moment())?;
        let present = alive(&mut locked, entry.hash, entry.key);
        let refused = self.refusal(&locked, condition, entry.hash, present.as_ref());
        if let Some(refused) = refused {
            return Ok(refused);
        }
        let Some(stored) = locked.store(entry) else {
            return Err(Failed::TooLarge { size: entry.value.len(), most: cache.max_value() });
        };
        if let Condition::Unchanged(token) = condition
            && stored.changes != token.0
        {
            // Somebody deleted the key meanwhile, without the lock.
            if let Some(own) = locked.find(entry.hash, entry.key, 0) {
                locked.remove(&own);
            }
            self.count(Of::RefusedFills);
            return Ok(Outcome::NotStored);
        }
        drop(locked);
        if let Some(parts) = stored.was {
            self.drop_parts(entry.hash, &parts);
        }
        Ok(Outcome::Stored(stored.version))
    }

    /// Why a condition does not hold.
    fn refusal(
        &self,
        locked: &Locked<'_>,
        condition: Condition,
        hash: u64,
        present: Option<&Present>,
    ) -> Option<Outcome> {
        match (condition, present) {
            (Condition::Absent, Some(_)) | (Condition::Present, None) => Some(Outcome::NotStored),
            (Condition::Version(_), None) => Some(Outcome::NotFound),
            (Condition::Version(wanted), Some(present)) => {
                (present.found.version != wanted).then_some(Outcome::Exists)
            }
            (Condition::Unchanged(token), _) => {
                let now = locked.partition.fence_of(hash).load(Ordering::SeqCst);
                let is_changed = now != token.0;
                if is_changed {
                    self.count(Of::RefusedFills);
                }
                is_changed.then_some(Outcome::NotStored)
            }
            _ => None,
        }
    }

    /// Removes a key by all means.
    fn take_away(&mut self, hash: u64, key: &[u8]) -> bool {
        let cache = Arc::clone(&self.cache);
        let moment = cache.moment();
        // First of all, so that who fills the key now sees it, at the latest after he has published.
        cache.partition_for(hash).fence_of(hash).fetch_add(1, Ordering::SeqCst);
        let Ok(mut locked) = self.lock(&cache, hash, moment) else {
            self.count(Of::Busy);
            return cache.partition_for(hash).clear_slots(hash, key, moment);
        };
        let Some(present) = alive(&mut locked, hash, key) else { return false };
        let parts = locked.parts_of(hash, &present);
        locked.remove(&present);
        drop(locked);
        if let Some(parts) = parts {
            self.drop_parts(hash, &parts);
        }
        true
    }

    /// Takes the lock of a key's part.
    fn lock<'c>(&self, cache: &'c Cache, hash: u64, moment: Moment) -> Result<Locked<'c>, Failed> {
        self.lock_of(cache, cache.partition_for(hash), moment)
    }

    pub(crate) fn lock_of<'c>(
        &self,
        cache: &'c Cache,
        partition: Partition<'c>,
        moment: Moment,
    ) -> Result<Locked<'c>, Failed> {
        let held = lock::take(cache.memory(), partition.base + LOCK, PATIENCE);
        Ok(Locked::new(partition, held.map_err(|_| Failed::Busy)?, moment))
    }

    #[inline]
    fn partition(&self, hash: u64) -> Partition<'_> {
        self.cache.partition_for(hash)
    }

    #[inline]
    pub(crate) fn count(&self, of: Of) {
        self.cache.memory().word(self.line + 8 * of as usize).fetch_add(1, Ordering::Relaxed);
    }
}

/// What became of a change.
enum Changed {
    Done(Option<u64>),
    /// The value is not in one record, or would not be.
    InParts,
}

/// The entry of a key that has not expired. One that has is taken away.
fn alive(locked: &mut Locked<'_>, hash: u64, key: &[u8]) -> Option<Present> {
    let present = locked.find(hash, key, 0)?;
    if present.found.header.has_expired(|| locked.now) {
        locked.remove(&present);
        return None;
    }
    Some(present)
}

/// The number that a value spells in digits alone.
fn number(value: &[u8]) -> Option<u64> {
    // `parse` would take a sign as well.
    let digits = value.first().is_some_and(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(value).ok()?.parse().ok())?
}

fn entry_of(found: &Found, moment: Moment) -> Entry {
    let header = found.header;
    Entry {
        flags: header.flags,
        version: found.version,
        ttl: if header.expiry == FOREVER { None } else { header.remaining(moment.now()) },
        stale: header.kind & kind::STALE != 0,
    }
}
