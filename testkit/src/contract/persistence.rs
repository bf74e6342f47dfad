//! Files: the entries after a store is opened again, here or in another process.

use std::time::Duration;

use larder_store::{Remaining, SetOptions};
use libtest_mimic::Failed;

use super::case::{Case, case};
use super::child;
use super::expect::{ensure_eq, holds, lacks, put, put_with};
use super::fixture::{Fixture, TestDir};
use super::need::{SHARES_FILES, STORES};
use super::ttl::{outlive, short_ttl, with_ttl};
use crate::Random;

pub(super) const CASES: &[Case] = &[
    case!(entries_are_there_when_the_store_is_opened_again, KEEPS_FILES),
    case!(flags_are_there_when_the_store_is_opened_again, KEEPS_FILES, FLAGS),
    case!(a_ttl_goes_on_while_the_store_is_closed, KEEPS_FILES, TTL),
    case!(two_stores_on_one_path_see_each_others_writes, SHARES_FILES),
    Case {
        name: "two_processes_on_one_path_see_each_others_writes",
        needs: &[STORES, SHARES_FILES],
        spawns: true,
        run: two_processes_on_one_path_see_each_others_writes,
    },
];

fn entries_are_there_when_the_store_is_opened_again(fixture: &Fixture) -> Result<(), Failed> {
    let directory = TestDir::create()?;
    let url = fixture.url_at(&directory.path());
    let mut random = Random::new(6);
    let entries: Vec<_> = (0..30).map(|i| (fixture.key(i), random.bytes(i * i * 20))).collect();
    let store = fixture.open_url(&url)?;
    let mut session = store.session()?;
    for (key, value) in &entries {
        put(&mut *session, key, b"older")?;
        put(&mut *session, key, value)?;
    }
    session.delete(&entries[7].0)?;
    drop((session, store));
    let store = fixture.open_url(&url)?;
    let mut session = store.session()?;
    for (i, (key, value)) in entries.iter().enumerate() {
        match i {
            7 => lacks(&mut *session, key)?,
            _ => drop(holds(&mut *session, key, value)?),
        }
    }
    Ok(())
}

fn flags_are_there_when_the_store_is_opened_again(fixture: &Fixture) -> Result<(), Failed> {
    let directory = TestDir::create()?;
    let url = fixture.url_at(&directory.path());
    let key = fixture.key("a");
    let options = SetOptions { flags: 4711, ..SetOptions::default() };
    put_with(&mut *fixture.open_url(&url)?.session()?, &key, b"value", &options)?;
    let meta = holds(&mut *fixture.open_url(&url)?.session()?, &key, b"value")?;
    ensure_eq!(meta.flags, 4711, "the flags");
    Ok(())
}

fn a_ttl_goes_on_while_the_store_is_closed(fixture: &Fixture) -> Result<(), Failed> {
    let directory = TestDir::create()?;
    let url = fixture.url_at(&directory.path());
    let (short, long) = (fixture.key("short"), fixture.key("long"));
    let ttl = short_ttl(fixture)?;
    let store = fixture.open_url(&url)?;
    let mut session = store.session()?;
    put_with(&mut *session, &short, b"s", &with_ttl(ttl))?;
    put_with(&mut *session, &long, b"l", &with_ttl(Duration::from_secs(1000)))?;
    drop((session, store));
    outlive(fixture, ttl)?;
    let store = fixture.open_url(&url)?;
    let mut session = store.session()?;
    lacks(&mut *session, &short)?;
    let left = holds(&mut *session, &long, b"l")?.ttl;
    super::expect::ensure!(left != Remaining::Forever, "the ttl was lost when the store closed");
    Ok(())
}

fn two_stores_on_one_path_see_each_others_writes(fixture: &Fixture) -> Result<(), Failed> {
    let directory = TestDir::create()?;
    let url = fixture.url_at(&directory.path());
    let (one, two) = (fixture.open_url(&url)?, fixture.open_url(&url)?);
    let (mut one, mut two) = (one.session()?, two.session()?);
    let key = fixture.key("a");
    for round in 0..10 {
        let value = format!("round {round}");
        put(&mut *one, &key, value.as_bytes())?;
        holds(&mut *two, &key, value.as_bytes())?;
        two.delete(&key)?;
        lacks(&mut *one, &key)?;
        std::mem::swap(&mut one, &mut two);
    }
    Ok(())
}

fn two_processes_on_one_path_see_each_others_writes(fixture: &Fixture) -> Result<(), Failed> {
    let directory = TestDir::create()?;
    let url = fixture.url_at(&directory.path());
    let store = fixture.open_url(&url)?;
    let mut session = store.session()?;
    put(&mut *session, b"asked", b"from the parent")?;
    child::answer(&url, "asked", "answered")?;
    holds(&mut *session, b"answered", b"from the parent").map(drop)?;
    lacks(&mut *session, b"asked")
}
