//! Whether a target is empty when it says so. After the emptying at the end of a turn, and before the next turn, keys
//! of the run are looked for.

use std::sync::Arc;

use larder_report::{NOT_EMPTIED, NOT_LOOKED_FOR};
use larder_store::{Result, Session};

use super::entries::writer;
use super::samples::Entry;
use crate::measure::{KeyState, spread};
use crate::patience::patiently;
use crate::plan::PlannedPoint;
use crate::target::Target;

/// At most this many keys are looked for, spread evenly over those that were stored.
const MOST_KEYS: u32 = 500;
/// The number of keys in one request.
const AT_ONCE: usize = 20;

/// The number of keys that were looked for after an emptying, and the number of them that were
/// still there.
#[derive(Debug, Clone, Default)]
pub(super) struct Left {
    checked: u64,
    still_there: u64,
    example: Option<String>,
    /// The reason why some keys could not be looked for.
    error: Option<String>,
}

impl Target {
    /// Looks for keys that were stored in a turn, after the target has acknowledged their removal; as far as the
    /// target answers.
    pub(super) fn left(&mut self, point: &PlannedPoint, state: &KeyState) -> Result<Left> {
        self.emptied.clear();
        if self.capabilities.stores {
            let stored = (0..point.keys.count()).filter(|key| state.was_set(*key));
            let stored: Vec<u32> = stored.collect();
            let all = u32::try_from(stored.len()).unwrap_or(u32::MAX);
            let looked_for = spread(all, all.div_ceil(MOST_KEYS).max(1), state.base());
            self.emptied.extend(looked_for.map(|at| {
                let mut key = Vec::new();
                point.keys.write(stored[at as usize], &mut key);
                key
            }));
        }
        self.look("is still there")
    }

    /// Looks for these keys once more before the next turn: deleted keys must not come back. A target that does not
    /// answer is noticed by that turn.
    pub(super) fn came_back(&self) -> Left {
        self.look("is there again").unwrap_or_default()
    }

    /// Looks for the keys that were removed last. For a guest its servers are asked: the guest's files and its
    /// program's memory are gone.
    fn look(&self, how: &str) -> Result<Left> {
        let mut found = Left::default();
        if self.emptied.is_empty() {
            return Ok(found);
        }
        let stores = match &self.guest {
            Some(guest) => guest.servers(),
            None => vec![Arc::clone(&self.store)],
        };
        for store in stores {
            let mut session = store.session()?;
            let mut chunks = self.emptied.chunks(AT_ONCE);
            let looked = chunks.try_for_each(|keys| found.look(session.as_mut(), keys, how));
            found.error = found.error.or_else(|| looked.err().map(|error| error.to_string()));
        }
        Ok(found)
    }
}

impl Left {
    fn look(&mut self, session: &mut dyn Session, keys: &[Vec<u8>], how: &str) -> Result<()> {
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let mut there: Vec<usize> = Vec::new();
        patiently(|| {
            there.clear();
            session.get_many(&keys, &mut |i, _, _| there.push(i))
        })?;
        // A store may hand one key over twice.
        there.sort_unstable();
        there.dedup();
        self.checked += keys.len() as u64;
        self.still_there += there.len() as u64;
        if let (None, Some(first)) = (&self.example, there.first()) {
            self.example = Some(format!("`{}` {how}", String::from_utf8_lossy(keys[*first])));
        }
        Ok(())
    }

    /// Adds the findings of another look.
    pub(super) fn add(&mut self, other: Self) {
        self.checked += other.checked;
        self.still_there += other.still_there;
        self.example = self.example.take().or(other.example);
        self.error = self.error.take().or(other.error);
    }

    /// Adds these counts to the operation that stored the keys.
    pub(super) fn note(&self, entries: &mut [Entry]) {
        let Some(sample) = writer(entries) else { return };
        sample.counts.emptied_checked = self.checked;
        sample.counts.emptied_left = self.still_there;
        if let Some(example) = &self.example {
            sample.wrong_examples.insert(NOT_EMPTIED.to_owned(), example.clone());
        }
        if let Some(error) = &self.error {
            sample.wrong_examples.insert(NOT_LOOKED_FOR.to_owned(), error.clone());
        }
    }
}
