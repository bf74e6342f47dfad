//! Changes of existing entries: a new value is made of the old one. In one record this happens under the lock. A value in
//! chunks is compared by its version.

use std::time::Duration;

use crate::Failed;
use crate::api::{Condition, Outcome};
use crate::kind;
use crate::locked::{self, Takes};
use crate::put::HOLDS;
use crate::session::{Session, alive};
use crate::space::HashedKey;
use crate::stats::SessionCount;

/// The number of times that a change of a value in chunks is tried when other sessions change it
/// too.
pub(crate) const TRIES: usize = 1000;

/// Makes the new value of the old one; `false` where there is no new value.
pub type Revise<'a> = dyn Fn(&[u8], &mut Vec<u8>) -> bool + 'a;

/// The outcome of a change.
enum Changed {
    Done(Outcome),
    /// The old or the new value does not fit in one record.
    InChunks,
    /// The new value needs more room, which the caller makes under another hold of the lock.
    NoRoomYet,
}

impl Session {
    /// Replaces the value of a key by the result of `value`; no other session changes it meanwhile. Flags, TTL and the mark of
    /// [`expire`](Self::expire) stay. If `value` returns `false`, the old value stays and the answer is [`Outcome::NotStored`].
    /// If the key is absent, the answer is [`Outcome::NotFound`].
    ///
    /// Other writers wait while `value` is called, and it may be called more than once.
    pub fn revise(&mut self, key: &[u8], value: &Revise<'_>) -> Result<Outcome, Failed> {
        let hash = self.key(key)?;
        for _ in 0..HOLDS {
            match self.change_locked(hash, key, value)? {
                Changed::Done(outcome) => return Ok(outcome),
                Changed::InChunks => return self.change_chunks(hash, key, value),
                Changed::NoRoomYet => {}
            }
        }
        Err(Failed::Busy { holder: None, waited: Duration::ZERO })
    }

    pub(crate) fn extend(&mut self, key: &[u8], with: &Revise<'_>) -> Result<Outcome, Failed> {
        self.space_to_write()?;
        let outcome = self.revise(key, with)?;
        if matches!(outcome, Outcome::Stored(_)) {
            self.count(SessionCount::Sets);
            return Ok(outcome);
        }
        Ok(Outcome::NotStored)
    }

    fn change_locked(&self, hash: u64, key: &[u8], change: &Revise<'_>) -> Result<Changed, Failed> {
        let mut locked = self.lock(hash)?;
        let space = self.space();
        let Some(present) = alive(&mut locked, HashedKey { hash, key, space }) else {
            return Ok(Changed::Done(Outcome::NotFound));
        };
        let header = present.found.header;
        if header.kind & kind::CHUNKED != 0 {
            return Ok(Changed::InChunks);
        }
        let (mut old, mut new) = (Vec::new(), Vec::new());
        if !locked.text(hash, &present, &mut old) {
            locked.remove(&present);
            return Ok(Changed::Done(Outcome::NotFound));
        }
        let is_new = change(&old, &mut new);
        if !locked.held.is_own() {
            // The function under the lock has forked, and this is the child.
            return Err(Failed::Busy { holder: None, waited: Duration::ZERO });
        }
        if !is_new {
            return Ok(Changed::Done(Outcome::NotStored));
        }
        self.fits_at_all(new.len())?;
        let entry = locked::Entry {
            hash,
            space,
            key,
            value: &new,
            // A value that is made of a stale value is stale, too.
            kind: header.kind & kind::STALE,
            flags: header.flags,
            expiry: header.expiry,
            version: None,
        };
        if !self.fits(&entry) {
            return Ok(Changed::InChunks);
        }
        let stored = locked.store(&entry, Some(&present), Takes::Older, None);
        let stored = self.stored(stored, new.len());
        self.unlock(locked);
        let Some(stored) = stored? else { return Ok(Changed::NoRoomYet) };
        let stored_it = Outcome::Stored(stored.version);
        Ok(Changed::Done(if stored.is_there { stored_it } else { Outcome::NotFound }))
    }

    /// Changes a value that lies in chunks before or after the change: it is read, changed, and stored if its version is the
    /// same.
    fn change_chunks(
        &mut self,
        hash: u64,
        key: &[u8],
        change: &Revise<'_>,
    ) -> Result<Outcome, Failed> {
        for _ in 0..TRIES {
            let (moment, space) = (self.cache.moment(), self.space());
            let (mut old, mut new) = (Vec::new(), Vec::new());
            let found = self.partition(hash).get(hash, key, space, moment, &mut old);
            let whole = |found| self.whole(hash, key, moment, found, &mut old, 0);
            let Some(found) = found.and_then(whole) else { return Ok(Outcome::NotFound) };
            if !change(&old, &mut new) {
                return Ok(Outcome::NotStored);
            }
            self.fits_at_all(new.len())?;
            let entry = locked::Entry {
                hash,
                space,
                key,
                value: &new,
                kind: found.header.kind & kind::STALE,
                flags: found.header.flags,
                expiry: found.header.expiry,
                version: None,
            };
            match self.put_in_chunks(&entry, Condition::Version(found.version))? {
                // Another session changed the value meanwhile.
                Outcome::Exists | Outcome::NotStored => {}
                outcome => return Ok(outcome),
            }
        }
        Err(Failed::Busy { holder: None, waited: Duration::ZERO })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::joined;
    use crate::{Cache, Options, Set};

    /// Changes that keep a value, or derive the new one from it.
    type Changes = [(&'static str, fn(&mut Session))];

    #[test]
    fn what_is_made_of_an_old_value_is_an_old_one_until_it_is_set() {
        let changes: &Changes = &[
            ("touch", |of| assert_eq!(of.touch(b"key", Some(Duration::from_secs(99))), Ok(true))),
            ("append", |of| extend(of, Condition::Append)),
            ("prepend", |of| extend(of, Condition::Prepend)),
            ("revise", |of| {
                let longer = |old: &[u8], new: &mut Vec<u8>| joined(old, b"more", new);
                assert!(matches!(of.revise(b"key", &longer), Ok(Outcome::Stored(_))));
            }),
        ];
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        // In one record, and in chunks before and after.
        for len in [10, 8100, 17_000] {
            for (what, change) in changes {
                for is_stale in [true, false] {
                    session.set(b"key", &vec![1; len], &Set::default()).unwrap();
                    if is_stale {
                        assert_eq!(session.expire(b"key", None), Ok(true));
                    }
                    change(&mut session);
                    let entry = session.get(b"key", &mut Vec::new()).unwrap();
                    assert_eq!(entry.stale, is_stale, "{what} of {len}");
                }
            }
        }
    }

    fn extend(session: &mut Session, condition: Condition) {
        let set = Set { condition, ..Set::default() };
        assert!(matches!(session.set(b"key", &[2; 99], &set), Ok(Outcome::Stored(_))));
    }
}
