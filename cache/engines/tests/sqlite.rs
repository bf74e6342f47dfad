//! The engine `sqlite:` under faults.
#![cfg(feature = "sqlite")]
#![expect(clippy::unwrap_used, reason = "a step that fails fails the test")]

mod embedded;

use std::fs;
use std::path::Path;
use std::time::Duration;

use embedded::{TestDir, open, open_session, url};
use larder_store::{Error, Put, SetMode, SetOptions};
use rusqlite::Connection;

const SCHEME: &str = "sqlite";

#[test]
#[ignore = "is the process that the tests about kills start"]
fn the_writer_that_is_killed() {
    embedded::write_until_killed();
}

#[test]
fn a_killed_writer_leaves_whole_values() {
    embedded::a_killed_writer_leaves_whole_values(SCHEME);
}

#[test]
fn the_death_of_writers_stops_no_other() {
    embedded::the_death_of_writers_stops_no_other(SCHEME, 5);
}

#[test]
fn the_byte_limit_holds_and_the_newest_stay() {
    embedded::the_byte_limit_holds_and_the_newest_stay(SCHEME);
}

#[test]
fn expired_entries_are_given_back() {
    embedded::expired_entries_are_given_back(SCHEME);
}

#[test]
fn one_path_opens_twice_and_namespaces_do_not_meet() {
    embedded::one_path_opens_twice_and_namespaces_do_not_meet(SCHEME);
}

#[test]
fn a_new_store_may_be_opened_by_many_at_once() {
    embedded::a_new_store_may_be_opened_by_many_at_once(SCHEME);
}

#[test]
fn a_batch_is_one_commit() {
    let directory = TestDir::create();
    let mut session = open_session(&url(SCHEME, directory.path(), ""));
    let keys: Vec<Vec<u8>> = (0..100).map(embedded::key).collect();
    let put = |key| Put { key, value: b"value", options: SetOptions::default() };
    let entries: Vec<Put<'_>> = keys.iter().map(|key| put(key)).collect();
    // The first write looks for room.
    session.set(b"first", b"value", &SetOptions::default()).unwrap();
    let before = n_commits(directory.path());
    session.set_many(&entries, &mut |_, outcome| assert!(outcome.unwrap().is_stored())).unwrap();
    assert_eq!(n_commits(directory.path()), before + 1);
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    session.delete_many(&keys, &mut |_, there| assert!(there.unwrap())).unwrap();
    assert_eq!(n_commits(directory.path()), before + 2);
}

/// The number of commits in the log of a store with pages of 4 KiB.
fn n_commits(directory: &Path) -> usize {
    let log = fs::read(directory.join("store-wal")).unwrap();
    // A frame is a header of 24 bytes and a page. In the last frame of a commit, the second number is not 0.
    let frames = log.get(32..).unwrap_or_default().chunks_exact(24 + 4096);
    frames.filter(|frame| frame[4..8] != [0; 4]).count()
}

fn refusal(url: &str) -> (Error, String) {
    let error = open(url).map(drop).unwrap_err();
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    (error, text)
}

