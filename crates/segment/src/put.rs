//! Storing an entry of one record, under whichever condition.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::Failed;
use crate::api::{Condition, Outcome};
use crate::changes::is_changed;
use crate::locked::{self, Locked, Present, Stored, Takes};
use crate::partition::Moment;
use crate::room::NoRoom;
use crate::session::{Session, alive};
use crate::stats::Of;

/// So many holds of a lock make room for one record at most. A step under each ends with a free segment after fewer, unless
/// others take what was freed.
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

    /// Stores it, or makes room as long as a lock is held at once; `None` where more of it is needed.
    fn put_or_make_room(
        &self,
        entry: &locked::Entry<'_>,
        condition: Condition,
    ) -> Result<Option<Outcome>, Failed> {
        let locked = self.lock(entry.hash)?;
        // The namespace's generation is read again under the lock: it may have been cleared while this thread waited.
        self.put_locked(locked, &locked::Entry { space: self.space(), ..*entry }, condition)
    }

    /// Stores the entry of a value in chunks, which are there already; `None` where they were cleared since that moment.
    pub(crate) fn put_head(
        &self,
        head: &locked::Entry<'_>,
        condition: Condition,
        moment: Moment,
    ) -> Result<Option<Outcome>, Failed> {
        for _ in 0..HOLDS {
            let locked = self.lock(head.hash)?;
            if locked.moment.cleared != moment.cleared || self.space() != head.space {
                return Ok(None);
            }
            if let Some(outcome) = self.put_locked(locked, head, condition)? {
                return Ok(Some(outcome));
            }
        }
        Err(Failed::Busy { holder: None, waited: Duration::ZERO })
    }

    fn put_locked(
        &self,
        mut locked: Locked<'_>,
        entry: &locked::Entry<'_>,
        condition: Condition,
    ) -> Result<Option<Outcome>, Failed> {
        let mut present = alive(&mut locked, (entry.hash, entry.key, entry.space));
        if condition == Condition::Absent
            && let Some(damaged) = present
            && locked.is_damaged(entry.hash, &damaged)
        {
            // To all who read it is not there.
            locked.remove(&damaged);
            present = None;
        }
        let refused = self.refusal(&locked, condition, entry, present.as_ref());
        if let Some(refused) = refused {
            return Ok(Some(refused));
        }
        // The other conditions hold as well where the older one is gone by now.
        let (takes, gone) = match condition {
            Condition::Present => (Takes::Older, Outcome::NotStored),
            Condition::Version(_) => (Takes::Older, Outcome::NotFound),
            _ => (Takes::Any, Outcome::NotStored),
        };
        let token = match condition {
            Condition::Unchanged(token) => Some(token.changes),
            _ => None,
        };
        let stored = locked.store(entry, present.as_ref(), takes, token);
        let Some(stored) = self.stored(stored, entry.value.len())? else {
            self.release(locked);
            return Ok(None);
        };
        if stored.is_late {
            self.count(Of::RefusedFills);
        }
        drop(locked);
        self.cache.drop_doomed(stored.doomed);
        Ok(Some(match (stored.is_late, stored.is_there) {
            (true, _) => Outcome::NotStored,
            (false, true) => Outcome::Stored(stored.version),
            (false, false) => gone,
        }))
    }

    /// What was stored, or `None` where room is not made yet.
    pub(crate) fn stored(
        &self,
        stored: Result<Stored, NoRoom>,
        size: usize,
    ) -> Result<Option<Stored>, Failed> {
        match stored {
            Ok(stored) => Ok(Some(stored)),
            Err(NoRoom::Yet) => Ok(None),
            Err(NoRoom::Ever) => Err(Failed::TooLarge { size, most: self.cache.max_value() }),
        }
    }

    /// Gives a lock back, and then does what was put off until it is free.
    pub(crate) fn release(&self, mut locked: Locked<'_>) {
        let doomed = std::mem::take(&mut locked.doomed);
        drop(locked);
        self.cache.drop_doomed(doomed);
    }

    /// Why a condition does not hold.
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
                let now = locked.partition.changes_of(entry.hash).load(Ordering::SeqCst);
                let is_changed = is_changed(token.changes, now, entry.hash)
                    || locked.moment.cleared != token.cleared
                    || entry.space != token.space;
                if is_changed {
                    self.count(Of::RefusedFills);
                }
                is_changed.then_some(Outcome::NotStored)
            }
            _ => None,
        }
    }
}
