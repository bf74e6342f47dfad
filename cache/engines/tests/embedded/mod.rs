//! Events that every engine with files of its own must survive: kills, a full disk, its byte limit, expiry, foreign
//! files.

mod directory;
pub(crate) mod process;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use larder_engines::ENGINES;
use larder_store::{Error, Result, Session, SetOptions, Store, StoreUrl};
use larder_testkit::PATIENCE;

pub(crate) use directory::TestDir;
use process::OtherWriter;
pub(crate) use process::write_until_killed;

pub(crate) fn open(url: &str) -> Result<Arc<dyn Store>> {
    ENGINES.open(&StoreUrl::parse(url).unwrap())
}

pub(crate) fn open_session(url: &str) -> Box<dyn Session> {
    open(url).unwrap().session().unwrap()
}

/// The URL of a store named `store` in a directory.
pub(crate) fn url(scheme: &str, directory: &Path, query: &str) -> String {
    format!("{scheme}:{}?{query}", directory.join("store").display())
}

/// A value of this round, whose bytes show whether it is whole.
fn value(key: u64, round: u64) -> Vec<u8> {
    let len = usize::try_from((key * 7919 + round * 104_729) % 9000).unwrap() + 24;
    let mut value = vec![0; len];
    value[..8].copy_from_slice(&key.to_le_bytes());
    value[8..16].copy_from_slice(&round.to_le_bytes());
    value[16..24].copy_from_slice(&(len as u64).to_le_bytes());
    value[24..].fill((key * 31 + round).to_le_bytes()[0]);
    value
}

/// The round of a value; fails when it is not whole or belongs to another key.
pub(crate) fn round_of(key: u64, found: &[u8]) -> u64 {
    let round = u64::from_le_bytes(found[8..16].try_into().unwrap());
    assert!(found == value(key, round), "the value of key {key} is not whole");
    round
}

pub(crate) fn key(i: u64) -> Vec<u8> {
    format!("key {i}").into_bytes()
}

pub(crate) const KEYS: u64 = 200;

/// Kills a writing process again and again. Every acknowledged value is there, and every value is whole.
pub(crate) fn a_killed_writer_leaves_whole_values(scheme: &str) {
    let directory = TestDir::create();
    let url = url(scheme, directory.path(), "size=64m");
    // This session stays open all the time: a lock of a dead process must not stop a living one.
    let mut session = open_session(&url);
    let mut found = Vec::new();
    for n in 0..8 {
        session.clear().unwrap();
        let mut writer = OtherWriter::start(&url);
        writer.next_round();
        std::thread::sleep(Duration::from_millis(7 * n));
        let acknowledged = writer.kill();

        for i in 0..KEYS {
            assert!(session.get(&key(i), &mut found).unwrap().is_some(), "key {i} is gone");
            assert!(round_of(i, &found) >= acknowledged, "key {i} is older than acknowledged");
        }
        // The living process can write, and a new process reads that value.
        session.set(b"after", b"the kill", &SetOptions::default()).unwrap();
        open_session(&url).get(b"after", &mut found).unwrap();
        assert_eq!(found, b"the kill");
    }
}

/// Kills three of four writing processes while they work or wait. The fourth goes on. A lock that misses a wake-up call
/// does so in one of a hundred trials.
pub(crate) fn the_death_of_writers_stops_no_other(scheme: &str, trials: u32) {
    let directory = TestDir::create();
    let url = url(scheme, directory.path(), "");
    for _ in 0..trials {
        let mut writers: Vec<_> = (0..4).map(|_| OtherWriter::start(&url)).collect();
        for writer in &mut writers {
            writer.next_round();
        }
        let mut last = writers.pop().unwrap();
        for writer in writers {
            writer.kill();
        }
        for _ in 0..3 {
            last.next_round();
        }
    }
}

/// Writes values of all sizes, ten times the limit.
pub(crate) fn the_byte_limit_holds_and_the_newest_stay(scheme: &str) {
    let directory = TestDir::create();
    let store = open(&url(scheme, directory.path(), "size=1m")).unwrap();
    let mut session = store.session().unwrap();
    let mut found = Vec::new();
    let mut written = 0;
    for i in 0.. {
        let stored = value(i, 1);
        written += stored.len() as u64;
        session.set(&key(i), &stored, &SetOptions::default()).unwrap();
        assert!(session.get(&key(i), &mut found).unwrap().is_some(), "key {i} went at once");
        if i % 64 == 0 {
            let stats = store.stats().unwrap();
            assert!(stats.bytes <= Some(1 << 20), "{stats:?}");
        }
        if written > 10 << 20 {
            break;
        }
    }
    let stats = store.stats().unwrap();
    assert!(stats.bytes > Some(900 << 10), "room is made, and no more than is needed: {stats:?}");
    assert_eq!(stats.evictions.unwrap() + stats.items.unwrap(), stats.sets.unwrap());
    // A file may be longer than what it takes.
    let taken = |path: &PathBuf| 512 * path.metadata().unwrap().blocks();
    let on_disk: u64 = store.info().data_paths.iter().map(taken).sum();
    assert!(on_disk < 16 << 20, "{on_disk} bytes on disk for 1 MiB of entries");
    // A value that fills the whole store is stored. A value larger by one byte is refused, and leaves nothing.
    let limit = store.capabilities().max_value_len.unwrap();
    session.set(b"large", &vec![1; limit], &SetOptions::default()).unwrap();
    assert!(session.get(b"large", &mut found).unwrap().is_some());
    let refused = session.set(b"large", &vec![1; limit + 1], &SetOptions::default()).unwrap_err();
    assert!(matches!(refused, Error::ValueTooLarge { .. }), "{refused}");
    assert!(session.get(b"large", &mut found).unwrap().is_none());
}

