//! The limit held against sequences that were worked out by hand, against every choice of drops, and against every policy.

use larder_report::MeasuredIn;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::{prop_assert, prop_assert_eq, proptest};

use super::*;
use crate::exact::Optimum;
use crate::policy::{Fifo, Lru, Policy, S3Fifo, Sieve, WTinyLfu};
use crate::simulate::Cache;

fn step(usage: Use, at: u32, ttl: u32) -> Step {
    Step { size: 1, at, ttl, usage, ..Step::default() }
}

fn kept(steps: &[Step]) -> Kept<'_> {
    let n_keys = steps.iter().map(|step| step.key as usize + 1).max().unwrap_or(0);
    Kept { steps, n_keys }
}

/// The reads that hit in the best cache of all that begin empty, whatever its capacity and policy are.
fn most_hits(steps: &impl Steps) -> u64 {
    let mut hits = 0;
    follow(steps, |_, answer| hits += u64::from(answer == Answer::Hit));
    hits
}

/// The reads that miss, each with its reason.
fn misses(steps: &[Step]) -> Vec<Why> {
    let mut misses = Vec::new();
    follow(&kept(steps), |_, answer| {
        if let Answer::Missed(why) = answer {
            misses.push(why);
        }
    });
    misses
}

#[test]
fn each_miss_has_its_reason() {
    let of = |usage, at| step(usage, at, 10);
    let steps = [
        of(Use::Read, 0),  // the first
        of(Use::Read, 9),  // a hit
        of(Use::Read, 10), // expired, and filled until 20
        of(Use::Drop, 12),
        of(Use::Read, 13),  // deleted, and filled until 23
        of(Use::Found, 30), // a hit, as the recorded cache had it for longer
        of(Use::Look, 60),  // expired, and not filled
        of(Use::Look, 61),  // expired
        of(Use::Drop, 62),
        of(Use::Look, 63),  // nobody stored a value after the delete
        of(Use::Found, 64), // stored by nobody who was recorded
        of(Use::Write, 65),
        of(Use::Read, 66), // a hit
    ];
    assert_eq!(
        misses(&steps),
        [
            Why::First,
            Why::Expired,
            Why::Deleted,
            Why::Expired,
            Why::Expired,
            Why::Absent,
            Why::Before
        ]
    );
    assert_eq!(most_hits(&kept(&steps)), 3);
}

#[test]
fn an_entry_is_there_until_its_ttl_is_certainly_over() {
    let of = |at, is_later| Step { is_later, ..step(Use::Read, at, 10) };
    // Filled at 0 and a part of a tick: it may be over at 10 and the rest of a tick.
    assert_eq!(most_hits(&kept(&[of(0, true), of(10, false)])), 1);
    assert_eq!(most_hits(&kept(&[of(0, false), of(10, true)])), 0);
    assert_eq!(most_hits(&kept(&[of(0, true), of(11, false)])), 0);
}

#[test]
fn an_entry_that_is_dropped_in_time_and_filled_again_lives_longer() {
    let ttl = |usage, at| step(usage, at, 10);
    let mut steps = vec![ttl(Use::Read, 0), ttl(Use::Read, 9)];
    // Nobody filled these. An entry of 0 is over, and one of 9 is not.
    steps.extend((10..19).map(|at| ttl(Use::Look, at)));
    assert_eq!(most_hits(&kept(&steps)), 9);
    let mut cache = Cache::<Lru>::new(9, MeasuredIn::Entries, 1, true);
    let hits = steps.iter().filter(|step| cache.step(step) == Some(true)).count();
    assert_eq!(hits, 1, "a cache without limit is not the best");
}

/// The most hits of all choices of the steps before which an entry is dropped, of a single key.
fn of_all_choices(steps: &[Step]) -> u64 {
    let hits = |choice: u32| {
        let mut expiry: Option<u32> = None;
        let mut hits = 0;
        for (number, step) in steps.iter().enumerate() {
            if choice >> number & 1 == 1 {
                expiry = None;
            }
            let there = expiry.is_some_and(|expiry| step.at < expiry);
            hits += u64::from(step.usage.reads() && there);
            match step.usage {
                Use::Read | Use::Found | Use::Add if !there => expiry = Some(step.certain_expiry()),
                Use::Look if !there => expiry = None,
                Use::Write => expiry = Some(step.certain_expiry()),
                Use::Renew if there => expiry = Some(step.certain_expiry()),
                Use::Drop => expiry = None,
                _ => {}
            }
        }
        hits
    };
    (0..1 << steps.len()).map(hits).max().unwrap_or(0)
}

/// Any uses of some keys in the course of time. The TTL of a key is that of its last write, as in a trace.
fn any_steps(n_keys: u32, at_most: usize, finds: bool) -> impl Strategy<Value = Vec<Step>> {
    let found = if finds { Use::Found } else { Use::Read };
    let usage = prop_oneof![
        6 => Just(Use::Read), 2 => Just(found), 4 => Just(Use::Look), 1 => Just(Use::Write),
        1 => Just(Use::Add), 1 => Just(Use::Change), 1 => Just(Use::Renew), 1 => Just(Use::Drop)
    ];
    vec((0..n_keys, usage, 1_u32..4, (0_u32..4, any::<bool>()), 1_u32..12), 0..at_most).prop_map(
        move |steps| {
            let mut now = 0;
            let mut ttls = vec![8; n_keys as usize];
            let each = steps.into_iter().map(|(key, usage, size, (passed, is_later), ttl)| {
                now += passed;
                let of_key = &mut ttls[key as usize];
                if matches!(usage, Use::Write | Use::Add) {
                    *of_key = ttl;
                }
                let ttl = if usage == Use::Renew { ttl } else { *of_key };
                Step { key, size, at: now, is_later, ttl, usage, more: 0 }
            });
            each.collect()
        },
    )
}

fn hits<P: Policy>(steps: &[Step], capacity: u64) -> u64 {
    let mut cache = Cache::<P>::new(capacity, MeasuredIn::Bytes, kept(steps).n_keys, true);
    steps.iter().filter(|step| cache.step(step) == Some(true)).count() as u64
}

proptest! {
    #[test]
    fn the_limit_is_the_best_of_all_choices(steps in any_steps(1, 12, false)) {
        prop_assert_eq!(most_hits(&kept(&steps)), of_all_choices(&steps));
    }

    #[test]
    fn no_cache_hits_more(steps in any_steps(6, 150, true), capacity in 0_u64..20) {
        let most = most_hits(&kept(&steps));
        prop_assert!(hits::<Lru>(&steps, capacity) <= most);
        prop_assert!(hits::<Fifo>(&steps, capacity) <= most);
        prop_assert!(hits::<Sieve>(&steps, capacity) <= most);
        prop_assert!(hits::<S3Fifo>(&steps, capacity) <= most);
        prop_assert!(hits::<WTinyLfu>(&steps, capacity) <= most);
        prop_assert!(Optimum::of(&kept(&steps)).hits(capacity) <= most);
        let recorded = steps.iter().filter(|step| step.usage == Use::Found).count();
        let before = misses(&steps).iter().filter(|why| **why == Why::Before).count();
        prop_assert!(recorded as u64 <= most + before as u64);
    }
}
