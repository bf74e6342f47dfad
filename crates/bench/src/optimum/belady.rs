//! The optimal choice: the entry whose next read is latest makes room, or does not come in at all. See Belady 1966, "A
//! study of replacement algorithms for a virtual-storage computer".
//!
//! With entries of one size no cache hits more often, not even a cache that refuses newcomers. Each span from one use
//! of an entry to its next read is worth one hit. To keep the most spans, with never more than fit at once, is the
//! scheduling of intervals on several machines. Dropping the span that ends last solves that problem (Faigle and
//! Nawijn 1995). With entries of several sizes the best choice is a knapsack, too slow to fill; then this choice is
//! good, but not the best.

use larder_insight::TimeSet;

use super::accesses::{Accesses, Use};

/// The next read of an entry that is replaced or dropped before any read.
const NEVER: u32 = u32::MAX;

/// For each operation, the time of the next read of the entry that it leaves in the cache.
#[derive(Debug)]
pub(super) struct Future(Vec<u32>);

impl Future {
    pub(super) fn of(accesses: &Accesses) -> Self {
        let mut next = vec![NEVER; accesses.len()];
        let mut upcoming = vec![NEVER; accesses.sizes.len()];
        for (next, (at, (key, usage))) in next.iter_mut().zip(accesses.iter().enumerate()).rev() {
            let upcoming = &mut upcoming[key as usize];
            *next = *upcoming;
            let read = || u32::try_from(at).expect("more operations are not followed");
            *upcoming = if usage == Use::Read { read() } else { NEVER };
        }
        Self(next)
    }

    /// The number of reads that hit in a cache of `capacity` bytes that knows all operations
    /// beforehand.
    pub(super) fn hits(&self, accesses: &Accesses, capacity: u64) -> u64 {
        // An entry is known by the time of the read that it will answer.
        let mut kept = TimeSet::new(accesses.len());
        let mut used = 0;
        let mut hits = 0;
        for ((key, usage), at) in accesses.iter().zip(0..) {
            let size = accesses.sizes[key as usize];
            if usage == Use::Read && kept.remove(at) {
                hits += 1;
                used -= size;
            }
            let next = self.0[at];
            if usage == Use::Drop || next == NEVER || size > capacity {
                continue;
            }
            kept.insert(next as usize);
            used += size;
            while used > capacity {
                let last = kept.pop_last().expect("what takes room is kept");
                used -= accesses.sizes[accesses.keys[last] as usize];
            }
        }
        hits
    }
}
