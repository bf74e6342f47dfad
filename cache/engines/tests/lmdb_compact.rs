//! A file of `lmdb:` that shrinks when it is opened.
#![cfg(feature = "lmdb")]
#![expect(clippy::unwrap_used, reason = "a step that fails fails the test")]

#[expect(dead_code, reason = "the rest of what embedded engines are tried by")]
mod embedded;

use embedded::process::OtherWriter;
use embedded::{KEYS, TestDir, key, open, round_of, url};
use larder_store::{SetOptions, SetOutcome, Store};

const SCHEME: &str = "lmdb";

#[test]
#[ignore = "is the process that the tests start"]
fn the_writer_that_is_killed() {
    embedded::write_until_killed();
}

fn file_len(directory: &TestDir) -> u64 {
    directory.path().join("store/data.mdb").metadata().unwrap().len()
}

const ENTRIES: u64 = 2000;
/// One of this many entries is kept.
const KEPT: usize = 20;

fn set(store: &dyn Store, i: u64) -> u64 {
    let mut session = store.session().unwrap();
    match session.set(&key(i), &key(i).repeat(500), &SetOptions::default()).unwrap() {
        SetOutcome::Stored(Some(version)) => version,
        other => panic!("{other:?}"),
    }
}

/// Stores many entries and removes most of them; returns the last version and the length of the file.
fn fill(directory: &TestDir) -> (u64, u64) {
    let store = open(&url(SCHEME, directory.path(), "")).unwrap();
    let last = (0..ENTRIES).map(|i| set(&*store, i)).max().unwrap();
    let mut session = store.session().unwrap();
    for i in (0..ENTRIES).filter(|i| i % KEPT as u64 != 0) {
        assert!(session.delete(&key(i)).unwrap());
    }
    // A store that is open may have space ahead of its pages.
    drop((session, store));
    (last, file_len(directory))
}

fn assert_kept(store: &dyn Store) {
    let (mut session, mut found) = (store.session().unwrap(), Vec::new());
    for i in (0..ENTRIES).step_by(KEPT) {
        assert!(session.get(&key(i), &mut found).unwrap().is_some(), "key {i} is gone");
        assert_eq!(found, key(i).repeat(500));
    }
}

#[test]
fn a_file_that_is_mostly_free_shrinks_at_the_opening_where_that_is_asked() {
    for sync in ["sync=nosync", "sync=group"] {
        let directory = TestDir::create();
        let (last, before) = fill(&directory);
        let url = |query: &str| url(SCHEME, directory.path(), &format!("{sync}&{query}"));
        assert_kept(&*open(&url("")).unwrap());
        assert_eq!(file_len(&directory), before);
        let store = open(&url("compact=on")).unwrap();
        let after = file_len(&directory);
        assert!(after < before / 4, "{before} bytes became {after}");
        assert_kept(&*store);
        assert_eq!(store.stats().unwrap().items, Some(ENTRIES / KEPT as u64));
        // Later versions are larger, so none repeats, and the newest entries are known.
        let version = set(&*store, 1);
        assert!(version > last, "{version} after {last}");
        drop(store);
        // There is nothing to gain any more.
        let before = file_len(&directory);
        assert_kept(&*open(&url("compact=on")).unwrap());
        assert_eq!(file_len(&directory), before);
    }
}

#[test]
fn a_file_that_another_process_has_open_stays_as_it_is() {
    let directory = TestDir::create();
    let (_, before) = fill(&directory);
    let mut other = OtherWriter::start(&url(SCHEME, directory.path(), ""));
    other.next_round();
    let store = open(&url(SCHEME, directory.path(), "compact=on")).unwrap();
    assert!(file_len(&directory) >= before);
    set(&*store, 5000);
    for _ in 0..3 {
        other.next_round();
    }
    let acknowledged = other.kill();
    let (mut session, mut found) = (store.session().unwrap(), Vec::new());
    for i in 0..KEYS {
        assert!(session.get(&key(i), &mut found).unwrap().is_some(), "key {i} is gone");
        assert!(round_of(i, &found) >= acknowledged, "key {i} is older than acknowledged");
    }
    assert!(session.get(&key(5000), &mut found).unwrap().is_some());
}
