//! A region with room for all entries: changes of some entries evict no others.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::time::Duration;

use larder_segment::{Cache, Options, Queue, Session, Set};

const SIZE: usize = 2 << 20;
const HOUR: Option<Duration> = Some(Duration::from_hours(1));

/// Numbers that look random, the same in each run (xorshift64*, Vigna 2016).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % n
    }
}

/// A way to prolong the entry of a key with this value.
type Way = fn(&mut Session, &[u8], &[u8]);

/// A key of 16 bytes.
fn name(kind: &str, number: u64) -> Vec<u8> {
    format!("{kind:>6}{number:010}").into_bytes()
}

fn is_there(session: &mut Session, key: &[u8]) -> bool {
    session.get(key, &mut Vec::new()).is_some()
}

fn count(session: &mut Session, kind: &str, n: u64) -> u64 {
    (0..n).map(|number| u64::from(is_there(session, &name(kind, number)))).sum()
}

/// Sessions of visitors are read and written again at each visit, beside idle ones, at 54 % of the region. The test tries
/// each way to prolong an entry.
#[test]
fn sessions_that_have_room_are_kept_whether_in_use_or_idle() {
    let (in_use, idle) = (312, 250);
    let value = vec![7; 2000];
    let ways: [(&str, Way); 2] = [
        ("touch", |session, key, _| {
            session.touch(key, HOUR).unwrap();
        }),
        ("set", |session, key, value| {
            session.set(key, value, &Set { ttl: HOUR, ..Set::default() }).unwrap();
        }),
    ];
    for (way, prolong) in ways {
        let cache = Cache::private(&Options::of_size(SIZE)).unwrap();
        let (mut session, mut random) = (cache.session(), Random(1));
        let set = Set { ttl: HOUR, ..Set::default() };
        for (kind, n) in [("idle", idle), ("in use", in_use)] {
            for number in 0..n {
                session.set(&name(kind, number), &value, &set).unwrap();
            }
        }
        for visit in 0..6_000 {
            let key = name("in use", random.below(in_use));
            assert!(is_there(&mut session, &key), "lost at visit {visit} by {way}");
            prolong(&mut session, &key, &value);
        }
        assert_eq!(count(&mut session, "in use", in_use), in_use, "{way}");
        assert_eq!(count(&mut session, "idle", idle), idle, "{way}: {:?}", cache.stats());
    }
}

/// Cold entries and overwritten ones, thousands of each, in a region with room for all.
#[test]
fn cold_entries_outlive_the_overwriting_of_others() {
    for (cold, hot) in [(3125, 312), (625, 3125), (3125, 3125), (625, 6250)] {
        let cache = Cache::private(&Options::of_size(SIZE)).unwrap();
        let (mut session, mut random) = (cache.session(), Random(1));
        for number in 0..cold {
            session.set(&name("cold", number), &[7; 100], &Set::default()).unwrap();
        }
        for _ in 0..90_000 {
            let key = name("hot", random.below(hot));
            session.set(&key, &[8; 100], &Set::default()).unwrap();
        }
        assert_eq!(count(&mut session, "cold", cold), cold, "beside {hot}: {:?}", cache.stats());
        assert_eq!(count(&mut session, "hot", hot), hot, "beside {cold}");
    }
}

/// Deleted entries make room before entries that were used, and before those that were not.
#[test]
fn room_of_deleted_entries_is_used_before_that_of_others() {
    // For entries of this size the index begins with two slots each: it has not to grow, and none of its buckets is full.
    let options = Options { item: 400, ..Options::of_size(SIZE) };
    let cache = Cache::private(&options).unwrap();
    let mut session = cache.session();
    let all = 3600;
    for number in 0..all {
        session.set(&name("first", number), &[7; 400], &Set::default()).unwrap();
    }
    assert_eq!(cache.stats().evictions(), 0, "they all fit: {:?}", cache.stats());
    // Every segment keeps a third of its entries.
    for number in (0..all).filter(|number| number % 3 > 0) {
        assert!(session.delete(&name("first", number)).unwrap());
    }
    for number in 0..all / 2 {
        session.set(&name("second", number), &[7; 400], &Set::default()).unwrap();
    }
    assert_eq!(count(&mut session, "first", all), all.div_ceil(3), "{:?}", cache.stats());
    assert_eq!(count(&mut session, "second", all / 2), all / 2);
}

/// The bytes of the values that are found among `n` keys.
fn found_bytes(session: &mut Session, n: u64) -> usize {
    let mut found = Vec::new();
    (0..n)
        .map(|number| session.get(&name("large", number), &mut found).map_or(0, |_| found.len()))
        .sum()
}

/// Values of many chunks, more than there is room for. Some of them are read. A value is evicted as a
/// whole.
#[test]
fn nearly_all_of_the_region_belongs_to_large_values_that_can_be_found() {
    let size = 16 << 20;
    for (item, longest) in [
        (16_000, 40_000),
        (112, 40_000),
        (16_000, 300_000),
        (112, 500_000),
        (160_000, 800_000),
        (4 << 20, 2_000_000),
    ] {
        let cache = Cache::private(&Options { item, ..Options::of_size(size) }).unwrap();
        let (mut session, mut random) = (cache.session(), Random(longest));
        let keys = 4 * size as u64 * 2 / longest;
        let mut found = Vec::new();
        for _ in 0..6 * keys {
            // Half of the accesses go to a tenth of the keys.
            let among = if random.below(2) == 0 { keys / 10 } else { keys };
            let number = random.below(among);
            if session.get(&name("large", number), &mut found).is_none() {
                let len = longest / 10 + number * 7919 % (longest * 9 / 10);
                let value = vec![7; usize::try_from(len).unwrap()];
                session.set(&name("large", number), &value, &Set::default()).unwrap();
            }
        }
        let bytes = found_bytes(&mut session, keys);
        let percent = bytes * 100 / size;
        assert!(percent >= 85, "{percent} % of {longest}, {item}: {:?}", cache.stats());
    }
}

