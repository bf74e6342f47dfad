//! Changes in place: of the TTL, of the stale mark, and of numbers.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use larder_segment::{Cache, Condition, Delta, Options, Outcome, Session, Set, Sum};
use support::folder;

const SMALL: Options = Options { item: 512, ..Options::of_size(1 << 20) };
const HOUR: Option<Duration> = Some(Duration::from_hours(1));

/// The bytes of the records that were written in all segments.
fn written(cache: &Cache) -> u64 {
    let partitions = cache.survey().partitions;
    partitions.iter().flat_map(|it| &it.segments).map(|it| u64::from(it.written)).sum()
}

fn set(session: &mut Session, key: &[u8], value: &[u8]) -> u64 {
    let outcome = session.set(key, value, &Set::default());
    let Ok(Outcome::Stored(version)) = outcome else { panic!("{outcome:?}") };
    version
}

fn text(session: &mut Session, key: &[u8]) -> Option<String> {
    let mut value = Vec::new();
    session.get(key, &mut value).map(|_| String::from_utf8(value).unwrap())
}

fn caches() -> (tempfile::TempDir, [Arc<Cache>; 2]) {
    let folder = folder();
    let of_file = Cache::open(&folder.path().join("cache"), &SMALL).unwrap();
    (folder, [Cache::private(&SMALL).unwrap(), of_file])
}

#[test]
fn touch_and_expire_write_nothing_anew() {
    for cache in caches().1 {
        let mut session = cache.session();
        let version = set(&mut session, b"key", &[7; 3000]);
        let before = written(&cache);
        for seconds in 1..1000 {
            let ttl = Some(Duration::from_secs(seconds));
            assert_eq!(session.touch(b"key", ttl), Ok(true));
        }
        let mut value = Vec::new();
        let touched = session.get_and_touch(b"key", HOUR, &mut value).unwrap().unwrap();
        assert_eq!((touched.version, value.len(), touched.stale), (version, 3000, false));
        assert!(touched.ttl.unwrap() > Duration::from_mins(59));
        assert_eq!(session.expire(b"key", None), Ok(true));
        assert_eq!(session.touch(b"key", None), Ok(true));
        let stale = session.get(b"key", &mut value).unwrap();
        assert_eq!((stale.stale, stale.ttl), (true, None));
        assert_ne!(stale.version, version, "it is another entry for who compares versions");
        assert_eq!(written(&cache), before);
        assert_eq!(session.touch(b"key", Some(Duration::ZERO)), Ok(true));
        assert_eq!(session.touch(b"key", HOUR), Ok(false));
        assert_eq!(session.get_and_touch(b"key", HOUR, &mut value), Ok(None));
    }
}

#[test]
fn a_value_in_chunks_lives_as_long_as_it_was_touched_for() {
    // A machine with other work may touch the value only after its end, and then the value lives longer at first.
    let is_touched_in_time = |ttl: Duration| {
        let cache = Cache::private(&SMALL).unwrap();
        let (mut session, value) = (cache.session(), vec![3; 60_000]);
        let short = Set { ttl: Some(ttl), ..Set::default() };
        session.set(b"key", &value, &short).unwrap();
        if session.touch(b"key", HOUR) == Ok(false) {
            return false;
        }
        std::thread::sleep(ttl * 4 / 3);
        let mut found = Vec::new();
        assert!(session.get(b"key", &mut found).is_some(), "a chunk has expired");
        assert!(found == value);
        true
    };
    let mut ttls = [300, 3000, 30_000].into_iter().map(Duration::from_millis);
    assert!(ttls.any(is_touched_in_time), "a touch takes half a minute");
}

#[test]
fn numbers_are_added_to_in_place_and_each_sum_is_another_version() {
    for cache in caches().1 {
        let mut session = cache.session();
        let mut versions = vec![set(&mut session, b"key", b"41")];
        assert_eq!(session.incr(b"key", Delta::Up(1), None).unwrap().number(), Some(42));
        let before = written(&cache);
        for sum in 43..=200 {
            assert_eq!(session.incr(b"key", Delta::Up(1), None).unwrap().number(), Some(sum));
            assert_eq!(text(&mut session, b"key"), Some(sum.to_string()));
            versions.push(session.get(b"key", &mut Vec::new()).unwrap().version);
        }
        assert_eq!(written(&cache), before);
        // A number that goes up and down again still has a new version.
        for sum in 201..2000 {
            assert!(
                session
                    .incr(b"key", if sum % 2 == 0 { Delta::Up(5) } else { Delta::Down(5) }, None)
                    .is_ok()
            );
            versions.push(session.get(b"key", &mut Vec::new()).unwrap().version);
        }
        let many = versions.len();
        versions.sort_unstable();
        versions.dedup();
        assert_eq!(versions.len(), many, "a version came back");
        assert!(written(&cache) - before < 16 * 64, "{} bytes", written(&cache) - before);
    }
}

