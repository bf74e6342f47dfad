//! What a sample keeps, and of which keys.

use std::collections::BTreeMap;

use super::*;

/// A sample of so many uses, each of a key by its number, and the reads before each.
fn sample(most: usize, n_uses: u64, key: impl Fn(u64) -> u64) -> Sampler {
    let mut sampler = Sampler::new(most);
    for at in 0..n_uses {
        let hash = scattered(key(at), 0);
        let ticks = u32::try_from(at).unwrap();
        sampler.push(&Reference::new(hash, Kind::Read, Some(1), TtlNumber::default(), ticks), at);
    }
    sampler
}

#[test]
fn a_small_trace_is_kept_whole() {
    let sampler = sample(1600, 1600, |at| at % 100);
    assert_eq!((sampler.levels.len(), sampler.levels[0].references.len()), (1, 1600));
    assert!(sampler.levels[0].has_all());
}

#[test]
fn the_last_level_has_all_uses_of_its_keys_and_no_level_more_than_it_may() {
    let key = |at: u64| scattered(at, 9) % 3000;
    let mut sampler = sample(1600, 50_000, key);
    assert!(sampler.levels.iter().all(|level| level.references.len() <= 1600));
    let last = sampler.levels.last_mut().unwrap();
    assert!(last.has_all() && last.references.len() > 600);
    let mut expected: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for at in 0..50_000 {
        let reference = Reference::new(
            scattered(key(at), 0),
            Kind::Read,
            None,
            TtlNumber::default(),
            u32::try_from(at).unwrap(),
        );
        if last.takes(reference.hash()) {
            expected.entry(reference.hash()).or_default().push(reference.at);
        }
    }
    let mut found: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for reference in &last.references {
        found.entry(reference.hash()).or_default().push(reference.at);
    }
    assert_eq!(found, expected);
    let windows = last.windows(50_000);
    assert_eq!((windows.len(), windows[0].reads.clone()), (1, 0..50_000));
}

#[test]
fn windows_are_of_one_length_and_evenly_apart_from_the_beginning_on() {
    let mut sampler = sample(1600, 100_000, |at| at % 500);
    let first = &mut sampler.levels[0];
    let windows = first.windows(100_000);
    // A hundred uses each, of every 64th hundred or more.
    assert!((WINDOWS / 2..=WINDOWS).contains(&windows.len()), "{}", windows.len());
    let apart = first.references[100].at;
    assert!(apart >= 6400 && apart.is_multiple_of(100), "{apart}");
    for (number, window) in (0..).zip(&windows) {
        assert_eq!((window.uses.len(), window.reads.end - window.reads.start), (100, 100));
        let at = first.references[window.uses.start].at;
        assert_eq!((at, window.reads.start), (number * apart, u64::from(number * apart)));
    }
}

#[test]
fn a_level_has_its_share_of_the_keys() {
    let sampler = sample(16_000, 400_000, |at| at % 20_000);
    for level in &sampler.levels {
        let mut keys: Vec<u64> = level.references.iter().map(Reference::hash).collect();
        keys.sort_unstable();
        keys.dedup();
        let seen = if level.has_all() { 20_000 >> level.shift } else { continue };
        assert!(keys.len().abs_diff(seen) < seen / 4, "{} of {seen}", keys.len());
    }
}

#[test]
fn levels_beyond_the_most_are_given_up_from_the_one_with_all_keys_on() {
    let sampler = sample(16, 200_000, |at| at);
    assert_eq!(sampler.levels.len(), MOST_LEVELS);
    assert!(sampler.levels[0].shift > 0 && sampler.levels.last().unwrap().has_all());
}

#[test]
fn a_use_keeps_what_was_told_of_it() {
    let mut ttls = Ttls::new();
    let ttl = ttls.number(3600);
    let hash = 0x0123_4567_89ab_cdef;
    let reference = Reference::new(hash, Kind::Change, None, ttl, 77);
    assert_eq!((reference.kind(), reference.size(), reference.at), (Kind::Change, None, 77));
    assert_eq!((ttls.seconds(reference.ttl()), reference.hash()), (3600, 0x0123_4567_89ab_0000));
    for seconds in 1..20_000 {
        ttls.number(seconds);
    }
    let nearest = ttls.number(15_000);
    assert_eq!(ttls.seconds(nearest), 8191, "the last with a number of its own");
    let first = ttls.number(3600);
    assert_eq!(ttls.seconds(first), 3600);
}
