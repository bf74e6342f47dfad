//! S3-FIFO: three queues. New entries pass through a small one, where most of those that are never used again leave soon;
//! the used ones go on to the main one. The third has only the keys of those that left. See Yang, Zhang, Qiu, Yue and
//! Rashmi, "FIFO Queues are All You Need for Cache Eviction", SOSP 2023.
//!
//! It follows libCacheSim, the simulator of these authors, where algorithm 1 of the paper is silent or slower: until the
//! first entry has to leave, new ones go to the main queue once the small one has its share. Else they would wait in a
//! small queue that has the whole cache, and leave it all at once.

use larder_report::MeasuredIn;

use super::Policy;
use super::rings::Rings;

const SMALL: usize = 0;
const MAIN: usize = 1;
/// Its keys are not in the cache: a key that comes back while it is here goes to the main queue at once.
const GHOST: usize = 2;

/// The most uses that are counted, in the mark of a key.
const MOST_USES: u8 = 3;

/// Uses in the small queue, beside the first, that lead to the main one.
const USES_FOR_MAIN: u8 = 2;

/// The queues. The small one has a tenth of the capacity.
#[derive(Debug)]
pub(crate) struct S3Fifo {
    capacity: u64,
    small_capacity: u64,
    /// Whether an entry had to make room.
    was_full: bool,
    keys: Rings<3>,
}

impl S3Fifo {
    fn used(&self) -> u64 {
        self.keys.used(SMALL) + self.keys.used(MAIN)
    }

    fn main_capacity(&self) -> u64 {
        self.capacity - self.small_capacity
    }

    fn make_room(&mut self, size: u64) {
        while self.used() + size > self.capacity {
            self.was_full = true;
            if self.keys.used(MAIN) > self.main_capacity() || self.keys.length(SMALL) == 0 {
                self.evict_main();
            } else {
                self.evict_small();
            }
        }
    }

    /// Moves used entries on to the main queue, until one is found that leaves the cache. Perhaps there is none.
    fn evict_small(&mut self) {
        while let Some(oldest) = self.keys.oldest(SMALL) {
            if *self.keys.mark(oldest) < USES_FOR_MAIN {
                self.keys.shift(GHOST, oldest);
                while self.keys.used(GHOST) > self.main_capacity() {
                    let forgotten = self.keys.oldest(GHOST).expect("what takes room is there");
                    self.keys.take(forgotten);
                }
                return;
            }
            self.keys.shift(MAIN, oldest);
        }
    }

    /// Gives used entries another round, one for each use, until one is found that leaves the cache.
    fn evict_main(&mut self) {
        while let Some(oldest) = self.keys.oldest(MAIN) {
            let uses = *self.keys.mark(oldest);
            if uses == 0 {
                self.keys.take(oldest);
                return;
            }
            self.keys.shift(MAIN, oldest);
            *self.keys.mark(oldest) = uses - 1;
        }
    }
}

impl Policy for S3Fifo {
    fn new(capacity: u64, _measure: MeasuredIn, n_keys: usize) -> Self {
        // A queue without any room would be none.
        let small_capacity = (capacity / 10).max(1).min(capacity);
        Self { capacity, small_capacity, was_full: false, keys: Rings::new(n_keys) }
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn has(&self, key: u32) -> bool {
        self.keys.queue(key).is_some_and(|queue| queue != GHOST)
    }

    fn touch(&mut self, key: u32) {
        let uses = self.keys.mark(key);
        *uses = (*uses + 1).min(MOST_USES);
    }

    fn insert(&mut self, key: u32, size: u32) {
        let came_back = self.keys.queue(key) == Some(GHOST);
        if came_back {
            self.keys.take(key);
        }
        self.make_room(size.into());
        let is_small_full = self.keys.used(SMALL) >= self.small_capacity;
        let queue = if came_back || is_small_full && !self.was_full { MAIN } else { SMALL };
        self.keys.push(queue, key, size);
    }

    fn resize(&mut self, key: u32, size: u32) {
        self.keys.resize(key, size);
        self.make_room(0);
    }

    fn remove(&mut self, key: u32) {
        self.keys.take(key);
    }
}