#[test]
fn what_depends_on_a_version_fails_after_a_change_in_place() {
    let cache = Cache::private(&SMALL).unwrap();
    let mut session = cache.session();
    set(&mut session, b"key", b"1");
    session.incr(b"key", Delta::Up(1), None).unwrap();
    let changes: [fn(&mut Session); 2] = [
        |session| assert_eq!(session.incr(b"key", Delta::Up(1), None).unwrap().number(), Some(3)),
        |session| assert_eq!(session.expire(b"key", None), Ok(true)),
    ];
    for change in changes {
        let version = session.get(b"key", &mut Vec::new()).unwrap().version;
        let token = session.token(b"key");
        change(&mut session);
        for (condition, wanted) in [
            (Condition::Version(version), Outcome::Exists),
            (Condition::Unchanged(token), Outcome::NotStored),
        ] {
            let set = Set { condition, ..Set::default() };
            assert_eq!(session.set(b"key", b"9", &set), Ok(wanted));
        }
    }
}

#[test]
fn numbers_of_every_size_are_texts_to_those_who_read() {
    let cache = Cache::private(&SMALL).unwrap();
    let mut session = cache.session();
    assert_eq!(session.incr(b"key", Delta::Up(1), None), Ok(Sum::NotFound));
    let long = vec![b'1'; 20_000];
    for no_number in [&b""[..], b"+1", b"1 ", b"18446744073709551616", &long] {
        set(&mut session, b"key", no_number);
        assert_eq!(session.incr(b"key", Delta::Up(1), None), Ok(Sum::NotANumber));
    }
    let most_in_place = (1 << 40) - 1;
    for (is, delta, sum) in [
        (0, Delta::Down(1), 0),
        (most_in_place - 1, Delta::Up(1), most_in_place),
        (most_in_place, Delta::Up(1), 1 << 40),
        (1 << 40, Delta::Down(1), most_in_place),
        (u64::MAX, Delta::Up(1), 0),
        (5, Delta::Down(u64::MAX), 0),
    ] {
        set(&mut session, b"key", is.to_string().as_bytes());
        for _ in 0..2 {
            assert_eq!(session.incr(b"key", delta, None).unwrap().number(), Some(sum));
            assert_eq!(text(&mut session, b"key"), Some(sum.to_string()));
            assert_eq!(session.incr(b"key", Delta::Up(0), None).unwrap().number(), Some(sum));
            set(&mut session, b"key", is.to_string().as_bytes());
        }
    }
    // A change of a number works on its text, and keeps flags, TTL and namespace.
    let mut other = cache.namespace("other").unwrap().session();
    let of = Set { flags: 7, ttl: HOUR, ..Set::default() };
    other.set(b"key", b"99", &of).unwrap();
    other.incr(b"key", Delta::Up(1), None).unwrap();
    other.incr(b"key", Delta::Up(1), None).unwrap();
    let append = Set { condition: Condition::Append, ..Set::default() };
    other.set(b"key", b" of them", &append).unwrap();
    let entry = other.get(b"key", &mut Vec::new()).unwrap();
    assert!(entry.flags == 7 && entry.ttl.is_some());
    assert_eq!(text(&mut other, b"key").as_deref(), Some("101 of them"));
}

#[test]
fn what_is_changed_in_place_counts_as_used() {
    let cache = Cache::private(&Options { size: 2 << 20, ..SMALL }).unwrap();
    let mut session = cache.session();
    let touched = |key: u32| format!("touched-{key}").into_bytes();
    let counted = |key: u32| format!("counted-{key}").into_bytes();
    for key in 0..50 {
        set(&mut session, &touched(key), &[1; 100]);
        set(&mut session, &counted(key), b"1");
    }
    for round in 0..40_u32 {
        for key in 0..50 {
            session.touch(&touched(key), HOUR).unwrap();
            session.incr(&counted(key), Delta::Up(1), None).unwrap();
        }
        for key in 0..400 {
            set(&mut session, &(round << 16 | key).to_ne_bytes(), &[2; 400]);
        }
    }
    let there = (0..50).filter(|key| {
        text(&mut session, &counted(*key)).as_deref() == Some("41")
            && session.get(&touched(*key), &mut Vec::new()).is_some()
    });
    assert_eq!(there.count(), 50);
    assert!(cache.stats().evictions() > 0, "the region never was full");
}

/// The test damages each of the 24 bytes before a record's key in turn.
#[test]
fn an_expiry_or_a_number_that_is_damaged_is_a_miss() {
    let folder = folder();
    let path = folder.path().join("cache");
    for before in 1..=24 {
        let _ = std::fs::remove_file(&path);
        let cache = Cache::open(&path, &SMALL).unwrap();
        let mut session = cache.session();
        set(&mut session, b"the counter", b"7");
        assert_eq!(session.incr(b"the counter", Delta::Up(1), None).unwrap().number(), Some(8));
        assert_eq!(session.touch(b"the counter", HOUR), Ok(true));
        let bytes = std::fs::read(&path).unwrap();
        let is_it = |at: &usize| bytes[*at..].starts_with(b"the counter");
        // No slot points to the older record any more.
        let at = (0..bytes.len() - 16).rev().find(is_it).unwrap() - before;
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&[bytes[at] ^ 0x10], at as u64).unwrap();
        assert_eq!(text(&mut session, b"the counter"), None, "{before} before the key");
        assert_ne!(session.incr(b"the counter", Delta::Up(1), None).unwrap().number(), Some(9));
    }
}
