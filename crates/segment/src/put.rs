//! Storing an entry of one record, under whichever condition.

use std::sync::atomic::Ordering;

use crate::Failed;
use crate::api::{Condition, Outcome};
use crate::changes::is_changed;
use crate::locked::{self, Locked, Present, Takes};
use crate::session::{Session, alive};
use crate::stats::Of;

impl Session {
    /// Stores an entry of one record.
    pub(crate) fn put(
        &self,
        entry: &locked::Entry<'_>,
        condition: Condition,
    ) -> Result<Outcome, Failed> {
        self.partition(entry.hash).prefetch_to_set(entry.hash);
        let mut locked = self.lock(entry.hash)?;
        // The namespace's generation is read again under the lock: it may have been cleared while this thread waited.
        let entry = &locked::Entry { space: self.space(), ..*entry };
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
            return Ok(refused);
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
        let Some(stored) = locked.store(entry, present.as_ref(), takes, token) else {
            return Err(Failed::TooLarge { size: entry.value.len(), most: self.cache.max_value() });
        };
        if stored.is_late {
            // Somebody deleted the key meanwhile, without the lock.
            let own = locked.find(entry.hash, entry.key, entry.space);
            if let Some(own) = own.filter(|_| stored.is_there) {
                locked.remove(&own);
            }
            locked.intend_nothing();
            self.count(Of::RefusedFills);
            return Ok(Outcome::NotStored);
        }
        if !stored.is_there {
            return Ok(gone);
        }
        drop(locked);
        if let Some(chunks) = stored.was {
            self.drop_chunks(entry.hash, &chunks, self.patience);
        }
        Ok(Outcome::Stored(stored.version))
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
