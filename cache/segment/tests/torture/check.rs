//! Checks that a value that was read is right and not too old.

#![expect(clippy::print_stderr, reason = "so that a failure says more")]

use crate::KEYS;
use crate::ledger::Tally;
use crate::values::{Kind, fill, kind, name};
use crate::work::Worker;

/// The verdict on a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The value is this version.
    Of(u64),
    Wrong,
}

impl Worker {
    /// Reads and checks a key; returns the version that the cache gives it.
    pub(crate) fn get(&mut self, key: usize) -> Option<u64> {
        let oldest = self.ledger.oldest(key);
        let entry = self.session.get(&name(key), &mut self.value)?;
        self.check(key, oldest);
        Some(entry.version)
    }

    /// Checks `value`. When the read began, no version before `oldest` was allowed any more.
    pub(crate) fn check(&mut self, key: usize, oldest: u64) {
        let newest = self.ledger.begun(key);
        self.ledger.add(self.number, Tally::Hits);
        let verdict = if kind(key) == Kind::List { self.list(key) } else { self.filled(key) };
        match verdict {
            Verdict::Of(version) if (oldest..=newest).contains(&version) && version > 0 => {}
            Verdict::Of(version) if version > 0 && version < oldest => {
                if kind(key) == Kind::Filled && version == self.ledger.excused(key) {
                    return self.ledger.add(self.number, Tally::Excused);
                }
                self.ledger.add(self.number, Tally::Old);
                eprintln!("old: {verdict:?} of key {key}, of {oldest} to {newest}");
            }
            _ => self.wrong(&format!("{verdict:?} of key {key}, of {oldest} to {newest}")),
        }
    }

    pub(crate) fn wrong(&self, why: &str) {
        self.ledger.add(self.number, Tally::Wrong);
        eprintln!("wrong: {why}");
    }

    fn filled(&mut self, key: usize) -> Verdict {
        let version = self.value.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        fill(key, version, &mut self.wanted);
        if self.value == self.wanted { Verdict::Of(version) } else { Verdict::Wrong }
    }

    /// Reads every key.
    pub(crate) fn check_all(&mut self) {
        for key in 0..KEYS {
            self.get(key);
        }
        for counter in 0..super::COUNTERS {
            self.read_counter(counter);
        }
    }
}
