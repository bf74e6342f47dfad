//! Large groups, and groups that many sessions change at once.

use std::time::{Duration, Instant};

use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::expect::{ensure, ensure_eq, put};
use super::super::fixture::{Fixture, TestDir};
use super::{agrees, by_prefix, by_tag, groups, holds_exactly, put_tagged};
use crate::Random;

pub(in super::super) const CASES: &[Case] = &[
    case!(a_group_of_a_thousand_is_found_and_removed_whole, GROUPS),
    case!(readers_of_a_changing_group_see_whole_values, GROUPS),
    case!(readers_of_a_tag_see_only_values_written_with_it, GROUPS),
    case!(sessions_see_each_others_tags, GROUPS, ACKNOWLEDGED),
    case!(two_stores_on_one_path_see_each_others_tags, GROUPS, SHARES_FILES),
];

/// Bounded by time as well as by count: a store that syncs each write to a disk completes few in a second.
fn a_group_of_a_thousand_is_found_and_removed_whole(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let tag = fixture.key("tag");
    let mut random = Random::new(9);
    let until = Instant::now() + Duration::from_secs(4);
    let mut entries = Vec::new();
    for i in 0..1000 {
        let key = fixture.key(format_args!("of the group {i}"));
        let len = [0, 20, 300, 6000][random.below(4)];
        let value = random.bytes(len);
        put_tagged(&mut *session, &key, &value, &tag)?;
        entries.push((key, value));
        if Instant::now() > until {
            break;
        }
    }
    put(&mut *session, &fixture.key("other"), b"of no group")?;
    let wanted: Vec<(&[u8], &[u8])> =
        entries.iter().map(|(key, value)| (key.as_slice(), value.as_slice())).collect();
    holds_exactly(&mut *session, &tag, &wanted)?;
    agrees(&by_prefix(&mut *session, &fixture.key("of the group"))?, &wanted)?;
    let removed = groups(&mut *session)?.delete_tag(&tag)?;
    ensure_eq!(removed, entries.len() as u64, "the entries that were removed");
    holds_exactly(&mut *session, &tag, &[])?;
    agrees(
        &by_prefix(&mut *session, &fixture.key("o"))?,
        &[(&fixture.key("other"), b"of no group")],
    )
}

/// Each value is one byte repeated, of changing length, and a reader sees each value whole and once.
fn readers_of_a_changing_group_see_whole_values(fixture: &Fixture) -> Result<(), Failed> {
    const KEYS: usize = 20;
    let store = fixture.store()?;
    let (tag, prefix) = (&fixture.key("tag"), &fixture.key("key"));
    let key = |i: usize| fixture.key(format_args!("key {i}"));
    let value_of = |byte: u8| vec![byte; usize::from(byte) * 31 + 1];
    for i in 0..KEYS {
        put_tagged(&mut *store.session()?, &key(i), &value_of(1), tag)?;
    }
    let until = Instant::now() + Duration::from_millis(400);
    let write = |thread: u64| -> Result<(), Failed> {
        let mut session = store.session()?;
        let mut random = Random::new(thread);
        while Instant::now() < until {
            let byte = u8::try_from(random.below(256))?;
            put_tagged(&mut *session, &key(random.below(KEYS)), &value_of(byte), tag)?;
        }
        Ok(())
    };
    let read = || -> Result<(), Failed> {
        let mut session = store.session()?;
        let mut is_by_tag = false;
        while Instant::now() < until {
            is_by_tag = !is_by_tag;
            let found = if is_by_tag {
                by_tag(&mut *session, tag)?
            } else {
                by_prefix(&mut *session, prefix)?
            };
            ensure_eq!(found.len(), KEYS, "the entries of the group");
            for (value, _) in found.values() {
                let whole = value.first().is_some_and(|byte| *value == value_of(*byte));
                ensure!(whole, "a value of {} bytes is torn", value.len());
            }
        }
        Ok(())
    };
    let (write, read) = (&write, &read);
    std::thread::scope(|scope| {
        let mut threads = vec![scope.spawn(read), scope.spawn(read)];
        threads.extend((0..2).map(|thread| scope.spawn(move || write(thread))));
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a panic")?)
    })
}

/// An entry moves from one tag to another and back, and its value names its tag. No reader of a tag may see the value
/// of the other tag.
fn readers_of_a_tag_see_only_values_written_with_it(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.store()?;
    let key = &fixture.key("key");
    let tags = &["one", "two"].map(|name| fixture.key(name));
    let until = Instant::now() + Duration::from_millis(300);
    let write = move || -> Result<(), Failed> {
        let mut session = store.session()?;
        while Instant::now() < until {
            for tag in tags {
                put_tagged(&mut *session, key, tag, tag)?;
            }
            session.delete(key)?;
        }
        Ok(())
    };
    let read = move || -> Result<(), Failed> {
        let mut session = store.session()?;
        while Instant::now() < until {
            for tag in tags {
                for (value, _) in by_tag(&mut *session, tag)?.values() {
                    ensure!(value == tag, "the value of another tag");
                }
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads = [scope.spawn(write), scope.spawn(read)];
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a panic")?)
    })
}

fn sessions_see_each_others_tags(fixture: &Fixture) -> Result<(), Failed> {
    let (mut one, mut two) = (fixture.session()?, fixture.session()?);
    let (key, tag) = (fixture.key("key"), fixture.key("tag"));
    for round in 0..10 {
        let value = format!("round {round}").into_bytes();
        put_tagged(&mut *one, &key, &value, &tag)?;
        holds_exactly(&mut *two, &tag, &[(&key, &value)])?;
        if round % 2 == 0 {
            put(&mut *two, &key, b"plain")?;
        } else {
            groups(&mut *two)?.delete_tag(&tag)?;
        }
        holds_exactly(&mut *one, &tag, &[])?;
        std::mem::swap(&mut one, &mut two);
    }
    Ok(())
}

fn two_stores_on_one_path_see_each_others_tags(fixture: &Fixture) -> Result<(), Failed> {
    let directory = TestDir::create()?;
    let url = fixture.url_at(&directory.path());
    let (one, two) = (fixture.open_url(&url)?, fixture.open_url(&url)?);
    let (mut one, mut two) = (one.session()?, two.session()?);
    let (key, tag) = (fixture.key("key"), fixture.key("tag"));
    for _ in 0..5 {
        put_tagged(&mut *one, &key, b"value", &tag)?;
        holds_exactly(&mut *two, &tag, &[(&key, b"value")])?;
        two.delete(&key)?;
        holds_exactly(&mut *one, &tag, &[])?;
        std::mem::swap(&mut one, &mut two);
    }
    Ok(())
}
