//! Storing an entry of one record, under any condition.

use std::time::Duration;

use crate::Failed;
use crate::api::{Condition, Outcome};
use crate::free_space::NoSpace;
use crate::locked::{self, Locked, Present, Stored, Takes};
use crate::partition::Moment;
use crate::session::{Session, alive};
use crate::stats::SessionCount;

/// The most holds of a lock that make room for one record. Fewer steps lead to a free segment, unless other writers take
/// the room.
pub(crate) const HOLDS: usize = 100_000;

impl Session {
    /// Stores an entry of one record.
    pub(crate) fn put(
        &self,
        entry: &locked::Entry<'_>,
        condition: Condition,
    ) -> Result<Outcome, Failed> {
        self.partition(entry.hash).prefetch_to_set(entry.hash);
        for _ in 0..HOLDS {
            if let Some(outcome) = self.put_or_make_room(entry, condition)? {
                return Ok(outcome);
            }
        }
        Err(Failed::Busy { holder: None, waited: Duration::ZERO })
    }

    /// Stores the entry, or makes room under one hold of the lock; `None` where more room is needed.
    fn put_or_make_room(
        &self,
        entry: &locked::Entry<'_>,
        condition: Condition,
    ) -> Result<Option<Outcome>, Failed> {
        let mut locked = self.lock(entry.hash)?;
        // The namespace's generation is read again under the lock: it may have been cleared while this thread waited.
        let space = self.space_to_write()?;
        let outcome = self.put_locked(&mut locked, &locked::Entry { space, ..*entry }, condition);
        self.unlock(locked);
        outcome
    }

    /// Stores the entry of a value whose chunks are stored already; `None` where they were cleared since that moment.
    pub(crate) fn put_head(
        &self,
        head: &locked::Entry<'_>,
        condition: Condition,
        moment: Moment,
    ) -> Result<Option<Outcome>, Failed> {
        for _ in 0..HOLDS {
            let mut locked = self.lock(head.hash)?;
            if locked.moment.cleared != moment.cleared || self.space() != head.space {
                return Ok(None);
            }
            let outcome = self.put_locked(&mut locked, head, condition);
            self.unlock(locked);
            if let Some(outcome) = outcome? {
                return Ok(Some(outcome));
            }
        }
        Err(Failed::Busy { holder: None, waited: Duration::ZERO })
    }

    fn put_locked(
        &self,
        locked: &mut Locked<'_>,
        entry: &locked::Entry<'_>,
        condition: Condition,
    ) -> Result<Option<Outcome>, Failed> {
        let present = match self.present_for(locked, entry, condition) {
            Ok(present) => present,
            Err(refused) => return Ok(Some(refused)),
        };
        // The other conditions also hold when the older entry is gone by now.
        let (takes, gone) = match condition {
            Condition::Present => (Takes::Older, Outcome::NotStored),
            Condition::Version(_) => (Takes::Older, Outcome::NotFound),
            _ => (Takes::Any, Outcome::NotStored),
        };
        let token = match condition {
            Condition::Unchanged(token) => Some(token.of),
            _ => None,
        };
        let stored = locked.store(entry, present.as_ref(), takes, token);
        let Some(stored) = self.stored(stored, entry.value.len())? else { return Ok(None) };
        if stored.is_late {
            self.count(SessionCount::RefusedFills);
        }
        Ok(Some(match (stored.is_late, stored.is_there) {
            (true, _) => Outcome::NotStored,
            (false, true) => Outcome::Stored(stored.version),
            (false, false) => gone,
        }))
    }

    /// The reason for not storing a value in chunks, as far as it is known before its chunks are stored. Otherwise room for
    /// the chunks could evict the older value for nothing.
    pub(crate) fn refusal_of_chunks(
        &self,
        entry: &locked::Entry<'_>,
        condition: Condition,
    ) -> Result<Option<Outcome>, Failed> {
        if condition == Condition::None {
            return Ok(None);
        }
        let mut locked = self.lock(entry.hash)?;
        Ok(self.present_for(&mut locked, entry, condition).err())
    }

