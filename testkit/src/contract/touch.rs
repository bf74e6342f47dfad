//! `touch`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use larder_store::Remaining;
use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, holds, lacks, put, put_with};
use super::fixture::Fixture;
use super::ttl::{expires, outlive, short_ttl, with_ttl};

pub(super) const CASES: &[Case] = &[
    case!(touch_extends_the_ttl, TOUCH, TTL),
    case!(touch_without_a_ttl_makes_an_entry_last, TOUCH, TTL),
    case!(touch_shortens_the_ttl, TOUCH, TTL),
    case!(touch_with_zero_ends_the_entry, TOUCH, TTL),
    case!(touch_of_an_absent_key_is_false, TOUCH),
    case!(touch_keeps_value_and_flags, TOUCH, TTL, FLAGS),
    case!(get_and_touch_reads_the_value_and_renews_its_ttl, GET_AND_TOUCH, TTL),
    case!(get_and_touch_with_zero_reads_the_value_and_ends_the_entry, GET_AND_TOUCH, TTL),
    case!(get_and_touch_of_an_absent_key_is_a_miss, GET_AND_TOUCH),
    case!(get_and_touch_gives_its_ttl_to_no_other_value, GET_AND_TOUCH, TTL, TTL_LEFT),
];

fn touch_extends_the_ttl(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let ttl = short_ttl(fixture)?;
    // Long enough not to end before the touch, however slow this thread is.
    let first = ttl + Duration::from_secs(5);
    put_with(&mut *session, &key, b"value", &with_ttl(first))?;
    let touched = session.touch(&key, Some(first + Duration::from_secs(100)))?;
    ensure!(touched, "touch of a key that is there is false");
    outlive(fixture, first)?;
    holds(&mut *session, &key, b"value").map(drop)
}

fn touch_without_a_ttl_makes_an_entry_last(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let first = short_ttl(fixture)? + Duration::from_secs(5);
    put_with(&mut *session, &key, b"value", &with_ttl(first))?;
    ensure!(session.touch(&key, None)?, "touch of a key that is there is false");
    outlive(fixture, first)?;
    holds(&mut *session, &key, b"value").map(drop)
}

fn touch_shortens_the_ttl(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"value")?;
    let ttl = short_ttl(fixture)?;
    let before = Instant::now();
    ensure!(session.touch(&key, Some(ttl))?, "touch of a key that is there is false");
    let after = Instant::now();
    expires(fixture, &mut *session, &key, before, after, ttl)?;
    ensure!(!session.touch(&key, None)?, "touch brought an expired entry back");
    lacks(&mut *session, &key)
}

fn touch_with_zero_ends_the_entry(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"value")?;
    session.touch(&key, Some(Duration::ZERO))?;
    lacks(&mut *session, &key)
}

fn touch_of_an_absent_key_is_false(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("absent");
    ensure!(!session.touch(&key, None)?, "touch of an absent key is true");
    lacks(&mut *session, &key)
}

fn touch_keeps_value_and_flags(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let options = larder_store::SetOptions { flags: 3, ..Default::default() };
    put_with(&mut *session, &key, b"value", &options)?;
    session.touch(&key, Some(Duration::from_secs(100)))?;
    ensure_eq!(holds(&mut *session, &key, b"value")?.flags, 3, "the flags after a touch");
    Ok(())
}

fn get_and_touch_reads_the_value_and_renews_its_ttl(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (longer, shorter) = (fixture.key("longer"), fixture.key("shorter"));
    let ttl = short_ttl(fixture)?;
    let first = ttl + Duration::from_secs(5);
    put_with(&mut *session, &longer, b"long", &with_ttl(first))?;
    put(&mut *session, &shorter, b"short")?;
    for (key, ttl, wanted) in [(&longer, first * 100, &b"long"[..]), (&shorter, ttl, b"short")] {
        let mut value = b"left from before".to_vec();
        let meta = session.get_and_touch(key, Some(ttl), &mut value)?;
        let meta = meta.ok_or("get_and_touch of a key that is there is a miss")?;
        super::expect::same(key, &value, wanted)?;
        if let Remaining::For(left) = meta.ttl {
            let most = ttl + 2 * fixture.capabilities()?.ttl_resolution;
            ensure!(left <= most && left * 2 >= ttl, "{left:?} left of {ttl:?} after the touch");
        }
        ensure!(meta.ttl != Remaining::Forever, "the ttl after the touch");
    }
    outlive(fixture, ttl)?;
    lacks(&mut *session, &shorter)?;
    outlive(fixture, first)?;
    holds(&mut *session, &longer, b"long").map(drop)
}

fn get_and_touch_with_zero_reads_the_value_and_ends_the_entry(
    fixture: &Fixture,
) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"value")?;
    let mut value = Vec::new();
    let meta = session.get_and_touch(&key, Some(Duration::ZERO), &mut value)?;
    ensure!(meta.is_some(), "get_and_touch of a key that is there is a miss");
    super::expect::same(&key, &value, b"value")?;
    lacks(&mut *session, &key)
}

fn get_and_touch_of_an_absent_key_is_a_miss(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("absent");
    let mut value = b"left from before".to_vec();
    let meta = session.get_and_touch(&key, Some(Duration::from_secs(100)), &mut value)?;
    ensure!(meta.is_none() && value.is_empty(), "get_and_touch of an absent key: {meta:?}");
    lacks(&mut *session, &key)
}

/// A touch after the get would give its TTL to a value that another session has set in between.
fn get_and_touch_gives_its_ttl_to_no_other_value(fixture: &Fixture) -> Result<(), Failed> {
    let (store, key) = (fixture.store()?, &fixture.key("a"));
    let has_ended = &AtomicBool::new(false);
    put(&mut *store.session()?, key, b"0")?;
    std::thread::scope(|scope| {
        // Its values have no TTL, so each TTL is of a touch.
        let sets = scope.spawn(move || -> Result<(), Failed> {
            let mut session = store.session()?;
            for number in 1_u64.. {
                if has_ended.load(Ordering::Relaxed) {
                    break;
                }
                put(&mut *session, key, number.to_string().as_bytes())?;
            }
            Ok(())
        });
        let touches = || -> Result<(), Failed> {
            let (mut session, mut touched, mut now) = (store.session()?, Vec::new(), Vec::new());
            for _ in 0..300 {
                let ttl = Some(Duration::from_hours(1));
                session.get_and_touch(key, ttl, &mut touched)?.ok_or("the value is gone")?;
                let meta = session.get(key, &mut now)?.ok_or("the value is gone")?;
                let has_ttl = matches!(meta.ttl, Remaining::For(_));
                ensure!(!has_ttl || now == touched, "a value that was not read has the ttl");
            }
            Ok(())
        };
        let touched = touches();
        has_ended.store(true, Ordering::Relaxed);
        sets.join().map_err(|_| "a panic")?.and(touched)
    })
}
