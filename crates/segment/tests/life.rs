//! What stays in a region that has room for all of it: changes of some entries take no others away.

use std::time::Duration;

use larder_segment::{Cache, Options, Queue, Session, Set};

const SIZE: usize = 8 << 20;
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

/// Visitors' sessions that are read and written again at each visit, beside idle ones, at 54 % of the region: each way in
/// which an entry is prolonged.
#[test]
fn sessions_that_have_room_are_kept_whether_in_use_or_idle() {
    let (in_use, idle) = (1250, 1000);
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
        for visit in 0..25_000 {
            let key = name("in use", random.below(in_use));
            assert!(is_there(&mut session, &key), "lost at visit {visit} by {way}");
            prolong(&mut session, &key, &value);
        }
        assert_eq!(count(&mut session, "in use", in_use), in_use, "{way}");
        assert_eq!(count(&mut session, "idle", idle), idle, "{way}: {:?}", cache.stats());
    }
}

/// Cold entries and overwritten ones, of which the region has room for all; thousands of each.
#[test]
fn cold_entries_outlive_the_overwriting_of_others() {
    for (cold, hot) in [(12_500, 1250), (2500, 12_500), (12_500, 12_500), (2500, 25_000)] {
        let cache = Cache::private(&Options::of_size(SIZE)).unwrap();
        let (mut session, mut random) = (cache.session(), Random(1));
        for number in 0..cold {
            session.set(&name("cold", number), &[7; 100], &Set::default()).unwrap();
        }
        for _ in 0..375_000 {
            let key = name("hot", random.below(hot));
            session.set(&key, &[8; 100], &Set::default()).unwrap();
        }
        assert_eq!(count(&mut session, "cold", cold), cold, "beside {hot}: {:?}", cache.stats());
        assert_eq!(count(&mut session, "hot", hot), hot, "beside {cold}");
    }
}

/// Of entries that were deleted, and of those that were used and those that were not, the dead ones make room.
#[test]
fn room_of_deleted_entries_is_used_before_that_of_others() {
    let cache = Cache::private(&Options::of_size(SIZE)).unwrap();
    let mut session = cache.session();
    let all = 40_000;
    for number in 0..all {
        session.set(&name("first", number), &[7; 100], &Set::default()).unwrap();
    }
    assert_eq!(cache.stats().evictions(), 0, "they all fit");
    // Every segment keeps a third of its entries.
    for number in (0..all).filter(|number| number % 3 > 0) {
        assert!(session.delete(&name("first", number)).unwrap());
    }
    for number in 0..all / 2 {
        session.set(&name("second", number), &[7; 100], &Set::default()).unwrap();
    }
    assert_eq!(count(&mut session, "first", all), all.div_ceil(3), "{:?}", cache.stats());
    assert_eq!(count(&mut session, "second", all / 2), all / 2);
}

/// The bytes of values that are found, of so many keys.
fn found_bytes(session: &mut Session, n: u64) -> usize {
    let mut found = Vec::new();
    (0..n)
        .map(|number| session.get(&name("large", number), &mut found).map_or(0, |_| found.len()))
        .sum()
}

