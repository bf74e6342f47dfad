//! The engine `lmdb:` under faults.
#![cfg(feature = "lmdb")]
#![expect(clippy::unwrap_used, reason = "a step that fails fails the test")]

mod embedded;

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use embedded::{TestDir, open, open_session, url};
use heed::types::Bytes;
use heed::{CommitOrAbort, DatabaseFlags, EnvOpenOptions};
use larder_store::{Delta, Error, SetMode, SetOptions};
use larder_testkit::Random;

const SCHEME: &str = "lmdb";

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
    embedded::the_death_of_writers_stops_no_other(SCHEME, 60);
}

#[test]
fn the_byte_limit_holds_and_the_newest_stay() {
    embedded::the_byte_limit_holds_and_the_newest_stay(SCHEME);
}

#[test]
fn expired_entries_are_given_back() {
    embedded::expired_entries_are_given_back(SCHEME);
}

/// Nobody writes any more, and reads go on.
#[test]
fn expired_entries_are_given_back_without_writes() {
    let directory = TestDir::create();
    let store = open(&url(SCHEME, directory.path(), "")).unwrap();
    let mut session = store.session().unwrap();
    let short = SetOptions { ttl: Some(Duration::from_millis(1)), ..SetOptions::default() };
    session.set(b"stays", b"value", &SetOptions::default()).unwrap();
    for i in 0..500_u32 {
        // A write gives back the entries before it, so the last ones stay for the thread.
        session.set(&i.to_le_bytes(), &[1; 500], &short).unwrap();
    }
    let until = Instant::now() + Duration::from_mins(1);
    while store.stats().unwrap().items > Some(1) {
        assert!(Instant::now() < until, "{:?}", store.stats());
        assert!(session.get(b"stays", &mut Vec::new()).unwrap().is_some());
        sleep(Duration::from_millis(5));
    }
    assert_eq!(store.stats().unwrap().expirations, Some(500));
}

