//! Versions, and compare-and-swap by them.

use larder_store::{DeleteOutcome, Delta, Session, SetMode, SetOutcome};
use libtest_mimic::Failed;

use super::at_once::at_once;
use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, holds, lacks, mode, put};
use super::fixture::Fixture;

pub(super) const CASES: &[Case] = &[
    case!(cas_stores_when_the_version_is_the_one_read, VERSION),
    case!(cas_of_a_changed_entry_says_exists_and_keeps_it, VERSION),
    case!(cas_of_an_absent_key_says_not_found, VERSION),
    case!(cas_after_delete_and_set_is_refused, VERSION),
    case!(cas_loses_no_update_of_many_threads, VERSION),
    case!(a_version_changes_with_every_set, VERSION),
    case!(a_set_tells_the_version_that_it_made, VERSION),
    case!(a_set_in_any_mode_tells_the_version_that_it_made, VERSION, ADD),
    case!(a_join_tells_the_version_that_it_made, VERSION, APPEND),
    case!(delete_if_removes_the_entry_with_its_version_alone, VERSION),
    case!(delete_if_is_won_by_one_of_many_threads, VERSION),
    case!(incr_changes_the_version, VERSION, INCR),
    case!(append_changes_the_version, VERSION, APPEND),
];

fn version(session: &mut dyn Session, key: &[u8], value: &[u8]) -> Result<u64, Failed> {
    let version = holds(session, key, value)?.version.ok_or("a hit without its version")?;
    ensure!(version < 1 << 63, "version {version} is not below 2^63");
    Ok(version)
}

fn cas_stores_when_the_version_is_the_one_read(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"first")?;
    let read = version(&mut *session, &key, b"first")?;
    let outcome = session.set(&key, b"second", &mode(SetMode::Cas(read)))?;
    ensure!(outcome.is_stored(), "cas with the version just read stores nothing");
    let now = version(&mut *session, &key, b"second")?;
    ensure!(now != read, "the version is still {read} after a cas that stored");
    Ok(())
}

fn cas_of_a_changed_entry_says_exists_and_keeps_it(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"first")?;
    let read = version(&mut *session, &key, b"first")?;
    put(&mut *session, &key, b"between")?;
    let outcome = session.set(&key, b"second", &mode(SetMode::Cas(read)))?;
    ensure_eq!(outcome, SetOutcome::Exists, "cas with an old version");
    holds(&mut *session, &key, b"between").map(drop)
}

fn cas_of_an_absent_key_says_not_found(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("absent");
    let outcome = session.set(&key, b"value", &mode(SetMode::Cas(1)))?;
    ensure_eq!(outcome, SetOutcome::NotFound, "cas of an absent key");
    lacks(&mut *session, &key)
}

/// A version must not come back with a new entry under the old key: otherwise a slow writer overwrites a value that it
/// never saw.
fn cas_after_delete_and_set_is_refused(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"first")?;
    let read = version(&mut *session, &key, b"first")?;
    session.delete(&key)?;
    put(&mut *session, &key, b"anew")?;
    let outcome = session.set(&key, b"second", &mode(SetMode::Cas(read)))?;
    ensure_eq!(outcome, SetOutcome::Exists, "cas with a version from before a delete");
    holds(&mut *session, &key, b"anew").map(drop)
}

