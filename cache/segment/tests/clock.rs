//! A clock of the day that is wrong, put right, or steps changes no entry's time to live.
//!
//! The clocks of this program are the test's: they stand still unless they are moved.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use larder_segment::{Cache, Options, Queue, Set};
use support::folder;

const SMALL: Options = Options { item: 512, ..Options::of_size(1 << 20) };

/// Milliseconds since 1970 of a day in 2026, and an hour.
const TODAY: u64 = 1_790_000_000_000;
const HOUR: u64 = 3_600_000;
/// The precision of a TTL.
const EXACT: u64 = 10;

/// The clock of the day, the time since the machine was started, and the suspended part of it.
static WALL: AtomicU64 = AtomicU64::new(TODAY);
static STARTED: AtomicU64 = AtomicU64::new(1_000_000);
static SUSPENDED: AtomicU64 = AtomicU64::new(0);

/// Replaces the C library's function.
#[unsafe(no_mangle)]
extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> i32 {
    let ms = match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => WALL.load(Ordering::SeqCst),
        libc::CLOCK_BOOTTIME => STARTED.load(Ordering::SeqCst) + SUSPENDED.load(Ordering::SeqCst),
        _ => STARTED.load(Ordering::SeqCst),
    };
    let (sec, nsec) = (i64::try_from(ms / 1000).unwrap(), i64::try_from(ms % 1000).unwrap());
    // SAFETY: a place for a time, as the caller promises.
    unsafe { *time = libc::timespec { tv_sec: sec, tv_nsec: nsec * 1_000_000 } };
    0
}

fn pass(ms: u64) {
    WALL.fetch_add(ms, Ordering::SeqCst);
    STARTED.fetch_add(ms, Ordering::SeqCst);
}

/// Lets one test after the other use the clocks, with today's date.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    WALL.store(TODAY, Ordering::SeqCst);
    alone
}

fn set(cache: &Arc<Cache>, key: &[u8], ms: u64) {
    let set = Set { ttl: Some(Duration::from_millis(ms)), ..Set::default() };
    cache.session().set(key, b"value", &set).unwrap();
}

fn has(cache: &Arc<Cache>, key: &[u8]) -> bool {
    cache.session().get(key, &mut Vec::new()).is_some()
}

/// Sets a key for a second, and checks when it expires.
fn lives_a_second(cache: &Arc<Cache>, when: &str) {
    set(cache, b"second", 1000);
    pass(999);
    assert!(has(cache, b"second"), "{when}: gone too early");
    pass(1 + EXACT);
    assert!(!has(cache, b"second"), "{when}: there for too long");
}

#[test]
fn a_region_made_under_a_wrong_clock_keeps_its_ttls() {
    let _alone = alone();
    for (what, wrong) in [("an hour ahead", TODAY + HOUR), ("in 1970", 5), ("in 2099", 4 * TODAY)] {
        let folder = folder();
        WALL.store(wrong, Ordering::SeqCst);
        for cache in [
            Cache::private(&SMALL).unwrap(),
            Cache::open(&folder.path().join("cache"), &SMALL).unwrap(),
        ] {
            lives_a_second(&cache, what);
            set(&cache, b"before", HOUR);
            WALL.store(TODAY, Ordering::SeqCst);
            lives_a_second(&cache, what);
            assert!(has(&cache, b"before"), "{what}: gone when the clock was put right");
            pass(HOUR);
            assert!(!has(&cache, b"before"), "{what}: there for too long");
            WALL.store(wrong, Ordering::SeqCst);
        }
    }
}

#[test]
fn steps_of_the_clock_end_prolong_and_bring_back_nothing() {
    let _alone = alone();
    let cache = Cache::private(&SMALL).unwrap();
    set(&cache, b"before", 5000);
    WALL.fetch_add(2 * HOUR, Ordering::SeqCst);
    assert!(has(&cache, b"before"), "ended by a step ahead");
    set(&cache, b"meanwhile", 5000);
    lives_a_second(&cache, "ahead");
    WALL.fetch_sub(3 * HOUR, Ordering::SeqCst);
    lives_a_second(&cache, "back");
    pass(5000);
    assert!(!has(&cache, b"before") && !has(&cache, b"meanwhile"), "prolonged by a step back");
    WALL.fetch_sub(HOUR, Ordering::SeqCst);
    assert!(!has(&cache, b"before") && !has(&cache, b"meanwhile"), "brought back");
}

#[test]
fn time_in_which_the_machine_is_suspended_counts() {
    let _alone = alone();
    let cache = Cache::private(&SMALL).unwrap();
    set(&cache, b"key", HOUR);
    assert!(has(&cache, b"key"));
    SUSPENDED.fetch_add(HOUR + EXACT, Ordering::SeqCst);
    // The clock's next tick after the machine was resumed.
    pass(4);
    assert!(!has(&cache, b"key"));
}

/// Makes the file look as if it was closed in another run of the machine, which has just been started
/// again.
fn restart(path: &Path, down: i64) {
    const EPOCH_RUN: u64 = 520;
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&0x1234_5672_u64.to_ne_bytes(), EPOCH_RUN).unwrap();
    let is = WALL.load(Ordering::SeqCst);
    WALL.store(is.checked_add_signed(down).unwrap(), Ordering::SeqCst);
    STARTED.store(2000, Ordering::SeqCst);
    SUSPENDED.store(0, Ordering::SeqCst);
}

