//! Loads under leases. No two workers may be told to load one key, unless the lease of the first was over.

use std::time::Duration;

use larder_segment::{Failed, Leased, Token};

use crate::ledger::Tally;
use crate::now;
use crate::values::name;
use crate::work::Worker;

/// The steps of the region's clock, and of this test's.
const STEPS_MS: u64 = 20;

impl Worker {
    /// Asks for a key, and if it is told to, loads and fills it, gives the lease back, or forgets it.
    pub(crate) fn load(&mut self, key: usize) -> Result<(), Failed> {
        // Everything that ends a lease is counted before it begins and after it has ended.
        let (oldest, changes) = (self.ledger.oldest(key), self.ledger.changes(key));
        let time = 1 << (self.any() % 10);
        let end = now() / 1_000_000 + time;
        let leased = self.session.get_or_lease(
            &name(key),
            &mut self.value,
            Duration::from_millis(time),
            Duration::ZERO,
        );
        match leased? {
            Leased::Hit(_) | Leased::Wait { stale: Some(_) } => self.check(key, oldest),
            Leased::Wait { stale: None } => {}
            Leased::Load { token, stale } => {
                if stale.is_some() {
                    self.check(key, oldest);
                }
                if let Some(changes) = changes {
                    self.judge_lease(key, changes, end);
                }
                self.ledger.add(self.number, Tally::Leased);
                self.end_lease(key, token)?;
            }
        }
        Ok(())
    }

    /// Judges a lease by the one that was noted before. At no moment may both be live: by their times, and without a change
    /// of the key since they were asked for.
    fn judge_lease(&self, key: usize, changes: u64, end: u64) {
        let (told, since) = (now() / 1_000_000, self.ledger.changes(key));
        let (before, end_of_before) = self.ledger.begin_lease(key, changes, end);
        let both_end = end.min(end_of_before);
        if [before, changes].map(Some) == [since; 2] && told + STEPS_MS < both_end {
            let left = both_end - told;
            self.wrong(&format!("two leases of key {key}, both for {left} ms more"));
        }
    }

    fn end_lease(&mut self, key: usize, token: Token) -> Result<(), Failed> {
        let version = self.ledger.begun(key);
        match self.any() % 8 {
            // As if it were killed.
            0 | 1 => return Ok(()),
            2 => {
                self.ledger.begin_change(key);
                self.session.release(&name(key), &token);
                self.ledger.end_change(key);
                return Ok(());
            }
            // Later than its lease.
            3 => std::thread::sleep(Duration::from_millis(self.any() as u64 % 8)),
            _ => {}
        }
        self.fill_under(token, key, version)
    }
}
