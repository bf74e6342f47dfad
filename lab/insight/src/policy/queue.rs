//! First in, first out, and least recently used: one queue whose oldest entry makes room. A use moves an entry to its newest
//! place, or does not.

use larder_report::MeasuredIn;

use super::Policy;
use super::rings::Rings;

/// A queue; `RENEWS` says whether a use counts as a new arrival.
#[derive(Debug)]
pub(crate) struct Queue<const RENEWS: bool> {
    capacity: u64,
    keys: Rings<1>,
}

/// First in, first out: the entry that came first makes room, however often it was used.
pub(crate) type Fifo = Queue<false>;

/// An exact LRU: the entry whose last use is oldest makes room.
pub(crate) type Lru = Queue<true>;

impl<const RENEWS: bool> Queue<RENEWS> {
    fn make_room(&mut self, size: u64) {
        while self.keys.used(0) + size > self.capacity {
            let oldest = self.keys.oldest(0).expect("what takes room is in the queue");
            self.keys.take(oldest);
        }
    }
}

impl<const RENEWS: bool> Policy for Queue<RENEWS> {
    fn new(capacity: u64, _measure: MeasuredIn, n_keys: usize) -> Self {
        Self { capacity, keys: Rings::new(n_keys) }
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn has(&self, key: u32) -> bool {
        self.keys.queue(key).is_some()
    }

    fn touch(&mut self, key: u32) {
        if RENEWS {
            self.keys.shift(0, key);
        }
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
