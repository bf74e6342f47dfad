//! The thread that works for all sessions: it makes checkpoints and removes expired entries.

use std::time::{Duration, Instant};

use super::config::MAX_KEY_LEN;
use super::session::expiry_key_len;
use super::shim::{Database, Outcome};
use super::store::Core;
use crate::header::{HEADER_LEN, Header};
use crate::upkeep::Ending;

/// The longest time between two checks for expired entries and for the size of the log.
const PAUSE: Duration = Duration::from_secs(1);

/// The number of entries that one transaction removes: so few that no session waits long for its
/// pages.
const EXPIRED_AT_ONCE: usize = 64;

/// Works until the store ends. A failure does not end the thread: it tries again later, and sessions that write meet
/// the same failure.
pub(super) fn work(core: &Core, ending: &Ending) {
    let bdb = core.environment.bdb();
    let every = Some(core.config.checkpoint.0).filter(|every| !every.is_zero());
    let log_kilobytes = u32::try_from(core.config.log.0 >> 10).unwrap_or(u32::MAX);
    let mut last = Instant::now();
    while !ending.within(PAUSE.min(every.unwrap_or(PAUSE))) {
        let is_due = every.is_some_and(|every| last.elapsed() >= every);
        if is_due {
            last = Instant::now();
        }
        // Without an amount the checkpoint is always made, with an amount only after so much log.
        let _ = bdb.checkpoint(if is_due { 0 } else { log_kilobytes });
        while let Ok(EXPIRED_AT_ONCE) = expire(core) {
            if ending.within(Duration::ZERO) {
                break;
            }
        }
    }
    if core.environment.is_kept() {
        // Then the next process that opens the folder has nothing to recover.
        let _ = bdb.checkpoint(0);
    }
}

/// Removes a bounded number of expired entries; returns how many index entries it looked at.
fn expire(core: &Core) -> Outcome<usize> {
    let txn = core.environment.bdb().begin()?;
    let now_ms = core.clock.now_ms();
    let mut buffer = [0; expiry_key_len(MAX_KEY_LEN)];
    let (mut looked_at, mut removed) = (0, 0);
    while looked_at < EXPIRED_AT_ONCE {
        let Some(listed) = txn.first_to_expire(&mut buffer)? else { break };
        let Some((deadline, key)) = listed.split_first_chunk() else { break };
        let deadline_ms = u64::from_be_bytes(*deadline);
        if deadline_ms > now_ms {
            break;
        }
        let head: Option<[u8; HEADER_LEN]> = txn.head(key)?;
        // The entry may have been written again since it was listed.
        if head
            .and_then(|head| Header::from_bytes(&head))
            .is_some_and(|it| it.deadline_ms == deadline_ms)
        {
            txn.delete(Database::Entries, key)?;
            removed += 1;
        }
        txn.delete(Database::Expiry, listed)?;
        looked_at += 1;
    }
    txn.commit()?;
    core.dropped.count(0, removed);
    Ok(looked_at)
}
