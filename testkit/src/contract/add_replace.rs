//! `add` and `replace`.

use larder_store::{SetMode, SetOutcome};
use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, holds, lacks, mode, put};
use super::fixture::Fixture;

pub(super) const CASES: &[Case] = &[
    case!(add_stores_only_when_absent, ADD),
    case!(add_stores_again_after_a_delete, ADD),
    case!(add_is_won_by_one_of_many_threads, ADD),
    case!(replace_stores_only_when_there, ADD),
];

fn add_stores_only_when_absent(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let first = session.set(&key, b"first", &mode(SetMode::Add))?;
    ensure!(first.is_stored(), "add of an absent key stores nothing");
    let second = session.set(&key, b"second", &mode(SetMode::Add))?;
    ensure_eq!(second, SetOutcome::NotStored, "add of a key that is there");
    holds(&mut *session, &key, b"first").map(drop)
}

fn add_stores_again_after_a_delete(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"old")?;
    session.delete(&key)?;
    let added = session.set(&key, b"new", &mode(SetMode::Add))?;
    ensure!(added.is_stored(), "add after a delete stores nothing");
    holds(&mut *session, &key, b"new").map(drop)
}

fn add_is_won_by_one_of_many_threads(fixture: &Fixture) -> Result<(), Failed> {
    const ROUNDS: usize = 20;
    let store = fixture.store()?;
    let winners = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                scope.spawn(move || -> Result<usize, Failed> {
                    let mut session = store.session()?;
                    let mut won = 0;
                    for round in 0..ROUNDS {
                        let value = format!("{thread}");
                        let key = fixture.key(round);
                        let outcome = session.set(&key, value.as_bytes(), &mode(SetMode::Add))?;
                        won += usize::from(outcome.is_stored());
                    }
                    Ok(won)
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join().map_err(|_| "a panic")?);
        joined.sum::<Result<usize, Failed>>()
    })?;
    ensure_eq!(winners, ROUNDS, "how many adds of {ROUNDS} keys by 4 threads were stored");
    Ok(())
}

fn replace_stores_only_when_there(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let absent = session.set(&key, b"first", &mode(SetMode::Replace))?;
    ensure_eq!(absent, SetOutcome::NotStored, "replace of an absent key");
    lacks(&mut *session, &key)?;
    put(&mut *session, &key, b"first")?;
    let there = session.set(&key, b"second, and longer", &mode(SetMode::Replace))?;
    ensure!(there.is_stored(), "replace of a key that is there stores nothing");
    holds(&mut *session, &key, b"second, and longer").map(drop)
}
