//! A session's changes in place: TTLs, the stale mark, and numbers.

use std::time::Duration;

use crate::Failed;
use crate::api::{Condition, Entry, Outcome, Set};
use crate::change::TRIES;
use crate::kind;
use crate::locked::{self, Locked, Present, Takes};
use crate::number::{self, Delta, Number};
use crate::put::HOLDS;
use crate::session::{Session, alive};
use crate::space::HashedKey;
use crate::stats::SessionCount;

/// The outcome of an addition to a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sum {
    /// The key has this number now.
    Is {
        /// The number.
        number: u64,
        /// The version of the entry.
        version: u64,
    },
    /// The value is no decimal number below 2^64.
    NotANumber,
    /// The key is absent.
    NotFound,
}

impl Sum {
    /// The number, if there is one.
    pub fn number(self) -> Option<u64> {
        match self {
            Self::Is { number, .. } => Some(number),
            Self::NotANumber | Self::NotFound => None,
        }
    }
}

/// The entry that an addition makes of an absent key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Initial {
    /// Its number, to which nothing is added.
    pub number: u64,
    /// Its time to live; `None` is for ever.
    pub ttl: Option<Duration>,
}

/// A change that leaves the value as it is.
#[derive(Debug, Clone, Copy)]
enum Mark {
    /// The entry expires at this time.
    Expiry(u64),
    /// It is stale, and expires at this time at the latest.
    Stale(u64),
}

impl Session {
    /// Gives a key a new time to live; `false` where the key is absent. The mark of [`expire`](Self::expire) stays. It
    /// counts as a use.
    pub fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool, Failed> {
        let expiry = self.cache.expiry(ttl);
        Ok(self.mark(key, Mark::Expiry(expiry), None)?.is_some())
    }

    /// [`touch`](Self::touch) and [`get`](Self::get) in one: no other value comes in between.
    pub fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Entry>, Failed> {
        let (hash, expiry) = (self.key(key)?, self.cache.expiry(ttl));
        for _ in 0..TRIES {
            value.clear();
            let Some(found) = self.look(hash, key, value) else {
                self.count(SessionCount::Misses);
                return Ok(None);
            };
            // Only the entry that was read gets the new expiry.
            if self.mark(key, Mark::Expiry(expiry), Some(found.version))? == Some(found.version) {
                self.count(SessionCount::Hits);
                return Ok(Some(Entry { ttl, ..found }));
            }
        }
        value.clear();
        Err(Failed::Busy { holder: None, waited: Duration::ZERO })
    }

    /// Marks a value as out of date. It stays for so long (`None`: for the rest of its TTL), for callers that prefer an old
    /// value to no value. `false` where there is no value.
    ///
    /// Like any change, it makes all tokens and leases of the key void, whether or not there is a value.
    pub fn expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool, Failed> {
        let (hash, end) = (self.key(key)?, self.cache.expiry(keep));
        self.partition(hash).begin_change(hash, self.space(), self.cache.moment());
        Ok(self.mark(key, Mark::Stale(end), None)?.is_some())
    }

    /// Changes a value that is a decimal number. Flags, TTL and the mark of
    /// [`expire`](Self::expire) stay. It counts as a use.
    ///
    /// An absent key gets the initial number; without one it stays absent.
    pub fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Sum, Failed> {
        for _ in 0..HOLDS {
            match (self.incr_or_make_room(key, delta)?, absent) {
                (Some(Sum::NotFound), Some(Initial { number, ttl })) => {
                    let set = Set { condition: Condition::Absent, ttl, flags: 0 };
                    let mut text = Vec::new();
                    number::spell(number, &mut text);
                    // If another session has just made the entry, it is added to.
                    if let Outcome::Stored(version) = self.set(key, &text, &set)? {
                        return Ok(Sum::Is { number, version });
                    }
                }
                (Some(sum), _) => return Ok(sum),
                (None, _) => {}
            }
        }
        Err(Failed::Busy { holder: None, waited: Duration::ZERO })
    }

