//! Eviction policies as small models: they know the keys that stay and the weights of their entries, and store no values.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// One access of a get-or-set workload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub(crate) key: u32,
    /// Bytes of the value.
    pub(crate) len: u32,
}

/// The bytes that an entry takes in a model: its key of 16 bytes, its value, and 56 bytes beside them.
pub(crate) fn weight(access: Access) -> u64 {
    u64::from(access.len) + 16 + 56
}

/// A policy that sees the accesses in their order.
pub(crate) trait Policy {
    /// Looks a key up, and stores it where it is absent; whether it was there.
    fn access(&mut self, access: Access) -> bool;
}

/// The least recently used entry goes.
#[derive(Debug)]
pub(crate) struct Lru {
    room: u64,
    used: u64,
    clock: u64,
    order: BTreeMap<u64, u32>,
    keys: HashMap<u32, (u64, u64)>,
}

impl Lru {
    pub(crate) fn new(room: u64) -> Self {
        Self { room, used: 0, clock: 0, order: BTreeMap::new(), keys: HashMap::new() }
    }
}

impl Policy for Lru {
    fn access(&mut self, access: Access) -> bool {
        self.clock += 1;
        let bytes = weight(access);
        let there = self.keys.insert(access.key, (self.clock, bytes));
        if let Some((at, was)) = there {
            self.order.remove(&at);
            self.used -= was;
        }
        self.order.insert(self.clock, access.key);
        self.used += bytes;
        while self.used > self.room {
            let Some((_, key)) = self.order.pop_first() else { break };
            self.used -= self.keys.remove(&key).map_or(0, |(_, bytes)| bytes);
        }
        there.is_some()
    }
}

/// SIEVE (Zhang and others 2024): a hand goes from the oldest entry to the newest, and takes the first unvisited one.
#[derive(Debug)]
pub(crate) struct Sieve {
    room: u64,
    used: u64,
    clock: u64,
    hand: u64,
    order: BTreeMap<u64, u32>,
    /// Its place in the order, whether it was visited, and its bytes.
    keys: HashMap<u32, (u64, bool, u64)>,
}

impl Sieve {
    pub(crate) fn new(room: u64) -> Self {
        let (order, keys) = (BTreeMap::new(), HashMap::new());
        Self { room, used: 0, clock: 0, hand: 0, order, keys }
    }

    fn evict(&mut self) {
        loop {
            let next = self.order.range(self.hand..).next().or_else(|| self.order.iter().next());
            let Some((&at, &key)) = next else { return };
            self.hand = at + 1;
            if let Some((_, is_visited @ true, _)) = self.keys.get_mut(&key) {
                *is_visited = false;
                continue;
            }
            self.order.remove(&at);
            self.used -= self.keys.remove(&key).map_or(0, |(.., bytes)| bytes);
            return;
        }
    }
}

impl Policy for Sieve {
    fn access(&mut self, access: Access) -> bool {
        if let Some((_, is_visited, _)) = self.keys.get_mut(&access.key) {
            *is_visited = true;
            return true;
        }
        let bytes = weight(access);
        while self.used + bytes > self.room && !self.order.is_empty() {
            self.evict();
        }
        self.clock += 1;
        self.order.insert(self.clock, access.key);
        self.keys.insert(access.key, (self.clock, false, bytes));
        self.used += bytes;
        false
    }
}

/// S3-FIFO (Yang and others 2023): a small queue of a tenth, a main queue, and as many ghosts as the main queue has entries.
/// An entry goes on to the main queue if it was used `to_stay` times in the small one.
#[derive(Debug)]
pub(crate) struct S3Fifo {
    room: u64,
    to_stay: u8,
    small: VecDeque<u32>,
    main: VecDeque<u32>,
    small_bytes: u64,
    main_bytes: u64,
    /// Whether it is in the main queue, how often it was used, and its bytes.
    keys: HashMap<u32, (bool, u8, u64)>,
    ghosts: VecDeque<u32>,
    is_ghost: HashSet<u32>,
}

