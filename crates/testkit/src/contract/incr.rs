//! `incr`, up and down.

use std::time::Duration;

use larder_store::{Remaining, Session, SetOptions};
use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, fails_with, holds, lacks, put, put_with};
use super::fixture::Fixture;

pub(super) const CASES: &[Case] = &[
    case!(incr_adds_and_returns_the_sum, INCR),
    case!(incr_by_a_negative_number_stops_at_zero, INCR),
    case!(incr_wraps_at_two_to_the_64, INCR),
    case!(incr_of_an_absent_key_is_none_and_stores_nothing, INCR),
    case!(incr_of_a_value_that_is_no_number_is_an_error_and_keeps_it, INCR),
    case!(incr_keeps_the_ttl, INCR, TTL, TTL_LEFT),
    case!(incr_keeps_the_flags, INCR, FLAGS),
    case!(incr_loses_no_count_of_many_threads, INCR),
];

/// The value as a number. A server may pad a number that became shorter with trailing spaces.
fn number(session: &mut dyn Session, key: &[u8]) -> Result<String, Failed> {
    let mut value = Vec::new();
    session.get(key, &mut value)?.ok_or("the number is gone")?;
    Ok(String::from_utf8(value.trim_ascii_end().to_vec())?)
}

fn incr_adds_and_returns_the_sum(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("n");
    put(&mut *session, &key, b"5")?;
    for (delta, sum) in [(1, 6), (0, 6), (994, 1000), (i64::MAX, 9_223_372_036_854_776_807_u64)] {
        ensure_eq!(session.incr(&key, delta)?, Some(sum), "incr by {delta}");
        ensure_eq!(number(&mut *session, &key)?, sum.to_string(), "the value after it");
    }
    Ok(())
}

fn incr_by_a_negative_number_stops_at_zero(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("n");
    put(&mut *session, &key, b"100")?;
    for (delta, sum) in [(-1, 99), (-98, 1), (-2, 0), (i64::MIN, 0), (7, 7)] {
        ensure_eq!(session.incr(&key, delta)?, Some(sum), "incr by {delta}");
        ensure_eq!(number(&mut *session, &key)?, sum.to_string(), "the value after it");
    }
    Ok(())
}

fn incr_wraps_at_two_to_the_64(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("n");
    put(&mut *session, &key, u64::MAX.to_string().as_bytes())?;
    ensure_eq!(session.incr(&key, 0)?, Some(u64::MAX), "incr of 2^64-1 by 0");
    ensure_eq!(session.incr(&key, 3)?, Some(2), "incr of 2^64-1 by 3");
    ensure_eq!(number(&mut *session, &key)?, "2", "the value after it");
    Ok(())
}

fn incr_of_an_absent_key_is_none_and_stores_nothing(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("absent");
    ensure_eq!(session.incr(&key, 1)?, None, "incr of an absent key");
    lacks(&mut *session, &key)
}

fn incr_of_a_value_that_is_no_number_is_an_error_and_keeps_it(
    fixture: &Fixture,
) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("text");
    for text in [&b"five"[..], b"1.5", b"-1", b"18446744073709551616"] {
        put(&mut *session, &key, text)?;
        fails_with(session.incr(&key, 1), "not_a_number")?;
        holds(&mut *session, &key, text)?;
    }
    Ok(())
}

fn incr_keeps_the_ttl(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("n");
    let ttl = Duration::from_secs(100) + fixture.capabilities()?.ttl_resolution;
    let options = SetOptions { ttl: Some(ttl), ..SetOptions::default() };
    put_with(&mut *session, &key, b"5", &options)?;
    session.incr(&key, 1)?;
    match holds(&mut *session, &key, b"6")?.ttl {
        Remaining::For(left) => {
            ensure!(left <= ttl + fixture.capabilities()?.ttl_resolution, "{left:?} of {ttl:?}");
            ensure!(left > Duration::from_secs(50), "only {left:?} left of {ttl:?}");
        }
        other => return Err(format!("the ttl after incr is {other:?}").into()),
    }
    Ok(())
}

fn incr_keeps_the_flags(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("n");
    put_with(&mut *session, &key, b"5", &SetOptions { flags: 9, ..SetOptions::default() })?;
    session.incr(&key, 1)?;
    ensure_eq!(holds(&mut *session, &key, b"6")?.flags, 9, "the flags after incr");
    Ok(())
}

fn incr_loses_no_count_of_many_threads(fixture: &Fixture) -> Result<(), Failed> {
    const THREADS: u64 = 4;
    const EACH: u64 = 25;
    let store = fixture.store()?;
    let key = &fixture.key("counter");
    put(&mut *store.session()?, key, b"0")?;
    std::thread::scope(|scope| {
        let count = move || -> Result<(), Failed> {
            let mut session = store.session()?;
            for _ in 0..EACH {
                session.incr(key, 1)?.ok_or("the counter is gone")?;
            }
            Ok(())
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(count)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a panic")?)
    })?;
    let sum = number(&mut *store.session()?, key)?;
    ensure_eq!(sum, (THREADS * EACH).to_string(), "the count of {THREADS} threads");
    Ok(())
}