    /// `None` where the number needs more room first.
    fn incr_or_make_room(&self, key: &[u8], delta: Delta) -> Result<Option<Sum>, Failed> {
        let (hash, space) = (self.key(key)?, self.space());
        let mut locked = self.lock(hash)?;
        let Some(present) = alive(&mut locked, HashedKey { hash, key, space }) else {
            return Ok(Some(Sum::NotFound));
        };
        let header = present.found.header;
        if header.kind & kind::CHUNKED != 0 {
            return Ok(Some(Sum::NotANumber));
        }
        let Some(number) = number_of(&locked, hash, &present) else {
            return Ok(Some(Sum::NotANumber));
        };
        let sum = delta.applied_to(number);
        let is_own = header.kind & kind::NUMBER != 0 && header.version.is_none();
        let in_place = Number::of(header.number).changed_to(sum).filter(|_| is_own);
        if let Some(number) = in_place {
            let version = locked.set_number(hash, &present, number);
            return Ok(Some(Sum::Is { number: sum, version }));
        }
        let word = Number::new(sum).map(|number| number.0.to_ne_bytes());
        let mut text = Vec::new();
        number::spell(sum, &mut text);
        let number = if word.is_some() { kind::NUMBER } else { 0 };
        let entry = locked::Entry {
            hash,
            space,
            key,
            value: word.as_ref().map_or(&text, |word| word.as_slice()),
            kind: header.kind & kind::STALE | number,
            flags: header.flags,
            expiry: header.expiry,
            version: None,
        };
        let stored = locked.store(&entry, Some(&present), Takes::Older, None);
        let stored = self.stored(stored, text.len());
        self.unlock(locked);
        let Some(stored) = stored? else { return Ok(None) };
        let sum = Sum::Is { number: sum, version: stored.version };
        Ok(Some(if stored.is_there { sum } else { Sum::NotFound }))
    }

    /// Changes an entry by one store, and returns its version. If its value lies in chunks, their expiry is changed first. An
    /// entry with another version than `only` is left alone.
    fn mark(&mut self, key: &[u8], mark: Mark, only: Option<u64>) -> Result<Option<u64>, Failed> {
        let hash = self.key(key)?;
        let mut ready = None;
        for _ in 0..TRIES {
            let space = self.space();
            let mut locked = self.lock(hash)?;
            let Some(present) = alive(&mut locked, HashedKey { hash, key, space }) else {
                return Ok(None);
            };
            let header = present.found.header;
            if only.is_some_and(|only| only != present.found.version) {
                return Ok(Some(present.found.version));
            }
            if !self.cache.places.is_sealed(&header, hash, space) {
                locked.remove(&present);
                return Ok(None);
            }
            let expiry = match mark {
                Mark::Expiry(expiry) => expiry,
                // The chunks of a value may outlive it.
                Mark::Stale(end) => {
                    return Ok(Some(locked.mark(hash, &present, header.expiry.min(end), true)));
                }
            };
            let in_chunks =
                header.kind & kind::CHUNKED != 0 && ready != Some(present.found.version);
            if !in_chunks {
                let is_stale = header.kind & kind::STALE != 0;
                return Ok(Some(locked.mark(hash, &present, expiry, is_stale)));
            }
            ready = Some(present.found.version);
            let Some(chunks) = locked.chunks_of(hash, &present) else { return Ok(None) };
            drop(locked);
            if !self.touch_chunks(hash, &chunks, expiry)? {
                return Ok(None);
            }
        }
        Err(Failed::Busy { holder: None, waited: Duration::ZERO })
    }
}

/// The number that is the value of an entry; `None` for a damaged one.
fn number_of(locked: &Locked<'_>, hash: u64, present: &Present<'_>) -> Option<u64> {
    let header = present.found.header;
    if header.kind & kind::NUMBER == 0 {
        let mut text = Vec::new();
        return locked.read(hash, present, &mut text).then(|| number::parse(&text))?;
    }
    let space = locked.space_of(present);
    let is_whole = locked.partition.places.is_whole(&header, hash, space, &[]);
    is_whole.then(|| Number::of(header.number).value())
}
