//! Processes that share a folder of `lmdb:` with maps of different sizes.
#![cfg(feature = "lmdb")]
#![expect(clippy::unwrap_used, reason = "a step that fails fails the test")]

#[expect(dead_code, reason = "the rest of what embedded engines are tried by")]
mod embedded;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use embedded::process::OtherWriter;
use embedded::{KEYS, TestDir, key, open, round_of, url};
use larder_store::{SetOptions, Store};
use larder_testkit::PATIENCE;

const SCHEME: &str = "lmdb";

/// A map with less room than the entries of the other process need, and checkpoints that are made all the time.
const SMALL: &str = "size=1m&map_size=1m&checkpoint=20ms";
const LARGE: &str = "size=64m";

#[test]
#[ignore = "is the process that the tests start"]
fn the_writer_that_is_killed() {
    embedded::write_until_killed();
}

fn file_len(directory: &TestDir) -> u64 {
    directory.path().join("store/data.mdb").metadata().unwrap().len()
}

/// Sets one value that is longer than the small maps. Of many short ones, the process with the small size could evict the first
/// and leave their pages to the last, so that the file would not grow.
fn outgrow(directory: &TestDir, store: &dyn Store) {
    let mut session = store.session().unwrap();
    session.set(&key(10_000), &vec![7; 5 << 20], &SetOptions::default()).unwrap();
    assert!(file_len(directory) > 4 << 20, "the file is still within the small map");
}

/// The process with the small map reads, writes and counts all the time, in several threads, while the file outgrows its map.
#[test]
fn a_map_that_another_process_makes_larger_is_taken_over() {
    let directory = TestDir::create();
    let store = &open(&url(SCHEME, directory.path(), SMALL)).unwrap();
    let (is_over, n_reads, n_hits) =
        (&AtomicBool::new(false), &AtomicU64::new(0), &AtomicU64::new(0));
    let goes_on = || !is_over.load(Ordering::Relaxed);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(move || {
                let (mut session, mut found) = (store.session().unwrap(), Vec::new());
                for i in (0..KEYS).cycle().take_while(|_| goes_on()) {
                    if session.get(&key(i), &mut found).unwrap().is_some() {
                        round_of(i, &found);
                        n_hits.fetch_add(1, Ordering::Relaxed);
                    }
                    n_reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(move || {
            let (mut session, mut found) = (store.session().unwrap(), Vec::new());
            for i in (1000..).take_while(|_| goes_on()) {
                session.set(&key(i), &i.to_le_bytes(), &SetOptions::default()).unwrap();
                assert!(
                    session.get(&key(i), &mut found).unwrap().is_some(),
                    "key {i} went at once"
                );
                store.stats().unwrap();
                thread::sleep(Duration::from_millis(5));
            }
        });
        let mut other = OtherWriter::start(&url(SCHEME, directory.path(), LARGE));
        let until = Instant::now() + PATIENCE;
        while file_len(&directory) <= 1 << 20 {
            other.next_round();
            assert!(Instant::now() < until, "the file stays within the small map");
        }
        let [reads, hits] = [n_reads, n_hits].map(|n| n.load(Ordering::Relaxed));
        for _ in 0..5 {
            other.next_round();
        }
        while [n_reads, n_hits].map(|n| n.load(Ordering::Relaxed)) < [reads + 1000, hits + 1000] {
            assert!(Instant::now() < until, "no more reads");
            other.next_round();
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// Two processes write with small maps when one of them opens the folder with more room.
#[test]
fn a_size_that_is_raised_while_others_have_the_folder_open_stops_none() {
    let directory = TestDir::create();
    let store = open(&url(SCHEME, directory.path(), SMALL)).unwrap();
    let mut session = store.session().unwrap();
    let mut other = OtherWriter::start(&url(SCHEME, directory.path(), "size=1m&map_size=2m"));
    other.next_round();
    let larger = open(&url(SCHEME, directory.path(), LARGE)).unwrap();
    outgrow(&directory, &*larger);
    for i in 0..3 {
        other.next_round();
        session.set(&key(2000 + i), b"value", &SetOptions::default()).unwrap();
        assert!(session.get(&key(2000 + i), &mut Vec::new()).unwrap().is_some());
    }
}
