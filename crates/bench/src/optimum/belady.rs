//! The optimal choice: what is read next at the latest time makes room, or does not come in at all (Belady 1966, "A study of
//! replacement algorithms for a virtual-storage computer").
//!
//! With entries of one size no cache hits more often, not even one that refuses newcomers. An entry is worth keeping from one
//! use to the next read, and answers that read; keeping the most of such spans with never more than fit at once is the
//! scheduling of intervals on several machines, which dropping the one that ends last solves (Faigle and Nawijn 1995). With
//! entries of several sizes the best choice is a knapsack that nobody fills in reasonable time; then this is a good choice
//! and not the best.

use super::accesses::{Accesses, Use};
use super::time_set::TimeSet;

/// Nothing reads what is stored here before it is replaced or dropped.
const NEVER: u32 = u32::MAX;

/// For each operation, when what it leaves in the cache is read next.
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

    /// How many reads hit in a cache of so many bytes that knows them all beforehand.
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