    /// The older entry of a key that is stored under a condition, or the outcome where the condition does
    /// not hold.
    fn present_for<'c>(
        &self,
        locked: &mut Locked<'c>,
        entry: &locked::Entry<'_>,
        condition: Condition,
    ) -> Result<Option<Present<'c>>, Outcome> {
        let mut present = alive(locked, entry.hashed_key());
        if condition == Condition::Absent
            && let Some(damaged) = present
            && locked.is_damaged(entry.hash, &damaged)
        {
            // For all readers this entry is absent.
            locked.remove(&damaged);
            present = None;
        }
        self.refusal(locked, condition, entry, present.as_ref()).map_or(Ok(present), Err)
    }

    /// The stored entry, or `None` where there is no room yet.
    pub(crate) fn stored(
        &self,
        stored: Result<Stored, NoSpace>,
        size: usize,
    ) -> Result<Option<Stored>, Failed> {
        match stored {
            Ok(stored) => Ok(Some(stored)),
            Err(NoSpace::Yet) => Ok(None),
            Err(NoSpace::Ever) => Err(Failed::TooLarge { size, most: self.cache.max_value() }),
        }
    }

    /// Releases a lock, and then does the work that was put off until it is free.
    #[inline]
    pub(crate) fn unlock(&self, locked: Locked<'_>) {
        if !locked.doomed.is_empty() || locked.has_begun {
            self.release_and_work(locked);
        }
    }

    #[cold]
    fn release_and_work(&self, mut locked: Locked<'_>) {
        let (doomed, has_begun) = (std::mem::take(&mut locked.doomed), locked.has_begun);
        let partition = locked.partition;
        drop(locked);
        self.cache.drop_doomed(doomed);
        if has_begun {
            self.cache.taken.take(partition);
        }
    }

    /// The reason why a condition does not hold.
    fn refusal(
        &self,
        locked: &Locked<'_>,
        condition: Condition,
        entry: &locked::Entry<'_>,
        present: Option<&Present<'_>>,
    ) -> Option<Outcome> {
        match (condition, present) {
            (Condition::Absent, Some(_)) | (Condition::Present, None) => Some(Outcome::NotStored),
            (Condition::Version(_), None) => Some(Outcome::NotFound),
            (Condition::Version(wanted), Some(present)) => {
                (present.found.version != wanted).then_some(Outcome::Exists)
            }
            (Condition::Unchanged(token), _) => {
                let is_changed = locked.is_void(token.of, entry.hash, entry.space)
                    || !token.is_since(locked.moment, entry.space);
                if is_changed {
                    self.count(SessionCount::RefusedFills);
                }
                is_changed.then_some(Outcome::NotStored)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Space;
    use crate::{Cache, Options, Set};

    /// A session with a key that was stored after `before` other keys and before `others` more. No key was read. `None`
    /// where the key is gone.
    fn with_key_between(before: u32, others: u32) -> Option<(Session, u64)> {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        for number in 0..before {
            session.set(&number.to_le_bytes(), &[7; 1000], &Set::default()).unwrap();
        }
        session.set(b"key", &[1; 100], &Set::default()).unwrap();
        for number in before..before + others {
            session.set(&number.to_le_bytes(), &[7; 1000], &Set::default()).unwrap();
        }
        let hash = cache.places.hash(b"key");
        let is_there = session.lock(hash).unwrap().find(hash, b"key", Space::ROOT).is_some();
        is_there.then_some((session, hash))
    }

    /// A refused large value must be refused before room is made for it.
    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn a_large_value_that_is_refused_leaves_the_older_one() {
        let large = vec![2; 250_000];
        let mut tried = 0;
        for others in (700..1000).step_by(10) {
            for (condition, wanted) in
                [(Condition::Absent, Outcome::NotStored), (Condition::Version(1), Outcome::Exists)]
            {
                let Some((mut session, _)) = with_key_between(50, others) else { continue };
                let set = Set { condition, ..Set::default() };
                assert_eq!(session.set(b"key", &large, &set), Ok(wanted), "after {others}");
                let mut found = Vec::new();
                assert!(session.get(b"key", &mut found).is_some(), "after {others}");
                assert_eq!(found, [1; 100]);
                tried += 1;
            }
        }
        assert!(tried > 10, "{tried}");
    }

    /// A set that releases the lock to go on later may not get it again.
    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn a_set_that_makes_room_first_leaves_the_older_value_meanwhile() {
        let mut yet = 0;
        for others in 0..150 {
            let Some((session, hash)) = with_key_between(1200, others) else { continue };
            let key = &b"key"[..];
            let value = [2; 4000];
            let entry = locked::Entry::lasting(hash, key, &value);
            let mut locked = session.lock(hash).unwrap();
            for class in 1..crate::layout::CLASSES {
                // One segment stays free for records that are written anew.
                if locked.free().nth(1).is_some() {
                    locked.begin(crate::partition::SMALL, class).unwrap();
                }
            }
            drop(locked);
            for _ in 0..200 {
                let mut locked = session.lock(hash).unwrap();
                // The rest of this hold's work is less than a segment.
                locked.left = crate::work::Work::few();
                let present = locked.find(hash, key, Space::ROOT);
                assert!(present.is_some(), "after {others}");
                if locked.store(&entry, present.as_ref(), Takes::Any, None).is_ok() {
                    break;
                }
                yet += 1;
            }
        }
        assert!(yet > 10, "{yet}");
    }
}
