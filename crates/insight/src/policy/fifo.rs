//! First in, first out: the entry that came first makes room, however often it was used.

use super::Policy;
use super::rings::Rings;

/// A queue.
#[derive(Debug)]
pub(crate) struct Fifo {
    capacity: u64,
    keys: Rings<1>,
}

impl Fifo {
    fn make_room(&mut self, size: u64) {
        while self.keys.used(0) + size > self.capacity {
            let oldest = self.keys.oldest(0).expect("what takes room is in the queue");
            self.keys.take(oldest);
        }
    }
}

impl Policy for Fifo {
    fn new(capacity: u64, n_keys: usize) -> Self {
        Self { capacity, keys: Rings::new(n_keys) }
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn has(&self, key: u32) -> bool {
        self.keys.queue(key).is_some()
    }

    fn touch(&mut self, _key: u32) {}

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