fn cas_loses_no_update_of_many_threads(fixture: &Fixture) -> Result<(), Failed> {
    const THREADS: usize = 4;
    const EACH: usize = 10;
    let store = fixture.store()?;
    let key = &fixture.key("counter");
    put(&mut *store.session()?, key, b"0")?;
    std::thread::scope(|scope| {
        let count = move || -> Result<(), Failed> {
            let mut session = store.session()?;
            let mut value = Vec::new();
            let mut done = 0;
            while done < EACH {
                let meta = session.get(key, &mut value)?.ok_or("the counter is gone")?;
                let read = meta.version.ok_or("a hit without its version")?;
                let next = std::str::from_utf8(&value)?.parse::<usize>()? + 1;
                let next = next.to_string();
                match session.set(key, next.as_bytes(), &mode(SetMode::Cas(read)))? {
                    SetOutcome::Stored(_) => done += 1,
                    SetOutcome::Exists => {}
                    other => return Err(format!("cas of the counter says {other:?}").into()),
                }
            }
            Ok(())
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(count)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a panic")?)
    })?;
    let all = (THREADS * EACH).to_string();
    holds(&mut *store.session()?, key, all.as_bytes()).map(drop)
}

fn a_version_changes_with_every_set(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let mut seen = std::collections::HashSet::new();
    for round in 0..50 {
        put(&mut *session, &key, b"the same value")?;
        let now = version(&mut *session, &key, b"the same value")?;
        ensure!(seen.insert(now), "version {now} came again at set {round}");
    }
    Ok(())
}

/// The version that a set tells is the one that a get reads after it.
fn tells(
    session: &mut dyn Session,
    key: &[u8],
    value: &[u8],
    stored: &[u8],
    set_mode: SetMode,
) -> Result<u64, Failed> {
    let SetOutcome::Stored(told) = session.set(key, value, &mode(set_mode))? else {
        return Err(format!("{set_mode:?} stores nothing").into());
    };
    let read = version(session, key, stored)?;
    ensure_eq!(told, Some(read), "the version that {set_mode:?} tells");
    Ok(read)
}

fn a_set_tells_the_version_that_it_made(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    for value in [&b"first"[..], b"second", &vec![7; 50_000], b""] {
        let first = tells(&mut *session, &key, value, value, SetMode::Set)?;
        tells(&mut *session, &key, b"next", b"next", SetMode::Cas(first))?;
    }
    Ok(())
}

fn a_set_in_any_mode_tells_the_version_that_it_made(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    tells(&mut *session, &key, b"added", b"added", SetMode::Add)?;
    tells(&mut *session, &key, b"other", b"other", SetMode::Replace).map(drop)
}

fn a_join_tells_the_version_that_it_made(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"b")?;
    tells(&mut *session, &key, b"c", b"bc", SetMode::Append)?;
    tells(&mut *session, &key, b"a", b"abc", SetMode::Prepend).map(drop)
}

fn delete_if_removes_the_entry_with_its_version_alone(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    ensure_eq!(session.delete_if(&key, 1)?, DeleteOutcome::NotFound, "delete of an absent key");
    put(&mut *session, &key, b"first")?;
    let old = version(&mut *session, &key, b"first")?;
    put(&mut *session, &key, b"second")?;
    ensure_eq!(session.delete_if(&key, old)?, DeleteOutcome::Exists, "with an old version");
    let now = version(&mut *session, &key, b"second")?;
    ensure_eq!(session.delete_if(&key, now)?, DeleteOutcome::Deleted, "with its version");
    lacks(&mut *session, &key)?;
    ensure_eq!(session.delete_if(&key, now)?, DeleteOutcome::NotFound, "once more");
    Ok(())
}

fn delete_if_is_won_by_one_of_many_threads(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    for round in 0..20 {
        let key = &fixture.key(round);
        put(&mut *session, key, b"value")?;
        let now = version(&mut *session, key, b"value")?;
        let outcomes = at_once(fixture, |session| Ok(session.delete_if(key, now)?))?;
        let deleted = outcomes.iter().filter(|outcome| **outcome == DeleteOutcome::Deleted);
        ensure_eq!(deleted.count(), 1, "the deletes with one version that removed the entry");
        lacks(&mut *session, key)?;
    }
    Ok(())
}

fn incr_changes_the_version(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("n");
    put(&mut *session, &key, b"5")?;
    let read = version(&mut *session, &key, b"5")?;
    session.incr(&key, Delta::Up(1), None)?;
    let now = version(&mut *session, &key, b"6")?;
    ensure!(now != read, "the version is still {read} after an incr");
    Ok(())
}

fn append_changes_the_version(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"a")?;
    let read = version(&mut *session, &key, b"a")?;
    session.set(&key, b"b", &mode(SetMode::Append))?;
    let now = version(&mut *session, &key, b"ab")?;
    ensure!(now != read, "the version is still {read} after an append");
    Ok(())
}