#[test]
fn a_file_that_is_not_of_sqlite_is_refused_and_left_alone() {
    let directory = TestDir::create();
    let file = directory.path().join("store");
    let url = url(SCHEME, directory.path(), "");

    for text in ["short".to_owned(), "not a database ".repeat(10_000)] {
        fs::write(&file, &text).unwrap();
        let (error, message) = refusal(&url);
        assert!(matches!(error, Error::Corrupted { .. }), "{message}");
        assert!(message.contains("store is not an SQLite database"), "{message}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    fs::remove_file(&file).unwrap();

    fs::create_dir(&file).unwrap();
    let (error, text) = refusal(&url);
    assert!(matches!(error, Error::Io { .. }) && text.contains("directory"), "{text}");
    let (error, text) = refusal("sqlite:/no/such/folder/cache.db");
    assert!(matches!(error, Error::Io { .. }) && text.contains("No such file"), "{text}");
}

#[test]
fn a_foreign_database_is_refused_and_left_alone() {
    let directory = TestDir::create();
    let file = directory.path().join("store");
    let theirs = Connection::open(&file).unwrap();
    theirs.execute_batch("CREATE TABLE cache (theirs TEXT)").unwrap();
    drop(theirs);
    let before = fs::read(&file).unwrap();
    let (error, text) = refusal(&url(SCHEME, directory.path(), ""));
    assert!(matches!(error, Error::Unavailable { .. }), "{text}");
    assert!(text.contains("larder did not make"), "{text}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_lock_held_too_long_is_busy_and_then_passes() {
    let directory = TestDir::create();
    let mut session = open_session(&url(SCHEME, directory.path(), "timeout=50ms"));
    let holder = Connection::open(directory.path().join("store")).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = session.set(b"key", b"value", &SetOptions::default()).unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, Error::Busy { .. }) && text.contains("50ms"), "{text}");
    assert!(refused.is_retryable());
    assert!(session.get(b"key", &mut Vec::new()).unwrap().is_none(), "readers go on");
    holder.execute_batch("ROLLBACK").unwrap();
    session.set(b"key", b"value", &SetOptions::default()).unwrap();
}

/// Without truncation, the log would grow as long as any reader is active, and make every read slower.
#[test]
fn the_log_stays_short_while_others_read() {
    let on_disk = embedded::bytes_on_disk_under_readers(SCHEME, "");
    assert!(on_disk < 32 << 20, "{on_disk} bytes on disk for half a megabyte of entries");
}

/// A rewritten entry gets one second chance for each rewrite; a touch is no rewrite.
#[test]
fn the_oldest_that_was_not_rewritten_makes_room() {
    let directory = TestDir::create();
    let store = open(&url(SCHEME, directory.path(), "size=1m")).unwrap();
    let mut session = store.session().unwrap();
    let (mut found, value) = (Vec::new(), vec![1; 100_000]);
    for key in 0..9 {
        session.set(&[key], &value, &SetOptions::default()).unwrap();
    }
    session.set(&[0], &value, &SetOptions::default()).unwrap();
    session.touch(&[1], Some(Duration::from_secs(1000))).unwrap();
    for key in 9..12 {
        session.set(&[key], &value, &SetOptions::default()).unwrap();
    }
    let mut there =
        || (0..20).filter(|key| session.get(&[*key], &mut found).unwrap().is_some()).collect();
    let first: Vec<u8> = there();
    assert_eq!(first, [0, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(store.stats().unwrap().evictions, Some(3));
    let mut session = store.session().unwrap();
    for key in 12..20 {
        session.set(&[key], &value, &SetOptions::default()).unwrap();
    }
    let second: Vec<u8> = there();
    assert_eq!(second, [11, 12, 13, 14, 15, 16, 17, 18, 19], "the second chance is not for ever");
}

/// SQLite joins blobs as text.
#[test]
fn joined_values_keep_bytes_that_are_no_text() {
    let directory = TestDir::create();
    let mut session = open_session(&url(SCHEME, directory.path(), ""));
    let (first, second, mut found) = ((0..=255).collect::<Vec<u8>>(), [0, 0xff, 0], Vec::new());
    session.set(b"key", &first, &SetOptions::default()).unwrap();
    for mode in [SetMode::Append, SetMode::Prepend] {
        session.set(b"key", &second, &SetOptions { mode, ..SetOptions::default() }).unwrap();
    }
    session.get(b"key", &mut found).unwrap().unwrap();
    assert_eq!(found, [&second, &first[..], &second].concat());
}

/// Tables from before entries had tags, in a file on which `ANALYZE` has run.
const TABLES_WITHOUT_TAGS: &str = r#"
CREATE TABLE "cache" (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, deadline_ms INTEGER, flags INTEGER NOT NULL,
    version INTEGER NOT NULL, rewritten INTEGER NOT NULL, value BLOB NOT NULL) STRICT;
CREATE INDEX "cache.expiry" ON "cache" (deadline_ms) WHERE deadline_ms IS NOT NULL;
CREATE TABLE "other-1" (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, deadline_ms INTEGER, flags INTEGER NOT NULL,
    version INTEGER NOT NULL, rewritten INTEGER NOT NULL, value BLOB NOT NULL) STRICT;
CREATE INDEX "other-1.expiry" ON "other-1" (deadline_ms) WHERE deadline_ms IS NOT NULL;
INSERT INTO "cache" VALUES (1, x'6f6c64', NULL, 7, 5, 0, x'0102');
ANALYZE;
PRAGMA application_id = 0x4c524452;
PRAGMA user_version = 1;
"#;

#[test]
fn a_file_from_before_tags_gets_them_and_keeps_its_entries() {
    let directory = TestDir::create();
    let before = Connection::open(directory.path().join("store")).unwrap();
    before.execute_batch(TABLES_WITHOUT_TAGS).unwrap();
    drop(before);
    for namespace in ["cache", "other-1"] {
        let url = url(SCHEME, directory.path(), &format!("namespace={namespace}"));
        for _ in 0..2 {
            let mut session = open_session(&url);
            let groups = session.groups().unwrap();
            groups.set_tagged(b"new", b"value", &SetOptions::default(), b"tag").unwrap();
            let mut found = 0;
            groups.get_tag(b"tag", &mut |_, _, _| found += 1).unwrap();
            assert_eq!(found, 1, "{namespace}");
        }
    }
    let (mut session, mut value) = (open_session(&url(SCHEME, directory.path(), "")), Vec::new());
    let meta = session.get(b"old", &mut value).unwrap().unwrap();
    assert_eq!((meta.flags, meta.version, &value[..]), (7, Some(5), &[1, 2][..]));
}

#[test]
fn a_file_of_a_later_format_is_refused() {
    let directory = TestDir::create();
    let url = url(SCHEME, directory.path(), "");
    drop(open(&url).unwrap());
    let file = Connection::open(directory.path().join("store")).unwrap();
    file.pragma_update(None, "user_version", 1000).unwrap();
    let (error, text) = refusal(&url);
    assert!(matches!(error, Error::Unavailable { .. }) && text.contains("newer larder"), "{text}");
}