/// Writes to other keys give back expired entries that no request asks for.
pub(crate) fn expired_entries_are_given_back(scheme: &str) {
    let directory = TestDir::create();
    let store = open(&url(scheme, directory.path(), "")).unwrap();
    let mut session = store.session().unwrap();
    let short = SetOptions { ttl: Some(Duration::from_millis(20)), ..SetOptions::default() };
    let long = SetOptions { ttl: Some(Duration::from_secs(1000)), ..SetOptions::default() };
    for i in 0..1000 {
        session.set(&key(i), &[1; 500], &long).unwrap();
    }
    // A deadline that is moved or removed leaves nothing in the index.
    for i in 0..100 {
        session.touch(&key(i), Some(Duration::from_secs(2000))).unwrap();
        session.touch(&key(i + 100), None).unwrap();
        session.set(&key(i + 200), &[1; 500], &SetOptions::default()).unwrap();
        session.delete(&key(i + 300)).unwrap();
    }
    let before = store.stats().unwrap();
    assert_eq!((before.items, before.expirations), (Some(900), Some(0)), "{before:?}");
    for i in 200..1000 {
        session.set(&key(i), &[1; 500], &short).unwrap();
    }
    std::thread::sleep(Duration::from_millis(25));
    for i in 0..400 {
        session.set(b"another", &key(i), &SetOptions::default()).unwrap();
    }
    let stats = store.stats().unwrap();
    assert_eq!((stats.items, stats.expirations), (Some(201), Some(800)), "{stats:?}");
    session.clear().unwrap();
    let stats = store.stats().unwrap();
    assert_eq!(stats.items, Some(0), "{stats:?}");
    assert!(stats.bytes < Some(64 << 10), "{stats:?}");
}

/// Threads read all the time while other threads rewrite all entries, for two seconds and 1000 sets at the least.
/// Returns the final length of the files.
pub(crate) fn bytes_on_disk_under_readers(scheme: &str, query: &str) -> u64 {
    const KEYS: u64 = 100;
    let directory = TestDir::create();
    let store = &open(&url(scheme, directory.path(), query)).unwrap();
    let keys = &(0..KEYS).map(key).collect::<Vec<_>>();
    let (began, n_sets) = (Instant::now(), &AtomicU64::new(0));
    let goes_on = &|| {
        let is_enough = n_sets.load(Ordering::Relaxed) > 1000;
        began.elapsed() < if is_enough { Duration::from_secs(2) } else { PATIENCE }
    };
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(move || {
                let mut session = store.session().unwrap();
                let mut found = Vec::new();
                for key in keys.iter().cycle().take_while(|_| goes_on()) {
                    session.get(key, &mut found).unwrap();
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(move || {
                let mut session = store.session().unwrap();
                for key in keys.iter().cycle().take_while(|_| goes_on()) {
                    session.set(key, &[1; 12_000], &SetOptions::default()).unwrap();
                    n_sets.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let sets = store.stats().unwrap().sets.unwrap();
    assert!(sets > 1000, "writers came to only {sets} sets");
    store.info().data_paths.iter().map(|path| path.metadata().unwrap().len()).sum()
}

/// Two stores of one path in one process, and two namespaces of one file.
pub(crate) fn one_path_opens_twice_and_namespaces_do_not_meet(scheme: &str) {
    let directory = TestDir::create();
    let url = url(scheme, directory.path(), "");
    let (mut one, mut two) = (open_session(&url), open_session(&url));
    let mut other = open_session(&format!("{url}namespace=other"));
    let mut found = Vec::new();
    one.set(b"key", b"value", &SetOptions::default()).unwrap();
    two.get(b"key", &mut found).unwrap();
    assert_eq!(found, b"value");
    assert!(other.get(b"key", &mut found).unwrap().is_none());
    other.set(b"key", b"another", &SetOptions::default()).unwrap();
    other.clear().unwrap();
    one.get(b"key", &mut found).unwrap();
    assert_eq!(found, b"value");
    drop((one, two, other));
    open_session(&url).get(b"key", &mut found).unwrap();
    assert_eq!(found, b"value");
}

/// Many threads and several processes open one new store at once.
pub(crate) fn a_new_store_may_be_opened_by_many_at_once(scheme: &str) {
    for _ in 0..5 {
        let directory = TestDir::create();
        let url = &url(scheme, directory.path(), "");
        let writers: Vec<_> = (0..3).map(|_| OtherWriter::start(url)).collect();
        std::thread::scope(|scope| {
            for i in 1000..1004 {
                scope.spawn(move || {
                    let mut session = open_session(url);
                    session.set(&key(i), b"value", &SetOptions::default()).unwrap();
                });
            }
        });
        for mut writer in writers {
            writer.next_round();
            writer.kill();
        }
        let mut session = open_session(url);
        let mut found = Vec::new();
        for i in (0..KEYS).chain(1000..1004) {
            assert!(session.get(&key(i), &mut found).unwrap().is_some(), "key {i} is gone");
        }
    }
}