/// Every operation maintains the count of bytes, so after threads and evictions it must equal the sum of the entries.
#[test]
fn the_count_of_bytes_agrees_with_the_entries() {
    const KEYS: usize = 300;
    const TAG: &[u8] = b"some tag";
    let directory = TestDir::create();
    let store = &open(&url(SCHEME, directory.path(), "size=1m")).unwrap();
    store.session().unwrap().set(b"1", b"", &SetOptions::default()).unwrap();
    let overhead = store.stats().unwrap().bytes.unwrap() - 1;
    let work = |thread: u64| {
        let mut session = store.session().unwrap();
        let mut random = Random::new(thread);
        for _ in 0..2000 {
            let key = format!("key {}", random.below(KEYS)).into_bytes();
            let value = vec![b'7'; [1, 100, 2000, 30_000][random.below(4)]];
            let mode = [SetMode::Set, SetMode::Add, SetMode::Replace, SetMode::Append];
            let ttl = (random.below(2) == 0).then_some(Duration::from_secs(1000));
            match random.below(10) {
                0 => drop(session.delete(&key).unwrap()),
                8 if random.below(20) == 0 => {
                    session.groups().unwrap().delete_tag(TAG).unwrap();
                }
                8 | 9 => {
                    let options = SetOptions { ttl, ..SetOptions::default() };
                    session.groups().unwrap().set_tagged(&key, &value, &options, TAG).unwrap();
                }
                1 => drop(session.touch(&key, ttl).unwrap()),
                // Most values are no numbers, or are too long to be numbers.
                2 => drop(session.incr(&key, Delta::Up(1), None)),
                n => {
                    let options = SetOptions { mode: mode[n % 4], ttl, flags: 5 };
                    session.set(&key, &value, &options).unwrap();
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..3 {
            scope.spawn(move || work(thread));
        }
    });
    let mut session = store.session().unwrap();
    session.delete(b"1").unwrap();
    let (mut items, mut bytes, mut found) = (0, 0, Vec::new());
    for key in (0..KEYS).map(|i| format!("key {i}").into_bytes()) {
        if session.get(&key, &mut found).unwrap().is_some() {
            items += 1;
            bytes += (key.len() + found.len()) as u64 + overhead;
        }
    }
    let mut tagged = 0;
    session.groups().unwrap().get_tag(TAG, &mut |_, _, _| tagged += TAG.len() as u64).unwrap();
    assert!(tagged > 0, "no entry has a tag at the end");
    bytes += tagged;
    let stats = store.stats().unwrap();
    assert_eq!((stats.items, stats.bytes), (Some(items), Some(bytes)), "{stats:?}");
    assert!(stats.evictions > Some(100) && items > 20, "{stats:?}");
}

#[test]
fn one_path_opens_twice_and_namespaces_do_not_meet() {
    embedded::one_path_opens_twice_and_namespaces_do_not_meet(SCHEME);
}

#[test]
fn a_new_store_may_be_opened_by_many_at_once() {
    embedded::a_new_store_may_be_opened_by_many_at_once(SCHEME);
}

fn refusal(url: &str) -> (Error, String) {
    let error = open(url).map(drop).unwrap_err();
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    (error, text)
}

#[test]
fn a_file_that_is_not_of_lmdb_is_refused_and_left_alone() {
    let directory = TestDir::create();
    let folder = directory.path().join("store");
    let url = url(SCHEME, directory.path(), "");

    fs::write(&folder, "a file in place of the folder").unwrap();
    let (error, text) = refusal(&url);
    assert!(matches!(error, Error::Io { .. }) && text.contains("not a directory"), "{text}");
    fs::remove_file(&folder).unwrap();

    fs::create_dir(&folder).unwrap();
    let data = folder.join("data.mdb");
    for text in ["short".to_owned(), "not a database ".repeat(10_000)] {
        fs::write(&data, &text).unwrap();
        let (error, message) = refusal(&url);
        assert!(matches!(error, Error::Corrupted { .. }), "{message}");
        assert!(message.contains("data.mdb is not a file of this LMDB"), "{message}");
        assert_eq!(fs::read_to_string(&data).unwrap(), text);
    }
}

#[test]
fn a_foreign_database_is_refused() {
    use heed::Database;
    use heed::types::Str;
    let directory = TestDir::create();
    let folder = directory.path().join("store");
    fs::create_dir(&folder).unwrap();
    {
        // SAFETY: no other process knows the folder.
        let env = unsafe { EnvOpenOptions::new().open(&folder) }.unwrap();
        let txn = env.write_txn().unwrap();
        let theirs: Database<Str, Str> = env
            .create_databases_and_commit(txn, |opener, txn| {
                opener.create_database(txn, None).map(CommitOrAbort::<_, ()>::Commit)
            })
            .unwrap()
            .unwrap_commit();
        let mut txn = env.write_txn().unwrap();
        theirs.put(&mut txn, "theirs", "data").unwrap();
        txn.commit().unwrap();
    }
    let (error, text) = refusal(&url(SCHEME, directory.path(), ""));
    assert!(matches!(error, Error::Unavailable { .. }), "{text}");
    assert!(text.contains("larder did not make"), "{text}");
}

/// Makes a file as in the version before tags, or with a format that no version knows yet.
fn make_file(folder: &Path, format: &[u8], entries: &[(&[u8], &[u8])]) {
    fs::create_dir(folder).unwrap();
    // SAFETY: no other process knows the folder.
    let env = unsafe { EnvOpenOptions::new().max_dbs(8).open(folder) }.unwrap();
    let txn = env.write_txn().unwrap();
    let opened = env.create_databases_and_commit(txn, |opener, txn| {
        let main = opener.create_database::<Bytes, Bytes>(txn, None)?;
        let name = Some("cache.entries");
        let entries = opener.create_database::<Bytes, Bytes>(txn, name)?;
        let options = opener.database_options();
        let mut expiry = options.types::<Bytes, Bytes>();
        expiry.flags(DatabaseFlags::DUP_SORT).name("cache.expiry").create(txn)?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit((main, entries)))
    });
    let (main, records) = opened.unwrap().unwrap_commit();
    let mut txn = env.write_txn().unwrap();
    main.put(&mut txn, b"larder", format).unwrap();
    for (key, value) in entries {
        // No deadline, the first version, and 7 as flags.
        let (version, flags) = (1_u64.to_le_bytes(), 7_u32.to_le_bytes());
        let record = [&[0; 8][..], &version, &flags, value].concat();
        records.put(&mut txn, key, &record).unwrap();
    }
    txn.commit().unwrap();
}

#[test]
fn a_file_from_before_there_were_tags_is_taken_over() {
    let directory = TestDir::create();
    let (old, kept): (&[u8], &[u8]) = (b"old", b"kept as it is");
    make_file(&directory.path().join("store"), b"1", &[(b"key", old), (b"other", kept)]);
    let url = url(SCHEME, directory.path(), "");
    for _ in 0..2 {
        let mut session = open_session(&url);
        let mut found = Vec::new();
        let meta = session.get(b"other", &mut found).unwrap().unwrap();
        assert_eq!((meta.flags, found.as_slice()), (7, kept));
        let groups = session.groups().unwrap();
        groups.set_tagged(b"key", b"new", &SetOptions::default(), b"tag").unwrap();
        let mut tagged = Vec::new();
        groups.get_tag(b"tag", &mut |key, value, _| tagged.push([key, value].concat())).unwrap();
        assert_eq!(tagged, [b"keynew"]);
    }
}

#[test]
fn a_file_of_a_later_format_is_refused() {
    let directory = TestDir::create();
    make_file(&directory.path().join("store"), b"4", &[]);
    let (error, text) = refusal(&url(SCHEME, directory.path(), ""));
    assert!(matches!(error, Error::Unavailable { .. }), "{text}");
    assert!(text.contains("format `4`") && text.contains("choose another folder"), "{text}");
}

/// A read beyond the end of a mapped file would be a signal, which would end this test.
#[test]
fn a_file_that_was_cut_off_is_refused_or_read_as_far_as_it_goes() {
    let directory = TestDir::create();
    let url = url(SCHEME, directory.path(), "");
    let keys: Vec<_> = (0..2000).map(|i| format!("key {i}").into_bytes()).collect();
    let mut session = open_session(&url);
    for key in &keys {
        session.set(key, &key.repeat(100), &SetOptions::default()).unwrap();
    }
    drop(session);
    let data = directory.path().join("store/data.mdb");
    let whole = fs::read(&data).unwrap();
    for percent in [80, 50, 10, 1] {
        fs::write(&data, &whole[..whole.len() * percent / 100]).unwrap();
        let (error, text) = refusal(&url);
        assert!(matches!(error, Error::Corrupted { .. }), "{text}");
        assert!(text.contains("cut off") && text.contains("delete it"), "{text}");
    }
    fs::write(&data, &whole[..whole.len() - 16 * 4096]).unwrap();
    let mut session = open_session(&url);
    let (mut found, mut right) = (Vec::new(), 0);
    for key in &keys {
        match session.get(key, &mut found) {
            Ok(Some(_)) if found == key.repeat(100) => right += 1,
            Ok(_) | Err(Error::Corrupted { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(right > 1000, "only {right} values are left when 16 pages are missing");
}

#[test]
fn the_map_bounds_the_file_and_eviction_keeps_within_it() {
    let directory = TestDir::create();
    let store = open(&url(SCHEME, directory.path(), "size=2m&map_size=2m")).unwrap();
    let mut session = store.session().unwrap();
    for i in 0..5000 {
        let key = format!("key {}", i * 7919 % 100_003);
        let len = [10, 100, 3000, 40_000, 5000][i % 5];
        session.set(key.as_bytes(), &vec![7; len], &SetOptions::default()).unwrap();
    }
    let file = directory.path().join("store/data.mdb");
    assert!(file.metadata().unwrap().len() <= 2 << 20);
    let stats = store.stats().unwrap();
    assert!(stats.bytes > Some(512 << 10), "a quarter of the map is in use: {stats:?}");
}

#[test]
fn readers_that_come_and_go_fill_no_map() {
    let on_disk = embedded::bytes_on_disk_under_readers(SCHEME, "size=1m&map_size=4m");
    assert!(on_disk < 5 << 20, "{on_disk} bytes on disk with a map of 4 MiB");
}

/// A reader keeps its snapshot's pages in use. When no page is free, writers get an error, and go on after the reader
/// ends.
#[test]
fn a_map_that_a_reader_holds_is_full_and_then_is_not() {
    let directory = TestDir::create();
    let store = open(&url(SCHEME, directory.path(), "size=1m&map_size=1m")).unwrap();
    let mut writer = store.session().unwrap();
    let mut reader = store.session().unwrap();
    let mut set = |i: u32| {
        writer.set(&i.to_le_bytes(), &[i.to_le_bytes()[0]; 5000], &SetOptions::default()).map(drop)
    };
    for i in 0..1000 {
        set(i).unwrap();
    }
    let mut refused = None;
    let held = 999_u32.to_le_bytes();
    reader
        .get_many(&[&held], &mut |_, value, _| {
            refused = (0..10_000).find_map(|i| set(i).err());
            assert!(value == [231; 5000], "a value changed while it was read");
        })
        .unwrap();
    let refused = refused.expect("10000 values fitted into what a reader left");
    let text = refused.to_string();
    assert!(matches!(refused, Error::Full { .. }), "{text}");
    assert!(text.contains("1 MiB") && text.contains("`map_size`"), "{text}");
    for i in 0..1000 {
        set(i).unwrap();
    }
}

/// What is read stays, and what is written once and not read makes room for it.
#[test]
fn entries_that_are_read_outlive_those_that_are_not() {
    let directory = TestDir::create();
    let store = open(&url(SCHEME, directory.path(), "size=256k")).unwrap();
    let mut session = store.session().unwrap();
    let hot: Vec<Vec<u8>> = (0..100_u32).map(|key| format!("{} hot", key * 97).into()).collect();
    for key in &hot {
        session.set(key, &[1; 200], &SetOptions::default()).unwrap();
    }
    let mut n_lost = 0;
    for key in 0..20_000_u32 {
        session.set(format!("{key} cold").as_bytes(), &[2; 200], &SetOptions::default()).unwrap();
        let read = &hot[key as usize % hot.len()];
        if session.get(read, &mut Vec::new()).unwrap().is_none() {
            n_lost += 1;
            session.set(read, &[1; 200], &SetOptions::default()).unwrap();
        }
    }
    assert!(store.stats().unwrap().evictions.unwrap() > 18_000);
    // Without a look at what is read, more than a thousand find nothing.
    assert!(n_lost < 500, "{n_lost} of 20000 reads found nothing");
}

#[test]
fn stores_that_share_a_folder_must_agree_on_shared_options() {
    let directory = TestDir::create();
    let url = |query: &str| url(SCHEME, directory.path(), query);
    let _first = open(&url("size=1m")).unwrap();
    let (_, text) = refusal(&url("size=1m&sync=each"));
    assert!(text.contains("open in this process with sync=nosync"), "{text}");
    for n in 1..8 {
        open(&url(&format!("size=1m&namespace=n{n}"))).unwrap();
    }
    let (_, text) = refusal(&url("size=1m&namespace=one-more"));
    assert!(text.contains("8 of") && text.contains("namespace"), "{text}");
}

#[test]
fn more_readers_than_slots_are_told_and_the_slots_of_the_dead_come_back() {
    let directory = TestDir::create();
    let url = url(SCHEME, directory.path(), "readers=2");
    let store = open(&url).unwrap();
    let mut session = store.session().unwrap();
    session.set(b"key", b"value", &SetOptions::default()).unwrap();
    // LMDB rounds the slots up to whole pages of its lock file when that file exists.
    let slots: usize = store.info().settings["readers"].parse().unwrap();
    let (started, hold) = (std::sync::Barrier::new(slots + 1), std::sync::Barrier::new(slots + 1));
    std::thread::scope(|scope| {
        let reads = || {
            let mut session = store.session().unwrap();
            let found = session.get(b"key", &mut Vec::new()).map(|meta| meta.is_some());
            started.wait();
            hold.wait();
            assert!(found.unwrap());
        };
        let readers: Vec<_> = (0..slots).map(|_| scope.spawn(reads)).collect();
        started.wait();
        let refused = session.get(b"key", &mut Vec::new());
        hold.wait();
        let refused = refused.unwrap_err();
        let text = refused.to_string();
        assert!(
            matches!(refused, Error::Busy { .. }) && text.contains("raise `readers`"),
            "{text}"
        );
        // The end of the scope would wait for their work, and not for what gives their slots back.
        for reader in readers {
            reader.join().unwrap();
        }
    });
    // The threads have ended, and their slots are free.
    assert!(session.get(b"key", &mut Vec::new()).unwrap().is_some());
}
