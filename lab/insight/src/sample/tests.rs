//! What a sample keeps, and of which keys.

use std::collections::BTreeMap;

use super::*;

fn at(whole: u32) -> Ticks {
    Ticks { whole, is_later: false }
}

/// A sample of this many uses, each of a key by its number, and the reads before each.
fn sample(most: usize, n_uses: u64, key: impl Fn(u64) -> u64) -> Sampler {
    let mut sampler = Sampler::new(most);
    for number in 0..n_uses {
        let hash = scattered(key(number), 0);
        let ticks = at(u32::try_from(number).unwrap());
        let use_of_key = Reference::new(hash, Kind::Read, Some(1), TtlNumber::default(), ticks);
        sampler.push(&use_of_key, number);
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
    for number in 0..50_000 {
        let reference = Reference::new(
            scattered(key(number), 0),
            Kind::Read,
            None,
            TtlNumber::default(),
            at(u32::try_from(number).unwrap()),
        );
        if last.takes(reference.hash()) {
            expected.entry(reference.hash()).or_default().push(reference.at());
        }
    }
    let mut found: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for reference in &last.references {
        found.entry(reference.hash()).or_default().push(reference.at());
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
    let apart = first.references[100].at();
    assert!(apart >= 6400 && apart.is_multiple_of(100), "{apart}");
    for (number, window) in (0..).zip(&windows) {
        assert_eq!((window.uses.len(), window.reads.end - window.reads.start), (100, 100));
        let at = first.references[window.uses.start].at();
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
    let later = Ticks { whole: 77, is_later: true };
    let reference = Reference::new(hash, Kind::Change, None, ttl, later);
    assert_eq!((reference.kind(), reference.size(), reference.at()), (Kind::Change, None, 77));
    assert!(reference.is_later());
    for (size, kept) in [(0, 0), (1 << 30, 1 << 30), (u32::MAX, u32::MAX - 1)] {
        let sized = Reference::new(hash, Kind::Found, Some(size), ttl, at(5));
        assert_eq!(
            (sized.size(), sized.is_later(), sized.kind()),
            (Some(kept), false, Kind::Found)
        );
    }
    assert_eq!((ttls.seconds(reference.ttl()), reference.hash()), (3600, 0x0123_4567_89ab_0000));
    for seconds in 1..20_000 {
        ttls.number(seconds);
    }
    let nearest = ttls.number(15_000);
    assert_eq!(ttls.seconds(nearest), 8191, "the last with a number of its own");
    let first = ttls.number(3600);
    assert_eq!(ttls.seconds(first), 3600);
}

/// A read of a key by its number; all at one time.
fn read(key: u64) -> Reference {
    Reference::new(scattered(key, 0), Kind::Read, Some(1), TtlNumber::default(), at(7))
}

#[test]
fn a_use_that_is_repeated_at_once_is_kept_once_with_its_repetitions() {
    let mut sampler = Sampler::new(1600);
    let mut reads = 0;
    // A thousand runs, as long as the number of their key.
    for run in 0..1000 {
        for _ in 0..=run % 50 {
            sampler.push(&read(run % 50), reads);
            reads += 1;
        }
    }
    let [level] = &mut sampler.levels[..] else { panic!("{} levels", sampler.levels.len()) };
    assert_eq!((level.references.len(), level.n_uses()), (1000, reads));
    let runs: Vec<u64> = level.uses().map(|(_, more)| more.into()).collect();
    assert!(runs.iter().zip(0..).all(|(more, run)| *more == run % 50), "{runs:?}");
    let hashes = [7, 49].map(|key| scattered(key, 0));
    assert_eq!(level.reads_of(hashes.into_iter()), [8 * 20, 50 * 20]);
    assert_eq!(level.windows(reads).len(), 1);
    // A level of half of the keys has all repetitions of them.
    let half = level.halved(reads);
    let of_half = (0..50).filter(|key| half.takes(scattered(*key, 0))).map(|key| 20 * (key + 1));
    assert_eq!(half.n_uses(), of_half.sum::<u64>());
}

#[test]
fn a_window_that_is_dropped_takes_its_repetitions_with_it() {
    let mut level = Level::new(0, 160);
    let mut reads = 0;
    // Windows of ten runs each: key, then key + 1 three times.
    for run in 0..2000 {
        for _ in 0..if run % 2 == 0 { 1 } else { 3 } {
            level.push(&read(run % 10), reads);
            reads += 1;
        }
    }
    let windows = level.windows(reads);
    assert!(windows.len() > WINDOWS / 2 && !level.has_all());
    for window in &windows {
        assert_eq!(window.reads.end - window.reads.start, 20);
        assert_eq!(window.uses.len(), 10);
    }
    assert_eq!(level.n_uses(), 20 * windows.len() as u64);
    assert!(level.uses().zip(0..).all(|((_, more), at)| more == if at % 2 == 0 { 0 } else { 2 }));
}

#[test]
fn no_part_is_taken_of_few_keys_and_no_sample_is_empty() {
    for n_keys in [1, 3, 1024] {
        let mut sampler = sample(1600, 200_000, |at| at % n_keys);
        sampler.thin(0.01, 10, 200_000);
        sampler.give_up_parts_of_few();
        assert_eq!((sampler.levels.len(), sampler.few_keys()), (1, Some(n_keys)));
        let level = &mut sampler.levels[0];
        assert_eq!((level.shift, level.has_all()), (0, false));
        assert!((800..=1600).contains(&level.references.len()));
        assert_eq!(level.windows(200_000)[0].reads, 0..100);
    }
    // One key has nearly all uses, and no other is in the last level.
    let key = |at: u64| if at.is_multiple_of(128) { at } else { 1 };
    let mut sampler = sample(1600, 200_000, key);
    sampler.thin(1e-9, 0, 200_000);
    sampler.give_up_parts_of_few();
    assert_eq!(sampler.few_keys(), None);
    assert!(!sampler.levels.last().unwrap().references.is_empty());
}