impl S3Fifo {
    pub(crate) fn new(room: u64, to_stay: u8) -> Self {
        Self {
            room,
            to_stay,
            small: VecDeque::new(),
            main: VecDeque::new(),
            small_bytes: 0,
            main_bytes: 0,
            keys: HashMap::new(),
            ghosts: VecDeque::new(),
            is_ghost: HashSet::new(),
        }
    }

    fn evict(&mut self) {
        if self.small_bytes * 10 > self.room || self.main.is_empty() {
            let Some(key) = self.small.pop_front() else { return };
            let Some((is_main, uses, bytes)) = self.keys.get_mut(&key) else { return };
            self.small_bytes -= *bytes;
            if *uses >= self.to_stay {
                (*is_main, *uses) = (true, 0);
                self.main_bytes += *bytes;
                self.main.push_back(key);
                return;
            }
            self.keys.remove(&key);
            self.ghosts.push_back(key);
            self.is_ghost.insert(key);
            while self.ghosts.len() > self.main.len().max(self.small.len()) {
                let oldest = self.ghosts.pop_front();
                oldest.map(|oldest| self.is_ghost.remove(&oldest));
            }
            return;
        }
        while let Some(key) = self.main.pop_front() {
            let Some((_, uses, bytes)) = self.keys.get_mut(&key) else { return };
            if *uses == 0 {
                self.main_bytes -= *bytes;
                self.keys.remove(&key);
                return;
            }
            *uses -= 1;
            self.main.push_back(key);
        }
    }
}

impl Policy for S3Fifo {
    fn access(&mut self, access: Access) -> bool {
        if let Some((_, uses, _)) = self.keys.get_mut(&access.key) {
            *uses = (*uses + 1).min(3);
            return true;
        }
        let bytes = weight(access);
        while self.small_bytes + self.main_bytes + bytes > self.room && !self.keys.is_empty() {
            self.evict();
        }
        let is_main = self.is_ghost.remove(&access.key);
        self.keys.insert(access.key, (is_main, 0, bytes));
        let (queue, sum) = if is_main {
            (&mut self.main, &mut self.main_bytes)
        } else {
            (&mut self.small, &mut self.small_bytes)
        };
        queue.push_back(access.key);
        *sum += bytes;
        false
    }
}

/// Knows the future: the entry whose next access is the latest goes, or is not stored at all (Belady 1966). Where sizes
/// differ, this is a good choice and not the best.
#[derive(Debug)]
pub(crate) struct Optimal {
    room: u64,
    used: u64,
    at: usize,
    next: Vec<usize>,
    /// The entries by when they are read next.
    kept: BTreeMap<usize, (u32, u64)>,
    keys: HashMap<u32, usize>,
}

impl Optimal {
    pub(crate) fn new(room: u64, accesses: &[Access]) -> Self {
        let (mut next, mut upcoming) = (vec![usize::MAX; accesses.len()], HashMap::new());
        for (at, access) in accesses.iter().enumerate().rev() {
            next[at] = upcoming.insert(access.key, at).unwrap_or(usize::MAX);
        }
        Self { room, used: 0, at: 0, next, kept: BTreeMap::new(), keys: HashMap::new() }
    }
}

impl Policy for Optimal {
    fn access(&mut self, access: Access) -> bool {
        let at = self.at;
        self.at += 1;
        let there = self.keys.remove(&access.key).and_then(|read| self.kept.remove(&read));
        self.used -= there.map_or(0, |(_, bytes)| bytes);
        let next = self.next[at];
        if next != usize::MAX {
            self.kept.insert(next, (access.key, weight(access)));
            self.keys.insert(access.key, next);
            self.used += weight(access);
        }
        while self.used > self.room {
            let Some((_, (key, bytes))) = self.kept.pop_last() else { break };
            self.keys.remove(&key);
            self.used -= bytes;
        }
        there.is_some()
    }
}
