//! Several sessions, several threads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, holds, lacks, put, same};
use super::fixture::Fixture;
use crate::Random;

pub(super) const CASES: &[Case] = &[
    case!(sessions_see_each_others_writes, ACKNOWLEDGED),
    case!(a_session_outlives_the_handle_of_its_store),
    case!(a_session_may_move_to_another_thread),
    case!(eight_threads_read_back_their_own_values),
    case!(readers_of_a_changing_entry_see_whole_values, WHOLE_WRITES),
];

fn sessions_see_each_others_writes(fixture: &Fixture) -> Result<(), Failed> {
    let (mut one, mut two) = (fixture.session()?, fixture.session()?);
    let key = fixture.key("a");
    for round in 0..20 {
        let value = format!("round {round}");
        put(&mut *one, &key, value.as_bytes())?;
        holds(&mut *two, &key, value.as_bytes())?;
        two.delete(&key)?;
        lacks(&mut *one, &key)?;
        std::mem::swap(&mut one, &mut two);
    }
    Ok(())
}

fn a_session_outlives_the_handle_of_its_store(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let mut session = store.session()?;
    put(&mut *session, &fixture.key("a"), b"before")?;
    ensure!(Arc::strong_count(&store) == 1, "another handle holds the store too");
    drop(store);
    holds(&mut *session, &fixture.key("a"), b"before")?;
    put(&mut *session, &fixture.key("b"), b"after")?;
    holds(&mut *session, &fixture.key("b"), b"after").map(drop)
}

fn a_session_may_move_to_another_thread(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"here")?;
    let there = std::thread::spawn(move || holds(&mut *session, &key, b"here").map(drop));
    there.join().map_err(|_| "a panic")?
}

/// Every thread owns its keys, so it knows the value of each. Bounded by time as well as by count: a store that syncs
/// each write to a disk completes few in a second.
fn eight_threads_read_back_their_own_values(fixture: &Fixture) -> Result<(), Failed> {
    const KEYS: usize = 16;
    const ROUNDS: usize = 400;
    let store = fixture.store()?;
    let may_vanish = fixture.capabilities()?.evicts;
    let until = Instant::now() + Duration::from_secs(2);
    let hammer = |thread: u64| -> Result<(), Failed> {
        let mut session = store.session()?;
        let mut random = Random::new(thread);
        let mut last: Vec<Option<Vec<u8>>> = vec![None; KEYS];
        let mut found = Vec::new();
        for round in 0..ROUNDS {
            let i = random.below(KEYS);
            let key = fixture.key(format_args!("{thread}-{i}"));
            let mut value = format!("thread {thread}, key {i}, round {round}: ").into_bytes();
            let tail = random.below(2000);
            value.extend_from_slice(&random.bytes(tail));
            put(&mut *session, &key, &value)?;
            last[i] = Some(value);
            let i = random.below(KEYS);
            let key = fixture.key(format_args!("{thread}-{i}"));
            match (session.get(&key, &mut found)?, &last[i]) {
                (Some(_), Some(last)) => same(&key, &found, last)?,
                (Some(_), None) => return Err("a hit of a key that no thread set".into()),
                (None, Some(_)) => {
                    ensure!(may_vanish, "a value is gone, and the store evicts nothing");
                }
                (None, None) => {}
            }
            if Instant::now() > until {
                break;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|thread| scope.spawn(move || hammer(thread))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a panic")?)
    })
}

/// Each value is one byte repeated, of changing length. A reader that catches a half-done write would see two bytes, or
/// the length of another value.
fn readers_of_a_changing_entry_see_whole_values(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.store()?;
    let key = &fixture.key("changing");
    let len_of = |byte: u8| usize::from(byte) * 97;
    put(&mut *store.session()?, key, &vec![1; len_of(1)])?;
    let until = Instant::now() + Duration::from_millis(300);
    let write = move || -> Result<(), Failed> {
        let mut session = store.session()?;
        let mut byte = 0_u8;
        while Instant::now() < until {
            byte = byte.wrapping_add(1);
            put(&mut *session, key, &vec![byte; len_of(byte)])?;
        }
        Ok(())
    };
    let read = move || -> Result<(), Failed> {
        let mut session = store.session()?;
        let mut value = Vec::new();
        while Instant::now() < until {
            if session.get(key, &mut value)?.is_none() {
                continue;
            }
            let byte = value.first().copied().unwrap_or(0);
            let whole = value.len() == len_of(byte) && value.iter().all(|b| *b == byte);
            ensure!(whole, "a value of {} bytes begins with {byte} and is torn", value.len());
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads = [scope.spawn(write), scope.spawn(read), scope.spawn(read)];
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a panic")?)
    })
}
