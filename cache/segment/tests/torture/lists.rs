//! Keys with appended values. An appended entry has two words: its version, and the last acknowledged version before
//! it. The list must have that earlier version, unless it belonged to a list that is gone.

use larder_segment::{Condition, Failed, Outcome, Set};

use crate::check::Verdict;
use crate::values::{entry_len, name};
use crate::work::Worker;

/// The approximate number of entries after which a list is begun anew.
const ENTRIES: usize = 40;

impl Worker {
    /// Appends the next version, or begins the list with it.
    pub(crate) fn append(&mut self, key: usize) -> Result<(), Failed> {
        let version = self.ledger.begin(key);
        let before = self.ledger.last_stored(key);
        self.value.clear();
        for word in [version, before].into_iter().chain(std::iter::repeat(version)) {
            if self.value.len() == entry_len(key) {
                break;
            }
            self.value.extend_from_slice(&word.to_le_bytes());
        }
        if !self.any().is_multiple_of(ENTRIES) {
            let append = Set { condition: Condition::Append, ..Set::default() };
            match self.session.set(&name(key), &self.value, &append)? {
                Outcome::Stored(_) => {
                    self.ledger.stored(key, version);
                    return Ok(());
                }
                Outcome::NotStored => {}
                other => self.wrong(&format!("an append ended with {other:?}")),
            }
        }
        self.store(key, version, &Set::default())
    }

    /// The verdict on a list.
    pub(crate) fn list(&self, key: usize) -> Verdict {
        let mut versions: Vec<u64> = Vec::new();
        for entry in self.value.chunks(entry_len(key)) {
            let words: Vec<u64> =
                entry.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
            let [version, before, rest @ ..] = words.as_slice() else { return Verdict::Wrong };
            let first = versions.first().copied().unwrap_or(*version);
            let is_known = *before < first || versions.binary_search(before).is_ok();
            let grows = versions.last().is_none_or(|last| last < version);
            if entry.len() != entry_len(key)
                || !is_known
                || !grows
                || rest.iter().any(|w| w != version)
            {
                return Verdict::Wrong;
            }
            versions.push(*version);
        }
        versions.last().map_or(Verdict::Wrong, |last| Verdict::Of(*last))
    }
}
