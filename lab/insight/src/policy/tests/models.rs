//! The policies as their papers describe them, in lists.

use super::{Step, Use, n_keys};

/// An entry of a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    key: u32,
    size: u64,
    uses: u32,
}

/// A policy over lists that begin with the oldest entry.
pub(super) trait Plainly: Default {
    fn used(&mut self, key: u32) -> bool;
    fn evict(&mut self, capacity: u64);
    fn insert(&mut self, entry: Entry, capacity: u64);
    fn remove(&mut self, key: u32);
    fn size(&self) -> u64;
    fn before_insert(&mut self, _key: u32) {}

    /// Whether each read hits.
    fn hits(steps: &[Step], capacity: u64) -> Vec<bool> {
        let mut cache = Self::default();
        let mut hits = Vec::new();
        for step in steps {
            if step.usage == Use::Drop {
                cache.remove(step.key);
                continue;
            }
            let hit = cache.used(step.key);
            if step.usage == Use::Read {
                hits.push(hit);
            }
            let entry = Entry { key: step.key, size: step.size.into(), uses: 0 };
            if !hit && entry.size <= capacity {
                cache.before_insert(step.key);
                while cache.size() + entry.size > capacity {
                    cache.evict(capacity);
                }
                cache.insert(entry, capacity);
            }
        }
        hits
    }
}

fn total(list: &[Entry]) -> u64 {
    list.iter().map(|entry| entry.size).sum()
}

fn find(list: &[Entry], key: u32) -> Option<usize> {
    list.iter().position(|entry| entry.key == key)
}

#[derive(Default)]
pub(super) struct PlainLru(Vec<Entry>);

impl Plainly for PlainLru {
    fn used(&mut self, key: u32) -> bool {
        let Some(at) = find(&self.0, key) else { return false };
        let entry = self.0.remove(at);
        self.0.push(entry);
        true
    }

    fn evict(&mut self, _capacity: u64) {
        self.0.remove(0);
    }

    fn insert(&mut self, entry: Entry, _capacity: u64) {
        self.0.push(entry);
    }

    fn remove(&mut self, key: u32) {
        self.0.retain(|entry| entry.key != key);
    }

    fn size(&self) -> u64 {
        total(&self.0)
    }
}

#[derive(Default)]
pub(super) struct PlainFifo(Vec<Entry>);

impl Plainly for PlainFifo {
    fn used(&mut self, key: u32) -> bool {
        find(&self.0, key).is_some()
    }

    fn evict(&mut self, _capacity: u64) {
        self.0.remove(0);
    }

    fn insert(&mut self, entry: Entry, _capacity: u64) {
        self.0.push(entry);
    }

    fn remove(&mut self, key: u32) {
        self.0.retain(|entry| entry.key != key);
    }

    fn size(&self) -> u64 {
        total(&self.0)
    }
}

#[derive(Default)]
pub(super) struct PlainSieve {
    list: Vec<Entry>,
    /// The place of the hand.
    hand: usize,
}

impl Plainly for PlainSieve {
    fn used(&mut self, key: u32) -> bool {
        let found = find(&self.list, key);
        found.is_some_and(|at| {
            self.list[at].uses = 1;
            true
        })
    }

    fn evict(&mut self, _capacity: u64) {
        loop {
            if self.hand >= self.list.len() {
                self.hand = 0;
            }
            let entry = &mut self.list[self.hand];
            if entry.uses == 0 {
                self.list.remove(self.hand);
                // At the end the hand goes back to the oldest at once, before another arrives.
                if self.hand == self.list.len() {
                    self.hand = 0;
                }
                return;
            }
            entry.uses = 0;
            self.hand += 1;
        }
    }

    fn insert(&mut self, entry: Entry, _capacity: u64) {
        self.list.push(entry);
    }