/// Values of many chunks, more than there is room for, some of them read: what is evicted is evicted whole.
#[test]
fn nearly_all_of_the_region_belongs_to_large_values_that_can_be_found() {
    let size = 32 << 20;
    for longest in [40_000, 300_000, 2_000_000] {
        let cache = Cache::private(&Options { item: 16_000, ..Options::of_size(size) }).unwrap();
        let (mut session, mut random) = (cache.session(), Random(longest));
        let keys = 4 * size as u64 * 2 / longest;
        let mut found = Vec::new();
        for _ in 0..10 * keys {
            // One half of the accesses are to a tenth of the keys.
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
        assert!(percent >= 85, "{percent} % at {longest}: {:?}", cache.stats());
    }
}

/// A cleared namespace's chunks, which belong to no namespace, make room before anything else is evicted.
#[test]
fn chunks_of_a_cleared_namespace_go_with_their_values() {
    let cache = Cache::private(&Options { item: 16_000, ..Options::of_size(SIZE) }).unwrap();
    let shop = cache.namespace("shop").unwrap();
    let (mut session, mut root) = (shop.session(), cache.session());
    for round in 0..20 {
        for number in 0..25 {
            let value = vec![round; 200_000];
            session.set(&name("large", number), &value, &Set::default()).unwrap();
        }
        let there = found_bytes(&mut session, 25);
        assert_eq!(there, 25 * 200_000, "round {round}: {:?}", cache.stats());
        shop.clear();
    }
    root.set(b"key", b"value", &Set::default()).unwrap();
    assert!(is_there(&mut root, b"key"));
}

/// Large values that are read once leave most entries that are read all the time, whatever their length.
#[test]
fn large_values_leave_most_of_what_is_used_more() {
    for len in [100_000, 700_000] {
        let cache = Cache::private(&Options::of_size(SIZE)).unwrap();
        let mut session = cache.session();
        let hot = 15_000;
        for number in 0..hot {
            session.set(&name("hot", number), &[7; 100], &Set::default()).unwrap();
        }
        for number in 0..100 {
            // All that is old is used, and one set does not look through all of it for what is used least.
            let there = count(&mut session, "hot", hot);
            assert!(there * 100 >= hot * 50, "{there} of {hot} after {number} of {len}");
            session.set(&name("large", number), &vec![8; len], &Set::default()).unwrap();
            assert!(is_there(&mut session, &name("large", number)), "{number} of {len}");
        }
    }
}

/// What is done in idle time need not be done by the sets that follow.
#[test]
fn maintenance_makes_room_and_loses_nothing_that_is_used() {
    let cache = Cache::private(&Options::of_size(SIZE)).unwrap();
    let mut session = cache.session();
    let free = || {
        let survey = cache.survey();
        let segments = survey.partitions.iter().map(|part| &part.segments);
        segments.map(|of| of.iter().filter(|one| one.queue == Queue::Free).count()).min()
    };
    for number in 0..100_000 {
        session.set(&name("key", number), &[7; 100], &Set::default()).unwrap();
        if number % 10 == 0 {
            is_there(&mut session, &name("key", number));
        }
    }
    let before = count(&mut session, "key", 100_000);
    assert!(cache.maintain(Duration::ZERO), "no time, and there is more to do");
    while cache.maintain(Duration::from_millis(1)) {}
    assert!(free() >= Some(4), "{:?}", free());
    let after = count(&mut session, "key", 100_000);
    assert!(after * 10 > before * 9, "{after} of {before}");
    // Nothing is left to do.
    assert!(!cache.maintain(Duration::from_secs(1)));
    assert_eq!(count(&mut session, "key", 100_000), after);
}

/// The bytes of keys and values that a region of so many bytes holds, of entries of one size.
fn held(len: usize, item: usize) -> usize {
    let cache = Cache::private(&Options { item, ..Options::of_size(SIZE) }).expect("a region");
    let mut session = cache.session();
    let all = u64::try_from(SIZE / (len + 24) * 2).expect("a number");
    for number in 0..all {
        session.set(&number.to_le_bytes(), &vec![7; len], &Set::default()).expect("it fits");
    }
    let there = (0..all).filter(|number| is_there(&mut session, &number.to_le_bytes())).count();
    there * (8 + len)
}

/// Whatever size of entries was expected, nine tenths of those fit that would if it had been told right.
#[test]
fn the_index_fits_entries_of_any_size() {
    for len in [8, 24, 100, 1000, 10_000] {
        let told = held(len, 8 + len);
        for item in [16, 112, 1000, 10_000] {
            let there = held(len, item);
            assert!(there * 10 >= told * 9, "{len}: {there} of {told} where {item} was told");
        }
    }
}
