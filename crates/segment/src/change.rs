//! Changes of entries that are there: a new value made of the old one, under the lock where the value lies in one record, and
//! by its version where it lies in parts.

use std::time::Duration;

use crate::Failed;
use crate::api::{Condition, Outcome};
use crate::locked;
use crate::record::{Header, kind};
use crate::session::{Session, alive};
use crate::stats::Of;

/// How often a value that lies in parts is changed anew where others change it too.
const TRIES: usize = 1000;

/// Makes the new value of the old one.
type Revise<'a> = dyn Fn(&[u8], &mut Vec<u8>) -> Result<(), Failed> + 'a;

/// What becomes of the time that an entry has to live.
#[derive(Debug, Clone, Copy)]
enum Ttl {
    Stays,
    Is(Option<Duration>),
}

/// What is done to an entry that is there.
struct Change<'a> {
    value: &'a Revise<'a>,
    /// A new time to live, if it is to have one.
    ttl: Ttl,
    is_stale: bool,
    /// It is no other entry for it.
    keeps_version: bool,
}

/// What became of a change.
enum Changed {
    Done(Option<u64>),
    /// The value is not in one record, or would not be.
    InParts,
}

impl Session {
    /// Gives a key a new time to live; `false` where it is not there.
    pub fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool, Failed> {
        let change =
            Change { value: &as_it_is, ttl: Ttl::Is(ttl), is_stale: false, keeps_version: true };
        Ok(self.change(key, &change)?.is_some())
    }

    /// Marks a value as an old one, which is still there for who would rather have it than none; `false` where there is none.
    pub fn expire(&mut self, key: &[u8]) -> Result<bool, Failed> {
        let change =
            Change { value: &as_it_is, ttl: Ttl::Stays, is_stale: true, keeps_version: false };
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
            ttl: Ttl::Stays,
            is_stale: false,
            keeps_version: false,
        };
        Ok(self.change(key, &change)?.map(|_| sum.get()))
    }

    pub(crate) fn extend(
        &mut self,
        key: &[u8],
        with: &dyn Fn(&[u8], &mut Vec<u8>),
    ) -> Result<Outcome, Failed> {
        let change = Change {
            value: &|old, new| {
                with(old, new);
                Ok(())
            },
            ttl: Ttl::Stays,
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

    fn change_locked(&self, hash: u64, key: &[u8], change: &Change<'_>) -> Result<Changed, Failed> {
        let mut locked = Self::lock(&self.cache, hash, self.cache.moment())?;
        let space = self.space();
        let Some(present) = alive(&mut locked, (hash, key, space)) else {
            return Ok(Changed::Done(None));
        };
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
        let expiry = self.expiry(change.ttl, &header);
        let entry = locked::Entry {
            hash,
            space,
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
        Ok(Changed::Done(locked.store(&entry, Some(present)).map(|stored| stored.version)))
    }

    /// The same where the value lies in parts before or after: read, changed, and stored if it is still the one that was read.
    fn change_parts(
        &mut self,
        hash: u64,
        key: &[u8],
        change: &Change<'_>,
    ) -> Result<Option<u64>, Failed> {
        for _ in 0..TRIES {
            let (moment, space) = (self.cache.moment(), self.space());
            let (mut old, mut new) = (Vec::new(), Vec::new());
            let found = self.partition(hash).get(hash, key, space, moment, &mut old);
            let Some(found) = found else { return Ok(None) };
            if found.header.kind & kind::CUT != 0 && !self.join(hash, moment, &mut old) {
                return Ok(None);
            }
            (change.value)(&old, &mut new)?;
            self.fits_at_all(new.len())?;
            let entry = locked::Entry {
                hash,
                space,
                key,
                value: &new,
                kind: if change.is_stale { kind::STALE } else { 0 },
                flags: found.header.flags,
                expiry: self.expiry(change.ttl, &found.header),
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

    /// When an entry expires that is changed.
    fn expiry(&self, ttl: Ttl, header: &Header) -> u64 {
        match ttl {
            Ttl::Stays => header.expiry,
            Ttl::Is(ttl) => self.cache.expiry(ttl),
        }
    }
}

/// The value stays.
#[expect(clippy::unnecessary_wraps, reason = "one that makes a new value may fail")]
fn as_it_is(old: &[u8], new: &mut Vec<u8>) -> Result<(), Failed> {
    new.extend_from_slice(old);
    Ok(())
}

/// The number that a value spells in digits alone.
fn number(value: &[u8]) -> Option<u64> {
    // `parse` would take a sign as well.
    let digits = value.first().is_some_and(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(value).ok()?.parse().ok())?
}
