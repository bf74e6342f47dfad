//! W-TinyLFU: a new entry passes through a small LRU, the window. It enters the main part only in the place of an entry
//! that was used less often lately. See Einziger, Friedman and Manes, "TinyLFU: A Highly Efficient Cache Admission Policy",
//! ACM Transactions on Storage 2017.
//!
//! It follows `sketch.WindowTinyLfu` in the simulator of Caffeine, whose author is one of the paper's: the window has 1 % of
//! the capacity, the main part is a segmented LRU of which 80 % are protected, and a sketch counts the uses. The cache
//! Caffeine itself also moves the border of the window by the hit ratio; here it stays. libCacheSim has another policy under
//! this name, which does not count uses in the window, and counts an entry once more when it leaves the window.

use larder_report::MeasuredIn;

use super::Policy;
use super::rings::Rings;
use super::sketch::Sketch;
use crate::sample::scattered;

const WINDOW: usize = 0;
const PROBATION: usize = 1;
const PROTECTED: usize = 2;
const QUEUES: [usize; 3] = [WINDOW, PROBATION, PROTECTED];

/// A candidate with this many uses is let in now and then though the victim has as many, because keys with the counters of
/// others could be victims that nothing drives out.
const WARM: u32 = 6;

/// One of this many warm candidates is let in.
const ONE_OF: u64 = 128;

/// The queues and the counts of uses.
#[derive(Debug)]
pub(crate) struct WTinyLfu {
    capacity: u64,
    window_capacity: u64,
    protected_capacity: u64,
    keys: Rings<3>,
    measure: MeasuredIn,
    /// `None` until it is known how many entries have room.
    counts: Option<Sketch>,
    /// Warm candidates so far that were not better.
    n_warm: u64,
}

impl WTinyLfu {
    fn used(&self) -> u64 {
        QUEUES.map(|queue| self.keys.used(queue)).iter().sum()
    }

    fn count(&mut self, key: u32) {
        if let Some(counts) = &mut self.counts {
            counts.add(key);
        }
    }

    fn uses(&self, key: u32) -> u32 {
        self.counts.as_ref().map_or(0, |counts| counts.of(key))
    }

    /// Gives the sketch a word for each entry. How many entries a number of bytes has room for shows once half of it is used;
    /// if they become more, counting begins anew.
    fn measure_entries(&mut self) {
        if self.measure == MeasuredIn::Entries || self.used() < self.capacity / 2 {
            return;
        }
        let n_entries = QUEUES.map(|queue| self.keys.length(queue)).iter().sum();
        if self.counts.as_ref().is_none_or(|counts| counts.n_words() < n_entries) {
            self.counts = Some(Sketch::of_entries(n_entries));
        }
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
            if victim == candidate || !self.is_let_in(candidate, victim) {
                self.keys.take(candidate);
                return;
            }
            self.keys.take(victim);
        }
    }

    /// Whether a candidate is used more than a victim, or lucky.
    fn is_let_in(&mut self, candidate: u32, victim: u32) -> bool {
        let uses = self.uses(candidate);
        if uses > self.uses(victim) {
            return true;
        }
        self.n_warm += u64::from(uses >= WARM);
        uses >= WARM && scattered(self.n_warm, 0).is_multiple_of(ONE_OF)
    }
}

impl Policy for WTinyLfu {
    fn new(capacity: u64, measure: MeasuredIn, n_keys: usize) -> Self {
        let main_capacity = capacity / 100 * 99 + capacity % 100 * 99 / 100;
        // More entries than keys have no need of a choice.
        let n_entries = u32::try_from(capacity.min(n_keys as u64)).unwrap_or(u32::MAX);
        let is_known = measure == MeasuredIn::Entries;
        Self {
            capacity,
            window_capacity: capacity - main_capacity,
            protected_capacity: main_capacity / 5 * 4 + main_capacity % 5 * 4 / 5,
            keys: Rings::new(n_keys),
            measure,
            counts: is_known.then(|| Sketch::of_entries(n_entries)),
            n_warm: 0,
        }
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
        if self.keys.size(key) > self.protected_capacity {
            return self.keys.shift(PROBATION, key);
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
            self.measure_entries();
            return self.make_room_for(key);
        }
        self.keys.push(WINDOW, key, size);
        self.measure_entries();
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
