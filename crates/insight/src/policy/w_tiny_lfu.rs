//! W-TinyLFU: a new entry passes through a small LRU, the window. It enters the main part only in the place of an entry
//! that was used less often lately. See Einziger, Friedman and Manes, "TinyLFU: A Highly Efficient Cache Admission Policy",
//! ACM Transactions on Storage 2017.
//!
//! The window has 1 % of the capacity, and the main part is a segmented LRU of which 80 % are protected, as in Caffeine.
//! Two things differ there: it estimates the counts of uses by a sketch, which may take one key for another, and it moves
//! the border of the window by the hit ratio. Here each key has its own count, and the window stays.

use super::Policy;
use super::rings::Rings;

const WINDOW: usize = 0;
const PROBATION: usize = 1;
const PROTECTED: usize = 2;

/// The most uses that are counted.
const MOST_USES: u32 = 15;

/// All counts are halved after so many uses for each entry.
const USES_AN_ENTRY: u64 = 10;

/// Halving begins with at least so many uses.
const LEAST_USES: u64 = 160;

/// The bits of a count beside the number of halvings.
const COUNT_BITS: u32 = 4;

/// The queues and the counts of uses.
#[derive(Debug)]
pub(crate) struct WTinyLfu {
    capacity: u64,
    window_capacity: u64,
    protected_capacity: u64,
    keys: Rings<3>,
    counts: Counts,
}

/// Uses of each key, which are halved from time to time so that old ones weigh less.
///
/// A count is halved when it is next looked at: each carries the number of halvings that it has seen.
#[derive(Debug)]
struct Counts {
    of_keys: Vec<u32>,
    halvings: u32,
    uses: u64,
}

impl Counts {
    fn of(&self, key: u32) -> u32 {
        let count = self.of_keys[key as usize];
        let missed = self.halvings.wrapping_sub(count >> COUNT_BITS) & (u32::MAX >> COUNT_BITS);
        (count & MOST_USES) >> missed.min(COUNT_BITS)
    }

    fn add(&mut self, key: u32, n_entries: u64) {
        let count = self.of(key);
        if count < MOST_USES {
            self.uses += 1;
        }
        self.of_keys[key as usize] = self.halvings << COUNT_BITS | (count + 1).min(MOST_USES);
        if self.uses >= (n_entries * USES_AN_ENTRY).max(LEAST_USES) {
            self.halvings = self.halvings.wrapping_add(1) & (u32::MAX >> COUNT_BITS);
            self.uses /= 2;
        }
    }
}

impl WTinyLfu {
    fn used(&self) -> u64 {
        [WINDOW, PROBATION, PROTECTED].map(|queue| self.keys.used(queue)).iter().sum()
    }

    fn count(&mut self, key: u32) {
        let n_entries = [WINDOW, PROBATION, PROTECTED].map(|queue| self.keys.length(queue));
        self.counts.add(key, n_entries.map(u64::from).iter().sum());
    }

    /// Moves the oldest of the window on, each of which has to fight for its place.
    fn make_room(&mut self) {
        while self.keys.used(WINDOW) > self.window_capacity {
            let candidate = self.keys.oldest(WINDOW).expect("what takes room is in the window");
            self.keys.shift(PROBATION, candidate);
            self.make_room_for(candidate);
        }
        while self.used() > self.capacity {
            let victim = self.victim().expect("what takes room is in a queue");
            self.keys.take(victim);
        }
    }

    /// The entry that makes room next.
    fn victim(&self) -> Option<u32> {
        [PROBATION, PROTECTED, WINDOW].iter().find_map(|queue| self.keys.oldest(*queue))
    }

    /// Takes away less used entries, or else the candidate itself.
    fn make_room_for(&mut self, candidate: u32) {
        while self.used() > self.capacity {
            let Some(victim) = self.victim() else { return };
            let is_better = self.counts.of(candidate) > self.counts.of(victim);
            if victim == candidate || !is_better {
                self.keys.take(candidate);
                return;
            }
            self.keys.take(victim);
        }
    }
}

impl Policy for WTinyLfu {
    fn new(capacity: u64, n_keys: usize) -> Self {
        let window_capacity = (capacity / 100).max(1).min(capacity);
        let protected_capacity = (capacity - window_capacity) * 4 / 5;
        let counts = Counts { of_keys: vec![0; n_keys], halvings: 0, uses: 0 };
        Self { capacity, window_capacity, protected_capacity, keys: Rings::new(n_keys), counts }
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn has(&self, key: u32) -> bool {
        self.keys.queue(key).is_some()
    }

    fn touch(&mut self, key: u32) {
        self.count(key);
        if self.keys.queue(key) == Some(WINDOW) {
            return self.keys.shift(WINDOW, key);
        }
        self.keys.shift(PROTECTED, key);
        while self.keys.used(PROTECTED) > self.protected_capacity {
            let oldest = self.keys.oldest(PROTECTED).expect("what takes room is protected");
            self.keys.shift(PROBATION, oldest);
        }
    }

    fn insert(&mut self, key: u32, size: u32) {
        self.count(key);
        if u64::from(size) > self.window_capacity {
            // It would drive everything else out of the window.
            self.keys.push(PROBATION, key, size);
            return self.make_room_for(key);
        }
        self.keys.push(WINDOW, key, size);
        self.make_room();
    }

    fn resize(&mut self, key: u32, size: u32) {
        self.keys.resize(key, size);
        self.make_room();
    }

    fn remove(&mut self, key: u32) {
        self.keys.take(key);
    }
}
