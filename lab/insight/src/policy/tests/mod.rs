//! Compares the policies with hand-worked sequences, and with models too slow for use and too simple to be wrong.

mod by_hand;
mod models;
mod references;

use larder_report::MeasuredIn;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::{prop_assert, prop_assert_eq, proptest};

use self::models::{PlainFifo, PlainLru, PlainS3Fifo, PlainSieve, Plainly, exhaustive};
use super::belady::Future;
use super::time_set::TimeSet;
use super::{Fifo, Lru, Policy, S3Fifo, Sieve, WTinyLfu};
use crate::simulate::Cache;
use crate::step::{Kept, Step, Use};

fn step(key: u32, usage: Use, size: u32) -> Step {
    Step { key, size, usage, ..Step::default() }
}

fn reads(keys: &[u32]) -> Vec<Step> {
    keys.iter().map(|key| step(*key, Use::Read, 1)).collect()
}

/// One more than the largest key.
fn n_keys(steps: &[Step]) -> usize {
    steps.iter().map(|step| step.key as usize + 1).max().unwrap_or(0)
}

/// Whether each read hits.
fn hits<P: Policy>(steps: &[Step], capacity: u64) -> Vec<bool> {
    hits_in::<P>(steps, capacity, MeasuredIn::Bytes)
}

/// The same, with a capacity in entries.
fn hits_of_entries<P: Policy>(steps: &[Step], capacity: u64) -> Vec<bool> {
    hits_in::<P>(steps, capacity, MeasuredIn::Entries)
}

fn hits_in<P: Policy>(steps: &[Step], capacity: u64, measure: MeasuredIn) -> Vec<bool> {
    let mut cache = Cache::<P>::new(capacity, measure, n_keys(steps), true);
    steps.iter().filter_map(|step| cache.step(step)).collect()
}

fn count<P: Policy>(steps: &[Step], capacity: u64) -> usize {
    hits::<P>(steps, capacity).into_iter().filter(|hit| *hit).count()
}

fn optimal(steps: &[Step], capacity: u64) -> usize {
    let (kept, mut hits) = (Kept { steps, n_keys: n_keys(steps) }, 0);
    let follow = |_, hit| hits += usize::from(hit);
    Future::of(&kept).follow(&kept, capacity, MeasuredIn::Bytes, follow);
    hits
}

/// Steps on keys below `n_keys`, which have one size each.
fn operations(sizes: Vec<u32>, at_most: usize) -> impl Strategy<Value = Vec<Step>> {
    let usage = prop_oneof![8 => Just(Use::Read), 2 => Just(Use::Write), 1 => Just(Use::Drop)];
    let one = (0..sizes.len(), usage);
    vec(one, 0..at_most).prop_map(move |ops| {
        let of =
            |(key, usage): &(usize, Use)| step(u32::try_from(*key).unwrap(), *usage, sizes[*key]);
        ops.iter().map(of).collect()
    })
}

fn of_sizes(n_keys: usize, most: u32, at_most: usize) -> impl Strategy<Value = Vec<Step>> {
    use proptest::prelude::Strategy as _;
    vec(1..=most, n_keys).prop_flat_map(move |sizes| operations(sizes, at_most))
}

/// Every kind of step, in the course of time, on keys whose sizes change.
fn any_steps(n_keys: u32, at_most: usize) -> impl Strategy<Value = Vec<Step>> {
    let usage = prop_oneof![
        8 => Just(Use::Read), 1 => Just(Use::Look), 2 => Just(Use::Write), 1 => Just(Use::Change),
        1 => Just(Use::Renew), 1 => Just(Use::Drop)
    ];
    vec((0..n_keys, usage, 1_u32..6, 0_u32..3, 0_u32..12), 0..at_most).prop_map(|steps| {
        let mut now = 0;
        let each = steps.into_iter().map(|(key, usage, size, passed, ttl)| {
            now += passed;
            Step { at: now, ttl, ..step(key, usage, size) }
        });
        each.collect()
    })
}