#[test]
fn time_in_which_the_machine_is_down_counts_unless_nobody_knows_how_long_it_was() {
    let _alone = alone();
    let folder = folder();
    let path = folder.path().join("cache");
    let cache = Cache::open(&path, &SMALL).unwrap();
    set(&cache, b"minute", 60_000);
    set(&cache, b"hour", HOUR);
    cache.session().set(b"ever", b"value", &Set::default()).unwrap();
    pass(1000);
    drop(cache);
    restart(&path, 10_000);
    let cache = Cache::open(&path, &SMALL).unwrap();
    assert!(has(&cache, b"minute") && has(&cache, b"hour") && has(&cache, b"ever"));
    lives_a_second(&cache, "after a restart");
    let ttl = cache.session().get(b"minute", &mut Vec::new()).unwrap().ttl.unwrap();
    assert!(ttl <= Duration::from_secs(48), "{ttl:?}");
    drop(cache);
    restart(&path, 60_000);
    let cache = Cache::open(&path, &SMALL).unwrap();
    assert!(!has(&cache, b"minute") && has(&cache, b"hour"));
    drop(cache);
    // The clock has gone back: entries with a TTL may have expired long ago.
    restart(&path, -5000);
    let cache = Cache::open(&path, &SMALL).unwrap();
    assert!(!has(&cache, b"hour"));
    lives_a_second(&cache, "after the clock went back");
}

#[test]
fn a_survey_has_the_age_of_a_segment_and_the_expiry_of_its_entries() {
    let _alone = alone();
    let cache = Cache::private(&SMALL).unwrap();
    let fill = |keys: std::ops::Range<u32>, ttl: Option<Duration>| {
        let set = Set { ttl, ..Set::default() };
        for key in keys {
            cache.session().set(&key.to_le_bytes(), &[7; 400], &set).unwrap();
        }
    };
    fill(0..100, None);
    pass(60);
    fill(100..200, Some(Duration::from_millis(40)));
    let survey = cache.survey();
    let segments = survey.partitions.iter().flat_map(|partition| &partition.segments);
    let mut used: Vec<_> = segments.filter(|segment| segment.queue != Queue::Free).collect();
    used.sort_by_key(|segment| segment.order);
    assert!(used.is_sorted_by_key(|segment| segment.begun));
    let (first, last) = (used[0], used[used.len() - 1]);
    assert!(last.begun - first.begun >= 55 && last.begun <= survey.now, "{first:?} {last:?}");
    assert_eq!((first.class, first.latest), (0, None));
    let latest = last.latest.unwrap();
    assert!(last.class == 1 && latest >= last.begun + 40 && latest < survey.now + 45, "{last:?}");
    assert!(used.iter().all(|segment| !segment.is_stale));
    pass(40 + EXACT);
    let later = cache.survey();
    let segments = later.partitions.iter().flat_map(|partition| &partition.segments);
    let is_stale: Vec<_> = segments.filter(|segment| segment.is_stale).collect();
    assert!(!is_stale.is_empty() && is_stale.iter().all(|segment| segment.class == 1));
}

#[test]
fn what_was_touched_outlives_the_expiry_that_its_segment_was_given_back_at() {
    let _alone = alone();
    let cache = Cache::private(&SMALL).unwrap();
    let mut session = cache.session();
    for key in 0..20_u32 {
        set(&cache, &key.to_ne_bytes(), 1000);
    }
    assert_eq!(session.touch(&7_u32.to_ne_bytes(), Some(Duration::from_millis(HOUR))), Ok(true));
    pass(2000);
    for other in 1000..6000_u32 {
        session.set(&other.to_ne_bytes(), &[1; 500], &Set::default()).unwrap();
        assert!(has(&cache, &7_u32.to_ne_bytes()), "given back after {other}");
    }
    assert!(cache.stats().expired + cache.stats().evictions() > 0, "no room was needed");
}

/// A segment with chunks may have been begun long ago, and may be emptied before their entry is stored.
#[test]
fn a_value_in_chunks_is_there_after_its_set_however_slowly_segments_fill() {
    let _alone = alone();
    for (item, len) in [(500, 9000), (2000, 25_000), (500, 40_000), (2000, 40_000), (500, 250_000)]
    {
        let cache = Cache::private(&SMALL).unwrap();
        let mut session = cache.session();
        let mut others = 0..u32::MAX;
        let mut fill = |count: usize| {
            for other in others.by_ref().take(count) {
                let (mut session, value) = (cache.session(), vec![1; item]);
                session.set(&other.to_ne_bytes(), &value, &Set::default()).unwrap();
            }
        };
        fill(3_000_000 / item);
        for round in 0..100 {
            fill((7 + round) % 40);
            pass(1500);
            session.set(b"large", &vec![7; len], &Set::default()).unwrap();
            assert!(has(&cache, b"large"), "{len} bytes among ones of {item}, round {round}");
        }
        assert!(cache.stats().evictions() > 0, "no room was needed");
    }
}