    fn remove(&mut self, key: u32) {
        let Some(at) = find(&self.list, key) else { return };
        self.list.remove(at);
        if at < self.hand {
            self.hand -= 1;
        }
        if self.hand == self.list.len() {
            self.hand = 0;
        }
    }

    fn size(&self) -> u64 {
        total(&self.list)
    }
}

#[derive(Default)]
pub(super) struct PlainS3Fifo {
    small: Vec<Entry>,
    main: Vec<Entry>,
    ghost: Vec<Entry>,
    came_back: bool,
    was_full: bool,
}

impl PlainS3Fifo {
    fn evict_main(&mut self) {
        while !self.main.is_empty() {
            let mut entry = self.main.remove(0);
            if entry.uses == 0 {
                return;
            }
            entry.uses -= 1;
            self.main.push(entry);
        }
    }
}

impl Plainly for PlainS3Fifo {
    fn used(&mut self, key: u32) -> bool {
        let entry = self.small.iter_mut().chain(&mut self.main).find(|entry| entry.key == key);
        entry.is_some_and(|entry| {
            entry.uses = (entry.uses + 1).min(3);
            true
        })
    }

    fn before_insert(&mut self, key: u32) {
        self.came_back = find(&self.ghost, key).is_some();
        self.ghost.retain(|entry| entry.key != key);
    }

    fn evict(&mut self, capacity: u64) {
        let main_capacity = capacity - (capacity / 10).max(1);
        self.was_full = true;
        if total(&self.main) > main_capacity || self.small.is_empty() {
            return self.evict_main();
        }
        while !self.small.is_empty() {
            let entry = self.small.remove(0);
            if entry.uses < 2 {
                self.ghost.push(Entry { uses: 0, ..entry });
                while total(&self.ghost) > main_capacity {
                    self.ghost.remove(0);
                }
                return;
            }
            self.main.push(Entry { uses: 0, ..entry });
        }
    }

    fn insert(&mut self, entry: Entry, capacity: u64) {
        let is_small_full = total(&self.small) >= (capacity / 10).max(1);
        let is_main = self.came_back || is_small_full && !self.was_full;
        if is_main { self.main.push(entry) } else { self.small.push(entry) }
    }

    fn remove(&mut self, key: u32) {
        self.small.retain(|entry| entry.key != key);
        self.main.retain(|entry| entry.key != key);
    }

    fn size(&self) -> u64 {
        total(&self.small) + total(&self.main)
    }
}

/// The most hits that any cache can have. The model tries every set of entries that a cache may keep.
pub(super) fn exhaustive(steps: &[Step], capacity: u64) -> usize {
    let mut sizes = vec![0; n_keys(steps)];
    for step in steps {
        sizes[step.key as usize] = u64::from(step.size);
    }
    let n_sets: usize = 1 << sizes.len();
    let bytes = |set: usize| -> u64 {
        sizes.iter().zip(0..).map(|(size, key)| size * (set >> key & 1) as u64).sum()
    };
    let fits: Vec<bool> = (0..n_sets).map(|set| bytes(set) <= capacity).collect();
    // The most hits so far, for each set of entries that can be in the cache.
    let mut best: Vec<Option<usize>> = vec![None; n_sets];
    best[0] = Some(0);
    for Step { key, usage, .. } in steps {
        let mut after = vec![None; n_sets];
        for (set, hits) in best.into_iter().enumerate() {
            let Some(hits) = hits else { continue };
            let was_there = set >> key & 1 == 1;
            let hits = hits + usize::from(was_there && *usage == Use::Read);
            let whole = if *usage == Use::Drop { set & !(1 << key) } else { set | 1 << key };
            // Every subset of the entries that fits may stay.
            let mut kept = whole;
            loop {
                if fits[kept] {
                    after[kept] = after[kept].max(Some(hits));
                }
                if kept == 0 {
                    break;
                }
                kept = (kept - 1) & whole;
            }
        }
        best = after;
    }
    best.into_iter().flatten().max().unwrap_or(0)
}
