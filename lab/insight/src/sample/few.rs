//! The keys of a trace, as long as they are few.

use rapidhash::RapidHashSet;

/// The most keys of which no part is taken.
const MOST: usize = 1024;

/// The hashes of the keys so far; `None` once they are more than few.
#[derive(Debug)]
pub(super) struct FewKeys(Option<RapidHashSet<u64>>);

impl FewKeys {
    pub(super) fn new() -> Self {
        Self(Some(RapidHashSet::default()))
    }

    /// Takes a key.
    #[inline]
    pub(super) fn note(&mut self, hash: u64) {
        if let Some(hashes) = &mut self.0
            && hashes.insert(hash)
            && hashes.len() > MOST
        {
            self.0 = None;
        }
    }

    /// The number of keys; `None` where they are not few.
    pub(super) fn count(&self) -> Option<u64> {
        self.0.as_ref().map(|hashes| hashes.len() as u64)
    }
}
