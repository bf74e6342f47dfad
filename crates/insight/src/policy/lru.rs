//! Least recently used: the entry whose last use is oldest makes room.

use super::Policy;
use super::rings::Rings;

/// An exact LRU.
#[derive(Debug)]
pub(crate) struct Lru {
    capacity: u64,
    keys: Rings<1>,
}

impl Lru {
    fn make_room(&mut self, size: u64) {
        while self.keys.used(0) + size > self.capacity {
            let oldest = self.keys.oldest(0).expect("what takes room is in the queue");
            self.keys.take(oldest);
        }
    }
}

impl Policy for Lru {
    fn new(capacity: u64, n_keys: usize) -> Self {
        Self { capacity, keys: Rings::new(n_keys) }
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn has(&self, key: u32) -> bool {
        self.keys.queue(key).is_some()
    }

    fn touch(&mut self, key: u32) {
        self.keys.shift(0, key);
    }

    fn insert(&mut self, key: u32, size: u32) {
        self.make_room(size.into());
        self.keys.push(0, key, size);
    }

    fn resize(&mut self, key: u32, size: u32) {
        self.keys.resize(key, size);
        self.make_room(0);
    }

    fn remove(&mut self, key: u32) {
        self.keys.take(key);
    }
}
