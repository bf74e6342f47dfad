//! The knowledge of the numbers that a replay counts.
//!
//! Where one operation at a time is under way, the number under a key follows from the answers before. Otherwise counts
//! overtake each other, and the steps of a number lie between all that were drawn down and all that were drawn up.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use larder_workload::Access;

/// In place of steps that are not known.
const UNKNOWN: i64 = i64::MIN;

/// The numbers of a turn, by key; empty where no key is counted.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// The steps of the stored number from the start of its version.
    steps: Vec<AtomicI64>,
    /// The steps that were drawn in this turn, up and down.
    ups: Vec<AtomicU32>,
    downs: Vec<AtomicU32>,
    /// Whether one session reads and writes the keys, one operation at a time.
    is_exact: bool,
}

impl Numbers {
    /// This many keys, of which nothing is stored.
    pub(super) fn of(keys: usize, is_exact: bool) -> Self {
        let zeros = || (0..keys).map(|_| AtomicU32::new(0)).collect();
        let steps = (0..keys).map(|_| AtomicI64::new(UNKNOWN)).collect();
        Self { steps, ups: zeros(), downs: zeros(), is_exact }
    }

    /// A count of a key was drawn.
    #[inline]
    pub(super) fn note_drawn(&self, key: u32, kind: Access) {
        let drawn = if kind == Access::Decr { &self.downs } else { &self.ups };
        if let Some(drawn) = drawn.get(key as usize) {
            drawn.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A number with these steps is stored under a key now.
    #[inline]
    pub(super) fn note(&self, key: u32, steps: i64) {
        if let Some(known) = self.steps.get(key as usize) {
            known.store(steps, Ordering::Relaxed);
        }
    }

    /// The number under a key is not known from now on.
    #[inline]
    pub(super) fn forget(&self, key: u32) {
        self.note(key, UNKNOWN);
    }

    /// The steps of the number under a key, where they are known.
    pub(super) fn known(&self, key: u32) -> Option<i64> {
        let known = self.steps.get(key as usize).filter(|_| self.is_exact)?;
        Some(known.load(Ordering::Relaxed)).filter(|steps| *steps != UNKNOWN)
    }

    /// The steps that a number of a key can have.
    pub(super) fn bounds(&self, key: u32) -> RangeInclusive<i64> {
        let drawn = |steps: &[AtomicU32]| {
            steps.get(key as usize).map_or(i64::MAX, |n| n.load(Ordering::Relaxed).into())
        };
        -drawn(&self.downs)..=drawn(&self.ups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_known_until_they_are_forgotten_and_bounded_by_what_was_drawn() {
        let numbers = Numbers::of(2, true);
        assert_eq!((numbers.known(1), numbers.bounds(1)), (None, 0..=0));
        for kind in [Access::Incr, Access::Incr, Access::Decr] {
            numbers.note_drawn(1, kind);
        }
        numbers.note(1, 2);
        assert_eq!((numbers.known(1), numbers.bounds(1)), (Some(2), -1..=2));
        numbers.forget(1);
        assert_eq!((numbers.known(1), numbers.bounds(0)), (None, 0..=0));
        let racing = Numbers::of(1, false);
        racing.note(0, 1);
        assert_eq!(racing.known(0), None);
        // Where nothing is followed, every number is possible.
        assert_eq!(Numbers::default().bounds(7), -i64::MAX..=i64::MAX);
    }
}
