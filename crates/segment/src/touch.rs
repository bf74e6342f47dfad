//! A session's changes in place: TTLs, the stale mark, and numbers.

use std::time::Duration;

use crate::Failed;
use crate::api::Entry;
use crate::change::TRIES;
use crate::locked::{self, Locked, Present, Takes};
use crate::number::{self, Number};
use crate::put::HOLDS;
use crate::record::kind;
use crate::session::{Session, alive};
use crate::stats::Of;

/// The outcome of an addition to a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sum {
    /// The key has this number now.
    Is(u64),
    /// The value is no decimal number below 2^64.
    NotANumber,
    /// The key is absent.
    NotFound,
}

/// A change that leaves the value as it is.
#[derive(Debug, Clone, Copy)]
enum Mark {
    /// The entry expires at this time.
    Expiry(u64),
    Stale,
}

impl Session {
    /// Gives a key a new time to live; `false` where the key is absent. The mark of [`expire`](Self::expire) stays. It
    /// counts as a use.
    pub fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool, Failed> {
        let expiry = self.cache.expiry(ttl);
        self.mark(key, Mark::Expiry(expiry))
    }

    /// [`touch`](Self::touch) and [`get`](Self::get) in one.
    pub fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Entry>, Failed> {
        value.clear();
        if self.touch(key, ttl)? {
            return Ok(self.get(key, value));
        }
        self.count(Of::Misses);
        Ok(None)
    }

    /// Marks a value as out of date. It stays, for callers that prefer an old value to no value. `false` where there is no
    /// value.
    pub fn expire(&mut self, key: &[u8]) -> Result<bool, Failed> {
        self.mark(key, Mark::Stale)
    }

    /// Adds to a value that is a decimal number. The sum stops at 0 and wraps at 2^64. Flags, TTL and the mark of
    /// [`expire`](Self::expire) stay. It counts as a use.
    pub fn incr(&mut self, key: &[u8], delta: i64) -> Result<Sum, Failed> {
        for _ in 0..HOLDS {
            if let Some(sum) = self.incr_or_make_room(key, delta)? {
                return Ok(sum);
            }
        }
        Err(Failed::Busy { holder: None, waited: Duration::ZERO })
    }

    /// `None` where the number needs more room first.
    fn incr_or_make_room(&self, key: &[u8], delta: i64) -> Result<Option<Sum>, Failed> {
        let (hash, space) = (self.key(key)?, self.space());
        let mut locked = self.lock(hash)?;
        let Some(present) = alive(&mut locked, (hash, key, space)) else {
            return Ok(Some(Sum::NotFound));
        };
        let header = present.found.header;
        if header.kind & kind::CUT != 0 {
            return Ok(Some(Sum::NotANumber));
        }
        let Some(number) = number_of(&locked, hash, &present) else {
            return Ok(Some(Sum::NotANumber));
        };
        let sum = number::add(number, delta);
        let is_own = header.kind & kind::NUMBER != 0 && header.version.is_none();
        let in_place = Number::of(header.number).changed_to(sum).filter(|_| is_own);
        if let Some(number) = in_place {
            locked.set_number(hash, &present, number);
            return Ok(Some(Sum::Is(sum)));
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
        self.release(locked);
        let Some(stored) = stored? else { return Ok(None) };
        Ok(Some(if stored.is_there { Sum::Is(sum) } else { Sum::NotFound }))
    }

    /// Changes an entry by one store. If its value lies in chunks, their expiry is changed first.
    fn mark(&mut self, key: &[u8], mark: Mark) -> Result<bool, Failed> {
        let hash = self.key(key)?;
        let mut ready = None;
        for _ in 0..TRIES {
            let space = self.space();
            let mut locked = self.lock(hash)?;
            let Some(present) = alive(&mut locked, (hash, key, space)) else { return Ok(false) };
            let header = present.found.header;
            if !self.cache.places.is_sealed(&header, (hash, space)) {
                locked.remove(&present);
                return Ok(false);
            }
            let Mark::Expiry(expiry) = mark else {
                locked.mark(hash, &present, header.expiry, true);
                return Ok(true);
            };
            let in_chunks = header.kind & kind::CUT != 0 && ready != Some(present.found.version);
            if !in_chunks {
                locked.mark(hash, &present, expiry, header.kind & kind::STALE != 0);
                return Ok(true);
            }
            ready = Some(present.found.version);
            let Some(chunks) = locked.chunks_of(hash, &present) else { return Ok(false) };
            drop(locked);
            if !self.touch_chunks(hash, &chunks, expiry)? {
                return Ok(false);
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
    let of = (hash, locked.space_of(present));
    let is_whole = locked.partition.places.is_whole(&header, of, &[]);
    is_whole.then(|| Number::of(header.number).value())
}
