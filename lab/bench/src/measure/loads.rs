//! Making a value that was missed, where that takes time: the reason why an application has a cache.
//!
//! No thread waits here for another that makes the same value already, as in any cache-aside loop with only get and
//! set. That is the stampede, and it is counted.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::clock::now_ns;

/// The time that a value takes to make, and the values that are being made now; shared by the threads of a
/// phase.
#[derive(Debug)]
pub(super) struct Loads {
    time: Duration,
    keys: Vec<Making>,
}

/// The making of the value of a key.
#[derive(Debug, Default)]
struct Making {
    /// The number of threads that make the value now.
    under_way: AtomicU32,
    /// When a thread last stored the value, on the monotonic clock.
    stored_ns: AtomicU64,
}

impl Loads {
    pub(super) fn new(time: Duration, keys: u32) -> Self {
        Self { time, keys: (0..keys).map(|_| Making::default()).collect() }
    }

    /// Makes the value of a key, which a read that began at `since` has missed. The load goes on until it is dropped,
    /// whether the value has been stored or not.
    pub(super) fn make(&self, key: u32, since: u64) -> Load<'_> {
        let making = &self.keys[key as usize];
        let others = making.under_way.fetch_add(1, Ordering::AcqRel);
        // Between the miss and now another thread may have stored the value.
        let is_repeated = others > 0 || making.stored_ns.load(Ordering::Acquire) >= since;
        let load = Load { making, is_repeated };
        std::thread::sleep(self.time);
        load
    }
}

/// A value is being made.
#[derive(Debug)]
pub(super) struct Load<'a> {
    making: &'a Making,
    is_repeated: bool,
}

impl Load<'_> {
    /// Whether another thread was making the same value, or stored it, after the read had begun.
    pub(super) fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    /// Notes that the store has the value from now on: a thread that missed it before need not make it once more.
    pub(super) fn stored(&self) {
        self.making.stored_ns.fetch_max(now_ns(), Ordering::AcqRel);
    }
}

impl Drop for Load<'_> {
    fn drop(&mut self) {
        self.making.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_takes_its_time_and_the_second_of_the_same_value_is_repeated() {
        let loads = Loads::new(Duration::from_millis(3), 2);
        let began = now_ns();
        let first = loads.make(0, began);
        assert!(!first.is_repeated() && now_ns() - began >= 3_000_000);
        assert!(loads.make(0, now_ns()).is_repeated());
        assert!(!loads.make(1, now_ns()).is_repeated(), "another value");
        first.stored();
        drop(first);
        assert!(loads.make(0, began).is_repeated(), "missed before it was stored");
        let after = now_ns() + 1;
        assert!(!loads.make(0, after).is_repeated(), "missed after it was stored");
    }

    #[test]
    fn a_load_whose_value_was_not_stored_leaves_the_next_one_needed() {
        let loads = Loads::new(Duration::from_millis(1), 1);
        let began = now_ns();
        drop(loads.make(0, began));
        assert!(!loads.make(0, began).is_repeated());
    }
}
