//! Compares the models with reference models: too slow for use, and too simple to be wrong.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::{prop_assert, prop_assert_eq, proptest};

use super::accesses::{Accesses, Use};
use super::belady::Future;
use super::lru;

fn accesses(ops: &[(u32, Use)], sizes: &[u64]) -> Accesses {
    Accesses {
        keys: ops.iter().map(|(key, _)| *key).collect(),
        uses: ops.iter().map(|(_, usage)| *usage).collect(),
        sizes: sizes.to_vec(),
    }
}

fn reads(keys: &[u32]) -> Accesses {
    let ops: Vec<(u32, Use)> = keys.iter().map(|key| (*key, Use::Read)).collect();
    accesses(&ops, &[1; 16])
}

fn optimal(accesses: &Accesses, capacity: u64) -> u64 {
    Future::of(accesses).hits(accesses, capacity)
}

/// LRU as a textbook explains it: a list with the newest key in front.
fn plain_lru(accesses: &Accesses, capacity: u64) -> u64 {
    let size = |key: &u32| accesses.sizes[*key as usize];
    let mut list: Vec<u32> = Vec::new();
    let mut hits = 0;
    for (key, usage) in accesses.iter() {
        let was_there = list.contains(&key);
        list.retain(|other| *other != key);
        if usage == Use::Drop || size(&key) > capacity {
            continue;
        }
        hits += u64::from(was_there && usage == Use::Read);
        list.insert(0, key);
        while list.iter().map(size).sum::<u64>() > capacity {
            list.pop();
        }
    }
    hits
}

/// The most hits that any cache can have. The model tries every set of entries that a cache may keep.
fn exhaustive(accesses: &Accesses, capacity: u64) -> u64 {
    let n_sets = 1 << accesses.sizes.len();
    let bytes = |set: usize| -> u64 {
        accesses.sizes.iter().zip(0..).map(|(size, key)| size * (set >> key & 1) as u64).sum()
    };
    let fits: Vec<bool> = (0..n_sets).map(|set| bytes(set) <= capacity).collect();
    // The most hits so far, for each set of entries that can be in the cache.
    let mut best: Vec<Option<u64>> = vec![None; n_sets];
    best[0] = Some(0);
    for (key, usage) in accesses.iter() {
        let mut after = vec![None; n_sets];
        for (set, hits) in best.into_iter().enumerate() {
            let Some(hits) = hits else { continue };
            let was_there = set >> key & 1 == 1;
            let hits = hits + u64::from(was_there && usage == Use::Read);
            let whole = if usage == Use::Drop { set & !(1 << key) } else { set | 1 << key };
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

fn operations(n_keys: u32, at_most: usize) -> impl Strategy<Value = Vec<(u32, Use)>> {
    let usage = prop_oneof![8 => Just(Use::Read), 2 => Just(Use::Write), 1 => Just(Use::Drop)];
    vec((0..n_keys, usage), 0..at_most)
}

proptest! {
    #[test]
    fn lru_hits_as_often_as_a_plain_lru(
        ops in operations(12, 200), sizes in vec(1_u64..9, 12), capacity in 0_u64..60,
    ) {
        let accesses = accesses(&ops, &sizes);
        prop_assert_eq!(lru::hits(&accesses, capacity), plain_lru(&accesses, capacity));
    }

    #[test]
    fn nothing_hits_more_often_than_the_optimum_of_one_size(
        ops in operations(5, 24), size in 1_u64..4, entries in 0_u64..6,
    ) {
        let accesses = accesses(&ops, &[size; 5]);
        // A remainder of the capacity too small for an entry changes nothing.
        let capacity = entries * size + size / 2;
        prop_assert_eq!(optimal(&accesses, capacity), exhaustive(&accesses, capacity));
        prop_assert!(lru::hits(&accesses, capacity) <= optimal(&accesses, capacity));
    }

    #[test]
    fn with_several_sizes_it_is_a_choice_that_could_be_made(
        ops in operations(5, 24), sizes in vec(1_u64..5, 6), capacity in 0_u64..12,
    ) {
        let accesses = accesses(&ops, &sizes);
        prop_assert!(optimal(&accesses, capacity) <= exhaustive(&accesses, capacity));
    }

    #[test]
    fn with_room_for_all_every_read_hits_that_can(ops in operations(5, 60)) {
        let accesses = accesses(&ops, &[3; 5]);
        prop_assert_eq!(lru::hits(&accesses, 15), exhaustive(&accesses, 15));
        prop_assert_eq!(optimal(&accesses, 15), exhaustive(&accesses, 15));
    }
}

#[test]
fn the_example_of_every_textbook() {
    // The reference string of Belady, Nelson and Shedler (1969), which they used for first-in first-out.
    let string = reads(&[1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5]);
    assert_eq!((lru::hits(&string, 3), lru::hits(&string, 4)), (2, 4));
    // Belady's own count has 7 and 6 faults of 12.
    assert_eq!((optimal(&string, 3), optimal(&string, 4)), (5, 6));
    // A loop that is one key longer than the cache: LRU always drops the key that comes next.
    let ring = reads(&[0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!((lru::hits(&ring, 2), optimal(&ring, 2)), (0, 4));
}

#[test]
fn an_entry_that_is_written_or_dropped_before_its_next_read_is_not_worth_keeping() {
    let read = |key| (key, Use::Read);
    let ops = [read(0), read(1), (0, Use::Drop), read(1), read(0), (1, Use::Write), read(1)];
    let accesses = accesses(&ops, &[1, 1]);
    assert_eq!(optimal(&accesses, 1), 2);
    assert_eq!(lru::hits(&accesses, 1), 1 + 1);
}
