//! The hits of simulated caches on steps of which all are kept, at a capacity in bytes.

use larder_report::MeasuredIn;

use crate::policy::Lru;
use crate::policy::belady::Future;
use crate::simulate::Cache;
use crate::step::Steps;

/// The reads that hit in an exact LRU of `capacity` bytes, which begins empty. An entry that does not fit alone is not
/// taken.
pub fn lru_hits(steps: &impl Steps, capacity: u64) -> u64 {
    let places = 0..steps.n_steps();
    let expires = places.clone().any(|at| steps.step(at).ttl > 0);
    let mut cache = Cache::<Lru>::new(capacity, MeasuredIn::Bytes, steps.n_keys(), expires);
    places.filter(|at| cache.step(&steps.step(*at)) == Some(true)).count() as u64
}

/// The optimal choice: a cache that knows all steps beforehand. With entries of several sizes it is a good choice, and not
/// the best.
#[derive(Debug)]
pub struct Optimum<'a, S> {
    steps: &'a S,
    future: Future,
}

impl<'a, S: Steps> Optimum<'a, S> {
    /// Looks for the next use after each step.
    pub fn of(steps: &'a S) -> Self {
        Self { steps, future: Future::of(steps) }
    }

    /// The reads that hit in a cache of `capacity` bytes, which begins empty.
    pub fn hits(&self, capacity: u64) -> u64 {
        let mut hits = 0;
        let told = |_, hit| hits += u64::from(hit);
        self.future.follow(self.steps, capacity, MeasuredIn::Bytes, told);
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{Kept, Step, Use};

    #[test]
    fn only_reads_count_and_room_is_in_bytes() {
        let of = |key, usage| Step { key, size: 3 + key, usage, ..Step::default() };
        let read = |key| of(key, Use::Read);
        let all =
            [read(0), read(1), of(1, Use::Write), read(0), read(1), of(0, Use::Drop), read(0)];
        let steps = Kept { steps: &all, n_keys: 2 };
        let optimum = Optimum::of(&steps);
        // The entries take 3 and 4 bytes.
        for (capacity, lru, best) in [(2, 0, 0), (3, 1, 1), (4, 0, 1), (6, 0, 1), (7, 2, 2)] {
            assert_eq!(
                (lru_hits(&steps, capacity), optimum.hits(capacity)),
                (lru, best),
                "{capacity}"
            );
        }
    }

    #[test]
    fn an_entry_with_a_ttl_expires() {
        let read = |at| Step { at, ttl: 10, size: 1, ..Step::default() };
        let all = [read(0), read(9), read(10)];
        let steps = Kept { steps: &all, n_keys: 1 };
        assert_eq!((lru_hits(&steps, 1), Optimum::of(&steps).hits(1)), (1, 1));
    }
}
