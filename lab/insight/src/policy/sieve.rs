//! SIEVE: a hand goes through a queue from the oldest entry to the newest, and takes the first that was not used since
//! the hand last passed it. See Zhang, Yang, Yue, Vigfusson and Rashmi, "SIEVE is Simpler than LRU: an Efficient Turn-Key
//! Eviction Algorithm for Web Caches", NSDI 2024.

use larder_report::MeasuredIn;

use super::Policy;
use super::rings::Rings;

/// A queue with a hand. The mark of a key is 1 after a use.
#[derive(Debug)]
pub(crate) struct Sieve {
    capacity: u64,
    keys: Rings<1>,
    /// Where the hand stands; `None` at the oldest entry.
    hand: Option<u32>,
}

impl Sieve {
    fn make_room(&mut self, size: u64) {
        while self.keys.used(0) + size > self.capacity {
            self.evict();
        }
    }

    fn evict(&mut self) {
        let oldest = |keys: &Rings<1>| keys.oldest(0).expect("what takes room is in the queue");
        let mut at = self.hand.unwrap_or_else(|| oldest(&self.keys));
        while *self.keys.mark(at) > 0 {
            *self.keys.mark(at) = 0;
            at = self.keys.newer(at).unwrap_or_else(|| oldest(&self.keys));
        }
        self.hand = self.keys.newer(at);
        self.keys.take(at);
    }
}

impl Policy for Sieve {
    fn new(capacity: u64, _measure: MeasuredIn, n_keys: usize) -> Self {
        Self { capacity, keys: Rings::new(n_keys), hand: None }
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn has(&self, key: u32) -> bool {
        self.keys.queue(key).is_some()
    }

    fn touch(&mut self, key: u32) {
        *self.keys.mark(key) = 1;
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
        if self.hand == Some(key) {
            self.hand = self.keys.newer(key);
        }
        self.keys.take(key);
    }
}
