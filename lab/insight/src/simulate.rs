//! A look-aside cache with a policy, step by step.
//!
//! A read that misses stores its entry at once, as an application does that fills its cache. Writes store, deletes
//! remove. An entry whose TTL is over is a miss when it is next read, and takes room until then.

use larder_report::MeasuredIn;

use crate::policy::Policy;
use crate::step::{Step, Use};

/// After this many repetitions of a step a cache changes no more, or in circles.
const SETTLED: u64 = 64;

/// The same for an entry that would fit and is not taken in. W-TinyLFU takes in one of 128 by chance, and an entry that has to replace
/// several others needs that luck with each. What was refused so often is always refused.
const REFUSED: u64 = 1 << 18;

/// The repetitions after which such a circle is closed. The smallest sketch of W-TinyLFU halves its counters after each fifth.
const CYCLE: u64 = 60;

/// A cache in the middle of its steps.
#[derive(Debug)]
pub(crate) struct Cache<P> {
    policy: P,
    measure: MeasuredIn,
    /// By key, the time at which its entry expires; empty where no entry does.
    expiries: Vec<u32>,
    /// What was stored that was not there, in the unit of the capacity.
    pub(crate) inserted: u64,
}

impl<P: Policy> Cache<P> {
    /// An empty cache for keys below `n_keys`.
    pub(crate) fn new(capacity: u64, measure: MeasuredIn, n_keys: usize, expires: bool) -> Self {
        let expiries = vec![u32::MAX; if expires { n_keys } else { 0 }];
        Self { policy: P::new(capacity, measure, n_keys), measure, expiries, inserted: 0 }
    }

    /// Makes a step as often as it is repeated, and tells how many reads of it missed.
    #[inline]
    pub(crate) fn misses(&mut self, step: &Step) -> u64 {
        if step.more == 0 { (self.step(step) == Some(false)).into() } else { self.repeated(step) }
    }

    /// Once a cache has settled, the other repetitions are only counted.
    #[cold]
    fn repeated(&mut self, step: &Step) -> u64 {
        let stores = matches!(step.usage, Use::Read | Use::Found | Use::Write | Use::Add);
        let may_stay = stores && u64::from(step.size_in(self.measure)) <= self.policy.capacity();
        let (mut left, mut missed) = (step.times(), 0);
        let (mut alike, mut latest) = (0, None);
        while left > 0 {
            let misses = self.step(step) == Some(false);
            let is_refused = may_stay && !self.policy.has(step.key);
            left -= 1;
            missed += u64::from(misses);
            alike = if latest == Some((misses, is_refused)) { alike + 1 } else { 1 };
            latest = Some((misses, is_refused));
            if alike >= if is_refused { REFUSED } else { SETTLED } {
                missed += if misses { left - left % CYCLE } else { 0 };
                left %= CYCLE;
            }
        }
        missed
    }

    /// Makes a step once. `Some` tells of a read whether it hit.
    #[inline]
    pub(crate) fn step(&mut self, step: &Step) -> Option<bool> {
        let is_there = self.policy.has(step.key);
        let is_expired = is_there
            && self.expiries.get(step.key as usize).is_some_and(|expiry| step.at >= *expiry);
        match step.usage {
            Use::Read | Use::Found | Use::Look if is_there && !is_expired => {
                self.policy.touch(step.key);
                return Some(true);
            }
            Use::Read | Use::Found | Use::Look => {
                if is_expired {
                    self.policy.remove(step.key);
                }
                if step.usage != Use::Look {
                    self.store(step, false);
                }
                return Some(false);
            }
            Use::Write => self.store(step, is_there),
            Use::Add if !is_there || is_expired => self.store(step, is_there),
            Use::Change if is_there && !is_expired => {
                self.policy.store(step.key, step.size_in(self.measure));
            }
            // An entry that has expired since its read is stored anew: the set may be no fill, but an update.
            Use::Fill if is_there => self.fill(step),
            Use::Renew if is_there && !is_expired => self.expire(step),
            Use::Drop if is_there => self.policy.remove(step.key),
            Use::Add | Use::Change | Use::Fill | Use::Renew | Use::Drop => {}
        }
        None
    }

    fn store(&mut self, step: &Step, was_there: bool) {
        let size = step.size_in(self.measure);
        self.policy.store(step.key, size);
        self.expire(step);
        if !was_there {
            self.inserted += u64::from(size);
        }
    }

    /// Gives an entry that is there its size and TTL, without a use.
    fn fill(&mut self, step: &Step) {
        let size = step.size_in(self.measure);
        if u64::from(size) <= self.policy.capacity() {
            self.policy.resize(step.key, size);
            self.expire(step);
        } else {
            self.policy.remove(step.key);
        }
    }

    fn expire(&mut self, step: &Step) {
        if let Some(expiry) = self.expiries.get_mut(step.key as usize) {
            *expiry = step.expiry();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{Just, Strategy, prop_oneof};
    use proptest::{prop_assert_eq, proptest};

    use super::*;
    use crate::policy::{Fifo, Lru, S3Fifo, Sieve, WTinyLfu};

    const N_KEYS: usize = 6;

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let usage = prop_oneof![
            8 => Just(Use::Read), 1 => Just(Use::Look), 2 => Just(Use::Write), 1 => Just(Use::Add),
            1 => Just(Use::Change), 1 => Just(Use::Fill), 1 => Just(Use::Renew), 1 => Just(Use::Drop)
        ];
        let ttl = prop_oneof![3 => Just(0), 1 => Just(16), 1 => Just(160)];
        let more = prop_oneof![2 => Just(0), 1 => 1_u32..5, 2 => 0_u32..400];
        vec((0..6_u32, 1_u32..9, ttl, usage, more), 1..60).prop_map(|steps| {
            let step = |(at, (key, size, ttl, usage, more)): (u32, &(u32, u32, u32, Use, u32))| {
                let (key, size, ttl) = (*key, *size, *ttl);
                Step { key, size, at: at * 5, ttl, usage: *usage, more: *more, ..Step::default() }
            };
            (0..).zip(&steps).map(step).collect()
        })
    }

    /// The misses of each step that is repeated, and the same where each repetition is a step.
    fn both<P: Policy>(steps: &[Step], capacity: u64, measure: MeasuredIn) -> [Vec<u64>; 2] {
        let new = || Cache::<P>::new(capacity, measure, N_KEYS, true);
        let (mut cache, mut plain) = (new(), new());
        let one_by_one = |step: &Step| {
            let missed = |_: &u64| plain.step(step) == Some(false);
            (0..step.times()).filter(missed).count() as u64
        };
        [
            steps.iter().map(|step| cache.misses(step)).collect(),
            steps.iter().map(one_by_one).collect(),
        ]
    }

    proptest! {
        #[test]
        fn repeated_steps_miss_as_often_as_when_they_are_made_one_by_one(
            steps in steps(), capacity in 1_u64..20,
        ) {
            for measure in [MeasuredIn::Entries, MeasuredIn::Bytes] {
                for [repeated, plain] in [
                    both::<Lru>(&steps, capacity, measure),
                    both::<Fifo>(&steps, capacity, measure),
                    both::<Sieve>(&steps, capacity, measure),
                    both::<S3Fifo>(&steps, capacity, measure),
                    both::<WTinyLfu>(&steps, capacity, measure),
                ] {
                    prop_assert_eq!(&repeated, &plain, "{:?}", measure);
                }
            }
        }
    }
}