/// A cleared namespace's chunks, which belong to no namespace, make room before anything else is evicted.
#[test]
fn chunks_of_a_cleared_namespace_go_with_their_values() {
    let cache = Cache::private(&Options { item: 16_000, ..Options::of_size(SIZE) }).unwrap();
    let shop = cache.namespace("shop").unwrap();
    let (mut session, mut root) = (shop.session(), cache.session());
    root.set(b"key", b"value", &Set::default()).unwrap();
    for round in 0..20 {
        for number in 0..24 {
            let value = vec![round; 50_000];
            session.set(&name("large", number), &value, &Set::default()).unwrap();
        }
        let there = found_bytes(&mut session, 24);
        assert_eq!(there, 24 * 50_000, "round {round}: {:?}", cache.stats());
        shop.clear();
    }
    assert!(is_there(&mut root, b"key"));
}

/// Large values, each read once or never, push out no entry that is read more often, whatever part of the region they take.
#[test]
fn large_values_push_out_nobody_that_is_used_more() {
    let size = 4 << 20;
    for (hot, len) in [(7500, 150_000), (7500, 350_000), (7500, 1_000_000), (15_000, 350_000)] {
        for is_read in [true, false] {
            let cache = Cache::private(&Options::of_size(size)).unwrap();
            let mut session = cache.session();
            for number in 0..hot {
                session.set(&name("hot", number), &[7; 100], &Set::default()).unwrap();
            }
            for number in 0..24 {
                let there = count(&mut session, "hot", hot);
                // A few may lie in one segment with evicted entries.
                let least = hot - hot / 200;
                assert!(there >= least, "{there} after {number} of {len}: {:?}", cache.stats());
                session.set(&name("large", number), &vec![8; len], &Set::default()).unwrap();
                let is_found = !is_read || is_there(&mut session, &name("large", number));
                assert!(is_found, "{number} of {len}");
            }
        }
    }
}

/// One more read lets a large value outlive values that are read once.
#[test]
fn large_values_that_are_used_stay_among_others() {
    let cache = Cache::private(&Options::of_size(4 << 20)).unwrap();
    let (mut session, mut missed) = (cache.session(), 0);
    for number in 0..100 {
        for used in 0..4 {
            if !is_there(&mut session, &name("used", used)) {
                missed += 1;
                session.set(&name("used", used), &vec![7; 200_000], &Set::default()).unwrap();
            }
        }
        session.set(&name("once", number), &vec![8; 200_000], &Set::default()).unwrap();
    }
    assert!(missed <= 12, "{missed} misses of four values");
}

/// Work that is done in idle time need not be done by later sets.
#[test]
fn maintenance_makes_room_and_loses_nothing_that_is_used() {
    let cache = Cache::private(&Options::of_size(SIZE)).unwrap();
    let mut session = cache.session();
    let free = || {
        let survey = cache.survey();
        let segments = survey.partitions.iter().map(|part| &part.segments);
        segments.map(|of| of.iter().filter(|one| one.queue == Queue::Free).count()).min()
    };
    for number in 0..25_000 {
        session.set(&name("key", number), &[7; 100], &Set::default()).unwrap();
        if number % 10 == 0 {
            is_there(&mut session, &name("key", number));
        }
    }
    let before = count(&mut session, "key", 25_000);
    assert!(cache.maintain(Duration::ZERO), "no time, and there is more to do");
    while cache.maintain(Duration::from_millis(1)) {}
    assert!(free() >= Some(4), "{:?}", free());
    let after = count(&mut session, "key", 25_000);
    assert!(after * 10 > before * 9, "{after} of {before}");
    // Nothing is left to do.
    assert!(!cache.maintain(Duration::from_secs(1)));
    assert_eq!(count(&mut session, "key", 25_000), after);
}

/// The bytes of keys and values that a region holds, with entries of one size, for this expected
/// size.
fn held(len: usize, item: usize) -> usize {
    let cache = Cache::private(&Options { item, ..Options::of_size(4 * SIZE) }).unwrap();
    let mut session = cache.session();
    let all = u64::try_from(4 * SIZE / (len + 24) * 5 / 4).unwrap();
    for number in 0..all {
        session.set(&number.to_le_bytes(), &vec![7; len], &Set::default()).unwrap();
    }
    let there = (0..all).filter(|number| is_there(&mut session, &number.to_le_bytes())).count();
    there * (8 + len)
}

/// Whatever the expected size of entries, the region holds nine tenths of the entries that it would hold
/// with the right one.
#[test]
fn the_index_fits_entries_of_any_size() {
    for len in [8, 100, 10_000] {
        let told = held(len, 8 + len);
        for item in [112, 10_000] {
            let there = held(len, item);
            assert!(there * 10 >= told * 9, "{len}: {there} of {told} where {item} was told");
        }
    }
}
