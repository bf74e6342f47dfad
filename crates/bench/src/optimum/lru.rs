//! Exact LRU: the entry whose last use is oldest makes room.

use super::accesses::{Accesses, Use};

/// The number of reads that hit in an exact LRU of `capacity` bytes. An entry that does not fit alone
/// is not taken.
pub(super) fn hits(accesses: &Accesses, capacity: u64) -> u64 {
    let mut list = List::new(accesses.sizes.len());
    let mut used = 0;
    let mut hits = 0;
    for (key, usage) in accesses.iter() {
        let size = accesses.sizes[key as usize];
        let was_there = list.remove(key);
        if was_there {
            used -= size;
        }
        if usage == Use::Drop || size > capacity {
            continue;
        }
        hits += u64::from(was_there && usage == Use::Read);
        list.push(key);
        used += size;
        while used > capacity {
            let oldest = list.pop_oldest();
            used -= accesses.sizes[oldest as usize];
        }
    }
    hits
}

/// Keys by the time of their last use: a ring of neighbours, whose last place stands before the oldest key and behind
/// the newest.
struct List {
    older: Vec<u32>,
    newer: Vec<u32>,
}

/// The neighbour of a key that is not in the list.
const ABSENT: u32 = u32::MAX;

impl List {
    fn new(n_keys: usize) -> Self {
        let mut list = Self { older: vec![ABSENT; n_keys + 1], newer: vec![ABSENT; n_keys + 1] };
        let end = list.end();
        (list.older[end as usize], list.newer[end as usize]) = (end, end);
        list
    }

    fn end(&self) -> u32 {
        u32::try_from(self.older.len() - 1).expect("keys are counted in 32 bits")
    }

    /// Takes a key out; `false` where it was not in.
    fn remove(&mut self, key: u32) -> bool {
        let (older, newer) = (self.older[key as usize], self.newer[key as usize]);
        if older == ABSENT {
            return false;
        }
        self.newer[older as usize] = newer;
        self.older[newer as usize] = older;
        self.older[key as usize] = ABSENT;
        true
    }

    /// Puts a key that is not in behind the newest.
    fn push(&mut self, key: u32) {
        let end = self.end();
        let newest = self.older[end as usize];
        (self.older[key as usize], self.newer[key as usize]) = (newest, end);
        self.newer[newest as usize] = key;
        self.older[end as usize] = key;
    }

    /// Takes out the oldest key; there must be one.
    fn pop_oldest(&mut self) -> u32 {
        let oldest = self.newer[self.end() as usize];
        self.remove(oldest);
        oldest
    }
}
