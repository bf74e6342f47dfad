//! Ghosts are entries that left the small queue unused. Only two bytes of the hash are kept. An entry that comes back while
//! its ghost exists is used after all, if seldom.

use crate::locked::Locked;
use crate::partition::Partition;

/// The bits of a ghost.
const BITS: u32 = 16;

impl Locked<'_> {
    /// Notes an entry that was evicted. The oldest of the four ghosts in its word is dropped.
    pub(crate) fn note_ghost(&self, hash: u64) {
        let at = self.partition.ghosts_of(hash);
        let ghosts = self.partition.memory.load(at);
        self.partition.memory.store(at, ghosts << BITS | ghost_of(hash));
    }

    /// Removes the ghost of an entry that has come back.
    pub(crate) fn take_ghost(&self, hash: u64) {
        let at = self.partition.ghosts_of(hash);
        let (ghosts, wanted) = (self.partition.memory.load(at), ghost_of(hash));
        let mut shifts = (0..u64::BITS / BITS).map(|lane| lane * BITS);
        if let Some(shift) = shifts.find(|shift| ghosts >> shift & 0xffff == wanted) {
            self.partition.memory.store(at, ghosts & !(0xffff << shift));
        }
    }
}

impl Partition<'_> {
    /// Whether an entry was evicted lately, as far as a look without the lock can tell.
    pub(crate) fn has_ghost(&self, hash: u64) -> bool {
        let (ghosts, wanted) = (self.memory.load(self.ghosts_of(hash)), ghost_of(hash));
        (0..u64::BITS / BITS).any(|lane| ghosts >> (lane * BITS) & 0xffff == wanted)
    }
}

/// The stored part of a hash; 0 means an empty place.
fn ghost_of(hash: u64) -> u64 {
    (hash >> 40 & 0xffff).max(1)
}
