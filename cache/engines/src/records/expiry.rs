//! The thread that works for all sessions: it makes checkpoints and removes expired entries.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use larder_store::Result;

use super::{Database, Records, Transaction};
use crate::upkeep::Ending;

/// The longest time between two looks at the expiry index.
const PAUSE: Duration = Duration::from_secs(1);

/// The number of entries that one transaction removes: so few that no session waits long for it.
const EXPIRED_AT_ONCE: usize = 64;

impl<D: Database> Records<D> {
    /// Works until the store ends. `checkpoint` is called again and again, with whether `every` has passed; zero is
    /// never. A failure does not end the thread: it tries again later, and sessions that write meet the same failure.
    pub(crate) fn keep_up(&self, ending: &Ending, every: Duration, checkpoint: impl Fn(bool)) {
        let every = Some(every).filter(|every| !every.is_zero());
        let mut last = Instant::now();
        while !ending.within(PAUSE.min(every.unwrap_or(PAUSE))) {
            let is_due = every.is_some_and(|every| last.elapsed() >= every);
            if is_due {
                last = Instant::now();
            }
            checkpoint(is_due);
            self.expire(ending);
        }
    }

    /// Notes the earliest deadline of a transaction that is committed.
    pub(super) fn note_deadline(&self, deadline_ms: u64) {
        self.earliest_ms.fetch_min(deadline_ms, Ordering::AcqRel);
    }

    /// Removes the expired entries.
    ///
    /// The index is read from the earliest deadline on. In a log-structured tree the places of removed keys stay for a
    /// while, and a look from the beginning would pass all of them.
    fn expire(&self, ending: &Ending) {
        let now_ms = self.clock.now_ms();
        // Before the look: a transaction that is committed during the look notes its deadline again.
        let from_ms = self.earliest_ms.swap(now_ms.saturating_add(1), Ordering::AcqRel);
        let mut listed = from_ms.to_be_bytes().to_vec();
        let is_done = from_ms > now_ms
            || loop {
                match self.expire_some(now_ms, &mut listed) {
                    Ok(EXPIRED_AT_ONCE) if !ending.within(Duration::ZERO) => {}
                    looked_at => break looked_at.is_ok_and(|n| n < EXPIRED_AT_ONCE),
                }
            };
        if !is_done || from_ms > now_ms {
            self.note_deadline(from_ms);
        }
    }

    /// Removes a bounded number of expired entries behind `listed`; returns the number of keys of the index that it
    /// looked at.
    fn expire_some(&self, now_ms: u64, listed: &mut Vec<u8>) -> Result<usize> {
        let (looked_at, removed, last) = self.database.write(|txn| {
            let mut listed = listed.clone();
            let (mut looked_at, mut removed) = (0, 0);
            while looked_at < EXPIRED_AT_ONCE && txn.next_listed(&mut listed)? {
                let Some((deadline, key)) = listed.split_first_chunk() else { break };
                let deadline_ms = u64::from_be_bytes(*deadline);
                if deadline_ms > now_ms {
                    break;
                }
                // The entry may have been written again since it was listed.
                if txn.head(key)?.is_some_and(|it| it.deadline_ms == deadline_ms) {
                    txn.remove(key)?;
                    removed += 1;
                }
                txn.unlist(&listed)?;
                looked_at += 1;
            }
            Ok((looked_at, removed, listed))
        })?;
        self.dropped.count(0, removed);
        *listed = last;
        Ok(looked_at)
    }
}
