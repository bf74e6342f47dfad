//! The clear of a namespace.

use std::sync::atomic::Ordering;

use crate::cache::Cache;
use crate::space::{Member, entry_at, life};
use crate::tally::Count;
use crate::upkeep::{CLEARED_BEFORE, PURGED};

/// Takes the entries of a namespace away, unless it was removed.
pub(crate) fn clear_namespace(cache: &Cache, member: Member) {
    let word = cache.memory().word(entry_at(member.number));
    let mut now = word.load(Ordering::Acquire);
    // After 2^32 clears the next life begins: sessions have to ask for the namespace again.
    while life(now) == member.life {
        let next = now.wrapping_add(1);
        match word.compare_exchange(now, next, Ordering::SeqCst, Ordering::Acquire) {
            Ok(_) => return note_cleared(cache),
            Err(other) => now = other,
        }
    }
}

/// Each partition notes which segments may hold entries from before a clear, so that their records are taken away before others
/// are evicted. The note is a hint, and so no lock is taken for it.
pub(crate) fn note_cleared(cache: &Cache) {
    for partition in 0..cache.places.geometry.partitions {
        let base = cache.partition(partition).base;
        let begun = cache.memory().load(Count::Begun.at(base));
        cache.memory().store(base + PURGED, 0);
        cache.memory().store(base + CLEARED_BEFORE, begun);
    }
}