proptest! {
    #[test]
    fn queues_keep_what_plain_models_keep(steps in of_sizes(12, 8, 200), capacity in 0_u64..60) {
        prop_assert_eq!(hits::<Lru>(&steps, capacity), PlainLru::hits(&steps, capacity));
        prop_assert_eq!(hits::<Fifo>(&steps, capacity), PlainFifo::hits(&steps, capacity));
        prop_assert_eq!(hits::<Sieve>(&steps, capacity), PlainSieve::hits(&steps, capacity));
        prop_assert_eq!(hits::<S3Fifo>(&steps, capacity), PlainS3Fifo::hits(&steps, capacity));
    }

    #[test]
    fn no_policy_hits_more_often_than_the_optimum_of_one_size(
        steps in of_sizes(9, 1, 120), capacity in 0_u64..10,
    ) {
        let best = optimal(&steps, capacity);
        prop_assert!(count::<Lru>(&steps, capacity) <= best);
        prop_assert!(count::<Fifo>(&steps, capacity) <= best);
        prop_assert!(count::<Sieve>(&steps, capacity) <= best);
        prop_assert!(count::<S3Fifo>(&steps, capacity) <= best);
        prop_assert!(count::<WTinyLfu>(&steps, capacity) <= best);
    }

    #[test]
    fn the_optimum_of_one_size_is_that_of_all_possible_choices(
        steps in of_sizes(5, 1, 24), entries in 0_u64..6,
    ) {
        prop_assert_eq!(optimal(&steps, entries), exhaustive(&steps, entries));
    }

    #[test]
    fn with_several_sizes_it_is_a_choice_that_could_be_made(
        steps in of_sizes(5, 4, 24), capacity in 0_u64..12,
    ) {
        prop_assert!(optimal(&steps, capacity) <= exhaustive(&steps, capacity));
    }

    #[test]
    fn with_room_for_all_every_policy_hits_where_it_can(steps in any_steps(6, 80)) {
        // Six entries of at most five bytes.
        let all = hits::<Lru>(&steps, 3000);
        prop_assert_eq!(&hits::<Fifo>(&steps, 3000), &all);
        prop_assert_eq!(&hits::<Sieve>(&steps, 3000), &all);
        prop_assert_eq!(&hits::<S3Fifo>(&steps, 3000), &all);
        prop_assert_eq!(&hits::<WTinyLfu>(&steps, 3000), &all);
        prop_assert_eq!(optimal(&steps, 3000), all.iter().filter(|hit| **hit).count());
    }

    #[test]
    fn any_steps_leave_no_cache_fuller_than_it_may_be(steps in any_steps(12, 200), capacity in 0_u64..40) {
        full::<Lru>(&steps, capacity);
        full::<Fifo>(&steps, capacity);
        full::<Sieve>(&steps, capacity);
        full::<S3Fifo>(&steps, capacity);
        full::<WTinyLfu>(&steps, capacity);
    }

    #[test]
    fn a_set_of_times_gives_the_last(
        numbers in vec((0_usize..5000, proptest::prelude::any::<bool>()), 0..300),
    ) {
        let mut set = TimeSet::new(5000);
        let mut known = std::collections::BTreeSet::new();
        for (number, is_in) in numbers {
            if is_in {
                set.insert(number);
                known.insert(number);
            } else {
                prop_assert_eq!(set.remove(number), known.remove(&number));
            }
        }
        while let Some(last) = known.pop_last() {
            prop_assert_eq!(set.pop_last(), Some(last));
        }
        prop_assert_eq!(set.pop_last(), None);
    }
}

/// Takes every step, and adds up after each what the policy says to have.
fn full<P: Policy>(steps: &[Step], capacity: u64) {
    let keys = u32::try_from(n_keys(steps)).unwrap();
    let mut policy = P::new(capacity, MeasuredIn::Bytes, n_keys(steps));
    let mut sizes = vec![0; n_keys(steps)];
    for step in steps {
        match (step.usage, policy.has(step.key)) {
            (Use::Drop, true) => policy.remove(step.key),
            (Use::Read, true) => policy.touch(step.key),
            (Use::Read, false) | (Use::Write, _) => {
                sizes[step.key as usize] = step.size;
                policy.store(step.key, step.size);
            }
            _ => {}
        }
        let has = (0..keys).filter(|key| policy.has(*key));
        let used: u64 = has.map(|key| u64::from(sizes[key as usize])).sum();
        assert!(used <= capacity, "{used} in {capacity} after {step:?}");
    }
}
