//! `incr`, up and down.

use std::time::Duration;

use larder_store::{Delta, Initial, Remaining, Session, SetOptions};
use libtest_mimic::Failed;

use super::at_once::at_once;
use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, fails_with, holds, lacks, put, put_with};
use super::fixture::Fixture;
use super::threads::THREADS;
use super::ttl::{outlive, short_ttl};

pub(super) const CASES: &[Case] = &[
    case!(incr_adds_and_returns_the_sum, INCR),
    case!(incr_down_stops_at_zero, INCR),
    case!(incr_wraps_at_two_to_the_64, INCR),
    case!(incr_of_an_absent_key_is_none_and_stores_nothing, INCR),
    case!(incr_of_an_absent_key_stores_the_initial_number, INCR),
    case!(an_initial_number_has_its_ttl_and_others_keep_theirs, INCR, TTL),
    case!(an_initial_number_is_stored_once_by_many_threads, INCR),
    case!(incr_tells_the_version_that_it_made, INCR, VERSION),
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

/// Changes the number of a key that is there; the key must have this number afterwards.
fn counts(session: &mut dyn Session, key: &[u8], delta: Delta, wanted: u64) -> Result<(), Failed> {
    let counted = session.incr(key, delta, None)?.ok_or("the number is gone")?;
    ensure_eq!(counted.number, wanted, "the number after {delta:?}");
    ensure_eq!(number(session, key)?, wanted.to_string(), "the value after {delta:?}");
    Ok(())
}

/// A session of a store that the case alone has. memcached 1.6.18 refuses a number from 2^63 as no number, where the memory
/// behind it has a minus sign of an older entry.
fn alone(fixture: &Fixture) -> Result<Box<dyn Session>, Failed> {
    Ok(fixture.fresh()?.session()?)
}

fn incr_adds_and_returns_the_sum(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = alone(fixture)?;
    let key = fixture.key("n");
    put(&mut *session, &key, b"5")?;
    let (most, half) = (u64::MAX, 1 << 63);
    for (delta, sum) in
        [(1, 6), (0, 6), (994, 1000), (half, half + 1000), (most - half - 1000, most)]
    {
        counts(&mut *session, &key, Delta::Up(delta), sum)?;
    }
    Ok(())
}

fn incr_down_stops_at_zero(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("n");
    put(&mut *session, &key, b"100")?;
    for (delta, rest) in [(1, 99), (0, 99), (98, 1), (2, 0), (u64::MAX, 0)] {
        counts(&mut *session, &key, Delta::Down(delta), rest)?;
    }
    counts(&mut *session, &key, Delta::Up(7), 7)
}

fn incr_wraps_at_two_to_the_64(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = alone(fixture)?;
    let key = fixture.key("n");
    put(&mut *session, &key, u64::MAX.to_string().as_bytes())?;
    counts(&mut *session, &key, Delta::Up(0), u64::MAX)?;
    counts(&mut *session, &key, Delta::Up(3), 2)?;
    counts(&mut *session, &key, Delta::Up(u64::MAX), 1)
}

fn incr_of_an_absent_key_is_none_and_stores_nothing(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("absent");
    for delta in [Delta::Up(1), Delta::Down(1)] {
        ensure_eq!(session.incr(&key, delta, None)?, None, "{delta:?} of an absent key");
        lacks(&mut *session, &key)?;
    }
    Ok(())
}

fn incr_of_an_absent_key_stores_the_initial_number(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = alone(fixture)?;
    let initial = Some(Initial { number: u64::MAX - 1, ttl: None });
    for (name, delta, wanted) in
        [("up", Delta::Up(1), u64::MAX), ("down", Delta::Down(u64::MAX), 0)]
    {
        let key = fixture.key(name);
        let counted = session.incr(&key, delta, initial)?.ok_or("the initial number is none")?;
        ensure_eq!(counted.number, u64::MAX - 1, "the initial number, without the delta");
        ensure_eq!(number(&mut *session, &key)?, (u64::MAX - 1).to_string(), "the value");
        let counted = session.incr(&key, delta, initial)?.ok_or("the number is gone")?;
        ensure_eq!(counted.number, wanted, "{delta:?} of a number that is there");
    }
    Ok(())
}

fn an_initial_number_has_its_ttl_and_others_keep_theirs(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (absent, there) = (fixture.key("absent"), fixture.key("there"));
    put(&mut *session, &there, b"5")?;
    let ttl = short_ttl(fixture)?;
    let initial = Some(Initial { number: 7, ttl: Some(ttl) });
    for key in [&absent, &there] {
        session.incr(key, Delta::Up(1), initial)?.ok_or("incr with an initial number is none")?;
    }
    outlive(fixture, ttl)?;
    lacks(&mut *session, &absent)?;
    ensure_eq!(number(&mut *session, &there)?, "6", "the number that was there before");
    Ok(())
}

fn incr_tells_the_version_that_it_made(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (key, absent) = (fixture.key("n"), fixture.key("absent"));
    put(&mut *session, &key, b"5")?;
    let initial = Some(Initial { number: 7, ttl: None });
    for key in [&key, &key, &absent, &absent] {
        let reported =
            session.incr(key, Delta::Up(1), initial)?.and_then(|counted| counted.version);
        ensure!(reported.is_some(), "incr tells no version");
        let mut value = Vec::new();
        let read = session.get(key, &mut value)?.ok_or("the number is gone")?.version;
        ensure_eq!(reported, read, "the version that incr tells");
    }
    Ok(())
}

fn an_initial_number_is_stored_once_by_many_threads(fixture: &Fixture) -> Result<(), Failed> {
    const EACH: usize = 3;
    let mut session = fixture.session()?;
    let initial = Some(Initial { number: 0, ttl: None });
    for round in 0..10 {
        let key = &fixture.key(round);
        at_once(fixture, |session| {
            for _ in 0..EACH {
                session.incr(key, Delta::Up(1), initial)?.ok_or("the counter is gone")?;
            }
            Ok(())
        })?;
        // The first of all calls stored 0, and each other one added 1.
        let sum = number(&mut *session, key)?;
        ensure_eq!(sum, (THREADS * EACH - 1).to_string(), "the count of {THREADS} threads");
    }
    Ok(())
}

fn incr_of_a_value_that_is_no_number_is_an_error_and_keeps_it(
    fixture: &Fixture,
) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("text");
    for text in [&b"five"[..], b"1.5", b"-1", b"18446744073709551616"] {
        put(&mut *session, &key, text)?;
        for absent in [None, Some(Initial { number: 1, ttl: None })] {
            fails_with(session.incr(&key, Delta::Up(1), absent), "not_a_number")?;
        }
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
    session.incr(&key, Delta::Up(1), None)?;
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
    session.incr(&key, Delta::Up(1), None)?;
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
                session.incr(key, Delta::Up(1), None)?.ok_or("the counter is gone")?;
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
